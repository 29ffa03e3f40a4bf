"""Hollow kernel matrices as operators: products K V with the diagonal of K zero, and never n x n above a few thousand.

| form | for | time of a product with c columns | memory |
|---|---|---|---|
| dense | few samples | n^2 c | n^2 |
| factor | kernels with exact factors of m columns; others to a tolerance | n m c | n m |
| panels | any kernel | n^2 (q + c)/2, or n^2 c where blocks are kept | n c, or n^2/2 where they are kept |

A factor is K = L R' with its diagonal taken away. Polynomials of dot products have L = R, all monomials (see
:mod:`.factored`); for -|p_i - p_j|^2, L = (P, -s, -1) and R = (2P, 1, s) with s_i = |p_i|^2 and centred P.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterator
from itertools import islice
from math import comb

import numpy as np

from kdrbench.evaluation.bases import powers
from kdrbench.evaluation.cost_model import Evaluation, as_polynomial
from kdrbench.kernels import Combination, Kernel, Squared, Term, gram_matrix, restricted, terms_of
from kdrbench.kernels.bounded_factor import bounded_factor
from kdrbench.kernels.combination import kernel_values
from kdrbench.kernels.family import FloatArray
from kdrbench.samples.passes import run_pass

# Up to here LAPACK on the array is quickest, or nearly; measured.
_DENSE_SAMPLES = 1000
# Arrays that are alive at once in an embedding of a dense matrix.
_DENSE_ARRAYS = 5
_PANEL = 256
# Panels are dealt to a fixed number of sums, so that results do not depend on the number of threads.
_SHARES = 8
# What kept panels may take where no bound is given.
_KEPT_MIB = 512.0
# Exact factors are for ranks well below n: with more columns than that share of the samples panels are as quick.
_RANK_SHARE = 4
# Whether a factor reaches a tolerance shows at its end only. With this many times sqrt(n) columns its n m^2 are worth a
# few products with panels, whether it does or not.
_RANK_ROOTS = 4.0


class HollowGram(ABC):
    """A symmetric n x n kernel matrix K with a zero diagonal."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    @abstractmethod
    def applied(self, columns: FloatArray) -> FloatArray:
        """Return K V for V = ``columns`` (n x c)."""

    def degrees(self) -> FloatArray:
        """Return the row sums K 1 (n)."""
        return self.applied(np.ones((self.n_samples, 1)))[:, 0]


class DenseGram(HollowGram):
    """The array itself, whatever its diagonal."""

    def __init__(self, array: FloatArray) -> None:
        super().__init__(len(array))
        self.array = array

    def applied(self, columns: FloatArray) -> FloatArray:
        """Return K V."""
        return np.asarray(self.array @ columns)

    def degrees(self) -> FloatArray:
        """Return K 1."""
        return np.asarray(self.array.sum(axis=1))


class FactorGram(HollowGram):
    """LR' less its diagonal, for ``left`` L and ``right`` R, both n x m; LR' must be symmetric."""

    def __init__(self, left: FloatArray, right: FloatArray) -> None:
        super().__init__(len(left))
        self.left, self.right = left, right
        self._diagonal = np.einsum("ij,ij->i", left, right)

    def applied(self, columns: FloatArray) -> FloatArray:
        """Return K V."""
        result: FloatArray = self.left @ (self.right.T @ columns)
        result -= self._diagonal[:, None] * columns
        return result


