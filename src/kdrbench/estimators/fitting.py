"""A fit of :class:`.InterpretableKDR`: its evaluation, kernel and starts, what is learned, and its certificate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from numbers import Integral
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kdrbench.arrays import HostRows, is_device_array
from kdrbench.errors import InputError, counted
from kdrbench.estimators.definitions import Definitions, definitions_of
from kdrbench.estimators.inputs import Known, known_samples, projected
from kdrbench.estimators.on_demand import OnDemand, objective_shares
from kdrbench.estimators.span import precision_of, span_of
from kdrbench.estimators.targets import CONTINUOUS
from kdrbench.evaluation import DispatchedProblem, Evaluation, build_problem
from kdrbench.evaluation.cost_model import SUMS_SAMPLES, plan
from kdrbench.kernels import EXACT_SAMPLES, Combination, Kernel, build_kernel, restricted_to
from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.paradigms import ClusteringTask, Learned, SupervisedTask, build_task, learn_from_all
from kdrbench.parameters import Either, Interval, OneOf, check_names, check_value, optional, whole
from kdrbench.problems import Problem
from kdrbench.progress import FitProgress
from kdrbench.samples import Samples, evenly_drawn
from kdrbench.solvers import (
    MOST_ITERATIONS,
    STARTS,
    Monitor,
    Solver,
    Status,
    WatchedMonitor,
    build_solver,
    eigengap_components,
    make_start,
)
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised, outside
from kdrbench.solvers.registry import definition_of, method_of

# From here on clusterings, and others, with a Gaussian are by default evaluated to this share of their kernel's trace,
# and those with other kernels of differences in single precision.
_ROUGH_CLUSTERS, _ROUGH_SAMPLES, _ROUGH = 2000, 5000, 1e-3
# The share for labels where sums over classes take over: gradients of rougher ones lead to steps along which F falls.
_ROUGH_SUMS = 1e-5
# The share to which objective and certificate of many samples are evaluated: the objective then has seven digits, in a
# fiftieth of the time of all pairs of 100,000 samples.
_FINE = 1e-7
# The number of samples that make the start of a fit of more by default, and by how much it grows.
_FIRST_SAMPLES, _MORE = 2000, 5
# The ``gain`` of the default solver and tolerance for a fit of pairs to labels or targets. Measured: 1e-4 may end at a
# plateau (M-USPS: .013 less accuracy of neighbours), for a fifth fewer steps. It suffices between
# the first samples and all.
_DEFAULT_SOLVER, _GAIN, _GAIN_OF_MORE = "ism_converged", 1e-5, 1e-4
_ALLOWED = ("evaluator", "tolerance", "memory_mib", "engine", "scheduler", "compiled")
# Samples that are drawn for the median of those that are streamed, and their entries.
_MOST_DRAWN, _DRAWN_ENTRIES = 2**17, 2**22
# Rows by which samples are repeated whose weights are no whole numbers, or very large, where there are fewer samples.
_FOR_WEIGHTS = 2000
# scikit-learn's meaning: -1 is all cores, and 0 means nothing.
N_JOBS = optional(Interval(-math.inf, whole=True, but_zero=True))
AnyKernel = Kernel | Combination
_COUNTS = OneOf(("n_classes", "eigengap", "auto"))
# The share of the objective that the components chosen by "auto" have of that of all classes' components.
_EXPLAINED = 0.95
# Turning W by one radian changes F by at most this share, to first order: nothing is left to be gained.
_FLAT = 1e-9
# One start is known to end in poor alternatives; elsewhere it is that of Phi_0.
_DEFAULT_STARTS = {"alternative": ("multistart", 4)}
# Rows this far from orthonormal are meant to be: they come from single precision.
_SINGLE_PRECISION = 1e-5
# Arrays of n x d that a search holds; of kernels whose sums over classes need no pairs of samples, with arrays of the
# columns of X W; evaluators that hold all pairs, with their arrays of n x n.
_SEARCHED, _WITHOUT_PAIRS, _SUMMED, _PROJECTED = 6.0, ("linear", "squared", "polynomial"), 2.0, 7.0
_HOLDING_ALL_PAIRS, _ALL_PAIRS = ("dense", "autograd", "pairwise_sum"), 6.0
# The most entries of features that a fitted model copies, where it holds them for what is computed on demand.
_COPIED = 2**20


def learn(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Set what an estimator learns in the span of the features; errors and warnings are those of its ``fit``.

    The certificate is about the span in which was searched, and the rest about all features.
    """
    definitions = definitions_of(estimator)
    known = known_samples(estimator, definitions, X, y, sample_weight)
    if definitions.paradigm == "supervised" and estimator.target_type_ == CONTINUOUS:
        definitions = definitions.with_target_kernel(len(known.of_samples))
    if estimator.n_components == "auto" and isinstance(known.features, Samples):
        raise InputError(
            "n_components='auto' evaluates F for each component, which takes passes over samples that are streamed or "
            "sparse; give a number, or 'n_classes'"
        )
    search = _Search(estimator, definitions, known)
    title = f"{type(estimator).__name__}, n = {known.features.shape[0]}"
    with FitProgress(title, getattr(search.solver, "tolerance", 0.0), int(estimator.verbose)) as progress:
        monitor = partial(WatchedMonitor, estimator.max_iter or MOST_ITERATIONS, progress)
        best, kernel, warned = search.learn(estimator.n_components, monitor)
        if estimator.n_components == "auto":
            shares = objective_shares(best.problem.fresh(), best.projection)
            n_components = 1 + int(np.searchsorted(np.cumsum(shares), _EXPLAINED))
            best, kernel, warned = search.learn(n_components, monitor)
        learned = reevaluated(best)
        if estimator.max_features is not None:
            of_all = learned.objective
            search, best, warned = _eliminated(search, best, kernel, monitor)
            learned = reevaluated(best)
            estimator.objective_lost_ = of_all - learned.objective
        learned = _without_false_stall(learned)
        iterations = counted(learned.iterations, "iteration")
        progress.outcome = f"{learned.status} after {iterations}, objective {learned.objective:.8g}"
    if learned.status is not Status.CONVERGED:
        now = f", now {estimator.max_iter}," if estimator.max_iter else ""
        remedy = f"; raise max_iter{now} or scale the features"
        more = remedy if learned.status is Status.MAX_ITERATIONS else ""
        warnings.warn(f"{estimator.solver} ended as {learned.status}: {learned.message}{more}", ConvergenceWarning, 3)
    for sentence in warned:
        warnings.warn(sentence, UserWarning, 3)
    estimator.kernel_, estimator._on_demand = kernel, on_demand_of(learned)
    estimator.rank_, estimator.constant_features_ = search.span.rank, search.span.constant
    learned = search.span.lifted(learned, max(learned.projection.shape[1], search.n_wanted))
    estimator.result_, estimator.status_ = learned.result, learned.status
    estimator.n_iter_, estimator.objective_ = learned.iterations, learned.objective
    estimator.components_ = learned.projection.T.astype(known.dtype, copy=False)
    estimator.n_components_ = len(estimator.components_)
    if learned.clustering is not None:
        estimator.labels_, estimator.embedding_ = learned.clustering.labels, learned.clustering.embedding
        estimator._projected = projected(estimator, X, estimator.components_)
        estimator.history_ = np.array([round_.objective for round_ in learned.clustering.rounds])


