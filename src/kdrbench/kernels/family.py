"""Kernels K_ij = f(beta_ij) with beta_ij = a' W W' b.

The pairing says what a and b are: the two samples themselves (``DOT``: a = x_i, b = x_j) or their difference
(``DIFFERENCE``: a = b = x_i - x_j, so that beta is a squared distance). Surrogate matrices follow from f, its first two
derivatives and the pairing alone.

Source: Wu, Miller, Chang, Sznaier, Dy, "Solving Interpretable Kernel Dimensionality Reduction", NeurIPS 2019,
Definition 1 and Table 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from math import perm
from typing import Annotated, ClassVar, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kdrbench.arrays import applied, is_device_array, multiply, namespace_of, row_products
from kdrbench.errors import InputError
from kdrbench.parameters import NOT_NEGATIVE, POSITIVE, Interval, check_parameters, check_value, whole

FloatArray = NDArray[np.float64]
Rows = slice | NDArray[np.intp]
# Components up to which distances of projected samples shrink as those of samples that vary alike in all directions.
_FEW_COMPONENTS = 4


def check_finite(distance: float) -> None:
    """Raise ``InputError`` for a distance that is infinite or no number."""
    if not np.isfinite(distance):
        raise InputError("distances of these samples are not finite, for their squares overflow; scale the features")


class Pairing(StrEnum):
    """How two samples enter beta."""

    DOT = "dot"
    DIFFERENCE = "difference"


def pairing_values(pairing: Pairing, samples: FloatArray) -> FloatArray:
    """Return beta for all pairs of rows of ``samples`` (n x q): their dot products, or squared distances."""
    return pairing_block(pairing, samples, samples)


def pairing_block(pairing: Pairing, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return beta for the rows of ``left`` (m x q) against those of ``right`` (n x q), m x n.

    Of one array with itself no sample has a distance from itself, not even by rounding.
    """
    beta: FloatArray = left @ right.T
    if pairing is Pairing.DIFFERENCE:
        squares = np.diagonal(beta).copy() if right is left else row_products(left, left)
        beta *= -2.0
        beta += squares[:, None]
        beta += squares if right is left else row_products(right, right)
        # Rounding may leave distances of coinciding samples a little below zero.
        np.maximum(beta, 0.0, out=beta)
    return beta


class Kernel(Protocol):
    """A member of the ISM family; ``beta`` and all results are arrays of one shape, the results new ones."""

    @property
    def pairing(self) -> Pairing:
        """What beta is made of."""

    def value(self, beta: FloatArray) -> FloatArray:
        """Return f(beta)."""

    def derivative(self, beta: FloatArray) -> FloatArray:
        """Return f'(beta)."""

    def second_derivative(self, beta: FloatArray) -> FloatArray:
        """Return f''(beta)."""


Derivatives = Iterator[tuple[float, FloatArray]]


class Form(NamedTuple):
    """f as a function of an argument a = ``scale`` beta + ``offset``, whose derivatives share what costs most.

    ``derivatives(a, orders, spare, compiled)`` yields a number and an array for each of consecutive ``orders``: their
    product is that derivative of f(beta). An array holds until the next one is asked for, and may take the memory of a,
    or of ``spare`` where that is given; it holds for longer where arrays are ``apart``. ``compiled`` asks for machine
    code (:mod:`.compiled`), for a that has been clipped. ``ratio`` is (c, e) with f = (c + e beta) f', if there are
    such numbers.
    """

    scale: float
    offset: float
    ratio: tuple[float, float] | None
    derivatives: Callable[..., Derivatives]
    apart: bool = False


