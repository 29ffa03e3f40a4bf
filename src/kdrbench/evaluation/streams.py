"""Sums over samples that are additive over chunks, and Gamma as a sum over groups.

A pass over the data is a function ``partial_sums(chunk of rows) -> arrays``. What the chunks give is added in a fixed
binary tree, whose shape depends on the number of samples alone: threads, or later processes, change no bit of it.

Gamma_ij = sum_gh E_ig Theta_gh E_jh. For labels g is a class, E_ig says whether i is in it, and Theta = T diag(w) T'
for the rows T of U that the classes have. Otherwise E = U and Theta = diag(w).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation.passes import Report, run_pass
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma

Sums = tuple[FloatArray, ...]
Mixed = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
# Parts of a pass, for the threads of a machine.
_MOST_PARTS, _LEAST_ROWS = 16, 4096
# Entries of phi at a time, which stay in the second-level cache; rows at a time.
_ENTRIES, _FEWEST, _ROWS = 65_536, 64, 2048


def streamed(
    n_samples: int, partial_sums: Callable[[slice], Sums], threads: int = 1, report: Report | None = None
) -> Sums:
    """Return the sum of ``partial_sums`` over all rows; the same bits for any number of threads."""
    n_parts = min(_MOST_PARTS, -(-n_samples // _LEAST_ROWS))
    bounds = [round(n_samples * part / n_parts) for part in range(n_parts + 1)]
    parts = [slice(*ends) for ends in pairwise(bounds)]
    tree = _TreeSum(n_parts)
    run_pass(range(n_parts), threads, lambda: tree, lambda total, i: total.add(i, partial_sums(parts[i])), report)
    return tree.total()


class _TreeSum:
    """Adds neighbours, then neighbouring sums, as soon as both are there; at most a few wait for theirs."""

    def __init__(self, n_parts: int) -> None:
        self._lock, self._waiting = threading.Lock(), dict[tuple[int, int], Sums]()
        self._n_parts = n_parts

    def add(self, place: int, sums: Sums) -> None:
        """Add what the part at ``place`` gave, in any order."""
        level = 0
        while True:
            with self._lock:
                sibling = self._waiting.pop((level, place ^ 1), None)
                if sibling is None:
                    self._waiting[level, place] = sums
                    return
            left, right = (sums, sibling) if place % 2 == 0 else (sibling, sums)
            for mine, other in zip(left, right, strict=True):
                mine += other
            sums, level, place = left, level + 1, place // 2

    def total(self) -> Sums:
        """Return the sum; parts without a sibling are added last, the smallest sums first."""
        left_over = [self._waiting[key] for key in sorted(self._waiting)]
        total = left_over[0]
        for larger in left_over[1:]:
            for mine, other in zip(larger, total, strict=True):
                mine += other
            total = larger
        return total


class Members:
    """The groups of a chunk of samples: runs of one class each, or the weights E of every sample."""

    def __init__(self, codes: NDArray[np.int64] | None, weights: FloatArray | None) -> None:
        self._codes, self._weights, self._runs = codes, weights, list[tuple[int, slice]]()
        if codes is not None:
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
            self._runs = [(int(codes[begin]), slice(begin, end)) for begin, end in pairwise(bounds)]

    def among(self, chunk: slice) -> Members:
        """Return the groups of some of the samples."""
        if self._codes is not None:
            return Members(self._codes[chunk], None)
        return Members(None, None if self._weights is None else self._weights[chunk])

    def add(self, total: FloatArray, features: FloatArray, columns: FloatArray) -> None:
        """Add sum_i E_ig phi_i y_i' to ``total`` (g x m x e), for phi (m x c) and columns y (c x e)."""
        n_groups, size, width = total.shape
        if self._weights is None:
            for group, run in self._runs:
                total[group] += features[:, run] @ columns[run]
        elif width <= size:
            lifted = (self._weights[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
            total += (features @ lifted).reshape(size, n_groups, width).transpose(1, 0, 2)
        else:
            # In the precision of the columns.
            for group, weights in enumerate(self._weights.T.astype(columns.dtype, copy=False)):
                total[group] += (features * weights) @ columns

    def mixed(
        self,
        apart: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
        features: FloatArray,
        tables: FloatArray,
    ) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i), (terms) x c; ``apart`` is what a basis does for weights."""
        if self._weights is not None:
            return apart(features, tables, self._weights)
        result = np.empty((tables.shape[1], features.shape[1]))
        for group, run in self._runs:
            np.matmul(tables[group], features[:, run], out=result[:, run])
        return result

    def moments(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i v_i |E_ig| |E_ih|, g x g."""
        if self._weights is not None:
            sizes = np.abs(self._weights)
            return np.asarray((sizes.T * values) @ sizes)
        result = np.zeros((n_groups, n_groups))
        for group, run in self._runs:
            result[group, group] += values[run].sum()
        return result

    def totals(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i |E_ig| v_i, g."""
        if self._weights is not None:
            return np.asarray(values @ np.abs(self._weights))
        result = np.zeros(n_groups)
        for group, run in self._runs:
            result[group] += values[run].sum()
        return result


class Groups:
    """E and Theta of a Gamma."""

    def __init__(self, gamma: FactoredGamma) -> None:
        self._codes, self._factor = gamma.codes, gamma.factor
        if gamma.codes is None:
            self.theta: FloatArray = np.diag(gamma.weights)
            diagonal = np.einsum("ir,ir,r->", gamma.factor, gamma.factor, gamma.weights)
        else:
            _, first, counts = np.unique(gamma.codes, return_index=True, return_counts=True)
            table = gamma.factor[first]
            self.theta = (table * gamma.weights) @ table.T
            diagonal = counts @ np.diagonal(self.theta)
        # What a zero diagonal of Gamma takes from F where every k(x, x) is 1.
        self.diagonal = float(diagonal) if gamma.zero_diagonal else 0.0
        self.number = len(self.theta)

    def spread_out(self, count: int) -> NDArray[np.intp]:
        """Return about ``count`` samples at equal steps in the order of their classes."""
        n_samples = len(self._factor)
        places = np.linspace(0, n_samples - 1, min(count, n_samples)).round().astype(np.intp)
        return places if self._codes is None else np.argsort(self._codes, kind="stable")[places]

    def dense(self, places: NDArray[np.intp]) -> FloatArray:
        """Return E of some samples."""
        if self._codes is None:
            return self._factor[places]
        return np.eye(self.number)[self._codes[places]]

    def blocks(self, rows: slice, width: int) -> Iterator[tuple[slice, NDArray[np.intp] | None, Members]]:
        """Yield blocks of some rows, the order that puts those of one class side by side, and their groups in it."""
        for begin in range(rows.start, rows.stop, width):
            block = slice(begin, min(begin + width, rows.stop))
            if self._codes is None:
                yield block, None, Members(None, self._factor[block])
                continue
            codes = self._codes[block]
            order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
            yield block, order, Members(codes if order is None else codes[order], None)


Visit = Callable[[Sums, FloatArray, Members], FloatArray | None]
VisitRows = Callable[[Sums, FloatArray, FloatArray, Members], None]
_Added = Callable[[Sums, slice, NDArray[np.intp] | None, Members], None]


class Stream:
    """The samples x of a problem with their groups, and passes over them in chunks."""

    def __init__(self, features: FloatArray, gamma: FactoredGamma, threads: int) -> None:
        self.groups, self.mean = Groups(gamma), features.mean(axis=0)
        self.report: Report | None = None
        self._features, self._threads, self._spread = features, threads, 0.0

    @property
    def largest_spread(self) -> float:
        """The largest singular value of the centred features."""
        if self._spread == 0.0:
            d = len(self.mean)

            def visit(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
                total[0][:] += rows.T @ rows

            (scatter,) = self.with_rows(np.zeros((d, 1)), [(d, d)], visit)
            self._spread = float(np.sqrt(np.linalg.eigvalsh(scatter)[-1]))
        return self._spread

    def narrow(self, columns: FloatArray, size: int, shapes: Sequence[tuple[int, ...]], visit: Visit) -> Sums:
        """Return what ``visit(sums, V'(x - mean), groups)`` adds to sums of ``shapes``, for V = ``columns``.

        Chunks suit ``size`` functions of a sample. Where it returns columns G' of its samples, G'X and G'1 are added to
        the first two sums.
        """
        width, offset = min(_ROWS, max(_FEWEST, _ENTRIES // size)), (self.mean @ columns)[:, None]

        def added(total: Sums, block: slice, order: NDArray[np.intp] | None, members: Members) -> None:
            here = self._features[block]
            samples = columns.T @ here.T - offset
            if order is not None:
                samples = samples[:, order]
            found = []
            for begin in range(0, len(here), width):
                chunk = slice(begin, begin + width)
                found.append(visit(total, np.ascontiguousarray(samples[:, chunk]), members.among(chunk)))
            given = [slopes for slopes in found if slopes is not None]
            if given:
                slopes = np.hstack(given)
                if order is not None:
                    slopes[:, order] = slopes.copy()
                total[0][:] += slopes @ here
                total[1][:] += slopes.sum(axis=1)

        return self._passed(shapes, added)

    def with_rows(self, columns: FloatArray, shapes: Sequence[tuple[int, ...]], visit: VisitRows) -> Sums:
        """Return what ``visit(sums, V'(x - mean), x - mean, groups)`` adds, with large blocks for large products."""

        def added(total: Sums, block: slice, order: NDArray[np.intp] | None, members: Members) -> None:
            centred = self._features[block] - self.mean
            centred = centred if order is None else centred[order]
            visit(total, columns.T @ centred.T, centred, members)

        return self._passed(shapes, added)

    def _passed(self, shapes: Sequence[tuple[int, ...]], added: _Added) -> Sums:
        def partial_sums(rows: slice) -> Sums:
            total = tuple(np.zeros(shape) for shape in shapes)
            for block in self.groups.blocks(rows, _ROWS):
                added(total, *block)
            return total

        return streamed(len(self._features), partial_sums, self._threads, self.report)
