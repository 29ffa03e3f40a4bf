"""All oracles of two problems side by side."""

import numpy as np

from support.helpers import random_projection


def assert_equal_oracles(mine, reference, q, rounding=1e-12, without=()):
    """Compare cost, derivatives and Phi of a problem with a reference's, and what counters count, at one point.

    ``without`` are the names of oracles that the problem does not have.
    """
    d = reference.n_features
    projection, direction = (random_projection(seed=seed, n_features=d, n_components=q) for seed in (1, 2))
    basis = random_projection(seed=3, n_features=d, n_components=min(3, d))
    size = np.abs(reference.fresh().gradient(projection)).max()
    both = np.array([direction, projection])
    for name, arguments in (
        ("value", (projection,)),
        ("gradient", (projection,)),
        ("value_and_gradient", (projection,)),
        ("hessian_vector", (projection, direction)),
        ("hessian_vectors", (projection, both)),
        ("hessian", (projection, basis)),
        ("surrogate", (projection,)),
        ("initial_surrogate", ()),
    ):
        if name in without:
            continue
        answers = [getattr(problem, name)(*arguments) for problem in (mine, reference)]
        for found, answer in zip(*answers, strict=True) if name == "value_and_gradient" else [answers]:
            expected = np.asarray(answer)
            assert isinstance(found, np.ndarray | float)
            # Rounding is relative to the gradient, also for what is smaller.
            scale = max(np.abs(expected).max(), size if expected.ndim else 0.0)
            np.testing.assert_allclose(found, expected, atol=rounding * scale, rtol=0)
    assert vars(mine.counters) == vars(reference.counters)