class _OfForm(ABC):
    """A kernel with a :class:`Form`, from which all else follows."""

    @cached_property
    @abstractmethod
    def form(self) -> Form:
        """The function f and its derivatives."""

    def value(self, beta: FloatArray) -> FloatArray:
        """Return f(beta)."""
        return self.at(beta, (0,))[0]

    def derivative(self, beta: FloatArray) -> FloatArray:
        """Return f'(beta)."""
        return self.at(beta, (1,))[0]

    def second_derivative(self, beta: FloatArray) -> FloatArray:
        """Return f''(beta)."""
        return self.at(beta, (2,))[0]

    def at(self, beta: FloatArray, orders: tuple[int, ...]) -> list[FloatArray]:
        """Return the derivatives of consecutive ``orders`` at beta, with what they share computed once."""
        form = self.form
        argument: FloatArray = form.scale * beta
        if form.offset:
            argument += form.offset
        derivatives = form.derivatives(argument, orders, None)
        # The last array may be changed.
        before = islice(derivatives, len(orders) - 1)
        found = [array if form.apart and factor == 1.0 else factor * array for factor, array in before]
        factor, last = next(derivatives)
        if factor != 1.0:
            last *= factor
        return [*found, last]


def _line(
    sign: float, argument: FloatArray, orders: tuple[int, ...], spare: FloatArray | None, compiled: bool = False
) -> Derivatives:
    xp = namespace_of(argument)
    for order in orders:
        yield sign, (lambda beta: beta, xp.ones_like, xp.zeros_like)[order](argument)


def _exponential(
    rate: float, argument: FloatArray, orders: tuple[int, ...], spare: FloatArray | None, compiled: bool = False
) -> Derivatives:
    values = _compiled("exponential", argument) if compiled else _normal_exponential(argument)
    for order in orders:
        yield rate**order, values


def _negative_root(
    argument: FloatArray, orders: tuple[int, ...], spare: FloatArray | None, compiled: bool = False
) -> Derivatives:
    if compiled and 0 not in orders:
        inverse = _compiled("inverse_root", argument)
    else:
        root = applied(namespace_of(argument).sqrt, argument)
        if 0 in orders:
            yield -1.0, root
        if orders == (0,):
            return
        inverse = 1.0 / root if is_device_array(root) else np.reciprocal(root, out=root)
    if 1 in orders:
        yield -0.5, inverse
    if 2 in orders:
        cubes = multiply(inverse, inverse, spare)
        cubes *= inverse
        yield 0.25, cubes


def _power(
    degree: int,
    factors: list[float],
    argument: FloatArray,
    orders: tuple[int, ...],
    spare: FloatArray | None,
    compiled: bool = False,
) -> Derivatives:
    last = orders[-1]
    lower = _raised(argument, max(degree - last, 0), spare)
    if len(orders) > 1:
        # In the memory of the argument where neither is needed again.
        kept = spare if lower is argument or is_device_array(argument) else argument
        yield factors[last - 1], multiply(argument, lower, kept) if degree >= last else lower
    yield factors[last], lower


def _raised(base: FloatArray, exponent: int, spare: FloatArray | None) -> FloatArray:
    if exponent < 2:
        first: FloatArray = base if exponent else namespace_of(base).ones_like(base)
        return first
    # Repeated products: numpy's ** with a small integer exponent is some thirty times slower.
    power: FloatArray = multiply(base, base, spare)
    for _ in range(exponent - 2):
        power *= base
    return power


def _normal_exponential(argument: FloatArray) -> FloatArray:
    """Return exp(a), or 0 where that would be subnormal: such numbers make what uses them ten times as slow."""
    if is_device_array(argument) or not argument.min(initial=0.0) < least_exponent(argument.dtype):
        return applied(namespace_of(argument).exp, argument)
    is_normal = argument >= (least := least_exponent(argument.dtype))
    applied(np.exp, np.maximum(argument, least, out=argument))
    return np.multiply(argument, is_normal, out=argument)


def least_exponent(dtype: DTypeLike) -> float:
    """Return the least a of which exp(a) is a normal number of this type."""
    return float(np.log(np.finfo(dtype).tiny))


def _compiled(name: str, argument: FloatArray) -> FloatArray:
    """Return a function of the argument, in its memory, by machine code."""
    from kdrbench.kernels import compiled

    getattr(compiled, name)(argument)
    return argument


class _ConstantSlope(_OfForm):
    """f(beta) = s beta for a sign s."""

    _sign: ClassVar[float]

    @cached_property
    def form(self) -> Form:
        """The line s beta."""
        return Form(1.0, 0.0, (0.0, 1.0), partial(_line, self._sign))


