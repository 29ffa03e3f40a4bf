"""Any kernel of differences in one to three components, in time linear in n: splines on a grid, and convolutions there.

A function h of q-dimensional differences, smooth on the scale of the grid's step, is a tensor spline of u and v:

    h(|u - v|^2) ~ sum_ab phi_a(u) C_(a - b) phi_b(v),   phi_a(u) = prod_s B(u_s / step - a_s),

B the uniform B-spline of degree 7. The table C interpolates h on the grid: its Fourier transform is that of h there,
divided by that of B's values squared in each dimension. So for h = f, f' and f'' and Gamma = E Theta E'

    (Gamma * h) Q = sum over groups:  T_h = sum_j E_jh phi(u_j) q_j',  V = C Theta T,  row i: sum_g E_ig phi(u_i)' V_g

take 8^q products a sample and column, and a convolution by fast Fourier transform. F, gradients, Phi and Hessians are
sums of such products; each takes the values of f' and f'' themselves, not derivatives of splines. For a step t the
error falls with t^8. It is measured: on some of the samples, gradients by the grid are compared with those of all pairs
among them, and the step is made finer until they agree to the ``accuracy`` asked for.

Source: Wendland, "Scattered data approximation", 2005, and de Boor, "A practical guide to splines", 1978, for splines;
the fast summation is as in Nieslony, Potts, Steidl, "Rapid evaluation of radial functions by fast Fourier transforms at
nonequispaced knots", Numerische Mathematik 98, 2004, with splines in place of trigonometric windows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfftn, next_fast_len, rfftn
from scipy.sparse import csr_array

from kdrbench.errors import InputError
from kdrbench.evaluation.base import DifferenceSums, through_form
from kdrbench.evaluation.cost_model import GRID_ACCURACY, MOST_NODES
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.streams import Groups
from kdrbench.evaluation.weights import initial_surrogate, own_weights, weighted_gram
from kdrbench.kernels import terms_of
from kdrbench.kernels.combination import is_of_differences
from kdrbench.kernels.family import FloatArray, derivatives_at, form_of
from kdrbench.problems import TraceObjective
from kdrbench.samples.passes import chunks, run_pass

Function = Callable[[FloatArray], FloatArray]

_DEGREE = 7
# Nodes beyond the differences, where what the even continuation of h has in derivatives is filtered away.
_MARGIN = 64
# Entries of phi at a time, and those that are held between calls at one W.
_ENTRIES, _HELD_ENTRIES = 2**20, 2**24
# Samples on which the error is measured, cells of the first grid in its longest direction, and the next step's share.
_MEASURED, _FIRST_CELLS, _FINER = 600, 16, 0.7
# Columns whose products are held at once.
_COLUMNS = 16


class GridProblem(DifferenceSums["_Point"]):
    """Oracles of a :class:`TraceObjective` whose kernel is one function of differences, in few components.

    ``accuracy`` is the error of the gradient that is asked for, relative to it, measured on some of the samples; or the
    ``step`` of the grid is given, a distance. Grids of more than ``most_nodes`` do not suffice. Raises ``InputError``
    for other kernels.
    """

    def __init__(
        self,
        objective: TraceObjective,
        *,
        accuracy: float = GRID_ACCURACY,
        most_nodes: int = MOST_NODES,
        step: float | None = None,
        threads: int = 1,
    ) -> None:
        if not is_of_differences(objective.kernel):
            raise InputError(
                f"grids are for kernels that are one function of differences, not for {objective.kernel!r}"
            )
        gamma = objective.gamma
        super().__init__(objective.array, gamma.class_order)
        self._objective, self._threads, self._accuracy = objective, threads, accuracy
        self._step, self._near = step, step is not None
        self._most_nodes = most_nodes
        ordered = gamma if gamma.class_order is None else gamma.of(gamma.class_order)
        self._theta, self._table = Groups(gamma).theta, None if ordered.codes is not None else ordered.table
        self._own = own_weights(ordered) if gamma.zero_diagonal else np.zeros(gamma.n_samples)
        self._runs = [(0, slice(0, gamma.n_samples))]
        if ordered.codes is not None:
            cuts = [0, *(np.flatnonzero(np.diff(ordered.codes)) + 1).tolist(), gamma.n_samples]
            self._runs = [(int(ordered.codes[begin]), slice(begin, end)) for begin, end in pairwise(cuts)]

    def suffices_at(self, projection: FloatArray) -> bool:
        """Return whether a grid of few enough nodes is as near as was asked for on some of the samples."""
        return self._suffices(self._at(projection).grid)

    def _suffices(self, grid: Grid) -> bool:
        return grid.size <= self._most_nodes and (self._step is None or self._near)

    def refined_at(self, projection: FloatArray) -> bool:
        """Make the step finer where the error measured at W is above what was asked for; return whether it was."""
        if self._step is None or self._is_near(projection, self._exact(projection), self._step):
            return False
        self._step *= _FINER
        self._forget()
        return True

    def explain_last(self) -> str:
        """Say what the grid at the last W was."""
        return "" if self._held is None else f"{self._held[1].grid.size} splines"

    def _samples(self, projection: FloatArray) -> FloatArray:
        return self._at(projection).samples

    def _value(self, projection: FloatArray) -> float:
        ones = np.ones((len(self._own), 1))
        return float(self._products(projection, 0, ones).sum()) - self._on_diagonal()

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        (term, *others), samples = terms_of(self._objective.kernel), self._samples(projection)
        form = form_of(term.kernel)
        if others or form is None or form.ratio is None:
            return super()._value_and_gradient(projection)
        # f = (c + e beta) f'.
        degrees, sloped = self._sloped_with_degrees(projection, samples)
        value = form.ratio[0] * float(degrees.sum()) + form.ratio[1] * float(np.vdot(samples, sloped))
        return value - self._on_diagonal(), self._back(sloped)

    def _on_diagonal(self) -> float:
        """Return what a zero diagonal of Gamma takes from F."""
        return float(self._own.sum() * self._derivative(0)(np.zeros(1))[0])

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return self._sloped_with_degrees(projection, columns)[1]

    def _sloped_with_degrees(self, projection: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return G 1 and 2 (diag(G 1) - G) V; what Gamma has on its diagonal cancels in the second."""
        products = self._products(projection, 1, np.hstack([columns, np.ones((len(columns), 1))]))
        degrees = products[:, -1]
        return degrees, 2.0 * (degrees[:, None] * columns - products[:, :-1])

    def _curved(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return self._products(projection, 2, columns)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        """Return 2 (X' diag(G 1) X - X' G X) from the sums of phi with X."""
        point = self._at(projection)
        degrees = self._products(projection, 1, np.ones((len(self._own), 1)))[:, 0]
        sums = self._collected(point, self._rows_in_order, self.n_features)
        gram = weighted_gram(self._rows_in_order, degrees, self._threads, self.report)
        return 2.0 * (gram - self._quadratic_form(point, 1, sums))

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the form of :func:`.curvature_form` and 2 V' sloped(V), V = XB, block by block of samples."""
        point, (m, q) = self._at(projection), (basis.shape[1], projection.shape[1])
        mean = self._features.mean(axis=0) @ basis

        def columns_of(rows: slice) -> FloatArray:
            """Return V P (crossed), PP', P, V and 1."""
            moved, samples = self._rows_in_order(rows) @ basis - mean, point.samples[rows]
            crossed, squares = _crossed(moved, samples), _crossed(samples, samples)
            return np.hstack([crossed, squares, samples, moved, np.ones((len(moved), 1))])

        sums = self._collected(point, columns_of, m * q + q * q + q + m + 1)
        mixed = self._quadratic_form(point, 2, sums[:, :, : m * q]).reshape(m, q, m, q)
        slope_part = -self._quadratic_form(point, 1, sums[:, :, -m - 1 : -1])
        through = self._mixed(point, 2, sums[:, :, m * q :]), self._mixed(point, 1, sums[:, :, -1:])

        def visit(total: tuple[FloatArray, FloatArray], block: _Block) -> None:
            moved = self._rows_in_order(block.rows) @ basis - mean
            curved, degrees = (self._spread(point, block, part) for part in through)
            total[0][:] += through_form(moved, point.samples[block.rows], curved)
            total[1][:] += (moved * degrees).T @ moved

        def zero() -> tuple[FloatArray, FloatArray]:
            return np.zeros((m, q, m, q)), np.zeros((m, m))

        parts = run_pass(point.blocks, self._threads, zero, visit, self.report)
        form = 8.0 * (mixed + mixed.transpose(0, 3, 2, 1) + sum(part[0] for part in parts))
        slope_part += sum(part[1] for part in parts)
        for a in range(q):
            form[:, a, :, a] += 4.0 * slope_part
        flat = form.reshape(m * q, -1)
        return 0.5 * (flat + flat.T)

    def _initial_surrogate(self) -> FloatArray:
        return initial_surrogate(self._objective, self._threads, self.report)

    def _products(self, projection: FloatArray, order: int, columns: FloatArray) -> FloatArray:
        """Return (Gamma * f) Q for the derivative of f of this ``order``, the diagonal of Gamma kept."""
        point, result = self._at(projection), np.empty_like(columns)
        mixed = self._mixed(point, order, self._collected(point, columns.__getitem__, columns.shape[1]))

        def visit(total: None, block: _Block) -> None:
            result[block.rows] = self._spread(point, block, mixed)

        run_pass(point.blocks, self._threads, lambda: None, visit, self.report)
        return result

    def _collected(self, point: _Point, columns: Callable[[slice], FloatArray], width: int) -> FloatArray:
        """Return T_g = sum_i E_ig phi_i q_i' of columns Q, (groups) x (nodes) x ``width``."""
        number = len(self._theta)
        if not self._suffices(point.grid):
            raise InputError(
                f"no grid of {self._most_nodes} nodes has the error that is asked for: the kernel is narrow beside the "
                "range of the projected samples; choose evaluator 'auto', or a wider kernel"
            )

        def visit(total: FloatArray, block: _Block) -> None:
            features, here = point.features(block), columns(block.rows)
            if self._table is None:
                total[block.group] += features.T @ here
            else:
                lifted = _crossed(self._table[block.rows], here)
                total += (features.T @ lifted).reshape(-1, number, width).transpose(1, 0, 2)

        def zero() -> FloatArray:
            return np.zeros((number, point.grid.size, width))

        first, *others = run_pass(point.blocks, self._threads, zero, visit, self.report)
        for part in others:
            first += part
        return first

    def _mixed(self, point: _Point, order: int, sums: FloatArray) -> FloatArray:
        """Return C Theta T for the derivative of f of this order."""
        spectrum = point.spectrum(order, self._derivative(order))
        return np.stack([point.grid.convolved(spectrum, part) for part in np.tensordot(self._theta, sums, axes=1)])

    def _spread(self, point: _Point, block: _Block, mixed: FloatArray) -> FloatArray:
        """Return sum_g E_ig phi_i' V_g of the samples of a block."""
        features = point.features(block)
        if self._table is None:
            return np.asarray(features @ mixed[block.group])
        number, _, width = mixed.shape
        apart = features @ mixed.transpose(1, 0, 2).reshape(-1, number * width)
        return np.asarray(np.einsum("irc,ir->ic", apart.reshape(-1, number, width), self._table[block.rows]))

    def _quadratic_form(self, point: _Point, order: int, sums: FloatArray) -> FloatArray:
        """Return sum_gh Theta_gh T_g' C T_h, a few columns at a time."""
        spectrum, width = point.spectrum(order, self._derivative(order)), sums.shape[2]
        form = np.zeros((width, width))
        for part in chunks(width, _COLUMNS):
            mixed = np.tensordot(self._theta, sums[:, :, part], axes=1)
            for own, other in zip(sums, mixed, strict=True):
                form[:, part] += own.T @ point.grid.convolved(spectrum, other)
        return 0.5 * (form + form.T)

    def _derivative(self, order: int) -> Function:
        terms = terms_of(self._objective.kernel)

        def function(beta: FloatArray) -> FloatArray:
            parts = [term.weight * derivatives_at(term.kernel, beta.copy(), (order,))[0] for term in terms]
            return np.asarray(sum(parts))

        return function

    def _made_at(self, projection: FloatArray) -> _Point:
        samples = self._moved(projection)
        if not np.isfinite(samples).all():
            raise InputError("the projected samples are not finite: scale the features")
        # Squared distances are differences of squares.
        samples = samples - samples.mean(axis=0)
        if not samples.any():
            # At W = 0 any grid is exact, and none is chosen.
            return _Point(samples, Grid(samples, 1.0), self._runs)
        if self._step is None:
            self._step, self._near = self._chosen_step(samples, projection)
        return _Point(samples, Grid(samples, self._step), self._runs)

    def _chosen_step(self, samples: FloatArray, projection: FloatArray) -> tuple[float, bool]:
        """Return the largest step of a few with which the gradient of some samples is near, and whether it is."""
        step, exact = float(np.ptp(samples, axis=0).max()) / _FIRST_CELLS, self._exact(projection)
        while Grid(samples, step).size <= self._most_nodes:
            if self._is_near(projection, exact, step):
                return step, True
            step *= _FINER
        return step, False

    def _exact(self, projection: FloatArray) -> FloatArray:
        """Return the gradient of some of the samples from all their pairs."""
        return DenseProblem(self._measured).gradient(projection)

    def _is_near(self, projection: FloatArray, exact: FloatArray, step: float) -> bool:
        """Return whether the gradient of the same samples has the accuracy asked for with this step."""
        found = GridProblem(self._measured, step=step).gradient(projection)
        return bool(np.linalg.norm(found - exact) <= self._accuracy * np.linalg.norm(exact))

    @cached_property
    def _measured(self) -> TraceObjective:
        """The problem of the samples on which the error is measured."""
        return self._objective.of(self._objective.gamma.spread_out(_MEASURED))


def _crossed(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of all columns of two arrays, row by row."""
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))


class _Block(NamedTuple):
    """Some samples of one group."""

    number: int
    group: int
    rows: slice


class _Point:
    """P = XW, centred and group after group, with the splines there."""

    def __init__(self, samples: FloatArray, grid: Grid, runs: list[tuple[int, slice]]) -> None:
        self.samples, self.grid = samples, grid
        width = (_DEGREE + 1) ** samples.shape[1]
        self.blocks = list[_Block]()
        for group, run in runs:
            for part in chunks(run.stop - run.start, max(1, _ENTRIES // width)):
                rows = slice(run.start + part.start, run.start + part.stop)
                self.blocks.append(_Block(len(self.blocks), group, rows))
        self._keeps = len(samples) * width <= _HELD_ENTRIES
        self._kept: dict[int, csr_array] = {}
        self._spectra: dict[int, NDArray[np.complex128]] = {}

    def features(self, block: _Block) -> csr_array:
        """Return phi of the samples of a block; that of few samples is kept."""
        features = self._kept.get(block.number)
        if features is None:
            features = self.grid.features(self.samples[block.rows])
            if self._keeps:
                self._kept[block.number] = features
        return features

    def spectrum(self, order: int, function: Function) -> NDArray[np.complex128]:
        """Return the transform of the table of a derivative of f."""
        if order not in self._spectra:
            self._spectra[order] = self.grid.table(function)
        return self._spectra[order]


class Grid:
    """The splines of a grid with this ``step``, which covers ``samples`` (n x q)."""

    def __init__(self, samples: FloatArray, step: float) -> None:
        self.step, self._origin = step, samples.min(axis=0)
        cells = np.floor((samples.max(axis=0) - self._origin) / step).astype(int) + 1
        self.shape = tuple(int(number) + _DEGREE for number in cells)
        self._padded = tuple(next_fast_len(2 * number + _MARGIN, real=True) for number in self.shape)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return prod(self.shape)

    def features(self, samples: FloatArray) -> csr_array:
        """Return phi of ``samples``, n x (nodes)."""
        places = (samples - self._origin) / self.step
        cells = places.astype(np.int32)
        values, columns = np.ones((len(samples), 1)), np.zeros((len(samples), 1), dtype=np.int32)
        near = np.arange(_DEGREE + 1, dtype=np.int32)
        for axis, number in enumerate(self.shape):
            splines = spline_values(places[:, axis] - cells[:, axis])
            nodes = cells[:, [axis]] + near
            values = (values[:, :, None] * splines[:, None, :]).reshape(len(samples), -1)
            columns = (columns[:, :, None] * number + nodes[:, None, :]).reshape(len(samples), -1)
        starts = np.arange(len(samples) + 1, dtype=np.int32) * values.shape[1]
        return csr_array((values.ravel(), columns.ravel(), starts), shape=(len(samples), self.size))

    def table(self, function: Function) -> NDArray[np.complex128]:
        """Return the transform of C for the ``function`` h of squared differences."""
        squares, filters = np.zeros((1,) * len(self._padded)), np.ones((1,) * len(self._padded))
        for axis, number in enumerate(self._padded):
            along = [1] * len(self._padded)
            along[axis] = number
            steps = np.minimum(np.arange(number), number - np.arange(number)) * self.step
            splines = np.zeros(number)
            splines[: _DEGREE + 1] = spline_values(np.zeros(1))[0]
            squares = squares + (steps**2).reshape(along)
            filters = filters * (np.abs(np.fft.fft(splines)) ** 2).reshape(along)
        transform = rfftn(function(squares))
        return np.asarray(transform / filters[..., : transform.shape[-1]])

    def convolved(self, table: NDArray[np.complex128], sums: FloatArray) -> FloatArray:
        """Return C T along the first axis of ``sums`` (nodes x c)."""
        axes = tuple(range(1, 1 + len(self.shape)))
        laid_out = np.ascontiguousarray(sums.T).reshape(-1, *self.shape)
        transform = rfftn(laid_out, self._padded, axes=axes)
        transform *= table
        inner = (slice(None), *(slice(number) for number in self.shape))
        return np.ascontiguousarray(irfftn(transform, self._padded, axes=axes)[inner].reshape(sums.shape[1], -1).T)


def spline_values(places: FloatArray) -> FloatArray:
    """Return the 8 B-splines that are not zero at places t of a cell, 0 <= t < 1: n x 8.

    B_j^p(t) = ((t + p - j) B_(j-1)^(p-1)(t) + (1 + j - t) B_j^(p-1)(t)) / p (Cox and de Boor).
    """
    values = np.ones((len(places), 1))
    for degree in range(1, _DEGREE + 1):
        numbers = np.arange(degree + 1)
        left = np.pad(values, ((0, 0), (1, 0))) * (places[:, None] + (degree - numbers))
        right = np.pad(values, ((0, 0), (0, 1))) * (1.0 + numbers - places[:, None])
        values = (left + right) / degree
    return values
