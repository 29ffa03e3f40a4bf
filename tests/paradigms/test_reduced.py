"""The objective of an alternation as a function of W alone, and alternations that climb it until it is stationary."""

from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.datasets import Standardiser, load_dataset, synthetic
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import Gaussian, Polynomial, median_distance
from kdrbench.paradigms import Alternation, ReducedObjective, build_task
from kdrbench.paradigms.reduced import climb
from kdrbench.solvers import Monitor, SolverOutcome, Status, build_solver, make_start
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity


def case(name, family):
    dataset = load_dataset(name)
    features = Standardiser.fit(dataset.features).transform(dataset.features)
    q = {"wine": 4, "wdbc": 2}[name]
    kernel = Gaussian(median_distance(features)) if family == "gaussian" else Polynomial(3, 1.0, 1.0 / q)
    return features, dataset.labels, kernel, q


def known_of(classes, paradigm):
    if paradigm == "alternative":
        return classes % 2
    return np.where(np.arange(len(classes)) % 5 == 0, classes, np.nan) if paradigm == "semi_supervised" else None


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
    (features, labels, kernel, _), evaluation = case("wine", family), Evaluation(evaluator=evaluator)
    parameters = {"n_clusters": 3, "degrees": degrees, "centred": centred}
    task = build_task(paradigm, parameters, features, known_of(labels, paradigm), evaluation=evaluation)
    reduced = ReducedObjective(task.alternation, features, kernel, task.guidance, evaluation=evaluation)
    rng = np.random.default_rng(0)
    projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
    direction, step = rng.standard_normal((13, 4)), 1e-5
    above, below = (reduced.value(projection + sign * step * direction) for sign in (1, -1))
    # Central differences: the error is of order step^2, and of rounding over step, 1e-15 * 40 / 1e-5.
    assert np.vdot(reduced.gradient(projection), direction) == pytest.approx((above - below) / (2 * step), rel=1e-6)


TOLERANCE = 1e-6


def learned(paradigm, parameters, name, family, method):
    features, labels, kernel, q = case(name, family)
    task = build_task(paradigm, parameters, features, known_of(labels, paradigm))
    start = make_start("surrogate", task.first_problem(kernel), q, np.random.default_rng(0))
    found = task.learn(kernel, build_solver(method), start, Monitor)
    used = found.clustering.uses_degrees
    return found, ReducedObjective(task.alternation, features, kernel, task.guidance, uses_degrees=used)


ISM, SAFEGUARDED = {"method": "ism", "tolerance": 0.01}, {"method": "ism_safeguarded"}
CASES = [
    ("wine", "gaussian", "unsupervised", {"degrees": "embedding"}),
    ("wine", "gaussian", "alternative", {}),
    ("wine", "gaussian", "semi_supervised", {}),
    ("wine", "polynomial", "unsupervised", {"degrees": "embedding", "centred": False}),
    ("wine", "polynomial", "unsupervised", {"degrees": "none"}),
    *(
        pytest.param("wdbc", family, "unsupervised", {"degrees": "embedding"}, marks=pytest.mark.whole)
        for family in ("gaussian", "polynomial")
    ),
]


@pytest.mark.parametrize(("name", "family", "paradigm", "form"), CASES)
def test_converged_is_stationary_and_never_below_plain_ism(name, family, paradigm, form):
    parameters = {"n_clusters": 3 if name == "wine" else 2, **form}
    plain, judge = learned(paradigm, parameters, name, family, ISM)
    found, again = learned(paradigm, {**parameters, "rule": "joint"}, name, family, SAFEGUARDED)
    assert judge.uses_degrees == again.uses_degrees
    assert found.status is Status.CONVERGED
    assert relative_stationarity(found.projection, judge.gradient(found.projection)) <= TOLERANCE
    assert found.objective == pytest.approx(judge.value(found.projection), rel=1e-12)
    assert found.objective >= judge.value(plain.projection)
    # Plain ISM's own end is not stationary, or there would be nothing to converge to.
    assert relative_stationarity(plain.projection, judge.gradient(plain.projection)) > 100 * TOLERANCE


def test_the_papers_rounds_fall_where_the_climb_rises():
    # Run to its fixed point the papers' alternation ends below the round at which their rule stops it.
    parameters = {"n_clusters": 3, "degrees": "embedding"}
    plain, _ = learned("unsupervised", parameters, "wine", "polynomial", ISM)
    fixed, judge = learned(
        "unsupervised", {**parameters, "tolerance": 1e-12, "max_rounds": 60}, "wine", "polynomial", SAFEGUARDED
    )
    found, _ = learned("unsupervised", {**parameters, "rule": "joint"}, "wine", "polynomial", SAFEGUARDED)
    assert fixed.objective < plain.objective < found.objective
    assert relative_stationarity(fixed.projection, judge.gradient(fixed.projection)) > 1e-4
    climbed = [round_.objective for round_ in found.clustering.rounds[len(plain.clustering.rounds) :]]
    assert np.diff(climbed).min() >= -1e-12 * climbed[-1]


@pytest.mark.parametrize("method", [pytest.param("stiefel_cayley", marks=pytest.mark.whole), "grassmann_trust_region"])
def test_a_rival_that_converges_is_stationary_too(method):
    parameters = {"n_clusters": 3, "degrees": "embedding", "rule": "joint", "max_rounds": 300}
    found, judge = learned("unsupervised", parameters, "wine", "gaussian", {"method": method})
    assert found.status is Status.CONVERGED
    assert relative_stationarity(found.projection, judge.gradient(found.projection)) <= TOLERANCE


def test_rounds_rise_even_if_the_solver_falls():
    class Downhill:
        requires = frozenset()

        def run(self, problem, start, monitor):
            return SolverOutcome(poor, Status.CONVERGED, "poor")

    features, _ = synthetic.four_gaussians(30, np.random.default_rng(0))
    reduced = ReducedObjective(Alternation(4), features, Gaussian(1.0))
    good, poor = np.eye(5)[:, :2], np.eye(5)[:, 3:]
    assert reduced.value(poor) < reduced.value(good)
    before = SimpleNamespace(rounds=(), result=None, uses_degrees=True)
    found = climb(reduced, Downhill(), before, good, Monitor, tolerance=1e-12, max_rounds=5)
    objectives = [reduced.value(good), *(round_.objective for round_ in found.rounds)]
    assert len(objectives) > 3
    assert np.diff(objectives).min() > 0
    assert feasibility_error(found.projection) < 1e-12
