"""Clustering with a projection: the alternation of W and a spectral embedding U.

    max  Tr(U' N' K_XW N U) + sum_m mu_m Tr(Y_m' N' K_XW N Y_m)   over W'W = I, U'U = I,   N = D^-1/2 H or H

with the diagonal of K dropped and D its degrees. Unsupervised learning has no Y; expert scores enter with mu > 0 and
N = H (semi-supervised), labellings to be avoided with mu < 0 (alternative clustering). One round is

1. W: a solver on Gamma = N (U U' + sum_m mu_m Y_m Y_m') N' with U and D held, from the W before;
2. U: the k leading eigenvectors of D^-1/2 K_XW D^-1/2 (or of H times it times H) with D from the new W.

It begins with U of the unprojected kernel and W from Phi_0 with D = I, and ends when the eigenvalues of step 2 change
by at most ``tolerance`` of those before: ISM's own test. With 0.01 the costs of ISM+ Table 6 on Wine, Cancer and Face
come out to all digits that are known. Where D^-1/2 does not exist (see :func:`.degree_scaling`), D
is the identity from there on, and the result says so.

With centring, and with D in both steps or in none, each step maximises the objective for a fixed D; where a new D comes
in between, the objective may fall and the alternation may cycle. Its history is recorded, always with the D of W. After
``damp_after`` rounds the new D of the steps is the geometric mean of that of W and the one before, which breaks most
cycles and moves no fixed point.
(Holding D breaks all of them, but its solutions are poor: samples of low degree in that D win.)

Source: NeurIPS 2019, section 2; the form with D on both sides of every term is that of the code of Wu et al.,
"Iterative spectral method for alternative clustering", AISTATS 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import HollowGram, gram_operator
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import Degrees, cluster_rows, spectral_embedding
from kdrbench.parameters import COUNT, FLAG, POSITIVE, OneOf, check_parameters, whole
from kdrbench.problems import FactoredGamma, Problem, TraceObjective
from kdrbench.problems.objective import check_features
from kdrbench.solvers import IterationMonitor, Monitor, Solver, SolverResult, Status, solve
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled

_DEGREES = ("both", "embedding", "none")
# The rank of the first embedding's factor, where a tolerance allows one: it is a start only.
_FIRST_RANK = 200


@dataclass(frozen=True)
class Guidance:
    """A term mu Tr(Y' N' K N Y) of the objective: ``weight`` mu and ``factor`` Y (n x c).

    N is that of the embedding's term, or H alone where not ``with_degrees``: the term then is mu HSIC(XW, Y).
    """

    weight: float
    factor: FloatArray
    with_degrees: bool = True


@dataclass(frozen=True)
class FirstStep:
    """U of the unprojected kernel (n x k), and whether its D exists and is requested: the same for every start of W."""

    embedding: FloatArray
    uses_degrees: bool


@dataclass(frozen=True)
class Round:
    """The objective after a round, the eigenvalues of its embedding, and how the solver ended in it."""

    objective: float
    eigenvalues: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True)
class Clustering:
    """The outcome of an alternation.

    ``labels`` are k-means clusters of the rows of ``embedding`` (n x k), computed when they are first used.
    ``problem`` is the one that W solved last (with U and D of the round before), ``result`` the solver's result on it.
    ``gamma`` is made of ``embedding``: with it the objective is that of the end.
    ``uses_degrees`` is false where D^-1/2 did not exist or was not requested.
    """

    projection: FloatArray
    embedding: FloatArray
    gamma: FactoredGamma
    rounds: tuple[Round, ...]
    status: Status
    message: str
    problem: Problem
    result: SolverResult
    uses_degrees: bool
    seed: int = 0

    @property
    def objective(self) -> float:
        """The objective at the end."""
        return self.rounds[-1].objective

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The clusters."""
        return cluster_rows(self.embedding, self.seed)


