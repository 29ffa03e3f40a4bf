"""Plain ISM against the loop of the papers written out, and its options."""

import numpy as np
import pytest

from kdrbench.kernels import build_kernel, median_distance
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import Status
from kdrbench.solvers.geometry.stiefel import subspace_turn
from support.helpers import random_samples, small_problem, solved


def algorithm_1(problem, delta):
    """The papers' loop with numpy's full eigendecomposition; returns all its iterates and changes of eigenvalues."""
    iterates, changes = [np.linalg.eigh(problem.initial_surrogate())[1][:, -2:]], []
    last = None
    while not changes or changes[-1] >= delta:
        values, vectors = np.linalg.eigh(problem.surrogate(iterates[-1]))
        iterates.append(vectors[:, -2:])
        if last is not None:
            changes.append(np.linalg.norm(values[-2:] - last) / np.linalg.norm(last))
        last = values[-2:]
    return iterates, np.array(changes)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "multiquadric"])
def test_equals_algorithm_1(kernel, permutation):
    problem = small_problem(kernel)
    iterates, changes = algorithm_1(problem, 0.01)
    # No change is so near to delta that rounding would decide the number of iterations.
    assert np.abs(changes / 0.01 - 1).min() > 1e-6
    result = solved(problem, method="ism")
    assert result.status is Status.CONVERGED
    assert result.iterations == len(iterates) - 1
    assert subspace_turn(result.projection, iterates[-1]) < 1e-10


def test_a_cycle_ends_at_the_cap_and_is_said():
    rng = np.random.default_rng(0)
    features, labels = random_samples(n_samples=60, n_features=8)
    features, labels = rng.standard_normal(features.shape), rng.permutation(labels)
    kernel = build_kernel({"family": "gaussian", "sigma": 0.1 * median_distance(features)}, features, 2)
    result = solved(supervised_problem(features, labels, kernel), method="ism", tolerance=1e-12, max_iterations=50)
    assert result.status is Status.MAX_ITERATIONS
    assert result.message == "eigenvalues had not settled to 1e-12 after 50 iterations"


# The kernel is scaled by 1/q on XW; scikit-learn's default for X is one over the six features.
@pytest.mark.parametrize(("variant", "scale"), [("published", 1 / 2), ("published_1_d", 1 / 6)])
def test_the_published_variants_see_the_unprojected_kernel_once(variant, scale):
    features, labels = random_samples()
    kernel = build_kernel({"family": "polynomial"}, features, 2)
    problem = supervised_problem(features, labels, kernel)
    result = solved(problem, method="ism", variant=variant)
    gram = features @ features.T
    one_hot = np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0)
    psi = (one_hot @ one_hot.T) * (scale * gram + 1.0) ** 2
    np.fill_diagonal(psi, 0.0)
    expected = np.linalg.eigh(features.T @ psi @ features)[1][:, -2:]
    assert subspace_turn(result.projection, expected) < 1e-10
    assert result.counters["surrogate"] == 2
    following = np.linalg.eigh(problem.surrogate(result.projection))[1][:, -2:]
    assert subspace_turn(result.projection, following) > 1e-3