class PanelGram(HollowGram):
    """K of ``samples`` (n x q) in blocks of its upper triangle, computed again for each product unless ``kept``.

    Sums are the same for any number of ``threads``, of which at most eight work, each on one core.
    """

    def __init__(
        self,
        kernel: Kernel | Combination,
        samples: FloatArray,
        *,
        threads: int = 1,
        kept: bool = False,
        panel: int = _PANEL,
    ) -> None:
        super().__init__(len(samples))
        self._terms, self._samples, self._threads, self._panel = terms_of(kernel), samples, threads, panel
        self._keeps, self._kept = kept, dict[tuple[int, int], FloatArray]()

    def applied(self, columns: FloatArray) -> FloatArray:
        """Return K V."""

        def visit(shares: dict[int, FloatArray], number: int) -> None:
            total = shares[number] = np.zeros_like(columns)
            for rows, others in islice(self._blocks(), number, None, _SHARES):
                block = self._block(rows, others)
                total[rows] += block @ columns[others]
                if rows != others:
                    total[others] += block.T @ columns[rows]

        shares = dict(ChainMap(*run_pass(range(_SHARES), self._threads, dict, visit)))
        return sum((shares[number] for number in range(_SHARES)), np.zeros_like(columns))

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        starts = range(0, self.n_samples, self._panel)
        for row in starts:
            for column in range(row, self.n_samples, self._panel):
                yield slice(row, row + self._panel), slice(column, column + self._panel)

    def _block(self, rows: slice, columns: slice) -> FloatArray:
        place = (rows.start, columns.start)
        if place in self._kept:
            return self._kept[place]
        terms = [Term(term.weight, restricted(term.kernel, rows, columns)) for term in self._terms]
        block = kernel_values(terms, self._samples[rows], self._samples[columns])
        if rows == columns:
            # Symmetric but for the rounding of a product of a matrix with itself.
            block = 0.5 * (block + block.T)
            np.fill_diagonal(block, 0.0)
        if self._keeps:
            self._kept[place] = block
        return block


def gram_operator(
    kernel: Kernel | Combination, samples: FloatArray, evaluation: Evaluation, *, rank: int | None = None
) -> HollowGram:
    """Return the hollow kernel matrix of ``samples`` (n x q) in the form that suits their number and the kernel.

    ``evaluation`` may ask for ``dense`` or ``panels``; with another evaluator it is a factor where there is one.
    Its ``tolerance`` > 0 allows a factor whose error is that share of the trace; with ``rank`` given, one of that rank
    whatever its error.
    """
    n_samples = len(samples)
    budget = np.inf if evaluation.memory_mib is None else evaluation.memory_mib
    small = n_samples <= _DENSE_SAMPLES and _mib(_DENSE_ARRAYS * n_samples**2) <= budget
    if evaluation.evaluator == "dense" or (evaluation.evaluator == "auto" and small):
        array = gram_matrix(kernel, samples)
        np.fill_diagonal(array, 0.0)
        return DenseGram(array)
    if evaluation.evaluator != "panels":
        widest = int(min(n_samples // _RANK_SHARE, budget * 2**20 / (8 * n_samples)))
        factors = _explicit_factors(kernel, samples, widest)
        if factors is None and evaluation.tolerance > 0:
            allowed = min(widest, int(_RANK_ROOTS * np.sqrt(n_samples)) if rank is None else rank)
            factors = bounded_factor(kernel, samples, evaluation.tolerance, allowed, always=rank is not None)
        if factors is not None:
            return FactorGram(*factors)
    kept = _mib(n_samples * (n_samples + _PANEL) / 2) <= min(budget, _KEPT_MIB)
    return PanelGram(kernel, samples, threads=evaluation.threads, kept=kept)


def _explicit_factors(
    kernel: Kernel | Combination, samples: FloatArray, widest: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return L and R with LR' = K exactly, side by side for the members of a combination; ``None`` if too wide."""
    n_components, left, right = samples.shape[1], list[FloatArray](), list[FloatArray]()
    for term in terms_of(kernel):
        polynomial = as_polynomial(term.kernel)
        if polynomial is None and not isinstance(term.kernel, Squared):
            return None
        widest -= n_components + 2 if polynomial is None else comb(n_components + polynomial.degree, n_components)
        if widest < 0:
            return None
        if polynomial is None:
            ones, centred = np.ones((len(samples), 1)), samples - samples.mean(axis=0)
            squares = np.einsum("ij,ij->i", centred, centred)[:, None]
            left.append(term.weight * np.hstack([centred, -squares, -ones]))
            right.append(np.hstack([2.0 * centred, ones, squares]))
        else:
            right.append(powers(n_components, polynomial, polynomial.degree).factor(samples))
            left.append(right[-1] if term.weight == 1.0 else term.weight * right[-1])
    # One member's are not copied.
    return (left[0], right[0]) if len(left) == 1 else (np.hstack(left), np.hstack(right))


def _mib(entries: float) -> float:
    return 8 * entries / 2**20
