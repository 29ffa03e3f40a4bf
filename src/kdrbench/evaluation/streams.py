"""Passes over samples in chunks that stay in the cache, and Gamma as a sum over groups of samples.

Gamma_ij = sum_gh E_ig Theta_gh E_jh. For labels g is a class, E_ig says whether i is in it, and Theta = T diag(w) T'
for the rows T of U that the classes have. Otherwise E = U and Theta = diag(w).

What a pass adds up is a callable of its own (:class:`_Pass`) that holds no samples, so that any
engine of :mod:`kdrbench.samples` can send it to where they are. On a device a part is one large chunk, samples of one
class are side by side, and sums come to numpy when a pass ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from sys import getsizeof
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import Device, contiguous, row_chunks, set_matmul
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma
from kdrbench.samples import Cluster, Codes, DeviceSamples, Engine, Report, Samples, Sums, aligned, power_sums
from kdrbench.samples.passes import PartialSums, chunks, parts_of

# Entries of phi at a time, which stay in the second-level cache; rows at a time.
_ENTRIES, _FEWEST, _ROWS = 65_536, 64, 2048
# The same on a device, where a call costs as much as many numbers, and for another library's arrays on the CPU.
_DEVICE_ENTRIES, _CPU_ENTRIES = 1 << 24, 1 << 20


class Members:
    """The groups of a chunk of samples: runs of one class each, or the weights E of every sample."""

    def __init__(self, codes: Codes | None, weights: FloatArray | None, device: Device) -> None:
        self._codes, self._weights, self._runs = codes, weights, list[tuple[int, slice]]()
        self._device = device
        if codes is not None:
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
            self._runs = [(int(codes[begin]), slice(begin, end)) for begin, end in pairwise(bounds)]

    def among(self, chunk: slice) -> Members:
        """Return the groups of some of the samples."""
        if self._codes is not None:
            return Members(self._codes[chunk], None, self._device)
        return Members(None, None if self._weights is None else self._weights[chunk, :], self._device)

    def add(self, total: FloatArray, features: FloatArray, columns: FloatArray) -> None:
        """Add sum_i E_ig phi_i y_i' to ``total`` (g x m x e), for phi (m x c) and columns y (c x e)."""
        (n_groups, size, width), xp = total.shape, self._device.xp
        if self._weights is None:
            for group, run in self._runs:
                total[group, ...] += features[:, run] @ columns[run, :]
        elif width <= size:
            lifted = xp.reshape(self._weights[:, :, None] * columns[:, None, :], (columns.shape[0], -1))
            total[...] += xp.permute_dims(xp.reshape(features @ lifted, (size, n_groups, width)), (1, 0, 2))
        else:
            # In the precision of the columns.
            weights = contiguous(self._weights.T, columns.dtype)
            for group in range(n_groups):
                total[group, ...] += (features * weights[group, :]) @ columns

    def mixed(
        self,
        apart: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
        features: FloatArray,
        tables: FloatArray,
    ) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i), (terms) x c; ``apart`` is what a basis does for weights."""
        if self._weights is not None:
            return apart(features, tables, self._weights)
        xp, shape = self._device.xp, (tables.shape[1], features.shape[1])
        result: FloatArray = xp.empty(shape, dtype=xp.float64, device=self._device.place)
        for group, run in self._runs:
            set_matmul(result[:, run], self._device.up(tables[group]), features[:, run])
        return result

    def spread(self, values: FloatArray, squared: bool = False) -> FloatArray:
        """Return sum_g E_ig v_g, or sum_g E_ig^2 v_g, of each sample."""
        if self._weights is not None:
            spread: FloatArray = (self._weights**2 if squared else self._weights) @ self._device.up(values)
        else:
            spread = self._device.up(values[self._codes])
        return spread

    def moments(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i v_i |E_ig| |E_ih|, g x g."""
        if self._weights is not None:
            sizes = self._device.xp.abs(self._weights)
            result: FloatArray = (sizes.T * values) @ sizes
            return result
        result = self._device.zeros(n_groups, n_groups)
        for group, run in self._runs:
            result[group, group] += self._device.xp.sum(values[run])
        return result

    def totals(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i |E_ig| v_i, g."""
        if self._weights is None:
            totals: FloatArray = self._device.xp.sum(self.moments(values, n_groups), axis=0)
        else:
            totals = values @ self._device.xp.abs(self._weights)
        return totals


class Groups:
    """E and Theta of a Gamma."""

    _device = Device(np, None)

    def __init__(self, gamma: FactoredGamma) -> None:
        self._codes, self._table, self.zero_diagonal = gamma.codes, gamma.table, gamma.zero_diagonal
        if gamma.codes is None:
            self.theta: FloatArray = np.diag(gamma.weights)
            self.totals, self._squares = gamma.table.sum(axis=0), np.einsum("ir,ir->r", gamma.table, gamma.table)
        else:
            self.theta = (gamma.table * gamma.weights) @ gamma.table.T
            self.totals = self._squares = gamma.class_sizes.astype(float)
        self.number = len(self.theta)

    @property
    def diagonal(self) -> float:
        """What a zero diagonal of Gamma takes from F where every k(x, x) is 1."""
        return float(self._squares @ np.diagonal(self.theta)) if self.zero_diagonal else 0.0

    def dense(self, places: NDArray[np.intp]) -> FloatArray:
        """Return E of some samples."""
        if self._codes is None:
            return self._table[places]
        return np.eye(self.number)[self._codes[places]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_table": aligned(state["_table"])}

    def part(self, rows: slice | NDArray[np.intp]) -> Groups:
        """Return the groups of some samples, which are numbered from 0; all else is that of all samples."""
        part = copy(self)
        part.__dict__ |= {"_table": self._table[rows]} if self._codes is None else {"_codes": self._codes[rows]}
        return part

    def on(self, device: Device, order: NDArray[np.intp] | None) -> Groups:
        """Return the groups of samples on a device, in an ``order`` where they have classes."""
        there = copy(self) if order is None else self.part(order)
        there._device = device
        if self._codes is None:
            there._table = device.up(self._table)
        return there

    def members(self, rows: slice) -> Members:
        """Return the groups of some rows as they are."""
        if self._codes is None:
            return Members(None, self._table[rows, :], self._device)
        return Members(self._codes[rows], None, self._device)

    def blocks(self, rows: slice, width: int) -> Iterator[tuple[slice, NDArray[np.intp] | None, Members]]:
        """Yield blocks of some rows, the order that puts those of one class side by side, and their groups in it."""
        for begin in range(rows.start, rows.stop, width):
            block = slice(begin, min(begin + width, rows.stop))
            if self._codes is None:
                yield block, None, self.members(block)
                continue
            codes = self._codes[block]
            order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
            yield block, order, Members(codes if order is None else codes[order], None, self._device)


class GroupedSamples(Samples):
    """Samples with their groups: what the passes of a :class:`Stream` are given."""

    def __init__(self, samples: Samples, groups: Groups) -> None:
        self.shape, self.dtype, self.in_order = samples.shape, samples.dtype, samples.in_order
        self.samples, self.groups, self.device = samples, groups, samples.device

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
        if not self.device.is_host:
            yield self.rows(rows), None, self.groups.members(rows)
            return
        for read, values in self.samples.blocks(rows):
            for block, order, members in self.groups.blocks(read, _ROWS):
                yield values[block.start - read.start : block.stop - read.start], order, members


Visit = Callable[[Sums, FloatArray, Members], FloatArray | None]
VisitRows = Callable[[Sums, FloatArray, FloatArray, Members], None]


@dataclass(frozen=True)
class _Pass:
    """The partial sums of a pass, over chunks of ``width`` samples; or with the rows, over blocks, without a width."""

    columns: FloatArray
    mean: FloatArray
    shapes: tuple[tuple[int, ...], ...]
    visit: Callable[..., FloatArray | None]
    width: int | None = None

    def __call__(self, samples: GroupedSamples, rows: slice) -> Sums:
        """Return the sums of some rows."""
        total = tuple(samples.device.zeros(*shape) for shape in self.shapes)
        add = self._add_block if self.width is None else self._add_chunks
        for here, order, members in samples.members(rows):
            add(total, here, order, members, samples.device)
        return total

    def _add_block(self, total: Sums, here: FloatArray, order: Any, members: Members, device: Device) -> None:
        centred = here - device.up(self.mean)
        centred = centred if order is None else centred[order]
        self.visit(total, device.up(self.columns.T) @ centred.T, centred, members)

    def _add_chunks(self, total: Sums, here: FloatArray, order: Any, members: Members, device: Device) -> None:
        moved = device.up(self.columns.T) @ here.T - device.up((self.mean @ self.columns)[:, None])
        moved, parts = moved if order is None else moved[:, order], []
        for chunk in chunks(here.shape[0], self.width or here.shape[0]):
            slopes = self.visit(total, contiguous(moved[:, chunk], moved.dtype), members.among(chunk))
            parts += [] if slopes is None else [slopes]
        if parts:
            gradients = device.xp.concat(parts, axis=1)
            if order is not None:
                gradients[:, order] = gradients.copy()
            total[0][...] += gradients @ here
            total[1][...] += device.xp.sum(gradients, axis=1)


def _add_scatter(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
    total[0][...] += rows.T @ rows


class Stream:
    """The samples x of a problem with their groups, and passes over them in chunks, by an ``engine``.

    Kernels of differences see them less their mean, which keeps digits; ``centred`` says whether that is so.
    """

    def __init__(self, samples: Samples, gamma: FactoredGamma, engine: Engine, *, centred: bool = True) -> None:
        self._centred = centred
        self.groups, self._device = Groups(gamma), samples.device
        if isinstance(samples, DeviceSamples):
            # In the order of their classes a large chunk has few runs.
            order = gamma.class_order
            self.samples = GroupedSamples(samples.ordered(order), self.groups.on(self._device, order))
        else:
            self.samples = GroupedSamples(samples, self.groups)
        self.report: Report | None = None
        self._engine = engine

    @cached_property
    def mean(self) -> FloatArray:
        """What passes take from the samples: their mean, or nothing."""
        if not self._centred:
            return np.zeros(self.samples.shape[1])
        sums = partial(power_sums, mean=np.zeros(self.samples.shape[1]))
        (total,) = self._run(sums, 1)
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
        width = min(_ROWS, max(_FEWEST, _ENTRIES // size)) if self._device.is_host else len(self.samples)
        return self._run(_Pass(columns, self.mean, tuple(shapes), visit, width), size)

    def with_rows(self, columns: FloatArray, shapes: Sequence[tuple[int, ...]], visit: VisitRows) -> Sums:
        """Return what ``visit(sums, V'(x - mean), x - mean, groups)`` adds, with large blocks for large products."""
        return self._run(_Pass(columns, self.mean, tuple(shapes), visit), max(map(max, shapes)))

    def _run(self, partial_sums: PartialSums, numbers: int) -> Sums:
        """Return the sums in numpy; on a device over chunks that suit these ``numbers`` of a sample."""
        (n_samples, d), device, parts = self.samples.shape, self._device, parts_of(len(self.samples))
        if not device.is_host:
            entries = _CPU_ENTRIES if "cpu" in str(device).lower() else _DEVICE_ENTRIES
            parts = list(row_chunks(n_samples, max(d, numbers), entries))
        return tuple(map(device.down, self._engine.run(self.samples, parts, partial_sums, self.report)))
