"""The objective of an alternation as a function of W alone, against the alternation itself and against differences."""

import numpy as np
import pytest

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import Gaussian, Polynomial, median_distance
from kdrbench.paradigms import ReducedObjective, build_task
from kdrbench.solvers import IterationMonitor, build_solver, make_start


def wine():
    features = load_dataset("wine").features
    return Standardiser.fit(features).transform(features)


@pytest.mark.parametrize("settings", [{}, {"centred": False}, {"degrees": "none"}])
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_the_reduced_objective_is_the_alternations_after_each_round(kernel, settings):
    features = wine()
    chosen = Gaussian(median_distance(features)) if kernel == "gaussian" else Polynomial(3, 1.0, 0.25)
    evaluation = Evaluation()
    for rounds in (1, 2, 3):
        parameters = {"n_clusters": 3, "max_rounds": rounds, "tolerance": 1e-12, **settings}
        task = build_task("unsupervised", parameters, features, None, evaluation=evaluation)
        start = make_start("surrogate", task.first_problem(chosen), 4, np.random.default_rng(0))
        learned = task.learn(chosen, build_solver({"method": "ism"}), start, IterationMonitor)
        used = learned.clustering.uses_degrees
        reduced = ReducedObjective(task.alternation, features, chosen, uses_degrees=used)
        assert reduced.value(learned.projection) == pytest.approx(learned.objective, rel=1e-10)
        assert np.abs(reduced.embedding(learned.projection).T @ learned.clustering.embedding).max() > 0.99
        assert reduced.fresh() is reduced


def test_the_reduced_gradient_is_the_derivative_where_u_is_the_maximiser():
    # Without degrees U(W) maximises the objective, so that its own change does not count (the envelope theorem).
    features = wine()
    task = build_task("unsupervised", {"n_clusters": 3, "degrees": "none"}, features, None)
    reduced = ReducedObjective(task.alternation, features, Gaussian(median_distance(features)))
    rng = np.random.default_rng(0)
    projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
    direction, step = rng.standard_normal((13, 4)), 1e-5
    difference = (reduced.value(projection + step * direction) - reduced.value(projection - step * direction)) / (
        2 * step
    )
    # Central differences: the error is of order step^2, and of rounding over step, 1e-15 * 40 / 1e-5.
    assert np.vdot(reduced.gradient(projection), direction) == pytest.approx(difference, rel=1e-6)


def test_degrees_once_missing_are_given_up_by_the_reduced_objective_too():
    features = wine()
    task = build_task("unsupervised", {"n_clusters": 3}, features, None)
    kernel = Polynomial(3, 0.0, 1.0)
    reduced = ReducedObjective(task.alternation, features, kernel)
    reduced.round_ended(np.eye(13)[:, :1])
    assert not reduced.uses_degrees
