"""Sums over pairs with Gamma as weight, in time linear in n, chunk by chunk of samples.

Gamma = U diag(w) U'. Where the rows of U take only k different values (labels: one a class), Gamma_ij is constant on
blocks of classes, Gamma_ij = Theta[c_i, c_j] with Theta k x k, and sums over samples become sums over classes. Where
they do not (embeddings), U has few columns and sums run over those. For B (n x m) and Q (n x c):

    applied(B, Q)   = (Gamma * BB') Q       n x c
    quadratic(B, Q) = Q' (Gamma * BB') Q    c x c

without an n x n array. The diagonal of Gamma is in here; who wants it zero subtracts ``diagonal`` terms. B and Q may be
arrays, or functions that make their rows when asked: then nothing of size n m is held. On a device, samples come class
after class, and chunks are as large as suits it.

Source: (Gamma * BB') = sum_r w_r diag(U_r) BB' diag(U_r), the row-wise Khatri-Rao rule for Hadamard products.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from kdrbench.arrays import Device, row_chunks
from kdrbench.kernels import Kernel, Pairing, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma, TraceObjective
from kdrbench.samples.passes import Report, chunks, run_pass

# Samples at a time at most.
_CHUNK = 512
# Rows of this number of entries, and their scaled copy, stay in a core's cache.
_CACHED_ENTRIES = 170_000
# Of fewer rows a product reads and writes its result more often than it is worth.
_FEWEST_ROWS = 128
Rows = FloatArray | Callable[[slice], FloatArray]
_ROUNDING = 1e-13


def rows_of(source: Rows, rows: slice) -> FloatArray:
    """Return some rows of an array, or of what makes them."""
    return source(rows) if callable(source) else source[rows, :]


def weighted_gram(columns: Rows, weights: FloatArray, threads: int = 1, report: Report | None = None) -> FloatArray:
    """Return X' diag(w) X, in numpy, each sign of w being half the work of a general product."""
    device = Device.of(first := rows_of(columns, slice(0, 1)))
    if not device.is_host:
        if isinstance(weights, np.ndarray) and not weights.any():
            return np.zeros((first.shape[1],) * 2)
        total = device.zeros(first.shape[1], first.shape[1])
        here = device.up(weights) if isinstance(weights, np.ndarray) else weights
        for rows in row_chunks(here.shape[0], first.shape[1]):
            part = device.wide(rows_of(columns, rows))
            total += (part * here[rows, None]).T @ part
        return device.down(total)
    upper = upper_gram(columns, weights, threads, report)
    return upper + np.triu(upper, 1).T


