"""Two bases in which a Gaussian of few dimensions is a short sum of products, with what each of them leaves out.

With u = W'x / sigma the kernel is k(u, v) = exp(-|u - v|^2 / 2), and a basis phi of m functions approximates it by

    k_m(u, v) = phi(u)' M phi(v),   k - k_m positive semi-definite,   d phi / du_a = (D_a - u_a) phi,

D_a a constant matrix. So all derivatives are sums of the same phi.

| basis | phi(u) | M | D_a | suits |
|---|---|---|---|---|
| monomials of degree p | exp(-|u|^2 / 2) u^alpha, |alpha| <= p | 1 / alpha! | alpha to alpha - e_a | few dimensions |
| landmarks | k(u, l) for m points l | (K_ll + delta I)^-1 | l_a | more dimensions |

What is left is measured by two functions of a sample,

    rest(u)  = k(u, u) - k_m(u, u),
    slope(u) = sum_a d^2 (k - k_m)(u, v) / du_a dv_a  at v = u.

Monomials: the series of exp(u'v) gives rest = P(N > p) for N ~ Poisson(s), s = |u|^2, and differentiating its tail

    slope = q P(N >= p) + s (P(N = p - 1) - P(N = p)).

Landmarks: with M = N N' = (K_ll + delta I)^-1 for the points l,

    rest(u) = 1 - |N' phi(u)|^2,    slope(u) = q - sum_a |N' d phi / du_a|^2.

delta exceeds the error of the decomposition of K_ll, so that M <= K_ll^-1 in spite of rounding, and the rounding of
rest and slope is added to them.

Source: the Taylor series of exp(u'v) as in Cotter, Keshet, Srebro, "Explicit approximations of the Gaussian kernel",
arXiv 1109.4603, 2011; Williams, Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 2000; the closed
forms and the bounds are ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

from kdrbench.arrays import Device, applied, row_products, set_product
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray

_UNIT = float(np.finfo(np.float64).eps)


class Functions(ABC):
    """Functions phi of q dimensions; arrays of samples are q x c, of functions m x c, of coefficients g x m."""

    size: int
    n_dimensions: int
    # Whether u_a phi is taken away in d phi / du_a.
    damped = True

    @abstractmethod
    def pulled(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return D_a' v along the last axis."""

    def tables(self, coefficients: FloatArray, order: int) -> FloatArray:
        """Return v, then D_a' v, then D_a' D_b' v for a <= b up to ``order``: g x (terms) x m."""
        terms = [coefficients]
        if order:
            once = [self.pulled(coefficients, a) for a in range(self.n_dimensions)]
            terms += once
            if order > 1:
                terms += [self.pulled(once[a], b) for a, b in pairs_of(self.n_dimensions)]
        return np.stack(terms, axis=1)

    def slopes(self, mixed: FloatArray, samples: FloatArray) -> FloatArray:
        """Return d(v'phi)/du_a, q x c, from the values of :meth:`tables` of v at the samples."""
        once = mixed[1 : self.n_dimensions + 1, :]
        return once - samples * mixed[0, :] if self.damped else once

    def bends(self, mixed: FloatArray, samples: FloatArray) -> FloatArray:
        """Return d^2(v'phi)/du_a du_b for each of :func:`pairs_of`, in the memory of ``mixed``."""
        result = mixed[self.n_dimensions + 1 :, :]
        if self.damped:
            for number, (a, b) in enumerate(pairs_of(self.n_dimensions)):
                first, second = samples[a, :], samples[b, :]
                bend = result[number, :] - (first * mixed[1 + b, :] + second * mixed[1 + a, :])
                result[number, :] = bend + (first * second - float(a == b)) * mixed[0, :]
        return result

    def mixed(self, features: FloatArray, tables: FloatArray, weights: FloatArray) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i) for each table t: (terms) x c, with E = ``weights`` (c x g)."""
        (n_groups, n_terms, size), device = tables.shape, Device.of(features)
        products = device.up(tables.reshape(-1, size)) @ features
        products = device.xp.reshape(products, (n_groups, n_terms, features.shape[1]))
        if device.is_host:
            return np.asarray(np.einsum("gtc,cg->tc", products, weights))
        mixed: FloatArray = device.xp.sum(products * weights.T[:, None, :], axis=0)
        return mixed


def pairs_of(n_dimensions: int) -> list[tuple[int, int]]:
    """Return the pairs a <= b in the order of :meth:`Functions.tables`."""
    return [(a, b) for a in range(n_dimensions) for b in range(a, n_dimensions)]


def with_one(samples: FloatArray) -> FloatArray:
    """Return the columns (1, u) of samples, (1 + q) x c."""
    device = Device.of(samples)
    columns: FloatArray = device.xp.concat([device.zeros(1, samples.shape[1]) + 1.0, samples], axis=0)
    return columns


def squares_of(samples: FloatArray) -> FloatArray:
    """Return |u|^2 of each sample."""
    squares: FloatArray = row_products(samples.T, samples.T)
    return squares


class Monomials(Functions):
    """Damped monomials up to a degree p >= 0: m = C(q + p, p)."""

    def __init__(self, n_dimensions: int, degree: int) -> None:
        self.n_dimensions, self.degree = n_dimensions, degree
        self.size = comb(n_dimensions + degree, degree)
        self._exponents, self._steps = monomial_steps(n_dimensions, degree)
        self._scales: FloatArray = np.exp(-gammaln(self._exponents + 1.0).sum(axis=1))
        places = {tuple(exponent): place for place, exponent in enumerate(self._exponents.tolist())}
        lower = self._exponents[self._exponents.sum(axis=1) < degree]
        self._n_lower = len(lower)
        self._above = [
            np.array([places[tuple(exponent)] for exponent in (lower + unit).tolist()], dtype=np.intp)
            for unit in np.eye(n_dimensions, dtype=np.int64)
        ]

    def __str__(self) -> str:
        return f"{self.size} damped monomials of degree {self.degree}"

    def features(self, samples: FloatArray) -> FloatArray:
        """Return phi, m x c."""
        device = Device.of(samples)
        result: FloatArray = device.zeros(self.size, samples.shape[1])
        result[0, :] = device.xp.exp(-0.5 * squares_of(samples)) if self.damped else 1.0
        # All monomials of one degree whose last variable is the same come from one product.
        for made, source, axis in self._steps:
            set_product(result[made, :], result[source, :], samples[axis, :])
        return result

    def whitened(self, sums: FloatArray) -> FloatArray:
        """Return N' S along the last axis, where M = N N'."""
        return np.asarray(sums * np.sqrt(self._scales))

    def inverted(self, sums: FloatArray) -> FloatArray:
        """Return M S along the last axis."""
        return np.asarray(sums * self._scales)

    def shifted(self, sums: FloatArray, axis: int) -> FloatArray:
        """Return D_a S along the last axis."""
        result = np.zeros_like(sums)
        above = self._above[axis]
        result[..., above] = sums[..., : self._n_lower] * self._exponents[above, axis]
        return result

    def pulled(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return D_a' v along the last axis."""
        result = np.zeros_like(coefficients)
        above = self._above[axis]
        result[..., : self._n_lower] = coefficients[..., above] * self._exponents[above, axis]
        return result

    def left_out(self, samples: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rest and slope of each sample (see the module)."""
        # The standard has no incomplete gamma function: a number of each sample crosses.
        device, degree = Device.of(samples), self.degree
        squares = device.down(squares_of(samples))

        def at(count: int) -> FloatArray:
            """Return P(N = count)."""
            if count < 0:
                return np.zeros_like(squares)
            with np.errstate(divide="ignore"):
                logs = count * np.log(squares) if count else np.zeros_like(squares)
            return np.asarray(np.exp(logs - squares - gammaln(count + 1.0)))

        least = gammainc(float(degree), squares) if degree else np.ones_like(squares)
        slope = self.n_dimensions * least + squares * (at(degree - 1) - at(degree))
        # Terms of the size of the first cancel.
        slope = np.maximum(slope, 0.0) + 8.0 * _UNIT * (self.n_dimensions + squares) * least
        return device.up(gammainc(degree + 1.0, squares)), device.up(slope)

    def rest(self, samples: FloatArray) -> FloatArray:
        """Return the rest alone."""
        return np.asarray(gammainc(self.degree + 1.0, squares_of(samples)))


def monomial_steps(n_dimensions: int, degree: int) -> tuple[NDArray[np.int64], list[tuple[slice, slice, int]]]:
    """Return the exponents (m x q) by degree, and which rows are which others times a variable."""
    exponents = [np.zeros((1, n_dimensions), dtype=np.int64)]
    steps: list[tuple[slice, slice, int]] = []
    begin, ends, placed = 0, [1] * n_dimensions, 1
    for _ in range(degree):
        before, grown, following, first = exponents[-1], [], [], placed
        for axis in range(n_dimensions):
            # Those before that have no later variable.
            count = ends[axis]
            grown.append(before[:count] + np.eye(n_dimensions, dtype=np.int64)[axis])
            steps.append((slice(placed, placed + count), slice(begin, begin + count), axis))
            placed += count
            following.append(placed - first)
        exponents.append(np.concatenate(grown))
        begin, ends = first, following
    return np.concatenate(exponents), steps


class Landmarks(Functions):
    """Kernels at m points (m x q)."""

    def __init__(self, points: FloatArray) -> None:
        self._points = np.ascontiguousarray(points)
        self.size, self.n_dimensions = points.shape
        kernel = self.features(self._points.T)
        values, vectors = np.linalg.eigh(0.5 * (kernel + kernel.T))
        self.shift = self.size * _UNIT * max(float(values[-1]), 1.0)
        self._roots: FloatArray = (np.maximum(values, 0.0) + self.shift) ** -0.5
        self._whitening = vectors * self._roots

    def __str__(self) -> str:
        return f"{self.size} landmarks"

    @staticmethod
    def kernel(points: FloatArray, samples: FloatArray) -> FloatArray:
        """Return k of points (m x q) and samples (q x c), m x c."""
        # Squares come from the same product.
        left = np.column_stack([points, -0.5 * squares_of(points.T), np.ones(len(points))])
        device, squares = Device.of(samples), -0.5 * squares_of(samples)[None, :]
        right = device.xp.concat([samples, device.xp.ones_like(squares), squares], axis=0)
        kernel: FloatArray = applied(device.xp.exp, device.up(left) @ right)
        return kernel

    def features(self, samples: FloatArray) -> FloatArray:
        """Return phi, m x c."""
        return self.kernel(self._points, samples)

    def whitened(self, sums: FloatArray) -> FloatArray:
        """Return N' S along the last axis."""
        return np.asarray(sums @ self._whitening)

    def inverted(self, sums: FloatArray) -> FloatArray:
        """Return M S along the last axis."""
        return np.asarray((sums @ self._whitening) @ self._whitening.T)

    def shifted(self, sums: FloatArray, axis: int) -> FloatArray:
        """Return D_a S along the last axis."""
        return np.asarray(sums * self._points[:, axis])

    def pulled(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return D_a' v along the last axis."""
        return self.shifted(coefficients, axis)

    def mixed(self, features: FloatArray, tables: FloatArray, weights: FloatArray) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i) for each table t: (terms) x c."""
        n_terms = tables.shape[1]
        if len(tables) == 1:
            return super().mixed(features, tables, weights)
        # D_a is diagonal: the groups are mixed before the tables are applied.
        up = Device.of(features).up
        own: FloatArray = up(tables[:, 0].T) @ weights.T
        own *= features
        rows = [np.ones(self.size), *self._points.T]
        rows += [self._points[:, a] * self._points[:, b] for a, b in pairs_of(self.n_dimensions)]
        mixed: FloatArray = up(np.array(rows[:n_terms])) @ own
        return mixed

    def left_out(self, samples: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rest and slope of each sample (see the module)."""
        device, features = Device.of(samples), self.features(samples)
        xp, held = device.xp, device.up(self._whitening.T) @ features
        rest = 1.0 - squares_of(held)
        slope = device.zeros(samples.shape[1]) + float(self.n_dimensions)
        # Each entry of N' phi is rounded by at most so much, and so is what is summed of it.
        rounding = (self.size + 2) * _UNIT * np.sqrt(self.size) * self._roots
        least, rounding = float(rounding @ rounding), device.up(rounding)
        rest = xp.clip(rest, 0.0, None) + 2.0 * (rounding @ xp.abs(held)) + least
        for a in range(self.n_dimensions):
            turned = device.up((self._whitening * self._points[:, [a]]).T) @ features - samples[a, :] * held
            reach = float(np.abs(self._points[:, a]).max()) + xp.abs(samples[a, :])
            rounded = 2.0 * (rounding @ xp.abs(turned)) + reach * least
            slope -= squares_of(turned)
            slope += reach * rounded
        return rest, xp.clip(slope, 0.0, None)

    def rest(self, samples: FloatArray) -> FloatArray:
        """Return the rest alone."""
        held = self._whitening.T @ self.features(samples)
        return np.asarray(np.maximum(1.0 - np.einsum("mc,mc->c", held, held), 0.0))


class Powers(Monomials):
    """The monomials of (s u'v + c)^p, times a factor; not damped: d phi / du_a = D_a phi.

    By the multinomial theorem M is diagonal, so that BB' = (s u_i'u_j + c)^p for B = phi' M^1/2.
    """

    damped = False

    def __init__(self, n_dimensions: int, kernel: Polynomial, degree: int, factor: float) -> None:
        super().__init__(n_dimensions, degree)
        powers = self._exponents.sum(axis=1)
        # The series of exp(u'v) has 1 / a! here.
        falling = np.array([float(comb(degree, k)) for k in range(degree + 1)])
        orders = np.cumprod([1.0, *range(1, degree + 1)])
        scales = falling * orders * kernel.scale ** np.arange(degree + 1.0)
        self._scales = (
            factor * (scales * np.power(kernel.offset, degree - np.arange(degree + 1.0)))[powers] * self._scales
        )

    def factor(self, samples: FloatArray) -> FloatArray:
        """Return B (n x m) of ``samples`` (n x q), which may be on a device."""
        return self._weighed(self.features(_contiguous_rows(samples)))

    def factor_change(self, samples: FloatArray, moved: FloatArray) -> FloatArray:
        """Return the derivative of B along the change ``moved`` (n x q) of the samples."""
        rows, turns = _contiguous_rows(samples), _contiguous_rows(moved)
        features = self.features(rows)
        changes = Device.of(samples).zeros(*features.shape)
        for made, source, axis in self._steps:
            set_product(changes[made, :], changes[source, :], rows[axis, :])
            changes[made, :] += features[source, :] * turns[axis, :]
        return self._weighed(changes)

    def _weighed(self, features: FloatArray) -> FloatArray:
        features *= Device.of(features).up(np.sqrt(self._scales)[:, None])
        # The transpose costs nothing.
        columns: FloatArray = features.T
        return columns


Basis = Monomials | Landmarks


@cache
def powers(n_dimensions: int, kernel: Polynomial, degree: int) -> Powers:
    """Return the monomials of (s u'v + c)^p for p = ``degree``, with s and c those of the kernel."""
    return Powers(n_dimensions, kernel, degree, 1.0)


def _contiguous_rows(samples: FloatArray) -> FloatArray:
    return np.ascontiguousarray(samples.T) if isinstance(samples, np.ndarray) else samples.T
