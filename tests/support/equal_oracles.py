"""All oracles of two problems side by side."""

import numpy as np

from support.helpers import random_projection


def assert_equal_oracles(mine, reference, q, rounding=1e-12):
    """Compare cost, derivatives and Phi of a problem with a reference's, and what its counters count, at one point."""
    d = reference.n_features
    projection, direction = (random_projection(seed=seed, n_features=d, n_components=q) for seed in (1, 2))
    basis = random_projection(seed=3, n_features=d, n_components=min(3, d))
    size = np.abs(reference.gradient(projection)).max()
    for oracle in (
        lambda problem: problem.value(projection),
        lambda problem: problem.gradient(projection),
        lambda problem: problem.value_and_gradient(projection)[0],
        lambda problem: problem.value_and_gradient(projection)[1],
        lambda problem: problem.hessian_vector(projection, direction),
        lambda problem: problem.hessian_vectors(projection, np.array([direction, projection]))[0],
        lambda problem: problem.hessian_vectors(projection, np.array([direction, projection]))[1],
        lambda problem: problem.hessian(projection, basis),
        lambda problem: problem.surrogate(projection),
        lambda problem: problem.initial_surrogate(),
    ):
        expected, found = np.asarray(oracle(reference)), oracle(mine)
        assert isinstance(found, np.ndarray | float)
        # Rounding is relative to the gradient, also for what is smaller.
        scale = max(np.abs(expected).max(), size if expected.ndim else 0.0)
        np.testing.assert_allclose(found, expected, atol=rounding * scale, rtol=0)
    derivatives = {"hessian_vector": 5, "hessian": 1, "surrogate": 2}
    assert vars(mine.counters) == {"value": 1, "gradient": 1, "value_gradient": 2, **derivatives}
