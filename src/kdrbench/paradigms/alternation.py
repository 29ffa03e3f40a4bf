"""Clustering with a projection: the alternation of W and a spectral embedding U.

    max  Tr(U' N' K_XW N U) + sum_m mu_m Tr(Y_m' N' K_XW N Y_m)   over W'W = I, U'U = I,   N = D^-1/2 H or H

with the diagonal of K dropped and D its degrees. Unsupervised learning has no Y; expert scores enter with mu > 0 and
N = H (semi-supervised), labellings to be avoided with mu < 0 (alternative clustering). One round is

1. W: a solver on Gamma = N (U U' + sum_m mu_m Y_m Y_m') N' with U and D held, from the W before;
2. U: the k leading eigenvectors of D^-1/2 K_XW D^-1/2 (or of H times it times H) with D from the new W.

It begins with U of the unprojected kernel and W from Phi_0 with D = I. Where D^-1/2 does not exist (see
:func:`.degree_scaling`), D is the identity from there on, and the result says so. How it ends is its ``rule``:

- ``eigenvalues``, the papers': when the eigenvalues of step 2 change by at most 1 % of those before, ISM's own test.
  So the costs of ISM+ Table 6 on Wine, Cancer and Face come out to all digits that are known. W is seldom stationary.
- ``joint``: after such an alternation with the solver's ``exploration`` (plain ISM for safeguarded ISM, the solver
  itself for others), rounds go on from its best W until the objective, as a function of W alone, is stationary to
  1e-6 (:mod:`.reduced`). So it is never below that alternation, and ``converged`` is what the referee measures.

With centring, and with D in both steps or in none, each step maximises the objective for a fixed D; where a new D comes
in between, the papers' rounds ascend no one function: the objective may fall and the alternation may cycle. Its history
is recorded, always with the D of W. After ``damp_after`` rounds the new D of the steps is the geometric mean of that
of W and the one before, which breaks most cycles and moves no fixed point.
(Holding D breaks all of them, but its solutions are poor: samples of low degree in that D win.)

Source: NeurIPS 2019, section 2; the form with D on both sides of every term is that of the code of Wu et al.,
"Iterative spectral method for alternative clustering", AISTATS 2018. The rule ``joint`` is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import gram_operator
from kdrbench.kernels import Combination, Kernel, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import Degrees, Form, Guidance, gamma_of
from kdrbench.paradigms.reduced import Clustering, ReducedObjective, Round, climb
from kdrbench.parameters import COUNT, POSITIVE, OneOf, check_parameters, optional
from kdrbench.problems import Problem, TraceObjective
from kdrbench.problems.objective import check_features
from kdrbench.solvers import IterationMonitor, Monitor, Solver, Status, solve
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled

# The rank of the first embedding's factor, where a tolerance allows one: it is a start only.
_FIRST_RANK = 200


@dataclass(frozen=True)
class FirstStep:
    """U of the unprojected kernel (n x k), and whether its D exists and is requested: the same for every start of W.

    ``eigenvalues`` are those that the first round's are compared with, if they are.
    """

    embedding: FloatArray
    uses_degrees: bool
    eigenvalues: FloatArray | None = None


# The papers' own stopping: the change of eigenvalues, and a cap that their alternations seldom reach.
_SETTLED, _PAPERS_ROUNDS = 0.01, 20
_STATIONARY, _MOST_ROUNDS = 1e-6, 500


class _Samples(NamedTuple):
    """What an alternation is about, and how it may be evaluated and watched."""

    features: FloatArray
    kernel: Kernel | Combination
    guidance: Sequence[Guidance]
    evaluation: Evaluation
    monitor: Callable[[], Monitor]
    seed: int


class _Explored(NamedTuple):
    """An alternation by eigenvalues, and the W of each of its rounds."""

    clustering: Clustering
    projections: list[FloatArray]


@dataclass(frozen=True)
class Alternation(Form):
    """A form of the objective and how its alternation ends: its ``rule``, ``tolerance`` and largest number of rounds.

    ``None`` is the rule's own: .01 and 20 rounds for ``eigenvalues``, 1e-6 and 500 for ``joint``. With ``first``
    ``plain`` the first U is that of K without degrees, unless both steps have them. With ``scaled`` it has degrees as
    all later ones, a polynomial kernel of X the scale 1/d, and the rule ``eigenvalues`` compares the first round with
    it: so it may end after one round, as the runs of NeurIPS 2019 did.

    Raises ``InputError`` for values that are not allowed.
    """

    rule: Annotated[str, OneOf(("eigenvalues", "joint"))] = "eigenvalues"
    tolerance: Annotated[float | None, optional(POSITIVE)] = None
    max_rounds: Annotated[int | None, optional(COUNT)] = None
    damp_after: Annotated[int, COUNT] = 10
    first: Annotated[str, OneOf(("plain", "scaled"))] = "plain"

    def __post_init__(self) -> None:
        check_parameters(self)

    def first_step(
        self,
        features: FloatArray,
        kernel: Kernel | Combination,
        evaluation: Evaluation | None = None,
        *,
        projection: FloatArray | None = None,
    ) -> FirstStep:
        """Return U of the unprojected kernel, or of that at ``projection`` W, where an alternation goes on.

        Where ``evaluation`` has a tolerance > 0 and the samples are many, the former is U of a factor of K of rank 200,
        whatever its error: unprojected kernel matrices are seldom of low rank, and U is a start only.
        """
        self._check(features, ())
        asked, degrees = evaluation or Evaluation(), Degrees(self.degrees != "none")
        if projection is None:
            if self.first == "scaled" and isinstance(kernel, Polynomial):
                kernel = replace(kernel, scale=1.0 / features.shape[1])
            gram = gram_operator(kernel, features, asked, rank=_FIRST_RANK)
        else:
            gram = gram_operator(kernel, features @ projection, asked)
        scaled = self.first == "scaled"
        scaling = degrees.scaling(gram) if scaled or self.degrees == "both" else None
        eigenvalues, embedding = self.embedding(gram, scaling, asked)
        return FirstStep(embedding, degrees.in_use, eigenvalues if scaled else None)

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
        samples = _Samples(features, kernel, guidance, asked, monitor, seed)
        solver = getattr(solver, "alone", solver)
        if self.rule == "eigenvalues":
            return self._alternate(samples, solver, start, begun).clustering
        papers = replace(self, rule="eigenvalues", tolerance=None, max_rounds=None)
        explored = papers._alternate(samples, getattr(solver, "exploration", solver), start, begun)
        uses_degrees = explored.clustering.uses_degrees
        reduced = ReducedObjective(self, features, kernel, guidance, evaluation=asked, uses_degrees=uses_degrees)
        return self._converged(reduced, solver, explored, monitor)

    def _converged(
        self, reduced: ReducedObjective, solver: Solver, explored: _Explored, monitor: Callable[[], Monitor]
    ) -> Clustering:
        """Climb from the best W of an alternation."""
        before = explored.clustering
        comparable = [projection for projection in explored.projections if reduced.is_comparable(projection)]
        end = climb(
            reduced,
            solver,
            max(comparable, key=reduced.value),
            monitor,
            tolerance=self.tolerance or _STATIONARY,
            max_rounds=self.max_rounds or _MOST_ROUNDS,
        )
        return replace(
            before,
            projection=end.projection,
            embedding=reduced.embedding(end.projection),
            gamma=reduced.gamma(end.projection),
            objective=reduced.value(end.projection),
            rounds=(*before.rounds, *end.rounds),
            status=end.status,
            message=end.message,
            problem=end.problem or before.problem,
            result=end.result or before.result,
        )

    def _alternate(self, samples: _Samples, solver: Solver, start: FloatArray, begun: FirstStep) -> _Explored:
        """Alternate until the eigenvalues settle, as the papers do."""
        features, kernel, guidance, asked, monitor, seed = samples
        tolerance, max_rounds = self.tolerance or _SETTLED, self.max_rounds or _PAPERS_ROUNDS
        embedding, degrees = begun.embedding, Degrees(begun.uses_degrees)
        projection, projections = start, list[FloatArray]()
        scaling = degrees.scaling(gram_operator(kernel, features @ projection, asked))
        rounds: list[Round] = []
        later = getattr(solver, "continued", solver)
        status, message = Status.MAX_ITERATIONS, f"eigenvalues had not settled after {max_rounds} rounds"
        for _ in range(max_rounds):
            gamma = gamma_of(embedding, guidance, self.held(scaling))
            problem = build_problem(TraceObjective(features, kernel, gamma), asked)
            result = solve(solver, problem, projection, monitor())
            projection = result.projection
            projections.append(projection)
            solver = later
            gram = gram_operator(kernel, features @ projection, asked)
            before, current = scaling, degrees.scaling(gram)
            scaling = current
            if before is not None and current is not None and len(rounds) >= self.damp_after:
                scaling = np.sqrt(before * current)
            eigenvalues, embedding = self.embedding(gram, scaling, asked, embedding)
            gamma = gamma_of(embedding, guidance, self.held(current))
            objective = float(np.vdot(gram.applied(gamma.factor), gamma.factor * gamma.weights))
            rounds.append(Round(objective, eigenvalues, result.status, result.iterations))
            earlier = rounds[-2].eigenvalues if len(rounds) > 1 else begun.eigenvalues
            if earlier is not None and eigenvalues_settled(eigenvalues, earlier, tolerance):
                status, message = Status.CONVERGED, f"eigenvalues settled to {tolerance:g}"
                break
        if status is Status.CONVERGED and result.status is not Status.CONVERGED:
            status, message = result.status, f"in the last round: {result.message}"
        used = degrees.in_use
        clustering = Clustering(
            projection, embedding, gamma, objective, tuple(rounds), status, message, problem, result, used, seed
        )
        return _Explored(clustering, projections)

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
