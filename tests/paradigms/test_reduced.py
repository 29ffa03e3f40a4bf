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


FORMS = [{"degrees": degrees, "centred": centred} for degrees in ("both", "embedding", "none") for centred in (1, 0)]


def known_of_wine(paradigm):
    classes = load_dataset("wine").labels
    if paradigm == "alternative":
        return classes % 2
    return np.where(np.arange(len(classes)) % 3 == 0, classes, np.nan) if paradigm == "semi_supervised" else None


@pytest.mark.parametrize("evaluator", ["dense", "panels"])
@pytest.mark.parametrize("paradigm", ["unsupervised", "alternative", "semi_supervised"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(str(value) for value in form.values()))
def test_the_reduced_gradient_is_the_derivative_though_embedding_and_degrees_follow(form, paradigm, evaluator):
    features, evaluation = wine(), Evaluation(evaluator=evaluator)
    parameters = {"n_clusters": 3, **form, "centred": bool(form["centred"])}
    task = build_task(paradigm, parameters, features, known_of_wine(paradigm), evaluation=evaluation)
    kernel = Gaussian(median_distance(features))
    reduced = ReducedObjective(task.alternation, features, kernel, task.guidance, evaluation=evaluation)
    rng = np.random.default_rng(0)
    projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
    direction, step = rng.standard_normal((13, 4)), 1e-5
    difference = (reduced.value(projection + step * direction) - reduced.value(projection - step * direction)) / (
        2 * step
    )
    # Central differences: the error is of order step^2, and of rounding over step, 1e-15 * 40 / 1e-5.
    assert np.vdot(reduced.gradient(projection), direction) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(4.0), Polynomial(2, 1.0, 0.25)], ids=["gaussian", "polynomial"])
def test_the_error_of_the_first_order_model_falls_with_the_square_of_the_step(kernel):
    features = wine()
    task = build_task("unsupervised", {"n_clusters": 3, "degrees": "embedding"}, features, None)
    reduced = ReducedObjective(task.alternation, features, kernel)
    rng = np.random.default_rng(1)
    projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
    direction = rng.standard_normal((13, 4))
    slope, value = np.vdot(reduced.gradient(projection), direction), reduced.value(projection)
    steps = np.logspace(-4, -3, 5)
    errors = [abs(reduced.value(projection + step * direction) - value - step * slope) for step in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_degrees_once_missing_are_given_up_by_the_reduced_objective_too():
    features = wine()
    task = build_task("unsupervised", {"n_clusters": 3}, features, None)
    kernel = Polynomial(3, 0.0, 1.0)
    reduced = ReducedObjective(task.alternation, features, kernel)
    reduced.round_ended(np.eye(13)[:, :1])
    assert not reduced.uses_degrees
