"""The objective of a clustering as a function of W alone: each W with the U that step 2 gives it.

    R(W) = Tr(Gamma(W) K_XW),  Gamma(W) made of U(W), the embedding of K_XW, and of its degrees D(W)

Its derivative has three parts. With P = U U', A = C N K N C the matrix whose k leading eigenvectors are U (N = D^-1/2
or I, C = H or I) and M the matrix of the term Tr(U' M U) of the objective,

    dR = <Gamma, dK> + <M, dP> + <dR/dN, dN>
    <M, dP> = <U Z' + Z U', dA>,   z_i = (lambda_i I - A)^-1 (I - P) M u_i in the complement of U
    dN_ii = -1/2 D_ii^-3/2 sum_j dK_ij

so that dR = <Gamma_R, dK> with a matrix Gamma_R of rank 3 k + 2 and the guidance's. Where M = A (centred, D in both
steps or in none) U is the maximiser and Z = 0: the envelope theorem. Gamma_R is what makes an alternation ascend R.

A round of the climb solves the problem of Gamma_R, held at the W before, whose gradient there is that of R. Where the
solver's W' increases R, steps twice as far and more are tried. Where it does not, the step is halved along the chord
from W to W' and, failing that, along the gradient. So R never falls beyond rounding. It ends when the relative
Riemannian gradient of R is at most the tolerance: the joint residual, first-order stationarity of (W, U(W)).

Where step 2 maximises the objective (centred, no D) Gamma_R is the alternation's own Gamma, and so are the rounds. With
a D the alternation's fixed points are not stationary points of R, and may lie below earlier rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import HollowGram, gram_operator
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import (
    Alternation,
    Degrees,
    Guidance,
    cluster_rows,
    degree_scaling,
    gamma_of,
    terms_of,
    without_means,
)
from kdrbench.problems import FactoredGamma, Problem, TraceObjective
from kdrbench.solvers import Monitor, Solver, SolverResult, Status, solve
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside, relative_stationarity

# To this relative residual the change of U is found; stationarity is asked for to 1e-6.
_SOLVED = 1e-10
_MOST_PRODUCTS = 2000
# Halvings of a step: to a thousandth of the solver's, and to rounding.
_ON_CHORD, _ON_GRADIENT = 10, 30
_DOUBLINGS = 5
# R of two projections this close, relative to its size, is equal: sums of n^2 terms round.
_ROUNDING = 1e-13


class Point(NamedTuple):
    """What belongs to one W: its kernel matrix, D^-1/2 if in use, eigenvalues and U, and the problem of its Gamma."""

    projection: FloatArray
    gram: HollowGram
    scaling: FloatArray | None
    eigenvalues: FloatArray
    embedding: FloatArray
    problem: Problem


class ReducedObjective:
    """R(W), the objective after the U step which follows W, and its gradient, in which U and D follow W.

    R can be compared between rounds, where the objective that a solver sees, with U held, cannot. The D that damps long
    alternations plays no part. ``uses_degrees`` says whether D is requested; :meth:`round_ended` gives it up for good
    where the alternation does.
    """

    def __init__(
        self,
        form: Alternation,
        features: FloatArray,
        kernel: Kernel | Combination,
        guidance: Sequence[Guidance] = (),
        *,
        evaluation: Evaluation | None = None,
        uses_degrees: bool = True,
    ) -> None:
        self.n_features = features.shape[1]
        self._form, self._features, self._kernel, self._guidance = form, features, kernel, tuple(guidance)
        self._evaluation = evaluation or Evaluation()
        self._degrees = Degrees(uses_degrees and form.degrees != "none")
        self._last: Point | None = None

    @property
    def uses_degrees(self) -> bool:
        """Whether D is still in use."""
        return self._degrees.in_use

    def fresh(self) -> ReducedObjective:
        """Return itself: it counts no calls."""
        return self

    def value(self, projection: FloatArray) -> float:
        """Return R(W)."""
        return self.at(projection).problem.value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the gradient of R at W (d x q)."""
        return self.ascent_problem(projection).gradient(projection)

    def ascent_problem(self, projection: FloatArray) -> Problem:
        """Return the problem of Gamma_R at W, held: its gradient at W is that of R."""
        point = self.at(projection)
        gamma = _reduced_gamma(point, self._form, self._guidance)
        return self._problem(gamma)

    def gamma(self, projection: FloatArray) -> FactoredGamma:
        """Return the Gamma of U(W) with the D of W: with it the objective is R(W)."""
        point = self.at(projection)
        return gamma_of(point.embedding, self._guidance, self._form.held(point.scaling))

    def height(self, projection: FloatArray) -> float:
        """Return R(W), or -inf where W lacks the D that the objective is defined with: R is on another scale then."""
        lacks_degrees = self.uses_degrees and self.at(projection).scaling is None
        return -np.inf if lacks_degrees else self.value(projection)

    def round_ended(self, projection: FloatArray) -> None:
        """Note the start of an alternation, or the result of a round."""
        self._degrees.scaling(self._gram(projection))
        self._last = None

    def _gram(self, projection: FloatArray) -> HollowGram:
        return gram_operator(self._kernel, self._features @ projection, self._evaluation)

    def _problem(self, gamma: FactoredGamma) -> Problem:
        return build_problem(TraceObjective(self._features, self._kernel, gamma), self._evaluation)

    def at(self, projection: FloatArray) -> Point:
        """Return what belongs to W: U(W) and its eigenvalues, descending, among others."""
        if self._last is None or not np.array_equal(self._last.projection, projection):
            gram = self._gram(projection)
            scaling = degree_scaling(gram) if self._degrees.in_use else None
            eigenvalues, embedding = self._form.embedding(gram, scaling, self._evaluation)
            problem = self._problem(gamma_of(embedding, self._guidance, self._form.held(scaling)))
            self._last = Point(projection.copy(), gram, scaling, eigenvalues, embedding, problem)
        return self._last


