"""Starting points, the same for every solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf, check_value
from kdrbench.problems import Problem, in_row_space
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised, with_fixed_signs


def _from_surrogate(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    reduced = in_row_space(problem, np.zeros((problem.n_features, n_components)))
    if reduced is None:
        return leading_eigenvectors(problem.initial_surrogate(), n_components)[1]
    smaller, space = reduced
    return with_fixed_signs(space.lift(leading_eigenvectors(smaller.initial_surrogate(), n_components)[1]))


def _first_axes(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    return np.eye(problem.n_features, n_components)


def _random(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    return orthonormalised(rng.standard_normal((problem.n_features, n_components)))


STARTS: dict[str, Callable[[Problem, int, np.random.Generator], FloatArray]] = {
    "identity": _first_axes,
    "random": _random,
    "surrogate": _from_surrogate,
}


def eigengap_components(surrogate: FloatArray) -> int:
    """Return the q < d with the largest gap lambda_q - lambda_{q+1} in the spectrum of Phi (d x d), lambda_q > 0.

    Directions of an eigenvalue that is not positive add nothing to F, so gaps below zero do not count. 1 where no
    eigenvalue is positive, and for d = 1.

    Source: Eq. 50 of ISM+ chooses q by the maximum eigengap.
    """
    values = np.linalg.eigvalsh(surrogate)[::-1]
    positive = int(np.count_nonzero(values[:-1] > 1e-12 * np.abs(values).max()))
    return 1 + int(np.argmax((values[:-1] - values[1:])[:positive])) if positive else 1


def make_start(name: str, problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Return an orthonormal d x q start.

    ``surrogate``: the q most dominant eigenvectors of Phi_0 (NeurIPS 2019, section 3.2); ``identity``: the
    first q axes; ``random``: QR of a Gaussian matrix drawn from ``rng``.

    Raises ``InputError`` for an unknown name and unless 1 <= q <= d.
    """
    check_value("start", name, OneOf(tuple(sorted(STARTS))))
    if not 1 <= n_components <= problem.n_features:
        raise InputError(
            f"cannot project {problem.n_features} features to {n_components} components; "
            f"the number of components must be between 1 and {problem.n_features}"
        )
    return STARTS[name](problem, n_components, rng)
