"""The spectrum of diag(d) + alpha sum_k s_k w_k w_k' with one or two vectors w, and divided differences of exp."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray

# Below this difference of logarithms the divided difference of exp is the derivative to double precision.
_CLOSE = 1e-7


class Spectrum(NamedTuple):
    """``values``: r eigenvalues, ascending; ``basis``: eigenvectors q, r x r, as columns; ``turned``: w_k'q, p x r."""

    values: FloatArray
    basis: FloatArray
    turned: FloatArray


def spectrum_of(diagonal: FloatArray, rows: FloatArray, signs: FloatArray, alpha: float) -> Spectrum:
    """Decompose diag(``diagonal``) + ``alpha`` sum_k ``signs``_k w_k w_k', w the one or two ``rows`` of r entries.

    The secular equation of one row takes half of the time of LAPACK's eigenvectors at some hundred entries in numpy;
    machine code (:mod:`.compiled`) solves it.
    """
    matrix = (rows.T * (alpha * signs)) @ rows
    matrix[np.diag_indices_from(matrix)] += diagonal
    values, basis = np.linalg.eigh(matrix)
    return Spectrum(values, basis, rows @ basis)


def divided_differences(logs: FloatArray) -> FloatArray:
    """Return (exp(d_k) - exp(d_l)) / (d_k - d_l), r x r, with exp(d_k) where they coincide."""
    larger = np.maximum(logs[:, None], logs)
    gap = np.abs(logs[:, None] - logs)
    close = gap < _CLOSE
    safe = np.where(close, 1.0, gap)
    # exp(larger) (1 - exp(-gap)) / gap neither cancels nor overflows where exp itself does not.
    differences: FloatArray = np.exp(larger) * np.where(close, 1 - 0.5 * gap, -np.expm1(-safe) / safe)
    return differences
