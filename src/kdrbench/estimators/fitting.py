"""A fit of :class:`.InterpretableKDR`: its evaluation, kernel and starts, what is learned, and its certificate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kdrbench.arrays import HostRows, is_device_array
from kdrbench.errors import InputError, counted
from kdrbench.estimators.common import Samples as Sizes
from kdrbench.estimators.common import check_footprint
from kdrbench.estimators.definitions import Definitions, definitions_of
from kdrbench.estimators.inputs import Known, known_samples
from kdrbench.estimators.span import FeatureSpan, precision_of, span_of
from kdrbench.evaluation import DispatchedProblem, Evaluation, build_problem
from kdrbench.kernels import EXACT_SAMPLES, Combination, Kernel, build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Learned, SupervisedTask, Task, build_task, learn_from_all
from kdrbench.paradigms.task import doubts, searched_bandwidth
from kdrbench.parameters import OPTIONS, Either, Instance, Interval, OneOf, check_names, check_value, optional, whole
from kdrbench.problems import Problem
from kdrbench.progress import FitProgress
from kdrbench.samples import Samples
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
from kdrbench.solvers.geometry.certificate import Certificate, CertificateOnDemand, certificate_is_cheap, certify
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised, riemannian_gradient
from kdrbench.solvers.registry import definition_of, method_of

# From here on clusterings, and others, with a Gaussian are by default evaluated to this share of their kernel's trace.
_ROUGH_CLUSTERS, _ROUGH_SAMPLES, _ROUGH = 2000, 5000, 1e-3
_ALLOWED = ("evaluator", "tolerance", "memory_mib", "engine", "scheduler")
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
# For the memory of a search: evaluators that hold all pairs, with their arrays of n x n; arrays of n x d, and what
# blocks of pairs take at most; kernels whose sums over classes need no pairs, with their arrays of n x d, and those of
# the columns of X W; the blocks of a kernel matrix that clusterings keep.
_HOLDING_ALL_PAIRS, _ALL_PAIRS = ("dense", "autograd", "pairwise_sum"), 6.0
_SEARCHED, _PAIRS_BYTES = 6.0, 2**25
_WITHOUT_PAIRS, _SUMMED, _PROJECTED = ("linear", "squared", "polynomial"), 2.0, 7.0
_KEPT_BYTES = 2**29


class AskedSolver(NamedTuple):
    """A solver, and the start that its name says, if any, with how many of these are drawn."""

    solver: Solver
    start: str | None
    starts: int


def solver_of(estimator: Any, rng: np.random.Generator) -> AskedSolver:
    """Return what an estimator's ``solver`` means, with ``tol`` and ``max_iter`` where they are given.

    The seed of a portfolio is drawn from ``rng`` where it is not given. Raises ``InputError`` for an unknown name or
    option, a value of the wrong type, and for what is neither a name nor a definition.
    """
    check_value("solver", estimator.solver, Instance((str, Mapping), "a name or a dict of options"))
    named = definition_of(estimator.solver) if isinstance(estimator.solver, str) else {}
    method = method_of(named) or dict(estimator.solver)
    asked = {"tolerance": estimator.tol, "max_iterations": estimator.max_iter}
    method |= {option: value for option, value in asked.items() if value is not None}
    if "portfolio" in method:
        method.setdefault("seed", int(rng.integers(2**31)))
    return AskedSolver(build_solver(method), named.get("start"), named.get("starts", 1))


class Fit(NamedTuple):
    """What an estimator has learned, for all features, by which kernel, and the type of the features.

    The certificate, and the problem of ``learned``, are about the ``span`` in which was searched.
    """

    learned: Learned
    kernel: AnyKernel
    dtype: type[np.floating[Any]]
    span: FeatureSpan
    certificate: Certificate | CertificateOnDemand
    shares: FloatArray | None


def fitted(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Fit:
    """Return what an estimator learns in the span of the features; shows progress if ``verbose``.

    Warns with ``ConvergenceWarning`` when the solver ended before its tolerance, and of clusters that are doubtful.

    Raises ``InputError`` for contradictory parameters, and for what the samples do not allow.
    """
    asked = definitions_of(estimator)
    known = known_samples(estimator, asked, X, y, sample_weight)
    if known.continuous:
        asked = asked.with_target_kernel(len(known.of_samples))
    if estimator.n_components == "auto" and isinstance(known.features, Samples):
        raise InputError(
            "n_components='auto' evaluates F for each component, which takes passes over samples that are streamed or "
            "sparse; give a number, or 'n_classes'"
        )
    precision = precision_of(known.features, known.dtype)
    span = span_of(known.features, of_differences=asked.is_of_differences, precision=precision)
    known = known._replace(features=span.lower(known.features))
    rng = np.random.default_rng(check_random_state(estimator.random_state).randint(2**31))
    named = solver_of(estimator, rng)
    title, tolerance = (
        f"{type(estimator).__name__}, n = {known.features.shape[0]}",
        getattr(named.solver, "tolerance", 0.0),
    )
    with FitProgress(title, tolerance, int(estimator.verbose), _remedy(estimator, asked)) as progress:
        monitor = partial(WatchedMonitor, estimator.max_iter or MOST_ITERATIONS, progress)
        learn = partial(_outcomes, estimator, asked, (known, span), named, monitor, rng)
        best, kernel, doubted = learn(estimator.n_components)
        shares = objective_shares(best)
        if estimator.n_components == "auto" and shares is not None:
            best, kernel, doubted = learn(1 + int(np.searchsorted(np.cumsum(shares), _EXPLAINED)))
            shares = objective_shares(best)
        learned = _without_false_stall(exactly(best))
        iterations = counted(learned.iterations, "iteration")
        progress.outcome = f"{learned.status} after {iterations}, objective {learned.objective:.8g}"
    if learned.status is not Status.CONVERGED:
        now = f", now {estimator.max_iter}," if estimator.max_iter else ""
        remedy = f"; raise max_iter{now} or scale the features"
        more = remedy if learned.status is Status.MAX_ITERATIONS else ""
        warnings.warn(f"{estimator.solver} ended as {learned.status}: {learned.message}{more}", ConvergenceWarning, 4)
    for doubt in doubted:
        warnings.warn(doubt, UserWarning, 4)
    count = max(learned.projection.shape[1], wanted_components(estimator))
    return Fit(span.lifted(learned, count), kernel, known.dtype, span, certificate_of(learned), shares)


def _remedy(estimator: Any, asked: Definitions) -> str:
    """Return what would be quicker than this fit, as a sentence about its parameters."""
    named = estimator.evaluation or {}
    exact = asked.is_gaussian and not named.get("tolerance") and "evaluator" not in named
    ways = [
        "evaluation={'tolerance': 1e-3}" if exact else "",
        "n_jobs=-1" if estimator.n_jobs in (None, 1) else "",
        "fewer samples" if asked.is_gaussian else "kernel='linear'",
    ]
    return f"quicker: {', '.join(filter(None, ways))}; verbose=True shows more"


def _outcomes(
    estimator: Any,
    asked: Definitions,
    samples: tuple[Known, FeatureSpan],
    named: AskedSolver,
    monitor: Callable[[], Monitor],
    rng: np.random.Generator,
    n_components: int | str | None,
) -> tuple[Learned, AnyKernel, list[str]]:
    """Return what the best start has led to, by which kernel, and sentences that say why to doubt it."""
    known, span = samples
    features, shape = known.features, known.features.shape
    evaluation = evaluation_of(estimator.evaluation, estimator.n_jobs, _is_rough(estimator, asked, shape[0]))
    task = build_task(asked.paradigm, asked.settings, features, known.of_samples, evaluation=evaluation)
    if known.weights is not None and isinstance(task, SupervisedTask):
        task = replace(task, gamma=task.gamma.reweighted(known.weights))
    kernel_for = partial(resolved_kernel, estimator, asked, known, task)
    n_components = components_of(n_components, task, span, kernel_for)
    if isinstance(features, np.ndarray):
        _check_footprint(estimator, Sizes(*shape), evaluation.evaluator, asked.family, n_components)
    starts: Iterable[FloatArray]
    if asked.searches:
        found = searched_bandwidth(task, named.solver, n_components, monitor, rng)
        kernel, starts = found.kernel, [found.projection]
    else:
        kernel = kernel_for(n_components)
        problem = task.first_problem(kernel)
        starts = starts_of(estimator, problem, n_components, rng, named, span)
    best, compared = learn_from_all(task, kernel, named.solver, starts, monitor)
    by_default = "tolerance" not in (estimator.evaluation or {}) and evaluation.tolerance > 0.0
    if by_default and best.status is Status.STALLED and isinstance(task, SupervisedTask):
        # The approximation that is the default ended the search.
        task = replace(task, evaluation=evaluation.exact)
        best = task.learn(kernel, named.solver, best.projection, monitor)
    doubted = doubts(task, kernel, best, compared, searched=asked.searches) if asked.paradigm == "alternative" else ()
    wanted = wanted_components(estimator)
    too_many = f"samples span {span.rank} of {span.n_features} features, so that the objective depends on no more "
    too_many += f"components; {wanted} were asked for, of which the last {wanted - span.rank} mean nothing"
    return best, kernel, [*doubted, *([too_many] if wanted > span.rank else [])]


def _check_footprint(estimator: Any, sizes: Sizes, evaluator: str, family: str | None, n_components: int) -> None:
    """Raise ``InputError`` where a search for a projection of samples in memory would not fit."""
    n_samples, n_features = sizes
    clusters, way_out = estimator.paradigm != "supervised", "learn from fewer samples, or stream them"
    searched, pairs = _SEARCHED * 8 * n_samples * n_features, 8.0 * n_samples**2
    if evaluator in _HOLDING_ALL_PAIRS:
        needed, way_out = searched + _ALL_PAIRS * pairs, "leave the evaluator to the cost model (evaluation=None)"
    elif family in _WITHOUT_PAIRS and not clusters:
        # Slopes of the others are the same everywhere.
        needed = 8.0 * n_samples * (_SUMMED * n_features + _PROJECTED * (n_components if family == "polynomial" else 0))
    else:
        needed = searched + min(pairs, _PAIRS_BYTES) + (min(0.5 * pairs, _KEPT_BYTES) if clusters else 0.0)
    check_footprint(estimator, needed, sizes, way_out)


def evaluation_of(options: Mapping[str, Any] | None, n_jobs: int | None, is_rough: bool = False) -> Evaluation:
    """Return the evaluation that ``options`` and ``n_jobs`` (scikit-learn's meaning) ask for.

    Without a tolerance or an evaluator it is exact, or ``is_rough``: to 1e-3 of the trace of the kernel matrix.

    Raises ``InputError`` for an unknown option, or values that are not allowed.
    """
    check_value("evaluation", options, optional(OPTIONS))
    check_names("option of evaluation", options or {}, _ALLOWED)
    check_value("n_jobs", n_jobs, N_JOBS)
    named = dict(options or {})
    if is_rough and "evaluator" not in named:
        named.setdefault("tolerance", _ROUGH)
    return Evaluation(**named, threads=effective_n_jobs(1 if n_jobs is None else int(n_jobs)))


def _is_rough(estimator: Any, asked: Definitions, n_samples: int) -> bool:
    """Return whether many samples and a Gaussian make an exact fit long, and nothing says that it should be exact.

    The objective is known to some 1e-8 then, and stationarity to 1e-4. Rounds of a clustering by the papers' rule end
    when eigenvalues settle to 1 % anyway; one by the joint rule, or by a ``tol``, is exact.
    """
    if not asked.is_gaussian or estimator.tol is not None:
        return False
    if asked.paradigm == "supervised":
        return n_samples >= _ROUGH_SAMPLES
    return n_samples >= _ROUGH_CLUSTERS and asked.settings.get("rule") != "joint"


def resolved_kernel(estimator: Any, asked: Definitions, known: Known, task: Task, n_components: int) -> AnyKernel:
    """Return the kernel that is asked for, resolved on the samples by the estimator's ``n_jobs`` threads.

    A median distance need not be exact, and the seed of an estimate is the ``random_state`` if that is an integer, else
    0: a fit without random starts is the same in every run. Of samples that are streamed, a random subset is drawn.
    With sample weights a median is that of samples repeated as often (:func:`_repeated`).

    Raises ``InputError`` where the samples do not allow it.
    """
    threads = evaluation_of(estimator.evaluation, estimator.n_jobs).threads
    seed = int(estimator.random_state) if isinstance(estimator.random_state, Integral) else 0
    kernel, features = asked.kernel, known.features
    if asked.searches:
        # A search begins with it.
        kernel = {**kernel, "sigma": "median"}
    if known.weights is not None and asked.family == "combination" and kernel.get("weights") == "alignment":
        raise InputError("weights by alignment with labels take no sample_weight; give the members' weights")
    if is_device_array(features):
        # Bandwidths from the samples are numpy's work, which takes rows when it needs them.
        features = cast(FloatArray, HostRows(features))
    looks = isinstance(asked.sigma, str)
    places = None if known.weights is None or not looks else _repeated(known.weights)
    if not isinstance(features, Samples):
        # Its factor of n rows is made for those that need it.
        target = task.alignment_target if asked.family == "combination" else None
        rows = features if places is None else features[places]
        return build_kernel(kernel, rows, n_components, target, seed=seed, threads=threads)
    # What no kernel looks at is not read.
    drawn, count = np.zeros((1, features.shape[1])), len(features)
    if looks:
        count = count if places is None else len(places)
        chosen = _drawn(count, features.shape[1], seed)
        drawn = features.take(chosen if places is None else places[chosen])
    return build_kernel(kernel, drawn, n_components, seed=seed, threads=threads, drawn_from=count)


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


def _drawn(n_samples: int, n_features: int, seed: int) -> NDArray[np.intp]:
    """Return the places of a random subset of the samples, or of all if they are few."""
    count = min(n_samples, max(EXACT_SAMPLES, min(_MOST_DRAWN, _DRAWN_ENTRIES // n_features)))
    return np.sort(np.random.default_rng(seed).choice(n_samples, count, replace=False, shuffle=False))


def exactly(learned: Learned) -> Learned:
    """Return what was learned with the exact problem, and its objective, where it was evaluated approximately.

    It costs one exact value, and of a clustering the U that was found is kept.
    """
    approximate = cast(DispatchedProblem, learned.problem)
    if approximate.evaluation.tolerance == 0.0:
        return learned
    objective, exact = approximate.objective, approximate.evaluation.exact
    problem = build_problem(objective, exact)
    at_the_end = problem
    if learned.clustering is not None:
        at_the_end = build_problem(replace(objective, gamma=learned.clustering.gamma), exact)
    return replace(learned, problem=problem, objective=at_the_end.fresh().value(learned.projection))


def objective_shares(learned: Learned) -> FloatArray | None:
    """Return q shares of F(W) - F(0): what each component adds to those before it, of all that add anything.

    ``None`` where samples are streamed, for each share takes a pass.
    """
    problem, projection = cast(DispatchedProblem, learned.problem), learned.projection
    if problem.objective.is_streamed:
        return None
    fresh = problem.fresh()
    nothing = fresh.value(np.zeros((len(projection), 1)))
    values = [fresh.value(np.ascontiguousarray(projection[:, :count])) for count in range(1, projection.shape[1] + 1)]
    gains = np.maximum(np.diff([nothing, *values]), 0.0)
    return gains / gains.sum() if gains.any() else np.full(len(gains), 1.0 / len(gains))


def _without_false_stall(learned: Learned) -> Learned:
    """Return what was learned as converged where the solver stalled for F does not change beyond rounding.

    Relative stationarity is |(I - WW') G| / |G|, which is undefined where G vanishes beside F: there it is judged by
    |(I - WW') G| / |F|.
    """
    if learned.status is not Status.STALLED:
        return learned
    gradient = learned.problem.fresh().gradient(learned.projection)
    slope = float(np.linalg.norm(riemannian_gradient(learned.projection, gradient)))
    if slope > _FLAT * abs(learned.objective):
        return learned
    message = f"F does not change beyond rounding: its slope is {slope:.1e}"
    return replace(learned, status=Status.CONVERGED, message=message)


def features_of(learned: Learned) -> FloatArray:
    """Return the samples in memory (n x d) of which this was learned."""
    return np.asarray(cast(DispatchedProblem, learned.problem).objective.features)


def certificate_of(learned: Learned) -> Certificate | CertificateOnDemand:
    """Return the certificate of what was learned where it is cheap, and otherwise what computes it on demand."""
    problem, result = cast(DispatchedProblem, learned.problem), learned.result
    # In the last round of a clustering the solver may have ended elsewhere.
    lowest = result.lowest if np.array_equal(result.projection, learned.projection) else None
    if certificate_is_cheap(problem, learned.projection):
        return certify(problem, learned.projection, lowest)
    # Without what the fit holds of the data, such as copies in single precision.
    again = build_problem(problem.objective, problem.evaluation)
    return CertificateOnDemand(again, problem.objective.features, learned.projection, lowest)


def starts_of(
    estimator: Any,
    problem: Problem,
    n_components: int,
    rng: np.random.Generator,
    named: AskedSolver,
    span: FeatureSpan,
) -> Iterator[FloatArray]:
    """Yield the orthonormal r x q starts that an estimator asks for; without any, those of its solver's own.

    ``multistart`` is that of Phi_0, then random ones. Of more than q given rows the first q are taken, unless F is
    higher where Phi_0 starts. Rows are given for all d features, of which r are the span's.

    Raises ``InputError`` for an unknown name, or an array that is no start.
    """

    def made(name: str) -> FloatArray:
        return make_start(name, problem, n_components, rng)

    start, count = estimator.start, estimator.n_init
    if start is None and named.start is not None:
        yield from (made(named.start) for _ in range(named.starts))
        return
    if start is None:
        start, count = _DEFAULT_STARTS.get(estimator.paradigm, ("surrogate", 1))
    if not isinstance(start, str):
        rows = _given(start, span.n_features, wanted_components(estimator) or n_components)
        given = span.restricted(rows, n_components)
        if rows.shape[1] > n_components:
            # Rows for more components need not lead with the best ones for fewer.
            given = max(given, made("surrogate"), key=problem.value)
        yield given
        return
    check_value("start", start, OneOf((*sorted(STARTS), "multistart")))
    yield made("surrogate" if start == "multistart" else start)
    if start == "multistart":
        yield from (made("random") for _ in range(count - 1))


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


def components_of(wanted: object, task: Task, span: FeatureSpan, kernel_for: Callable[[int], AnyKernel]) -> int:
    """Return the number q of components in the span; ``kernel_for`` makes the kernel for a q.

    Raises ``InputError`` unless ``wanted`` is a rule, ``None``, or a whole number from 1 to the number of features.
    """
    if wanted in (None, "n_classes", "auto"):
        return min(task.n_classes, span.rank)
    if wanted == "eigengap":
        # A kernel may depend on q; for the spectrum of Phi_0 it is taken as the number of classes.
        kernel = kernel_for(min(task.n_classes, span.rank))
        return eigengap_components(task.first_problem(kernel).initial_surrogate())
    count = whole(1, span.n_features, f"n_features = {span.n_features}")
    check_value("n_components", wanted, Either((_COUNTS, count), or_none=True))
    return min(int(cast(int, wanted)), span.rank)


def wanted_components(estimator: Any) -> int:
    """Return the number of components that is asked for by number, which may be more than the span has; else 0."""
    return int(estimator.n_components) if isinstance(estimator.n_components, Integral) else 0