@dataclass(frozen=True)
class Linear(_ConstantSlope):
    """f(beta) = beta over the dot pairing: K = X W W' X'."""

    pairing: ClassVar[Pairing] = Pairing.DOT
    _sign: ClassVar[float] = 1.0


@dataclass(frozen=True)
class Squared(_ConstantSlope):
    """f(beta) = -beta over the difference pairing: K_ij = -|W'x_i - W'x_j|^2.

    The sign makes the kernel conditionally positive definite. The papers' definition table prints it without the minus;
    maximising that form pulls the samples of a class apart, and the authors' code uses the form given here.
    """

    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE
    _sign: ClassVar[float] = -1.0


@dataclass(frozen=True)
class Multiquadric(_OfForm):
    """f(beta) = -sqrt(beta + offset^2) over the difference pairing; offset > 0 is a distance.

    The sign makes it conditionally positive definite; the papers' definition table leaves it out (:class:`Squared`).

    Raises ``InputError`` unless offset is finite and positive: at 0 the kernel has no derivative at beta = 0.
    """

    offset: Annotated[float, POSITIVE] = 1.0
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def __post_init__(self) -> None:
        check_parameters(self, "multiquadric")

    @cached_property
    def form(self) -> Form:
        """The root -sqrt(beta + offset^2), which is 2 (beta + offset^2) times its derivative."""
        square = float(self.offset) ** 2
        return Form(1.0, square, (2.0 * square, 2.0), _negative_root)


@dataclass(frozen=True)
class Polynomial(_OfForm):
    """f(beta) = (scale * beta + offset)^degree over the dot pairing.

    Raises ``InputError`` unless degree is an integer from 1 to 1000, offset >= 0 and scale > 0 (both finite).
    """

    degree: Annotated[int, whole(1, 1000)] = 3
    offset: Annotated[float, NOT_NEGATIVE] = 1.0
    scale: Annotated[float, POSITIVE] = 1.0
    pairing: ClassVar[Pairing] = Pairing.DOT

    def __post_init__(self) -> None:
        check_parameters(self, "polynomial")

    @cached_property
    def form(self) -> Form:
        """The power (scale beta + offset)^degree: (scale beta + offset) / (degree scale) times its derivative."""
        scale, offset = float(self.scale), float(self.offset)
        ratio = (offset / (self.degree * scale), 1.0 / self.degree)
        factors = [perm(self.degree, order) * scale**order for order in range(3)]
        return Form(scale, offset, ratio, partial(_power, self.degree, factors), apart=True)


@dataclass(frozen=True)
class Gaussian(_OfForm):
    """f(beta) = exp(-beta / (2 sigma^2)) over the difference pairing; sigma > 0 is a distance.

    Raises ``InputError`` unless sigma is positive and its fourth power, in f'', neither overflows nor vanishes.
    """

    sigma: Annotated[float, POSITIVE]
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def __post_init__(self) -> None:
        check_parameters(self, "Gaussian")
        check_value("Gaussian sigma, in the unit of the features,", self.sigma, Interval(1e-75, 1e75))

    @cached_property
    def form(self) -> Form:
        """The function exp(-beta / (2 sigma^2)), which is -2 sigma^2 times its derivative."""
        rate = -0.5 / float(self.sigma) ** 2
        return Form(rate, 0.0, (1.0 / rate, 0.0), partial(_exponential, rate))


@dataclass(frozen=True)
class EstimatedGaussian(Gaussian):
    """A Gaussian whose sigma is an estimate with this standard error, a distance."""

    standard_error: float = 0.0


def projected_share(features: FloatArray, n_components: int) -> float:
    """Return sqrt(q/d) max(1, sqrt(q/4)), at most 1: the bandwidth for X W as a share of that for X (n x d).

    q is ``n_components``, and d counts the columns that vary: others add nothing to a distance. Where X varies alike in
    all directions, the distances of X W are sqrt(q/d) times those of X. In more than four components those of near
    samples are a larger share of all. Measured: with 5 to 15 components the second factor gains .7 to 2.1 points of
    accuracy on MNIST, USPS and Pendigits; of 22 cells of eleven other sets the mean changes by -.3, the worst by -1.5.
    """
    n_varying = int(np.count_nonzero(np.ptp(np.asarray(features[:]), axis=0)))
    share = min(1.0, n_components / max(n_varying, 1)) * max(1.0, n_components / _FEW_COMPONENTS)
    return float(np.sqrt(min(1.0, share)))