def _reduced_gamma(point: Point, form: Alternation, guidance: Sequence[Guidance]) -> FactoredGamma:
    """Return Gamma_R in factors."""
    scaling, held = point.scaling, form.held(point.scaling)
    base = gamma_of(point.embedding, guidance, held)
    parts = [(base.factor, base.weights)]
    turn = np.zeros_like(point.embedding)
    if not form.centred or (scaling is not None and held is None):
        turn = _change_of_embedding(point, form)
        parts.append(
            _symmetric_product(
                *(_scaled(without_means(columns, form.centred), scaling) for columns in (point.embedding, turn))
            )
        )
    if scaling is not None:
        by_degree = -0.5 * scaling**3 * _slope_of_scaling(point, form, guidance, turn)
        parts.append(_symmetric_product(0.5 * by_degree[:, None], np.ones((len(scaling), 1))))
    return FactoredGamma(np.hstack([factor for factor, _ in parts]), np.concatenate([weights for _, weights in parts]))


def _slope_of_scaling(point: Point, form: Alternation, guidance: Sequence[Guidance], turn: FloatArray) -> FloatArray:
    """Return the gradient of R in the diagonal of N, K held: of the terms with N, and of <U Z' + Z U', A>."""
    columns = [without_means(embedding, form.centred) for embedding in (point.embedding, turn)]
    slope = 2.0 * _slope_of_product(point, *columns)
    if form.held(point.scaling) is not None:
        for term in terms_of(point.embedding, guidance):
            if term.with_degrees:
                factor = without_means(term.factor)
                slope += term.weight * _slope_of_product(point, factor, factor)
    return slope