def upper_gram(columns: Rows, weights: FloatArray, threads: int = 1, report: Report | None = None) -> FloatArray:
    """Return the upper triangle of :func:`weighted_gram`, with zeros below it."""
    size = rows_of(columns, slice(0, 1)).shape[1]
    if not weights.any():
        return np.zeros((size, size))

    def visit(total: FloatArray, rows: slice) -> None:
        values, here = rows_of(columns, rows), weights[rows]
        for sign in (1.0, -1.0):
            # What is not a number is passed on.
            chosen = ~(sign * here <= 0)
            if chosen.any():
                part, scale = (values, here) if chosen.all() else (values[chosen], here[chosen])
                scaled = part * np.sqrt(sign * scale)[:, None].astype(values.dtype)
                if scaled.dtype == total.dtype:
                    # Added where it is: a sum in Fortran's order is not copied.
                    blas.dsyrk(sign, scaled.T, beta=1.0, c=total, overwrite_c=True)
                else:
                    total += blas.ssyrk(sign, scaled.T)

    rows_at_once = int(np.clip(_CACHED_ENTRIES // size, _FEWEST_ROWS, _CHUNK))
    rows_in_turn = chunks(len(weights), rows_at_once)
    return _added(run_pass(rows_in_turn, threads, lambda: np.zeros((size, size), order="F"), visit, report))


def _added(parts: list[FloatArray]) -> FloatArray:
    return np.asarray(np.sum(parts, axis=0)) if len(parts) > 1 else parts[0]


class GammaSums:
    """Gamma prepared for sums over its classes, or over its factors, of arrays of numpy or of a ``device``."""

    def __init__(self, gamma: FactoredGamma, threads: int = 1, device: Device | None = None) -> None:
        self._gamma, self._device = gamma, device or Device.of(gamma.table)
        self._threads = threads if self._device.is_host else 1
        self._n_samples, self._codes = gamma.n_samples, gamma.codes
        # Rows of U: all of them, or those of the classes.
        up = self._device.up
        self._table, self._weights = up(gamma.table.astype(float)), up(gamma.weights.astype(float))
        self._chunks = chunks(gamma.n_samples)
        # Of each chunk, once it was asked for.
        self._members: dict[tuple[int, int], list[tuple[int, slice | NDArray[np.intp]]]] = {}
        if gamma.codes is not None:
            self._blocks: FloatArray = up((gamma.table * gamma.weights) @ gamma.table.T)

    def applied(self, features: Rows, columns: Rows, report: Report | None = None) -> FloatArray:
        """Return (Gamma * BB') Q for ``features`` B and ``columns`` Q."""
        return self.spread(features, self.collected(features, columns, report), report)

    def collected(self, features: Rows, columns: Rows, report: Report | None = None) -> FloatArray:
        """Return T with which (Gamma * A B') Q is the spread of A and T, for B = ``features`` and any A like it."""
        sums = self._sums(features, columns, report)
        if self._codes is None:
            mixed: FloatArray = self._weights[:, None, None] * sums
        else:
            mixed = self._xp.tensordot(self._blocks, sums, axes=1)
        return mixed

    def spread(self, features: Rows, mixed: FloatArray, report: Report | None = None) -> FloatArray:
        """Return row i of ``features`` times the block of T = ``mixed`` that belongs to sample i, n x c."""
        result: FloatArray = self._device.zeros(self._n_samples, mixed.shape[2])

        def visit(total: None, rows: slice) -> None:
            result[rows, :] = self.spread_over(rows_of(features, rows), mixed, rows)

        run_pass(self.chunks_of(*mixed.shape[1:]), self._threads, lambda: None, visit, report)
        return result

    def spread_over(self, part: FloatArray, mixed: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of :meth:`spread`, a chunk of those here: ``part`` are theirs of B."""
        inner = self._cast(mixed, part)
        if self._codes is None:
            return self._spread_by_factors(part, inner, rows)
        shape = (part.shape[0], mixed.shape[2])
        out = np.empty(shape, part.dtype) if self._device.is_host else self._device.zeros(*shape)
        for number, members in self._classes(rows):
            out[members, :] = part[members, :] @ inner[number, :, :]
        return out

    def quadratic(self, features: Rows, columns: Rows, report: Report | None = None) -> FloatArray:
        """Return Q' (Gamma * BB') Q, symmetric, in numpy."""
        sums = self._sums(features, columns, report)
        if self._codes is not None:
            sums = self._xp.tensordot(self._table.T, sums, axes=1)
        # One product for all factors: sum_r w_r M_r'M_r with positive and negative weights apart.
        xp, device, weights = self._xp, self._device, self._gamma.weights
        sums = sums * device.up(np.sqrt(np.abs(weights).astype(float)))[:, None, None]
        result = device.zeros(sums.shape[2], sums.shape[2])
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(np.sign(weights) == sign)
            if len(chosen):
                part = sums if len(chosen) == len(weights) else xp.take(sums, device.up(chosen), axis=0)
                flat = xp.reshape(part, (-1, sums.shape[2]))
                result += sign * (flat.T @ flat)
        return device.down(result)

    def _sums(self, features: Rows, columns: Rows, report: Report | None) -> FloatArray:
        """Return S_c = B_c' Q_c of each class, or (U_r * B)' Q of each factor, (number) x m x c."""
        m, c = (rows_of(source, slice(0, 1)).shape[1] for source in (features, columns))
        number = self._table.shape[0 if self._codes is not None else 1]

        def visit(total: FloatArray, rows: slice) -> None:
            part = rows_of(features, rows)
            targets = self._cast(rows_of(columns, rows), part)
            if self._codes is None:
                total[:, :, :] += self._sums_by_factors(part, targets, rows)
                return
            for place, members in self._classes(rows):
                total[place, :, :] += part[members, :].T @ targets[members, :]

        parts = run_pass(self.chunks_of(m, c), self._threads, lambda: self._device.zeros(number, m, c), visit, report)
        return _added(parts)

    def _sums_by_factors(self, part: FloatArray, targets: FloatArray, rows: slice) -> FloatArray:
        """Return (U_r * B)' Q of some rows. Factors weigh the narrower of the two: the products are the same."""
        (m, c), xp = (part.shape[1], targets.shape[1]), self._xp
        if c < m:
            sums: FloatArray = xp.reshape(part.T @ self._lifted(targets, rows), (m, -1, c))
            sums = xp.permute_dims(sums, (1, 0, 2))
            return sums
        sums = xp.reshape(self._lifted(part, rows).T @ targets, (-1, m, c))
        return sums

    def _spread_by_factors(self, part: FloatArray, inner: FloatArray, rows: slice) -> FloatArray:
        """Return sum_r U_r * (B T_r) of some rows."""
        (_, m, c), xp = inner.shape, self._xp
        if c < m:
            flat = part @ xp.reshape(xp.permute_dims(inner, (1, 0, 2)), (m, -1))
            factor = self._cast(self._table[rows, :], part)
            spread: FloatArray = (factor[:, None, :] @ xp.reshape(flat, (part.shape[0], -1, c)))[:, 0, :]
            return spread
        spread = self._lifted(part, rows) @ xp.reshape(inner, (-1, c))
        return spread

    def _lifted(self, part: FloatArray, rows: slice) -> FloatArray:
        """Return the row-wise products of U and these columns, (rows) x (r m)."""
        factor = self._cast(self._table[rows, :], part)
        lifted: FloatArray = self._xp.reshape(factor[:, :, None] * part[:, None, :], (part.shape[0], -1))
        return lifted

    def _classes(self, rows: slice) -> list[tuple[int, slice | NDArray[np.intp]]]:
        """Return the classes of a chunk with the places of their samples in it."""
        key = rows.start, rows.stop
        if key not in self._members and self._codes is not None:
            codes = self._codes[rows]
            # Class after class, they need no order.
            in_order = len(np.flatnonzero(np.diff(codes))) + 1 == len(np.unique(codes))
            order = np.arange(len(codes)) if in_order else np.argsort(codes, kind="stable")
            bounds = [0, *(np.flatnonzero(np.diff(codes[order])) + 1).tolist(), len(codes)]
            self._members[key] = [
                (int(codes[order[begin]]), slice(begin, end) if in_order else order[begin:end])
                for begin, end in pairwise(bounds)
            ]
        return self._members[key]

    @property
    def _xp(self) -> Any:
        return self._device.xp

    def _cast(self, array: FloatArray, like: FloatArray) -> FloatArray:
        return array.astype(like.dtype, copy=False) if self._device.is_host else array

    def chunks_of(self, *widths: int) -> list[slice]:
        """Return chunks for arrays of these widths."""
        return self._chunks if self._device.is_host else list(row_chunks(self._n_samples, max(widths)))


def own_weights(gamma: FactoredGamma) -> FloatArray:
    """Return Gamma_ii, as if its diagonal were kept."""
    values = np.asarray((gamma.table**2) @ gamma.weights)
    return values if gamma.codes is None else values[gamma.codes]


def cleaned_degrees(gamma: FactoredGamma) -> FloatArray:
    """Return Gamma 1, its diagonal kept; zero where it is rounding, as for every centred Gamma."""
    sizes = np.ones(gamma.n_samples) if gamma.codes is None else gamma.class_sizes
    degrees = (gamma.table * gamma.weights) @ (sizes @ gamma.table)
    rounding = _ROUNDING * gamma.n_samples * np.abs(own_weights(gamma)).max()
    degrees = np.where(np.abs(degrees) > rounding, degrees, 0.0)
    return degrees if gamma.codes is None else degrees[gamma.codes]


def initial_slope(kernel: Kernel, zeros: FloatArray) -> FloatArray:
    """Return f' at beta = 0 (an array of ``zeros``), or its sign above 0 where that is zero."""
    slope = kernel.derivative(zeros)
    return slope if slope.any() else np.sign(kernel.derivative(zeros + 1.0))


def initial_surrogate(objective: TraceObjective, threads: int = 1, report: Report | None = None) -> FloatArray:
    """Return sum_i mu_i f_i'(0) X' Gamma X (dot) or 2 X' (diag(Gamma 1) - Gamma) X (difference), in double precision.

    That is Phi_0 in time linear in n: at beta = 0 a kernel's slope is one number, so the weights of pairs are Gamma's.
    Where f_i'(0) is zero, the sign of f_i' above 0 replaces it.
    """
    gamma, features = objective.gamma, objective.array
    device = Device.of(features)
    columns: Rows = features
    if not device.is_host:
        order = gamma.class_order
        there, gamma = (None, gamma) if order is None else (device.up(order), gamma.of(order))

        def columns(rows: slice) -> FloatArray:
            taken = features[rows, :] if there is None else device.xp.take(features, there[rows], axis=0)
            wide: FloatArray = device.wide(taken)
            return wide

    n_samples, sums = gamma.n_samples, GammaSums(gamma, threads, device)
    slopes = dict.fromkeys(Pairing, 0.0)
    for term in terms_of(objective.kernel):
        slopes[term.kernel.pairing] += term.weight * float(initial_slope(term.kernel, np.zeros((1, 1)))[0, 0])
    quadratic = sums.quadratic(device.zeros(n_samples, 1) + 1.0, columns, report)
    result: FloatArray = np.zeros_like(quadratic)
    if slopes[Pairing.DOT]:
        diagonal = own_weights(gamma) if gamma.zero_diagonal else np.zeros(n_samples)
        result += slopes[Pairing.DOT] * (quadratic - weighted_gram(columns, diagonal, threads, report))
    if slopes[Pairing.DIFFERENCE]:
        # What Gamma has on its diagonal cancels.
        gram = weighted_gram(columns, cleaned_degrees(gamma), threads, report)
        result += 2.0 * slopes[Pairing.DIFFERENCE] * (gram - quadratic)
    return result
