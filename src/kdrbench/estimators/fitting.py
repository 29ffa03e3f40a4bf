"""Parts of a fit of :class:`.InterpretableKDR`: its evaluation, kernel, components, starts and certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from kdrbench.arrays import HostRows, is_device_array
from kdrbench.errors import InputError
from kdrbench.estimators.common import kernel_of
from kdrbench.evaluation import DispatchedProblem, Evaluation, build_problem
from kdrbench.kernels import EXACT_SAMPLES, Combination, Kernel, resolve_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Learned, Task
from kdrbench.parameters import (
    OPTIONS,
    Either,
    Interval,
    OneOf,
    check_names,
    check_value,
    optional,
    whole,
)
from kdrbench.problems import Problem
from kdrbench.samples import Samples
from kdrbench.solvers import STARTS, eigengap_components, make_start
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.certificate import Certificate, CertificateOnDemand, certificate_is_cheap, certify
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised

AnyKernel = Kernel | Combination
_RULES = OneOf(("n_classes", "eigengap"))
# From here on a clustering by default is evaluated to this share of the trace of its kernel matrix.
_ROUGH_SAMPLES, _ROUGH = 2000, 1e-3
_ALLOWED = ("evaluator", "tolerance", "memory_mib", "engine", "scheduler")
# Samples that are drawn for the median of those that are streamed, and their entries.
_MOST_DRAWN, _DRAWN_ENTRIES = 2**17, 2**22
# scikit-learn's meaning: -1 is all cores, and 0 means nothing.
N_JOBS = optional(Interval(-math.inf, whole=True, but_zero=True))


def evaluation_of(
    options: Mapping[str, Any] | None, n_jobs: int | None, fitted: tuple[Any, int] | None = None
) -> Evaluation:
    """Return the evaluation that ``options`` and ``n_jobs`` (scikit-learn's meaning) ask for.

    ``fitted`` is the estimator and its number of samples. Where it clusters many with a Gaussian kernel and there are
    no options, a tolerance is the default: each round of an alternation takes passes over all pairs, and rounds end
    when eigenvalues settle to 1 %.

    Raises ``InputError`` for an unknown option, or values that are not allowed.
    """
    check_value("evaluation", options, optional(OPTIONS))
    check_names("option of evaluation", options or {}, _ALLOWED)
    check_value("n_jobs", n_jobs, N_JOBS)
    rough = fitted is not None and fitted[1] >= _ROUGH_SAMPLES and _clusters_by_eigenvalues(fitted[0])
    default = {"tolerance": _ROUGH} if rough else {}
    return Evaluation(
        **(default if options is None else options), threads=effective_n_jobs(1 if n_jobs is None else int(n_jobs))
    )


def _clusters_by_eigenvalues(estimator: Any) -> bool:
    """Return whether it alternates by the papers' rule, with a Gaussian kernel."""
    joint = (estimator.paradigm_params or {}).get("rule") == "joint"
    return estimator.paradigm != "supervised" and estimator.kernel == "gaussian" and not joint


def resolved_kernel(
    estimator: Any,
    options: Mapping[str, Any] | None,
    features: FloatArray | Samples,
    n_components: int,
    task: Task,
) -> Kernel | Combination:
    """Return the estimator's ``kernel`` with these options, resolved on ``features`` by its ``n_jobs`` threads.

    A median distance need not be exact, and the seed of an estimate is the ``random_state`` if that is an integer, else
    0: a fit without random starts is the same in every run. Of samples that are streamed, a random subset is drawn.
    """
    threads = evaluation_of(estimator.evaluation, estimator.n_jobs).threads
    seed = int(estimator.random_state) if isinstance(estimator.random_state, Integral) else 0
    kernel = kernel_of(estimator.kernel, options)
    if is_device_array(features):
        # Bandwidths from the samples are numpy's work, which takes rows when it needs them.
        features = cast(FloatArray, HostRows(features))
    if not isinstance(features, Samples):
        # Its factor of n rows is made for those that need it.
        target = task.alignment_target if estimator.kernel == "combination" else None
        return resolve_kernel(kernel, features, n_components, target, seed=seed, threads=threads)
    # What no kernel looks at is not read.
    looks = estimator.kernel == "gaussian" and isinstance((options or {}).get("sigma", "median"), str)
    drawn = _drawn(features, seed) if looks else np.zeros((1, features.shape[1]))
    return resolve_kernel(kernel, drawn, n_components, seed=seed, threads=threads, drawn_from=len(features))


def _drawn(samples: Samples, seed: int) -> FloatArray:
    """Return a random subset of the samples, or all if they are few."""
    count = min(len(samples), max(EXACT_SAMPLES, min(_MOST_DRAWN, _DRAWN_ENTRIES // samples.shape[1])))
    places = np.random.default_rng(seed).choice(len(samples), count, replace=False, shuffle=False)
    return samples.take(np.sort(places))


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


# Rows this far from orthonormal are meant to be: they come from single precision.
_SINGLE_PRECISION = 1e-5


def starting_points(
    start: str | ArrayLike, n_init: int, problem: Problem, n_components: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield orthonormal d x q starts: one, or ``n_init`` for ``multistart`` (that of Phi_0, then random ones).

    ``start`` is a name, or orthonormal rows such as another fit's ``components_``. Of more than q rows the first q are
    taken, unless F is higher where Phi_0 starts.

    Raises ``InputError`` for an unknown name, an array that is no start, or ``n_init`` < 1.
    """
    if not isinstance(start, str):
        given = _given(start, problem.n_features, n_components)
        if given.shape[1] > n_components:
            # Rows for more components need not lead with the best ones for fewer.
            first = np.ascontiguousarray(given[:, :n_components])
            given = max(first, make_start("surrogate", problem, n_components, rng), key=problem.value)
        yield given
    elif start == "multistart":
        yield make_start("surrogate", problem, n_components, rng)
        for _ in range(n_init - 1):
            yield make_start("random", problem, n_components, rng)
    else:
        check_value("start", start, OneOf((*sorted(STARTS), "multistart")))
        yield make_start(start, problem, n_components, rng)


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


def components_of(wanted: object, task: Task, n_features: int, kernel_for: Callable[[int], AnyKernel]) -> int:
    """Return the number q of components that is ``wanted``; ``kernel_for`` makes the kernel for a q.

    Raises ``InputError`` unless it is a rule, ``None``, or a whole number from 1 to ``n_features``.
    """
    if wanted is None or wanted == "n_classes":
        return min(task.n_classes, n_features)
    if wanted == "eigengap":
        # A kernel may depend on q; for the spectrum of Phi_0 it is taken as the number of classes.
        kernel = kernel_for(min(task.n_classes, n_features))
        return eigengap_components(task.first_problem(kernel).initial_surrogate())
    count = whole(1, n_features, f"n_features = {n_features}")
    check_value("n_components", wanted, Either((_RULES, count), or_none=True))
    return int(cast(int, wanted))
