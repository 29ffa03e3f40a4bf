"""Blocks of pairs on a device: the kernel, Gamma and their sums there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdrbench.arrays import Device, DeviceArray, namespace_of
from kdrbench.evaluation.device.base import DeviceGamma
from kdrbench.evaluation.device.elementwise import arguments_of, derivatives_of
from kdrbench.kernels.family import Kernel


class Blocks:
    """Rows of blocks of all pairs of samples for one kernel."""

    def __init__(
        self, gamma: DeviceGamma, kernel: Kernel, sigmas: DeviceArray | None, samples: DeviceArray, dtype: Any
    ) -> None:
        self.gamma, self.kernel, self.dtype = gamma, kernel, dtype
        self.xp = namespace_of(samples)
        self.left, self.right, self.limits = arguments_of(kernel, samples, dtype)
        self.sigmas = None if sigmas is None else self.cast(sigmas)

    def cast(self, array: DeviceArray) -> DeviceArray:
        """Return the array in the precision of the blocks."""
        return self.xp.astype(array, self.dtype)

    def of(self, rows: slice, of_one_class: bool, size: int) -> Iterator[Block]:
        """Yield the blocks of a row, the one on the diagonal first, of about ``size`` pairs."""
        height, n_samples = rows.stop - rows.start, self.left.shape[0]
        begin, width = rows.start, max(size // height, height)
        while begin < n_samples:
            columns = slice(begin, min(begin + width, n_samples))
            yield Block(self, rows, columns, of_one_class)
            begin = columns.stop


class Block:
    """The samples ``rows`` against ``columns``; the first block of a row begins with its part on the diagonal."""

    def __init__(self, blocks: Blocks, rows: slice, columns: slice, of_one_class: bool) -> None:
        self._blocks, self.rows, self.columns = blocks, rows, columns
        self.height, self.on_diagonal = rows.stop - rows.start, columns.start == rows.start
        # Gamma, or one row of it that holds for all.
        self._one_class = of_one_class
        first = slice(rows.start, rows.start + 1)
        self._gamma = blocks.cast(blocks.gamma.block(first if of_one_class else rows, columns))

    def derivatives(self, orders: tuple[int, ...]) -> list[tuple[float, DeviceArray]]:
        """Return a number and an array for each order, zero on a diagonal that does not count."""
        held = self._blocks
        argument = held.left[self.rows, :] @ held.right[:, self.columns]
        if held.limits != (None, None):
            argument = held.xp.clip(argument, *held.limits)
        sigmas = None if held.sigmas is None else held.sigmas[self.rows, None] * held.sigmas[self.columns]
        found = derivatives_of(held.xp, held.kernel, argument, orders, sigmas)
        if self.on_diagonal and held.gamma.zero_diagonal:
            for _, array in found:
                self._make_hollow(array)
        return found

    def weighed(self, array: DeviceArray) -> DeviceArray:
        """Return Gamma * array, a new one."""
        return array * self._gamma

    def add(self, factor: float, array: DeviceArray, columns: DeviceArray, total: DeviceArray) -> None:
        """Add factor (Gamma * array) V to the rows of ``total``, and the transpose's to columns beyond the diagonal."""
        xp = self._blocks.xp
        # One row of Gamma weighs the sums instead of every pair.
        scale: DeviceArray = factor * self._gamma[0, :, None] if self._one_class else factor
        weights = array if self._one_class else self.weighed(array)
        total[self.rows, :] += xp.astype(weights @ (scale * columns[self.columns, :]), xp.float64)
        first = self.height if self.on_diagonal else 0
        beyond = slice(self.columns.start + first, self.columns.stop)
        if beyond.start < beyond.stop:
            across = weights[:, first:].T @ columns[self.rows, :]
            across = (scale[first:, :] if self._one_class else factor) * across
            total[beyond, :] += xp.astype(across, xp.float64)

    def _make_hollow(self, array: DeviceArray) -> None:
        xp, square = self._blocks.xp, array[:, : self.height]
        places = xp.eye(self.height, dtype=xp.int8, device=Device.of(array).place)
        array[:, : self.height] = xp.where(places == 1, xp.zeros_like(square), square)
