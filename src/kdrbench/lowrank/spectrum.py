"""The spectrum of diag(d) + alpha sum_k s_k w_k w_k' with one or two vectors w.

Eigenvalues of diag(d) + rho ww' in O(r^2) operations: the roots of the secular equation.

f(lambda) = 1 + rho sum_j w_j^2 / (d_j - lambda) = 0 has one root between each two neighbours of the diagonal, and one
beyond the last. All roots are found side by side. Each is kept as a distance from the nearer of its two poles, so
that no difference lambda - d_j cancels, and moves by rational interpolation with both poles inside a bracket.

Sources: Li, "Solving secular equations stably and efficiently", LAPACK Working Note 89, 1993 (its fixed weight method);
Gu, Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem", SIAM
J. Matrix Analysis and Applications 15, 1994 (eigenvectors).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kdrbench.kernels.family import FloatArray

# The steps converge quadratically: after one that is relatively as small as this, rounding is all that is left.
_LAST = 1e-9
_MOST = 60


def secular_differences(poles: FloatArray, squares: FloatArray, rho: float) -> tuple[FloatArray, FloatArray]:
    """Return the k eigenvalues, ascending, and the k x k differences d_j - lambda_i (i rows).

    ``poles``: d, ascending and distinct; ``squares``: w_j^2 > 0; ``rho`` > 0.
    """
    k = len(poles)
    # The last root is at most d_k + rho |w|^2, well inside of twice that.
    ends = np.append(poles, poles[-1] + 2 * rho * float(squares.sum()))
    gaps = np.diff(ends)
    weights = rho * squares
    shifts = poles - poles[:, None]
    at_middle = 1 + (weights / (shifts - 0.5 * gaps[:, None])).sum(axis=1)
    # f grows from minus to plus infinity between its poles: a negative value in the middle puts the root in the right
    # half.
    right = (at_middle < 0) & (np.arange(k) < k - 1)
    origins = np.where(right, ends[1:], poles)
    deltas = poles - origins[:, None]
    left_pole, right_pole = poles - origins, ends[1:] - origins
    low = np.where(right, -0.5 * gaps, np.where(at_middle < 0, 0.5 * gaps, 0.0))
    high = np.where(right, 0.0, np.where(at_middle < 0, gaps, 0.5 * gaps))
    ahead = np.append(weights[1:], 0.0)
    # The first guess takes both poles as they are and all others as a constant, what they give in the middle.
    rest = at_middle + 2 * (weights - ahead) / gaps
    linear = rest * (left_pole + right_pole) + weights + ahead
    roots = _root(rest, linear, rest * left_pole * right_pole + weights * right_pole + ahead * left_pole)
    roots = np.where((roots > low) & (roots < high), roots, 0.5 * (low + high))
    near_weights = np.where(right, -ahead, weights) * gaps
    for _ in range(_MOST):
        differences = deltas - roots[:, None]
        terms = weights / differences
        value = 1 + terms.sum(axis=1)
        terms /= differences
        slope = terms.sum(axis=1)
        low, high = np.where(value < 0, roots, low), np.where(value < 0, high, roots)
        left, other = left_pole - roots, right_pole - roots
        # The nearer pole keeps its weight; the other one's, and a constant, give f its value and its slope.
        far, near = np.where(right, left, other), np.where(right, other, left)
        constant = value - far * slope + near_weights / near**2
        moved = roots + _root(constant, (left + other) * value - left * other * slope, left * other * value)
        # Beyond the last pole there is no other: that one alone, with a weight and a constant, gives f both.
        moved[-1] = roots[-1] + left[-1] * value[-1] / (value[-1] - left[-1] * slope[-1])
        settled = np.abs(moved - roots) <= _LAST * np.abs(moved)
        # Beside a root the bracket's ends are where rounding puts them.
        moved = np.where(settled | ((moved >= low) & (moved <= high)), moved, 0.5 * (low + high))
        roots = moved
        if settled.all():
            break
    return origins + roots, deltas - roots[:, None]


def _root(c: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the root of c x^2 - a x + b that lies between the poles of the interpolation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        radical = np.sqrt(np.maximum(a * a - 4 * b * c, 0.0))
        between: FloatArray = np.where(a <= 0, (a - radical) / (2 * c), 2 * b / (a + radical))
    return between


def secular_vectors(poles: FloatArray, signs: FloatArray, differences: FloatArray) -> FloatArray:
    """Return the k x k eigenvectors, columns, orthogonal to rounding.

    ``signs``: those of w. They are the exact ones of a w that differs by rounding, the one whose eigenvalues are
    exactly those found: w_j^2 = prod_i (lambda_i - d_j) / prod_{i != j} (d_i - d_j), up to a factor.
    """
    apart = poles - poles[:, None]
    np.fill_diagonal(apart, 1.0)
    weights = signs * np.sqrt(np.prod(np.abs(differences / apart), axis=0))
    vectors = weights / differences
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    columns: FloatArray = vectors.T
    return columns


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
        spectrum = secular_spectrum(diagonal, rows[0], alpha * float(signs[0]))
        if spectrum is not None:
            return spectrum
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
    eigenvalues, differences = secular_differences(poles, squares, abs(rho))
    values, turned = diagonal.copy(), w.copy()
    values[kept] = turn * eigenvalues
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
