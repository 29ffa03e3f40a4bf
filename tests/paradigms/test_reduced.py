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


def kernel_of(family, features):
    return Gaussian(median_distance(features)) if family == "gaussian" else Polynomial(3, 1.0, 0.25)


@pytest.mark.parametrize(
    ("family", "settings"),
    [("gaussian", {}), ("gaussian", {"centred": False}), ("gaussian", {"degrees": "none"}), ("polynomial", {})],
)
def test_the_reduced_objective_is_the_alternations_each_round(family, settings):
    features = wine()
    chosen = kernel_of(family, features)
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


def known_of_wine(paradigm):
    classes = load_dataset("wine").labels
    if paradigm == "alternative":
        return classes % 2
    return np.where(np.arange(len(classes)) % 3 == 0, classes, np.nan) if paradigm == "semi_supervised" else None


@pytest.mark.parametrize(
    ("paradigm", "family", "degrees", "centred", "evaluator"),
    [
        ("unsupervised", "gaussian", "both", True, "dense"),
        ("unsupervised", "gaussian", "both", False, "panels"),
        ("unsupervised", "gaussian", "embedding", True, "panels"),
        ("unsupervised", "gaussian", "embedding", False, "dense"),
        ("unsupervised", "gaussian", "none", True, "dense"),
        ("unsupervised", "gaussian", "none", False, "panels"),
        ("unsupervised", "polynomial", "both", True, "panels"),
        ("alternative", "gaussian", "both", True, "panels"),
        ("alternative", "gaussian", "none", False, "dense"),
        ("semi_supervised", "gaussian", "both", False, "dense"),
        ("semi_supervised", "gaussian", "embedding", True, "panels"),
    ],
)
def test_the_reduced_gradient_follows_embedding_and_degrees(paradigm, family, degrees, centred, evaluator):
    features, evaluation = wine(), Evaluation(evaluator=evaluator)
    parameters = {"n_clusters": 3, "degrees": degrees, "centred": centred}
    task = build_task(paradigm, parameters, features, known_of_wine(paradigm), evaluation=evaluation)
    reduced = ReducedObjective(
        task.alternation, features, kernel_of(family, features), task.guidance, evaluation=evaluation
    )
    rng = np.random.default_rng(0)
    projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
    direction, step = rng.standard_normal((13, 4)), 1e-5
    difference = (reduced.value(projection + step * direction) - reduced.value(projection - step * direction)) / (
        2 * step
    )
    # Central differences: the error is of order step^2, and of rounding over step, 1e-15 * 40 / 1e-5.
    assert np.vdot(reduced.gradient(projection), direction) == pytest.approx(difference, rel=1e-6)