def _eliminated(
    search: _Search, best: Learned, kernel: AnyKernel, monitor: Callable[[], Monitor]
) -> tuple[_Search, Learned, list[str]]:
    """Return the search among ``max_features`` features, what it leads to by the same kernel, and its warnings.

    Recursive feature elimination, as :class:`.InterpretableKDR` describes it (its reference [2]).

    Raises ``InputError`` where the features that are left span fewer dimensions than there are components.
    """
    limit, n_components = search.estimator.max_features, best.projection.shape[1]
    left, warned = np.setdiff1d(np.arange(search.span.n_features), search.span.constant), list[str]()
    while len(left) > limit:
        projection = search.span.lift(best.projection, n_components)
        weights = (projection**2 @ objective_shares(best.problem.fresh(), best.projection))[left]
        left = np.sort(left[np.argsort(-weights, kind="stable")[: max(limit, len(left) // 2)]])
        search = _Search(search.estimator, search.definitions, search.of_all_features, left)
        if search.span.rank < n_components:
            raise InputError(
                f"the {len(left)} features that are left span {search.span.rank} dimensions, fewer than the "
                f"{n_components} components; raise max_features, now {limit}, or lower n_components"
            )
        start = search.span.restricted(projection, n_components)
        best, _, warned = search.learn(n_components, monitor, kernel, start)
    return search, best, warned


class _Search:
    """What an estimator's parameters mean in the span of all features, or of some: task, kernel, solver and starts."""

    def __init__(
        self, estimator: Any, definitions: Definitions, known: Known, features: NDArray[np.intp] | None = None
    ) -> None:
        precision, of_differences = precision_of(known.features, known.dtype), definitions.is_of_differences
        self.estimator, self.definitions, self.of_all_features = estimator, definitions, known
        self.span = span_of(known.features, of_differences=of_differences, precision=precision, among=features)
        self.known = known = known._replace(features=self.span.lower(known.features))
        self.rng = np.random.default_rng(check_random_state(estimator.random_state).randint(2**31))
        named = definition_of(estimator.solver) if isinstance(estimator.solver, str) else {}
        self.start, self.n_starts = named.get("start"), named.get("starts", 1)
        self.solver = self._solver(method_of(named) or dict(estimator.solver))
        # Clusterings by a Gaussian hardly take all pairs: loading machine code costs more than it saves.
        takes_few = definitions.paradigm != "supervised" and definitions.is_gaussian
        is_large = not takes_few and known.features.shape[0] >= _ROUGH_SAMPLES
        by_default = self._rough_evaluation()
        self.evaluation = evaluation_of(estimator.evaluation, estimator.n_jobs, by_default, is_large)
        task = build_task(
            definitions.paradigm, definitions.settings, known.features, known.of_samples, evaluation=self.evaluation
        )
        if known.weights is not None and isinstance(task, SupervisedTask):
            task = replace(task, gamma=task.gamma.reweighted(known.weights))
        self.task = task
        # Components that are asked for by number, which may be more than the span has.
        self.n_wanted = int(estimator.n_components) if isinstance(estimator.n_components, Integral) else 0

    def _solver(self, method: dict[str, Any]) -> Solver:
        options = {"tolerance": self.estimator.tol, "max_iterations": self.estimator.max_iter}
        method |= {option: value for option, value in options.items() if value is not None}
        if self._ends_early():
            method["gain"] = _GAIN
        if self.definitions.paradigm != "supervised" and self.estimator.solver == _DEFAULT_SOLVER:
            # Measured in 128 to 180 dimensions, 24 fits of Satellite and WDBC with and without labels to avoid: BFGS
            # takes .8 to 6.5 times as long, and its F is equal to .3 % but for one, where it is 1 % lower.
            method["newton_dimension"] = DENSE_DIMENSION
        if "portfolio" in method:
            method.setdefault("seed", int(self.rng.integers(2**31)))
        return build_solver(method)

    def _ends_early(self) -> bool:
        definitions, by_default = self.definitions, self.estimator.solver == _DEFAULT_SOLVER
        is_plain = definitions.paradigm == "supervised" and definitions.takes_pairs
        return bool(by_default and is_plain and self.estimator.tol is None)

    def _rough_evaluation(self) -> dict[str, Any]:
        """Return how kernels of pairs are evaluated by default: Gaussians by a factor, others in single precision."""
        if not (self.definitions.takes_pairs and self._is_rough()):
            return {}
        if not self.definitions.is_gaussian:
            return {"approximates": True}
        takes_sums = self.definitions.paradigm == "supervised" and self.known.features.shape[0] >= SUMS_SAMPLES
        return {"tolerance": _ROUGH_SUMS if takes_sums else _ROUGH}

    def _is_rough(self) -> bool:
        """Return whether there are many samples, of which nothing more exact is asked for than default."""
        if self.definitions.paradigm == "supervised":
            is_large = self.known.features.shape[0] >= _ROUGH_SAMPLES
        else:
            # Rounds by the papers' rule end when eigenvalues settle to 1 % anyway.
            is_large = self.known.features.shape[0] >= _ROUGH_CLUSTERS
            is_large = is_large and self.definitions.settings.get("rule") != "joint"
        return bool(is_large and self.estimator.tol is None)

    def _competes_on_some(self, kernel: AnyKernel) -> bool:
        """Return whether starts of a clustering compete on some samples: where it need be no more exact than default.

        For a Gaussian the tolerance of the evaluation says so, which other kernels do not have. Those without degrees
        keep all samples: on few of them the terms of a guided clustering have other optima.
        """
        if self.definitions.is_gaussian or not isinstance(self.task, ClusteringTask):
            return self.evaluation.tolerance > 0.0
        return self._is_rough() and bool(self.task.first_step(kernel).uses_degrees)

    def learn(
        self,
        n_components: int | str | None,
        monitor: Callable[[], Monitor],
        kernel: AnyKernel | None = None,
        start: FloatArray | None = None,
    ) -> tuple[Learned, AnyKernel, list[str]]:
        """Return what the best start has led to, by which kernel, and sentences that say why to doubt it.

        A ``kernel`` and a ``start`` that are known already replace those that the estimator asks for.
        """
        task, span, solver = self.task, self.span, self.solver
        count = self._n_components(n_components)
        if isinstance(self.known.features, np.ndarray):
            self._check_footprint(count)
        kernel = self.kernel(count) if kernel is None else kernel
        if start is None and (start := self._found_on_some(kernel, count, monitor)) is not None:
            solver = getattr(solver, "continued", solver)
        starts = self.starts(task.first_problem(kernel), count) if start is None else [start]
        how = {"rough": self._is_rough(), "on_some": self._competes_on_some(kernel)}
        best, compared = learn_from_all(task, kernel, solver, starts, monitor, **how)
        by_default = "tolerance" not in (self.estimator.evaluation or {}) and not self.evaluation.is_exact
        if by_default and best.status is Status.STALLED and isinstance(task, SupervisedTask):
            # The approximation that is the default ended the search.
            finer = accurate(cast(DispatchedProblem, best.problem), count)
            best = replace(task, evaluation=finer).learn(kernel, solver, best.projection, monitor)
        warned = list[str]()
        if self.definitions.paradigm == "alternative" and isinstance(task, ClusteringTask):
            warned += task.doubts(kernel, best, compared)
        if self.n_wanted > span.rank:
            warned.append(
                f"samples span {span.rank} of {span.n_features} features, so that the objective depends on no more "
                f"components; {self.n_wanted} were asked for, of which the last {self.n_wanted - span.rank} mean "
                "nothing"
            )
        return best, kernel, warned

    def _found_on_some(self, kernel: AnyKernel, n_components: int, monitor: Callable[[], Monitor]) -> FloatArray | None:
        """Return the W of some of the samples, the start of a fit of many that takes pairs; ``None`` for others.

        First of ``_FIRST_SAMPLES``, drawn evenly over the classes or targets, and from there of ever ``_MORE`` times as
        many.
        """
        features, estimator = self.known.features, self.estimator
        is_large = isinstance(features, np.ndarray) and len(features) >= _ROUGH_SAMPLES
        is_plain = estimator.start is None and self.known.weights is None
        if not (is_large and is_plain and self._ends_early()):
            return None
        known, settings = np.asarray(self.known.of_samples), self.definitions.settings
        start, solver, count = None, self.solver, _FIRST_SAMPLES
        while count <= len(features) // 2:
            rows = evenly_drawn(known.reshape(len(known), -1)[:, 0], count, np.random.default_rng(0))
            task = build_task("supervised", settings, features[rows], known[rows], evaluation=self.evaluation)
            of_some = restricted_to(kernel, rows)
            starts = self.starts(task.first_problem(of_some), n_components) if start is None else [start]
            start = learn_from_all(task, of_some, solver, starts, monitor)[0].projection
            solver, count = replace(cast(Any, self.solver).continued, gain=_GAIN_OF_MORE), count * _MORE
        return start

    def _n_components(self, wanted: object) -> int:
        n_classes = min(self.task.n_classes, self.span.rank)
        if wanted in (None, "n_classes", "auto"):
            return n_classes
        if wanted == "eigengap":
            # A kernel may depend on q; for the spectrum of Phi_0 it is taken as the number of classes.
            return eigengap_components(self.task.first_problem(self.kernel(n_classes)).initial_surrogate())
        count = whole(1, self.span.n_features, f"n_features = {self.span.n_features}")
        check_value("n_components", wanted, Either((_COUNTS, count), or_none=True))
        return min(int(cast(int, wanted)), self.span.rank)

    def _check_footprint(self, n_components: int) -> None:
        """Raise ``InputError`` where a search for a projection of samples in memory would not fit."""
        n_samples, n_features = self.known.features.shape
        family, way_out = self.definitions.family, "learn from fewer samples, or stream them"
        is_summed = family in _WITHOUT_PAIRS and self.definitions.paradigm == "supervised"
        entries = n_samples * n_features * (_SUMMED if is_summed else _SEARCHED)
        if is_summed and family == "polynomial":
            # Slopes of the others are the same everywhere.
            entries += _PROJECTED * n_samples * n_components
        if self.evaluation.evaluator in _HOLDING_ALL_PAIRS:
            entries += _ALL_PAIRS * n_samples**2
            way_out = "leave the evaluator to the cost model (evaluation=None)"
        check_memory(8.0 * entries, f"a fit of {type(self.estimator).__name__} to {n_samples} samples", way_out)

    def kernel(self, n_components: int) -> AnyKernel:
        """Return the kernel that is asked for, resolved on the samples; ``InputError`` where they do not allow it.

        The seed of an estimated median is the ``random_state`` if that is an integer, else 0: a fit without random
        starts is the same in every run. Of samples that are streamed, a random subset is drawn. With sample weights a
        median is that of samples repeated as often (:func:`_repeated`).
        """
        state, kernel, weights = self.estimator.random_state, self.definitions.kernel, self.known.weights
        is_combination, features = self.definitions.family == "combination", self.known.features
        if weights is not None and is_combination and kernel.get("weights") == "alignment":
            raise InputError("weights by alignment with labels take no sample_weight; give the members' weights")
        if is_device_array(features):
            # Bandwidths from the samples are numpy's work, which takes rows when it needs them.
            features = cast(FloatArray, HostRows(features))
        seed = int(state) if isinstance(state, Integral) else 0
        resolve = partial(build_kernel, kernel, seed=seed, threads=self.evaluation.threads)
        by_rule = isinstance(self.definitions.sigma, str)
        places = None if weights is None or not by_rule else _repeated(weights)
        if not isinstance(features, Samples):
            # Its factor of n rows is made for those that need it.
            target = self.task.alignment_target if is_combination else None
            return resolve(features if places is None else features[places], n_components, target)
        drawn, count = np.zeros((1, features.shape[1])), len(features)
        # Skip features that the kernel ignores.
        if by_rule:
            count = count if places is None else len(places)
            most = max(EXACT_SAMPLES, min(_MOST_DRAWN, _DRAWN_ENTRIES // features.shape[1]))
            rng = np.random.default_rng(seed)
            chosen = np.sort(rng.choice(count, min(count, most), replace=False, shuffle=False))
            drawn = features.take(chosen if places is None else places[chosen])
        return resolve(drawn, n_components, drawn_from=count)

    def starts(self, problem: Problem, n_components: int) -> Iterator[FloatArray]:
        """Yield the orthonormal r x q starts that the estimator asks for; without any, those of its solver's own.

        Of more than q given rows, for all d features, the first q are taken, unless F is higher where Phi_0 starts.
        Raises ``InputError`` for an unknown name, or an array that is no start.
        """
        start, count = self.estimator.start, self.estimator.n_init
        if start is None and self.start is not None:
            yield from (make_start(self.start, problem, n_components, self.rng) for _ in range(self.n_starts))
            return
        if start is None:
            start, count = _DEFAULT_STARTS.get(self.estimator.paradigm, ("surrogate", 1))
        if not isinstance(start, str):
            rows = _given(start, self.span.n_features, self.n_wanted or n_components)
            given = self.span.restricted(rows, n_components)
            if rows.shape[1] > n_components:
                # Rows for more components need not lead with the best ones for fewer.
                given = max(given, make_start("surrogate", problem, n_components, self.rng), key=problem.value)
            yield given
            return
        check_value("start", start, OneOf((*sorted(STARTS), "multistart")))
        names = ["surrogate", *["random"] * (count - 1)] if start == "multistart" else [start]
        yield from (make_start(name, problem, n_components, self.rng) for name in names)


def _given(start: ArrayLike, n_features: int, n_components: int) -> FloatArray:
    try:
        rows = np.array(start)
    except ValueError:
        # Rows of different lengths.
        rows = np.array(None)
    fits = rows.ndim == 2 and rows.shape[1] == n_features and rows.shape[0] >= n_components
    if rows.dtype.kind not in "fiu" or not fits:
        raise InputError(
            f"start must be a name or an array of real numbers like components_, {n_components} x {n_features}, "
            f"or of more rows; got {rows.dtype} of shape {rows.shape}"
        )
    projection = rows.T.astype(np.float64)
    if feasibility_error(projection) <= _SINGLE_PRECISION:
        projection = orthonormalised(projection)
    check_projection("start", projection, n_features, len(rows))
    return projection


def evaluation_of(
    options: Mapping[str, Any] | None,
    n_jobs: int | None,
    by_default: Mapping[str, Any] | None = None,
    is_large: bool = False,
) -> Evaluation:
    """Return the evaluation that ``options`` and scikit-learn's ``n_jobs`` ask for; ``InputError`` for other options.

    Without a tolerance or an evaluator it is exact, or what it is ``by_default``. One that ``is_large`` uses machine
    code where there is numba: loading it, or compiling for some seconds once, pays.
    """
    check_names("option of evaluation", options or {}, _ALLOWED)
    named = dict(options or {})
    if not named.keys() & {"evaluator", "tolerance"}:
        named |= by_default or {}
    if is_large and find_spec("numba") is not None:
        named.setdefault("compiled", True)
    return Evaluation(**named, threads=effective_n_jobs(1 if n_jobs is None else int(n_jobs)))


def _repeated(weights: FloatArray) -> NDArray[np.intp]:
    """Return the number of each sample as often as its weight says.

    Whole numbers that are not too large are taken as they are. Others are scaled to a sum of max(n, 2000), and the sums
    of the first 1, 2, ... of them are rounded.
    """
    total, most = float(weights.sum()), max(len(weights), _FOR_WEIGHTS)
    if not (np.equal(weights, np.rint(weights)).all() and total <= max(most, EXACT_SAMPLES)):
        weights = weights * (most / total)
    ends = np.rint(np.cumsum(weights)).astype(np.intp)
    return np.repeat(np.arange(len(weights)), np.diff(ends, prepend=0))


def reevaluated(learned: Learned) -> Learned:
    """Return what was learned with its :func:`accurate` problem and objective, where it was evaluated approximately.

    Of a clustering the U that was found is kept.
    """
    approximate = cast(DispatchedProblem, learned.problem)
    if approximate.evaluation.is_exact:
        return learned
    objective, evaluation = approximate.objective, accurate(approximate, learned.projection.shape[1])
    problem = at_the_end = build_problem(objective, evaluation)
    if learned.clustering is not None:
        at_the_end = build_problem(replace(objective, gamma=learned.clustering.gamma), evaluation)
    return replace(learned, problem=problem, objective=at_the_end.value(learned.projection))


def accurate(problem: DispatchedProblem, n_components: int) -> Evaluation:
    """Return how a problem is evaluated for what a fit reports: exactly, or where sums over classes take over, finely.

    These sums come to 1e-7 of the trace of the kernel matrix; without a basis of so small an error they are exact.
    """
    fine = replace(problem.evaluation.exact, tolerance=_FINE)
    by_sums = plan(problem.objective, n_components, fine).evaluator == "class_sums"
    return fine if by_sums else problem.evaluation.exact


def _without_false_stall(learned: Learned) -> Learned:
    """Return what was learned as converged where the solver stalled for F does not change beyond rounding.

    Relative stationarity is |(I - WW') G| / |G|, which is undefined where G vanishes beside F: there it is judged by
    |(I - WW') G| / |F|.
    """
    if learned.status is not Status.STALLED:
        return learned
    gradient = learned.problem.fresh().gradient(learned.projection)
    slope = float(np.linalg.norm(outside(learned.projection, gradient)))
    if slope > _FLAT * abs(learned.objective):
        return learned
    message = f"F does not change beyond rounding: its slope is {slope:.1e}"
    return replace(learned, status=Status.CONVERGED, message=message)


def on_demand_of(learned: Learned) -> OnDemand:
    """Return the certificate of what was learned and the shares of its components, computed where that is cheap.

    It costs less than most solves where Phi is constant, or where the Hessian is formed and takes no pairs of samples.
    """
    problem, result, projection = cast(DispatchedProblem, learned.problem), learned.result, learned.projection
    # In the last round of a clustering the solver may have ended elsewhere.
    lowest = result.lowest if np.array_equal(result.projection, projection) else None
    n_features, n_components = projection.shape
    objective = problem.objective
    is_formed = (n_features - n_components) * n_components <= DENSE_DIMENSION
    if problem.surrogate_is_constant or (is_formed and not problem.takes_pairs(projection)):
        computed = OnDemand(problem, objective.features, projection, lowest)
        computed.compute()
        return computed
    if isinstance(objective.features, np.ndarray) and objective.features.size <= _COPIED:
        objective = replace(objective, features=objective.features.copy())
    # Without what the fit holds of the data, such as copies in single precision.
    return OnDemand(build_problem(objective, problem.evaluation), objective.features, projection, lowest)
