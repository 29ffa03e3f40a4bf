"""What an estimator's parameters say about starts, threads, memory and approximations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OPTIONS, Interval, OneOf, check_names, check_value, optional
from kdrbench.problems import Problem
from kdrbench.solvers import STARTS, make_start
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised

_ALLOWED = ("evaluator", "tolerance", "memory_mib")
# scikit-learn's meaning: -1 is all cores, and 0 means nothing.
N_JOBS = optional(Interval(-math.inf, whole=True, but_zero=True))


def evaluation_of(options: Mapping[str, Any] | None, n_jobs: int | None) -> Evaluation:
    """Return the evaluation that ``options`` and ``n_jobs`` (scikit-learn's meaning) ask for.

    Raises ``InputError`` for an unknown option, or values that are not allowed.
    """
    check_value("evaluation", options, optional(OPTIONS))
    check_names("option of evaluation", options or {}, _ALLOWED)
    check_value("n_jobs", n_jobs, N_JOBS)
    return Evaluation(**(options or {}), threads=effective_n_jobs(1 if n_jobs is None else int(n_jobs)))


# Rows this far from orthonormal are meant to be: they come from single precision.
_SINGLE_PRECISION = 1e-5


def starting_points(
    start: str | ArrayLike, n_init: int, problem: Problem, n_components: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield orthonormal d x q starts: one, or ``n_init`` for ``multistart`` (that of Phi_0, then random ones).

    ``start`` is a name, or orthonormal rows (q x d) such as another fit's ``components_``.

    Raises ``InputError`` for an unknown name, an array that is no start, or ``n_init`` < 1.
    """
    if not isinstance(start, str):
        yield _given(start, problem.n_features, n_components)
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
    if rows.dtype.kind not in "fiu" or rows.shape != (n_components, n_features):
        raise InputError(
            f"start must be a name or an array of real numbers like components_, {n_components} x {n_features}; "
            f"got {rows.dtype} of shape {rows.shape}"
        )
    projection = rows.T.astype(np.float64)
    if feasibility_error(projection) <= _SINGLE_PRECISION:
        projection = orthonormalised(projection)
    check_projection("start", projection, n_features, n_components)
    return projection
