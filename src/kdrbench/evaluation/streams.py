"""Passes over samples in chunks that stay in the cache, and Gamma as a sum over groups of samples.

Gamma_ij = sum_gh E_ig Theta_gh E_jh. For labels g is a class, E_ig says whether i is in it, and Theta = T diag(w) T'
for the rows T of U that the classes have. Otherwise E = U and Theta = diag(w).

What a pass adds up is a callable of its own (:class:`_Narrow`, :class:`_WithRows`) that holds no samples, so that any
engine of :mod:`kdrbench.samples` can send it to where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from sys import getsizeof
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma
from kdrbench.problems.groups import Groups, Members
from kdrbench.samples import Cluster, Engine, PartialSums, Report, Samples, Sums, parts_of, power_sums

# Entries of phi at a time, which stay in the second-level cache; rows at a time.
_ENTRIES, _FEWEST, _ROWS = 65_536, 64, 2048


class GroupedSamples(Samples):
    """Samples with their groups: what the passes of a :class:`Stream` are given."""

    def __init__(self, samples: Samples, groups: Groups) -> None:
        self.shape, self.dtype, self.in_order = samples.shape, samples.dtype, samples.in_order
        self.samples, self.groups = samples, groups

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return self.samples.rows(rows)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + getsizeof(self.samples)

    def part(self, rows: slice) -> GroupedSamples:
        """Return some of the samples, numbered from 0."""
        return GroupedSamples(self.samples.part(rows), self.groups.part(rows))

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks; problems that share samples share where these are placed."""
        groups = cluster.hold([self.groups.part(block) for block in blocks])
        return cluster.make(GroupedSamples, cluster.placed(self.samples, blocks), groups)

    def members(self, rows: slice) -> Iterator[tuple[FloatArray, NDArray[np.intp] | None, Members]]:
        """Yield blocks of some rows, the order that puts those of a group side by side, and the groups in it."""
        for read, values in self.samples.blocks(rows):
            for block, order, members in self.groups.blocks(read, _ROWS):
                yield values[block.start - read.start : block.stop - read.start], order, members


Visit = Callable[[Sums, FloatArray, Members], FloatArray | None]
VisitRows = Callable[[Sums, FloatArray, FloatArray, Members], None]


@dataclass(frozen=True)
class _Narrow:
    """The partial sums of :meth:`Stream.narrow`."""

    columns: FloatArray
    mean: FloatArray
    width: int
    shapes: tuple[tuple[int, ...], ...]
    visit: Visit

    def __call__(self, samples: GroupedSamples, rows: slice) -> Sums:
        """Return the sums of some rows."""
        total = tuple(np.zeros(shape) for shape in self.shapes)
        offset = (self.mean @ self.columns)[:, None]
        for here, order, members in samples.members(rows):
            moved = self.columns.T @ here.T - offset
            if order is not None:
                moved = moved[:, order]
            found = []
            for begin in range(0, len(here), self.width):
                chunk = slice(begin, begin + self.width)
                found.append(self.visit(total, np.ascontiguousarray(moved[:, chunk]), members.among(chunk)))
            given = [slopes for slopes in found if slopes is not None]
            if given:
                slopes = np.hstack(given)
                if order is not None:
                    slopes[:, order] = slopes.copy()
                total[0][:] += slopes @ here
                total[1][:] += slopes.sum(axis=1)
        return total


@dataclass(frozen=True)
class _WithRows:
    """The partial sums of :meth:`Stream.with_rows`."""

    columns: FloatArray
    mean: FloatArray
    shapes: tuple[tuple[int, ...], ...]
    visit: VisitRows

    def __call__(self, samples: GroupedSamples, rows: slice) -> Sums:
        """Return the sums of some rows."""
        total = tuple(np.zeros(shape) for shape in self.shapes)
        for here, order, members in samples.members(rows):
            centred = here - self.mean
            centred = centred if order is None else centred[order]
            self.visit(total, self.columns.T @ centred.T, centred, members)
        return total


def _add_scatter(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
    total[0][:] += rows.T @ rows


class Stream:
    """The samples x of a problem with their groups, and passes over them in chunks, by an ``engine``.

    Kernels of differences see them less their mean, which keeps digits; ``centred`` says whether that is so.
    """

    def __init__(self, samples: Samples, gamma: FactoredGamma, engine: Engine, *, centred: bool = True) -> None:
        self._centred = centred
        self.groups = Groups(gamma)
        self.samples = GroupedSamples(samples, self.groups)
        self.report: Report | None = None
        self._engine, self._parts = engine, parts_of(len(samples))

    @cached_property
    def mean(self) -> FloatArray:
        """What passes take from the samples: their mean, or nothing."""
        if not self._centred:
            return np.zeros(self.samples.shape[1])
        sums = partial(power_sums, mean=np.zeros(self.samples.shape[1]))
        (total,) = self._engine.run(self.samples, self._parts, sums, self.report)
        return total / len(self.samples)

    @cached_property
    def largest_spread(self) -> float:
        """The largest singular value of the centred features."""
        d = len(self.mean)
        (scatter,) = self.with_rows(np.zeros((d, 1)), [(d, d)], _add_scatter)
        return float(np.sqrt(np.linalg.eigvalsh(scatter)[-1]))

    def narrow(self, columns: FloatArray, size: int, shapes: Sequence[tuple[int, ...]], visit: Visit) -> Sums:
        """Return what ``visit(sums, V'(x - mean), groups)`` adds to sums of ``shapes``, for V = ``columns``.

        Chunks suit ``size`` functions of a sample. Where it returns columns G' of its samples, G'X and G'1 are added to
        the first two sums. ``visit`` must hold no samples.
        """
        width = min(_ROWS, max(_FEWEST, _ENTRIES // size))
        return self._passed(_Narrow(columns, self.mean, width, tuple(shapes), visit))

    def with_rows(self, columns: FloatArray, shapes: Sequence[tuple[int, ...]], visit: VisitRows) -> Sums:
        """Return what ``visit(sums, V'(x - mean), x - mean, groups)`` adds, with large blocks for large products."""
        return self._passed(_WithRows(columns, self.mean, tuple(shapes), visit))

    def _passed(self, partial_sums: PartialSums) -> Sums:
        return self._engine.run(self.samples, self._parts, partial_sums, self.report)
