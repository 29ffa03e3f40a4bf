"""The starts that an estimator's parameters name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError, is_whole, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers import STARTS, make_start
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised

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
        if not is_whole(n_init) or n_init < 1:
            raise InputError(f"n_init must be an integer >= 1, got {n_init!r}")
        yield make_start("surrogate", problem, n_components, rng)
        for _ in range(n_init - 1):
            yield make_start("random", problem, n_components, rng)
    elif start in STARTS:
        yield make_start(start, problem, n_components, rng)
    else:
        raise InputError(unknown_name("start", start, [*sorted(STARTS), "multistart"]))


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
    given = rows.T.astype(np.float64)
    if feasibility_error(given) <= _SINGLE_PRECISION:
        given = orthonormalised(given)
    check_projection("start", given, n_features, n_components)
    return given
