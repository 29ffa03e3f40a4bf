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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import gram_operator
from kdrbench.kernels import Combination, Gaussian, Kernel, Polynomial, restricted_to
from kdrbench.kernels.family import FloatArray, RelativeGaussian
from kdrbench.kernels.neighbours import neighbourhood_widths
from kdrbench.paradigms.embedding import (
    Alternation,
    Degrees,
    Guidance,
    cluster_rows,
    gamma_of,
    mutual_information,
    spectral_embedding,
)
from kdrbench.paradigms.reduced import Clustering, Learned, ReducedObjective, Round, climb
from kdrbench.problems import Problem, TraceObjective
from kdrbench.problems.objective import check_features
from kdrbench.solvers import Monitor, Solver, Status, solve
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled

# The rank of the first embedding's factor, where a tolerance allows one: it is a start only.
_FIRST_RANK = 200
# The papers' own stopping: the change of eigenvalues, and a cap that their alternations seldom reach.
_SETTLED, _PAPERS_ROUNDS = 0.01, 20
_STATIONARY, _MOST_ROUNDS = 1e-6, 500
# The starts of a clustering compete on this number of samples where its evaluation may be approximate.
_SOME_SAMPLES = 1000
# A bandwidth is doubtful if clusters are others with this share of it. Below the agreement two clusterings differ;
# objectives of starts that agree are within a hundredth.
_NARROWER, _AGREED, _EQUAL = 0.125, 0.95, 0.01
MakeMonitor = Callable[[], Monitor]


@dataclass(frozen=True)
class FirstStep:
    """U of the unprojected kernel (n x k), and whether its D exists and is requested: the same for every start of W.

    ``eigenvalues`` are those that the first round's are compared with, if they are.
    """

    embedding: FloatArray
    uses_degrees: bool
    eigenvalues: FloatArray | None = None