@dataclass(frozen=True, eq=False)
class RelativeGaussian(_OfForm):
    """f_ij(beta) = exp(-beta / (2 sigma_i sigma_j)) over the difference pairing: "RBF-relative".

    ``sigmas`` holds the n bandwidths, distances > 0; beta is the n x n array of all pairs of those samples, in
    their order, or with ``column_sigmas`` that of the pairs of samples with those. The factor 1/(sigma_i sigma_j) of f'
    is the matrix Sigma of the papers' surrogate. A kernel on samples with one bandwidth each is positive definite only
    approximately; solvers do not need it to be.

    Source: NeurIPS 2019, Table 1 and Theorem 3 (Psi = Sigma * Gamma * K).

    Raises ``InputError`` unless the bandwidths are finite and positive, and for beta of another shape.
    """

    sigmas: FloatArray
    column_sigmas: FloatArray | None = None
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def __post_init__(self) -> None:
        bad = ~(np.isfinite(self.sigmas) & (self.sigmas > 0))
        if self.sigmas.ndim != 1 or bad.any():
            example = f"; sample {int(np.argmax(bad))} has {self.sigmas[bad][0]!r}" if bad.any() else ""
            raise InputError(f"bandwidths must be one finite number > 0 for each sample{example}")

    @property
    def inverse_sigmas(self) -> tuple[FloatArray, FloatArray]:
        """1 / sigma_i as a column (m x 1) and 1 / sigma_j as a row (1 x n): their product is that of each pair."""
        columns = self.sigmas if self.column_sigmas is None else self.column_sigmas
        return 1.0 / self.sigmas[:, None], 1.0 / columns[None, :]

    @cached_property
    def form(self) -> Form:
        """The function exp(-b / 2) of b = beta / (sigma_i sigma_j); its derivatives are those by b."""
        return Form(-0.5, 0.0, None, partial(_exponential, -0.5))

    def at(self, beta: FloatArray, orders: tuple[int, ...]) -> list[FloatArray]:
        """Return the derivatives of these orders at beta of the pairs."""
        rows, columns = self.inverse_sigmas
        if beta.shape != (shape := (rows.size, columns.size)):
            raise InputError(
                f"this kernel has bandwidths for {shape[0]} samples, so beta must be {shape[0]} x {shape[1]}; "
                f"got shape {beta.shape}"
            )
        rate = -0.5 * (rows * columns)
        values = beta * rate
        np.exp(values, out=values)
        return [values * rate**order if order else values for order in orders]


def form_of(kernel: Kernel) -> Form | None:
    """Return the form of a kernel of this module; ``None`` for those of users, whose subclasses may have another f."""
    return kernel.form if _is_ours(kernel) else None


def derivatives_at(kernel: Kernel, beta: FloatArray, orders: tuple[int, ...]) -> Sequence[FloatArray]:
    """Return the derivatives of f of consecutive ``orders`` at beta, with what they share computed once.

    Of a kernel of the user's own that is done where it has a method ``value_and_derivative``.
    """
    if _is_ours(kernel):
        return kernel.at(beta, orders)
    if orders == (0, 1) and callable(together := getattr(kernel, "value_and_derivative", None)):
        both: Sequence[FloatArray] = together(beta)
        return both
    return [getattr(kernel, ("value", "derivative", "second_derivative")[order])(beta) for order in orders]


def _is_ours(kernel: Kernel) -> TypeGuard[_OfForm]:
    return isinstance(kernel, _OfForm) and type(kernel).__module__ == __name__


def restricted(kernel: Kernel, rows: Rows, columns: Rows) -> Kernel:
    """Return the kernel for some rows and columns of its samples' pairs: itself, unless samples have bandwidths."""
    if isinstance(kernel, RelativeGaussian):
        return RelativeGaussian(kernel.sigmas[rows], kernel.sigmas[columns])
    return kernel