@dataclass(frozen=True)
class Alternation:
    """Settings: where degrees enter (``both`` steps, the ``embedding`` only, ``none``), centring of step 2, stopping.

    Raises ``InputError`` for values that are not allowed.
    """

    n_clusters: Annotated[int, whole(2)]
    degrees: Annotated[str, OneOf(_DEGREES)] = "both"
    centred: Annotated[bool, FLAG] = True
    tolerance: Annotated[float, POSITIVE] = 0.01
    max_rounds: Annotated[int, COUNT] = 20
    damp_after: Annotated[int, COUNT] = 10

    def __post_init__(self) -> None:
        check_parameters(self)

    def first_step(
        self, features: FloatArray, kernel: Kernel | Combination, evaluation: Evaluation | None = None
    ) -> FirstStep:
        """Return U of the unprojected kernel.

        Where ``evaluation`` has a tolerance > 0 and the samples are many, that is U of a factor of K of rank 200,
        whatever its error: unprojected kernel matrices are seldom of low rank, and U is a start only.
        """
        self._check(features, ())
        asked, degrees = evaluation or Evaluation(), Degrees(self.degrees != "none")
        gram = gram_operator(kernel, features, asked, rank=_FIRST_RANK)
        scaling = degrees.scaling(gram) if self.degrees == "both" else None
        return FirstStep(self.embedding(gram, scaling, asked)[1], degrees.in_use)

    def first_problem(
        self,
        features: FloatArray,
        kernel: Kernel | Combination,
        guidance: Sequence[Guidance] = (),
        *,
        evaluation: Evaluation | None = None,
        first: FirstStep | None = None,
    ) -> Problem:
        """Return the problem of the first round, whose Phi_0 gives the start: U from the unprojected kernel, D = I."""
        self._check(features, guidance)
        begun = first or self.first_step(features, kernel, evaluation)
        return build_problem(TraceObjective(features, kernel, gamma_of(begun.embedding, guidance, None)), evaluation)

    def run(
        self,
        features: FloatArray,
        kernel: Kernel | Combination,
        solver: Solver,
        start: FloatArray,
        guidance: Sequence[Guidance] = (),
        *,
        monitor: Callable[[], Monitor] = IterationMonitor,
        seed: int = 0,
        evaluation: Evaluation | None = None,
        first: FirstStep | None = None,
    ) -> Clustering:
        """Alternate from W = ``start`` (d x q); ``monitor`` makes the watcher of each round's solve.

        ``evaluation`` says how problems and kernel matrices may be evaluated; ``first`` is the :meth:`first_step` of
        these samples and this kernel, where it is at hand.
        """
        self._check(features, guidance)
        asked = evaluation or Evaluation()
        begun = first or self.first_step(features, kernel, asked)
        embedding, degrees = begun.embedding, Degrees(begun.uses_degrees)
        projection = start
        scaling = degrees.scaling(gram_operator(kernel, features @ projection, asked))
        rounds: list[Round] = []
        status, message = Status.MAX_ITERATIONS, f"eigenvalues had not settled after {self.max_rounds} rounds"
        for _ in range(self.max_rounds):
            gamma = gamma_of(embedding, guidance, self.held(scaling))
            problem = build_problem(TraceObjective(features, kernel, gamma), asked)
            result = solve(solver, problem, projection, monitor())
            projection = result.projection
            gram = gram_operator(kernel, features @ projection, asked)
            before, current = scaling, degrees.scaling(gram)
            scaling = current
            if before is not None and current is not None and len(rounds) >= self.damp_after:
                scaling = np.sqrt(before * current)
            eigenvalues, embedding = self.embedding(gram, scaling, asked, embedding)
            gamma = gamma_of(embedding, guidance, self.held(current))
            objective = float(np.vdot(gram.applied(gamma.factor), gamma.factor * gamma.weights))
            rounds.append(Round(objective, eigenvalues, result.status, result.iterations))
            if len(rounds) > 1 and eigenvalues_settled(eigenvalues, rounds[-2].eigenvalues, self.tolerance):
                status, message = Status.CONVERGED, f"eigenvalues settled to {self.tolerance:g}"
                break
        if status is Status.CONVERGED and result.status is not Status.CONVERGED:
            status, message = result.status, f"in the last round: {result.message}"
        used = degrees.in_use
        return Clustering(projection, embedding, gamma, tuple(rounds), status, message, problem, result, used, seed)

    def _check(self, features: FloatArray, guidance: Sequence[Guidance]) -> None:
        check_features(features)
        if self.n_clusters > len(features):
            raise InputError(f"n_clusters must be at most n_samples = {len(features)}, got {self.n_clusters}")
        for term in guidance:
            if len(term.factor) != len(features):
                raise InputError(
                    f"features have {len(features)} samples but what is known of them has {len(term.factor)}; "
                    "both must describe the same samples in the same order"
                )

    def embedding(
        self, gram: HollowGram, scaling: FloatArray | None, asked: Evaluation, start: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and U of step 2 for a kernel matrix and D^-1/2."""
        return spectral_embedding(
            gram, self.n_clusters, scaling=scaling, centred=self.centred, start=start, tolerance=asked.tolerance
        )

    def held(self, scaling: FloatArray | None) -> FloatArray | None:
        """Return the D^-1/2 of step 1."""
        return scaling if self.degrees == "both" else None


def gamma_of(embedding: FloatArray, guidance: Sequence[Guidance], scaling: FloatArray | None) -> FactoredGamma:
    """Return N (U U' + sum mu Y Y') N' in factors."""
    factors, weights = [], []
    for term in (Guidance(1.0, embedding), *guidance):
        factor = term.factor - term.factor.mean(axis=0)
        factors.append(scaling[:, None] * factor if scaling is not None and term.with_degrees else factor)
        weights.append(np.full(factor.shape[1], term.weight))
    return FactoredGamma(np.hstack(factors), np.concatenate(weights))