def _slope_of_product(point: Point, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the gradient of Tr(L' N K N R) in the diagonal of N."""
    slope = np.einsum("ij,ij->i", left, point.gram.applied(_scaled(right, point.scaling)))
    slope += np.einsum("ij,ij->i", right, point.gram.applied(_scaled(left, point.scaling)))
    return np.asarray(slope)


def _change_of_embedding(point: Point, form: Alternation) -> FloatArray:
    """Return Z (n x k), zero where its equations have no solution: at a tie of eigenvalues U has no derivative."""
    gram, scaling, basis = point.gram, point.scaling, point.embedding

    def outside(columns: FloatArray) -> FloatArray:
        return columns - basis @ (basis.T @ columns)

    def applied(columns: FloatArray, weights: FloatArray | None, wanted: bool) -> FloatArray:
        return without_means(_scaled(gram.applied(_scaled(without_means(columns, wanted), weights)), weights), wanted)

    def shifted(column: FloatArray, eigenvalue: float) -> FloatArray:
        inner = outside(column.reshape(-1, 1))
        return (eigenvalue * inner - outside(applied(inner, scaling, form.centred)))[:, 0]

    wanted = outside(applied(basis, form.held(scaling), True))
    turn = np.zeros_like(basis)
    for place, eigenvalue in enumerate(point.eigenvalues):
        operator = LinearOperator(
            (len(basis),) * 2, matvec=lambda column, at=eigenvalue: shifted(column, at), dtype=float
        )
        found, _ = cg(operator, wanted[:, place], rtol=_SOLVED, maxiter=_MOST_PRODUCTS)
        if np.isfinite(found).all():
            turn[:, place] = found
    return outside(turn)


def _symmetric_product(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L R' + R L' as columns and weights: 1/2 (L + R)(L + R)' - 1/2 (L - R)(L - R)', L and R of equal size."""
    sizes = np.linalg.norm(left), np.linalg.norm(right)
    balance = np.sqrt(sizes[1] / sizes[0]) if min(sizes) > 0.0 else 0.0
    if balance == 0.0:
        return left[:, :0], np.zeros(0)
    left, right = left * balance, right / balance
    return np.hstack([left + right, left - right]), np.repeat([0.5, -0.5], left.shape[1])


def _scaled(columns: FloatArray, scaling: FloatArray | None) -> FloatArray:
    return columns if scaling is None else scaling[:, None] * columns


@dataclass(frozen=True)
class Round:
    """The objective after a round, the eigenvalues of its embedding, and how the solver ended in it."""

    objective: float
    eigenvalues: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True)
class Learned:
    """A learned projection (d x q), its objective, how it ended, the ``problem`` it solves, and the solver's result."""

    projection: FloatArray
    objective: float
    status: Status
    message: str
    problem: Problem
    result: SolverResult

    @property
    def iterations(self) -> int:
        """The solver's iterations, over all rounds of a clustering."""
        return self.result.iterations

    @property
    def clustering(self) -> Clustering | None:
        """Itself where it is a clustering."""
        return self if isinstance(self, Clustering) else None


@dataclass(frozen=True)
class Clustering(Learned):
    """The outcome of an alternation.

    ``labels`` are k-means clusters of the rows of ``embedding`` (n x k), computed when they are first used.
    ``objective`` is that of W with its U, as after a round, and ``gamma`` is made of that U. ``problem`` is what W
    solved last (with U and D of the W before), ``result`` the solver's result on it. ``uses_degrees`` is false where
    D^-1/2 did not exist or was not requested.
    """

    embedding: FloatArray
    gamma: FactoredGamma
    rounds: tuple[Round, ...]
    uses_degrees: bool

    @property
    def iterations(self) -> int:
        """The solver's iterations over all rounds."""
        return sum(round_.iterations for round_ in self.rounds)

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The clusters."""
        return cluster_rows(self.embedding)


def climb(
    reduced: ReducedObjective,
    solver: Solver,
    before: Clustering,
    start: FloatArray,
    monitor: Callable[[], Monitor],
    *,
    tolerance: float,
    max_rounds: int,
) -> Clustering:
    """Ascend R from ``start`` (d x q) to a relative stationarity of ``tolerance``, in at most ``max_rounds`` rounds.

    They come after those of the clustering ``before``. The status is ``converged`` only then; ``stalled`` where no step
    increases R, ``max_iterations`` at the cap.
    """
    projection, rounds, result = start, list(before.rounds), before.result
    for number in range(max_rounds + 1):
        problem = reduced.ascent_problem(projection)
        gradient = problem.gradient(projection)
        residual = relative_stationarity(projection, gradient)
        if residual <= tolerance:
            status, message = Status.CONVERGED, f"joint stationarity at most {tolerance:g} after {number} rounds"
            break
        if number == max_rounds:
            status, message = Status.MAX_ITERATIONS, f"joint stationarity was {residual:.1e} after {number} rounds"
            break
        result = solve(solver, problem, projection, monitor())
        following = _higher(reduced, projection, result.projection, gradient)
        if following is None:
            status = Status.STALLED
            message = f"no step increases the objective beyond rounding; joint stationarity is {residual:.1e}"
            break
        projection = following
        value, eigenvalues = reduced.value(projection), reduced.at(projection).eigenvalues
        rounds.append(Round(value, eigenvalues, result.status, result.iterations))
    outcome = (projection, reduced.value(projection), status, message, problem, result)
    embedding, gamma = reduced.at(projection).embedding, reduced.gamma(projection)
    return Clustering(*outcome, embedding, gamma, tuple(rounds), before.uses_degrees)


def _higher(
    reduced: ReducedObjective, point: FloatArray, solved: FloatArray, gradient: FloatArray
) -> FloatArray | None:
    """Return the solver's W or the first candidate near it whose R is larger than that of ``point``; ``None`` without.

    The solver's W may also have the same R, to rounding, if it is nearer to stationary.
    """
    value = reduced.value(point)
    gain = reduced.height(solved) - value
    if gain > 0.0:
        return _beyond(reduced, point, solved)
    residual = relative_stationarity(point, gradient)
    if gain >= -_ROUNDING * abs(value) and relative_stationarity(solved, reduced.gradient(solved)) < residual:
        return solved
    candidates = _candidates(point, solved, gradient)
    return next((candidate for candidate in candidates if reduced.height(candidate) > value), None)


def _beyond(reduced: ReducedObjective, point: FloatArray, solved: FloatArray) -> FloatArray:
    """Return the best of the solver's W and points twice, four times, ... as far, as long as R rises.

    Rounds that hold Gamma_R take ever the same share of what is left; further ones take more of it.
    """
    best, highest, chord = solved, reduced.value(solved), _chord(point, solved)
    for doubling in range(1, _DOUBLINGS + 1):
        candidate = orthonormalised(point + 2.0**doubling * chord)
        if (height := reduced.height(candidate)) <= highest:
            break
        best, highest = candidate, height
    return best


def _chord(point: FloatArray, solved: FloatArray) -> FloatArray:
    """Return W' - W for the basis of W' that is nearest to W."""
    left, _, right = np.linalg.svd(solved.T @ point)
    return np.asarray(solved @ (left @ right) - point)


def _candidates(point: FloatArray, solved: FloatArray, gradient: FloatArray) -> Iterator[FloatArray]:
    """Yield points on the chord to the solver's W, then along the gradient, nearer and nearer."""
    chord = _chord(point, solved)
    for halving in range(1, _ON_CHORD):
        yield orthonormalised(point + 0.5**halving * chord)
    tangent = outside(point, gradient)
    tangent = tangent / np.linalg.norm(tangent)
    for halving in range(1, _ON_GRADIENT):
        yield orthonormalised(point + 0.5**halving * tangent)
