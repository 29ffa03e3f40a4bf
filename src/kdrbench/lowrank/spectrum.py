"""The spectrum of diag(d) + alpha sum_k s_k w_k w_k' with one or two vectors w."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.secular import secular_differences, secular_vectors

# Below this difference of logarithms the divided difference of exp is the derivative to double precision.
_CLOSE = 1e-7
# From this rank on the secular equation is quicker than the eigenvectors of a full matrix.
_SECULAR_RANK = 64
# Couplings and differences of the diagonal below this share of the largest entry are rounding.
_ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """``values``: r eigenvalues, in any order; ``turned``: w_k'q, p x r, up to signs; ``make_basis``: see ``basis``."""

    values: FloatArray
    turned: FloatArray
    make_basis: Callable[[], FloatArray]

    @property
    def basis(self) -> FloatArray:
        """Return the eigenvectors q, r x r, as columns; they are made at each call."""
        return self.make_basis()


def spectrum_of(diagonal: FloatArray, rows: FloatArray, signs: FloatArray, alpha: float) -> Spectrum:
    """Decompose diag(``diagonal``) + ``alpha`` sum_k ``signs``_k w_k w_k', w the one or two ``rows`` of r entries."""
    if len(rows) == 1 and len(diagonal) >= _SECULAR_RANK:
        found = secular_spectrum(diagonal, rows[0], alpha * float(signs[0]))
        if found is not None:
            return found
    matrix = (rows.T * (alpha * signs)) @ rows
    matrix[np.diag_indices_from(matrix)] += diagonal
    values, basis = np.linalg.eigh(matrix)
    return Spectrum(values, rows @ basis, lambda: basis)


def secular_spectrum(diagonal: FloatArray, w: FloatArray, rho: float) -> Spectrum | None:
    """Decompose diag(``diagonal``) + ``rho`` ww' by the secular equation, or return ``None`` where entries coincide.

    Entries of the diagonal whose coupling is below rounding are eigenvalues as they are.
    """
    # A negative rho is a positive one for the negative matrix.
    turn = -1.0 if rho < 0 else 1.0
    order = np.argsort(turn * diagonal)
    coupling = np.abs(rho) * np.abs(w[order]) * np.linalg.norm(w)
    scale = max(float(np.abs(diagonal).max()), float(coupling.max()))
    kept = order[coupling > _ROUNDING * scale]
    poles = turn * diagonal[kept]
    if len(kept) == 0:
        return Spectrum(diagonal, w[None, :], lambda: np.eye(len(diagonal)))
    if (np.diff(poles) <= _ROUNDING * scale).any():
        return None
    squares = w[kept] ** 2
    found, differences = secular_differences(poles, squares, abs(rho))
    values, turned = diagonal.copy(), w.copy()
    values[kept] = turn * found
    # w'q = -1 / (rho |(D - lambda)^-1 w|), from the secular equation itself.
    turned[kept] = 1 / (abs(rho) * np.sqrt((squares / differences**2).sum(axis=1)))

    def basis() -> FloatArray:
        vectors = np.eye(len(diagonal))
        vectors[np.ix_(kept, kept)] = secular_vectors(poles, np.sign(w[kept]), differences)
        return vectors

    return Spectrum(values, turned[None, :], basis)


def divided_differences(logs: FloatArray) -> FloatArray:
    """Return (exp(d_k) - exp(d_l)) / (d_k - d_l), r x r, with exp(d_k) where they coincide."""
    larger = np.maximum(logs[:, None], logs)
    gap = np.abs(logs[:, None] - logs)
    close = gap < _CLOSE
    safe = np.where(close, 1.0, gap)
    # exp(larger) (1 - exp(-gap)) / gap neither cancels nor overflows where exp itself does not.
    differences: FloatArray = np.exp(larger) * np.where(close, 1 - 0.5 * gap, -np.expm1(-safe) / safe)
    return differences
