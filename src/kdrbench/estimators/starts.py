"""Where a fit of :class:`.InterpretableKDR` begins, and with how many components."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Task
from kdrbench.parameters import Either, OneOf, check_value, whole
from kdrbench.problems import Problem
from kdrbench.solvers import STARTS, eigengap_components, make_start
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised

AnyKernel = Kernel | Combination
_RULES = OneOf(("n_classes", "eigengap"))
# One start is known to end in poor alternatives; elsewhere it is that of Phi_0.
_DEFAULT_STARTS = {"alternative": ("multistart", 4)}
# Rows this far from orthonormal are meant to be: they come from single precision.
_SINGLE_PRECISION = 1e-5


def starts_of(
    estimator: Any,
    problem: Problem,
    n_components: int,
    rng: np.random.Generator,
    own: str | None = None,
    own_count: int = 1,
) -> Iterator[FloatArray]:
    """Yield the d x q starts that an estimator asks for: the last W of a ``warm_start`` where it has the shape.

    Where no start is asked for, ``own_count`` starts called ``own``, which are its solver's, or else the usual ones.
    Warns where it has another, and then yields the starts of a first fit.
    """
    last = getattr(estimator, "components_", None) if estimator.warm_start else None
    if last is not None and last.shape != (n_components, problem.n_features):
        warnings.warn(
            f"warm_start: the last fit has {last.shape[0]} components of {last.shape[1]} features, and this one "
            f"{n_components} of {problem.n_features}; it starts as a first fit does",
            UserWarning,
            5,
        )
        last = None
    if last is not None:
        return iter([_given(last, problem.n_features, n_components)])
    start, count = estimator.start, estimator.n_init
    if start is None and own is not None:
        return (make_start(own, problem, n_components, rng) for _ in range(own_count))
    if start is None:
        start, count = _DEFAULT_STARTS.get(estimator.paradigm, ("surrogate", 1))
    return starting_points(start, count, problem, n_components, rng)


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
