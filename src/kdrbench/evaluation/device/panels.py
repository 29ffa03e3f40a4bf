"""All pairs on a device, for any kernel, in blocks of its array library: no n x n array is ever made.

The sums are those of :mod:`kdrbench.evaluation.panels`: rows of blocks, each of one class where classes are large, over
the upper triangle of pairs. A block is as large as suits the device, and takes a few arrays of that size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from kdrbench.arrays import DeviceArray, namespace_of
from kdrbench.evaluation.arguments import value_per_slope
from kdrbench.evaluation.curvature_form import curvature_form
from kdrbench.evaluation.device.base import DeviceEvaluator, joined
from kdrbench.evaluation.device.blocks import Blocks
from kdrbench.evaluation.passes import run_pass
from kdrbench.kernels import Combination, Pairing, RelativeGaussian, Term, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

# Samples on a side of a block: of the caches of a processor, and enough work for one with thousands of cores.
_CPU_SIDE, _SIDE = 512, 4096
Products = dict[int, DeviceArray]


class DevicePanels(DeviceEvaluator):
    """Oracles of a :class:`TraceObjective` whose features are on a device; with ``single_precision`` blocks in float32.

    ``side`` is the number of samples on a side of a block, where it is not to be chosen.
    """

    def __init__(self, objective: TraceObjective, *, single_precision: bool = False, side: int | None = None) -> None:
        super().__init__(objective)
        xp = self._device.xp
        self._side = side or (_CPU_SIDE if "cpu" in str(self._device).lower() else _SIDE)
        self._dtype = xp.float32 if single_precision else xp.float64
        self._terms = terms_of(objective.kernel)
        self._sigmas = {
            id(term.kernel): self._in_order(term.kernel.sigmas)
            for term in self._terms
            if isinstance(term.kernel, RelativeGaussian)
        }

    def _value(self, projection: FloatArray) -> float:
        samples = self._samples(projection)
        return sum(float(self._device.xp.sum(self._summed(term, samples, {0: None})[0])) for term in self._terms)

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        given, xp = self._samples(projection), self._device.xp
        value, through = 0.0, xp.zeros_like(given)
        for term in self._terms:
            pairing, ratio = term.kernel.pairing, value_per_slope(term.kernel)
            # Sums of squared distances cancel.
            samples = given - xp.mean(given, axis=0) if pairing is Pairing.DIFFERENCE else given
            products = self._summed(term, samples, {1: samples} if ratio else {0: None, 1: samples})
            part = _combined(pairing, products[1], samples)
            if ratio:
                value += ratio[0] * float(xp.sum(products[1][:, -1])) + ratio[1] * float(xp.sum(samples * part))
            else:
                value += float(xp.sum(products[0][:, -1]))
            through += part
        return value, self._back(through)

    def _sloped(self, projection: FloatArray, columns: DeviceArray) -> DeviceArray:
        samples = self._samples(projection)
        total = self._device.xp.zeros_like(columns)
        for term in self._terms:
            total += _combined(term.kernel.pairing, self._summed(term, samples, {1: columns})[1], columns)
        return total

    def _turned(self, projection: FloatArray, moved: DeviceArray) -> DeviceArray:
        return self._turned_together(projection, [moved])[0]

    def _turned_together(self, projection: FloatArray, moved: list[DeviceArray]) -> list[DeviceArray]:
        """Return the derivative of sloped(P) along each tangent: the kernel is evaluated once for all of them."""
        samples, columns = self._samples(projection), joined(self._device, moved)
        q, total = samples.shape[1], self._device.xp.zeros_like(columns)
        for term in self._terms:
            pairing = term.kernel.pairing
            changes = [_changes(pairing, samples, one) for one in moved]
            products = self._summed(term, samples, {1: columns, 2: samples}, changes)
            total += _combined(pairing, products[1], columns)
            for place in range(len(moved)):
                total[:, place * q : (place + 1) * q] += _combined(pairing, products[2 + place], samples)
        return [total[:, place * q : (place + 1) * q] for place in range(len(moved))]

    def _curvature_form(self, projection: FloatArray, moved: DeviceArray) -> FloatArray:
        samples = self._samples(projection)
        m, q = moved.shape[1], samples.shape[1]
        form = self._device.zeros(m, q, m, q)
        for term in self._terms:

            def weighted(columns: DeviceArray, term: Term = term) -> DeviceArray:
                return self._summed(term, samples, {2: columns})[2][:, :-1]

            form += curvature_form(term.kernel.pairing, weighted, moved, samples)
        return self._device.down(form)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        return sum((self._form(term, samples) for term in self._terms[1:]), self._form(self._terms[0], samples))

    def _initial_surrogate(self) -> FloatArray:
        relative = [term for term in self._terms if isinstance(term.kernel, RelativeGaussian)]
        others = tuple(term for term in self._terms if term not in relative)
        # Slopes at beta = 0 that differ from pair to pair are those of samples that coincide.
        forms = [self._form(term, self._device.zeros(self._features.shape[0], 1)) for term in relative]
        if others:
            forms.append(self._from_class_sums(replace(self._objective, kernel=Combination(others))))
        return sum(forms[1:], forms[0])

    def _summed(
        self,
        term: Term,
        samples: DeviceArray,
        targets: dict[int, DeviceArray | None],
        changes: Sequence[tuple[DeviceArray, DeviceArray]] = (),
    ) -> Products:
        """Return (Gamma * f) (V, 1) for derivatives f of these orders with columns V; ``None`` are no columns.

        ``changes`` are pairs L, R with whose product f'' is multiplied; their sums are numbered 2, 3 and so on.
        """
        n_samples = self._features.shape[0]
        ones = self._device.ones(n_samples, 1)
        columns = {
            order: self._cast(ones if given is None else joined(self._device, [given, ones]))
            for order, given in targets.items()
        }
        factors = [(self._cast(left), self._cast(right)) for left, right in changes]
        numbers = [*(order for order in targets if order < 2 or not factors), *range(2, 2 + len(factors))]
        total = {number: self._device.zeros(n_samples, columns[min(number, 2)].shape[1]) for number in numbers}
        blocks = self._blocks(term, samples)

        def visit(total: Products, part: tuple[slice, bool]) -> None:
            for block in blocks.of(*part, self._side**2):
                for order, (factor, array) in zip(targets, block.derivatives(tuple(targets)), strict=True):
                    factor *= term.weight
                    if order < 2 or not factors:
                        block.add(factor, array, columns[order], total[order])
                        continue
                    for number, (left, right) in enumerate(factors, 2):
                        change = left[block.rows, :] @ right[:, block.columns]
                        block.add(factor, change * array, columns[order], total[number])

        run_pass(self._cut(), 1, lambda: total, visit, self.report)
        return total

    def _form(self, term: Term, samples: DeviceArray) -> FloatArray:
        """Return X' G X (dot) or 2 X' (diag(G 1) - G) X (difference), G = Gamma * f'(beta), from half of the pairs."""
        d, xp = self.n_features, self._device.xp
        form, degrees = self._device.zeros(d, d), self._device.zeros(self._features.shape[0], 1)
        ones = self._cast(self._device.ones(self._features.shape[0], 1))
        blocks = self._blocks(term, samples)
        # The block's columns of X are held as well.
        size = min(self._side**2, max(self._side**3 // d, self._side))

        def visit(total: None, part: tuple[slice, bool]) -> None:
            rows, through = part[0], 0.0
            for block in blocks.of(*part, size):
                ((factor, array),) = block.derivatives((1,))
                block.add(factor * term.weight, array, ones, degrees)
                weights = block.weighed(array)
                if block.on_diagonal:
                    weights[:, : block.height] *= 0.5
                added = xp.astype(weights @ self._cast(self._rows(block.columns)), xp.float64)
                through = through + (factor * term.weight) * added
            form[:, :] += self._rows(rows).T @ through

        run_pass(self._cut(), 1, lambda: None, visit, self.report)
        whole = self._device.down(form + form.T)
        if term.kernel.pairing is Pairing.DOT:
            return whole
        return 2.0 * (self._gram(degrees[:, 0]) - whole)

    def _blocks(self, term: Term, samples: DeviceArray) -> Blocks:
        return Blocks(self._gamma, term.kernel, self._sigmas.get(id(term.kernel)), samples, self._dtype)

    def _cast(self, array: DeviceArray) -> DeviceArray:
        return self._device.xp.astype(array, self._dtype)

    def _cut(self) -> list[tuple[slice, bool]]:
        """Return the samples of each row of blocks, and whether they are of one class."""
        parts = []
        for begin, end, of_one_class in self._gamma.runs:
            count = -(-(end - begin) // self._side)
            bounds = [begin + (end - begin) * number // count for number in range(count + 1)]
            parts += [(slice(first, last), of_one_class) for first, last in pairwise(bounds)]
        return parts


def _changes(pairing: Pairing, samples: DeviceArray, moved: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """Return L and R with LR = dbeta[Z], for P = XW and R = XZ."""
    xp = namespace_of(samples)
    if pairing is Pairing.DOT:
        return xp.concat([samples, moved], axis=1), xp.concat([moved, samples], axis=1).T
    samples, moved = samples - xp.mean(samples, axis=0), moved - xp.mean(moved, axis=0)
    own = 2.0 * xp.sum(samples * moved, axis=1)[:, None]
    ones = xp.ones_like(own)
    left = xp.concat([-2.0 * samples, -2.0 * moved, own, ones], axis=1)
    return left, xp.concat([moved, samples, ones, own], axis=1).T


def _combined(pairing: Pairing, products: DeviceArray, columns: DeviceArray) -> DeviceArray:
    """Return G V, or 2 (diag(G 1) - G) V for the difference pairing."""
    if pairing is Pairing.DOT:
        return products[:, :-1]
    return 2.0 * (products[:, -1:] * columns - products[:, :-1])