@dataclass
class ClusteringTask:
    """Gamma follows the clusters: an alternation. U of the unprojected kernel is made once for all its starts.

    ``evaluation`` says how problems and kernel matrices may be evaluated.
    """

    features: FloatArray
    alternation: Alternation
    guidance: tuple[Guidance, ...] = ()
    evaluation: Evaluation = field(default_factory=Evaluation)
    alignment_target: FloatArray | None = None
    _begun: tuple[Kernel | Combination, FirstStep] | None = field(default=None, init=False, repr=False)

    @property
    def n_classes(self) -> int:
        """Number of clusters."""
        return self.alternation.n_clusters

    def first_step(self, kernel: Kernel | Combination, projection: FloatArray | None = None) -> FirstStep:
        """Return U of the unprojected kernel, or of that at ``projection`` W, where an alternation goes on.

        Where ``evaluation`` has a tolerance > 0 and the samples are many, the former is U of a factor of K of rank 200,
        whatever its error: unprojected kernel matrices are seldom of low rank, and U is a start only.
        """
        if projection is None and self._begun is not None and self._begun[0] is kernel:
            return self._begun[1]
        self._check()
        form, asked = self.alternation, self.evaluation
        degrees = Degrees(form.degrees != "none")
        if projection is None:
            unprojected: Kernel | Combination = kernel
            if form.first == "relative":
                unprojected = RelativeGaussian(neighbourhood_widths(self.features))
            if form.first == "scaled" and isinstance(kernel, Polynomial):
                unprojected = replace(kernel, scale=1.0 / self.features.shape[1])
            gram = gram_operator(unprojected, self.features, asked, rank=_FIRST_RANK)
        else:
            gram = gram_operator(kernel, self.features @ projection, asked)
        scaled = form.first == "scaled"
        scaling = degrees.scaling(gram) if scaled or form.degrees == "both" else None
        eigenvalues, embedding = form.embedding(gram, scaling, asked)
        first = FirstStep(embedding, degrees.in_use, eigenvalues if scaled else None)
        if projection is None:
            self._begun = (kernel, first)
        return first

    def kernel_eigenvectors(self, kernel: Kernel | Combination, projection: FloatArray) -> FloatArray:
        """Return the k leading eigenvectors (n x k) of K_XW without degrees and centring."""
        gram = gram_operator(kernel, self.features @ projection, self.evaluation)
        return spectral_embedding(gram, self.n_classes, scaling=None, centred=False)[1]

    def reduced(
        self, kernel: Kernel | Combination, evaluation: Evaluation, uses_degrees: bool = True
    ) -> ReducedObjective:
        """Return the objective as a function of W alone."""
        form, features, guidance = self.alternation, self.features, self.guidance
        return ReducedObjective(form, features, kernel, guidance, evaluation=evaluation, uses_degrees=uses_degrees)

    def first_problem(self, kernel: Kernel | Combination) -> Problem:
        """Return the problem of the first round, whose Phi_0 gives the start: U from the unprojected kernel, D = I."""
        gamma = gamma_of(self.first_step(kernel).embedding, self.guidance, None)
        return build_problem(TraceObjective(self.features, kernel, gamma), self.evaluation)

    def of_some_samples(self, kernel: Kernel | Combination) -> tuple[ClusteringTask, Kernel | Combination] | None:
        """Return the task of ``_SOME_SAMPLES`` of the samples with their kernel; ``None`` if they are few.

        They are the same in every run, and have no D where it does not exist for all.
        """
        asked, n_samples = self.evaluation, len(self.features)
        if n_samples < 2 * _SOME_SAMPLES:
            return None
        rows = np.sort(np.random.default_rng(0).choice(n_samples, _SOME_SAMPLES, replace=False))
        alternation = self.alternation
        if not self.first_step(kernel).uses_degrees:
            alternation = replace(alternation, degrees="none")
        guidance = tuple(alternation.of(term, rows) for term in self.guidance)
        if isinstance(kernel, Gaussian):
            asked = replace(asked, evaluator="low_rank")
        return ClusteringTask(self.features[rows], alternation, guidance, asked), restricted_to(kernel, rows)

    def learn(
        self,
        kernel: Kernel | Combination,
        solver: Solver,
        start: FloatArray,
        monitor: MakeMonitor,
        *,
        resumed: bool = False,
        max_rounds: int | None = None,
    ) -> Clustering:
        """Alternate from W = ``start`` (d x q); ``monitor`` makes the watcher of each round's solve.

        An alternation that is ``resumed`` had this W last, of some of the samples or by a rough solver. ``max_rounds``
        replaces that of the alternation.
        """
        first = self.first_step(kernel, start if resumed else None)
        solver = getattr(solver, "continued" if resumed else "alone", solver)
        form = replace(self.alternation, max_rounds=max_rounds or self.alternation.max_rounds)
        if form.rule == "eigenvalues":
            clustering, _ = self._alternate(form, kernel, solver, start, monitor, first)
        else:
            papers = replace(form, rule="eigenvalues", tolerance=None, max_rounds=None)
            exploration = getattr(solver, "exploration", solver)
            explored = self._alternate(papers, kernel, exploration, start, monitor, first)
            clustering = self._climbed(*explored, kernel, solver, monitor)
        if form.clusters == "kernel":
            return replace(clustering, embedding=self.kernel_eigenvectors(kernel, clustering.projection))
        return clustering

    def _climbed(
        self,
        before: Clustering,
        projections: list[FloatArray],
        kernel: Kernel | Combination,
        solver: Solver,
        monitor: MakeMonitor,
    ) -> Clustering:
        """Climb from the best of the ``projections`` of an alternation."""
        form, reduced = self.alternation, self.reduced(kernel, self.evaluation, before.uses_degrees)
        best = max(projections, key=reduced.height)
        tolerance, max_rounds = form.tolerance or _STATIONARY, form.max_rounds or _MOST_ROUNDS
        return climb(reduced, solver, before, best, monitor, tolerance=tolerance, max_rounds=max_rounds)

    def _alternate(
        self,
        form: Alternation,
        kernel: Kernel | Combination,
        solver: Solver,
        start: FloatArray,
        monitor: MakeMonitor,
        first: FirstStep,
    ) -> tuple[Clustering, list[FloatArray]]:
        """Alternate until the eigenvalues settle, as the papers do; return the W of each round, too."""
        features, guidance, asked = self.features, self.guidance, self.evaluation
        tolerance, max_rounds = form.tolerance or _SETTLED, form.max_rounds or _PAPERS_ROUNDS
        embedding, degrees = first.embedding, Degrees(first.uses_degrees)
        projection, projections = start, list[FloatArray]()
        scaling = degrees.scaling(gram_operator(kernel, features @ projection, asked))
        rounds: list[Round] = []
        later = getattr(solver, "continued", solver)
        status, message = Status.MAX_ITERATIONS, f"eigenvalues had not settled after {max_rounds} rounds"
        for _ in range(max_rounds):
            gamma = gamma_of(embedding, guidance, form.held(scaling))
            problem = build_problem(TraceObjective(features, kernel, gamma), asked)
            result = solve(solver, problem, projection, monitor())
            projection = result.projection
            projections.append(projection)
            solver = later
            gram = gram_operator(kernel, features @ projection, asked)
            before, current = scaling, degrees.scaling(gram)
            scaling = current
            if before is not None and current is not None and len(rounds) >= form.damp_after:
                scaling = np.sqrt(before * current)
            eigenvalues, embedding = form.embedding(gram, scaling, asked, embedding)
            gamma = gamma_of(embedding, guidance, form.held(current))
            objective = float(np.vdot(gram.applied(gamma.factor), gamma.factor * gamma.weights))
            rounds.append(Round(objective, eigenvalues, result.status, result.iterations))
            earlier = rounds[-2].eigenvalues if len(rounds) > 1 else first.eigenvalues
            if earlier is not None and eigenvalues_settled(eigenvalues, earlier, tolerance):
                status, message = Status.CONVERGED, f"eigenvalues settled to {tolerance:g}"
                break
        if status is Status.CONVERGED and result.status is not Status.CONVERGED:
            status, message = result.status, f"in the last round: {result.message}"
        outcome = (projection, objective, status, message, problem, result)
        return Clustering(*outcome, embedding, gamma, tuple(rounds), degrees.in_use), projections

    def doubts(self, kernel: Kernel | Combination, best: Learned, compared: Sequence[Learned]) -> Iterator[str]:
        """Yield a sentence for each reason to doubt the best of the outcomes ``compared``, by falling objective.

        Starts disagree where a clustering that is at most a hundredth worse differs (NMI below .95), or where one is
        worse by more. A bandwidth is doubtful if the same projection has other clusters with an eighth of it.
        """
        highest, lowest = compared[0].objective, compared[-1].objective
        first, *others = (outcome.clustering for outcome in compared if outcome.clustering)
        overlaps = [mutual_information(first.labels, other.labels) for other in others]
        spread = (highest - lowest) / max(abs(highest), abs(lowest))
        if overlaps and (spread > _EQUAL or min(overlaps) < _AGREED):
            yield (
                f"the {len(compared)} starts disagree: objectives from {lowest:.4g} to {highest:.4g} "
                f"(the best is kept), NMI of their clusters with the best from {min(overlaps):.2f} to "
                f"{max(overlaps):.2f}; try more (start='multistart', n_init) or another bandwidth"
            )
        if not isinstance(kernel, Gaussian) or best.clustering is None:
            return
        narrow = self.reduced(Gaussian(_NARROWER * kernel.sigma), self.evaluation)
        # Without neighbours within the narrow bandwidth there are no degrees, and no embedding.
        if narrow.height(best.projection) == -np.inf:
            return
        overlap = mutual_information(best.clustering.labels, cluster_rows(narrow.at(best.projection).embedding))
        if overlap < _AGREED:
            yield (
                f"the clusters depend on the bandwidth: with an eighth of sigma = {kernel.sigma:.3g} the same "
                f"projection has others (NMI {overlap:.2f}); finer structure may be hidden, try a smaller sigma"
            )

    def _check(self) -> None:
        n_samples = len(self.features)
        check_features(self.features)
        if self.n_classes > n_samples:
            raise InputError(f"n_clusters must be at most n_samples = {n_samples}, got {self.n_classes}")
        for term in self.guidance:
            if len(term.factor) != n_samples:
                raise InputError(
                    f"features have {n_samples} samples but what is known of them has {len(term.factor)}; "
                    "both must describe the same samples in the same order"
                )
