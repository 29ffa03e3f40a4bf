"""What decides the speed and the last digits of the Newton finish: radius, acceptance, rounding, and the escape."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.solvers.escape import escaped
from kdrbench.solvers.geometry.stiefel import orthonormalised
from kdrbench.solvers.safeguarded import finish
from kdrbench.solvers.safeguarded.finish import NewtonSearch, escape
from kdrbench.solvers.safeguarded.quadratic_model import ModelStep
from support.helpers import random_projection, small_problem
from support.quadratics import Quadratic

POINT = np.eye(2, 1)
ACROSS = np.eye(2)[:, 1:]
PREDICTED, LENGTH = 0.5, 0.25


class Scripted:
    """F on the circle by a script: the value of each candidate in turn, with slopes of the same or smaller size."""

    def __init__(self, *values, slopes=None):
        self.values, self.slopes, self.calls = list(values), list(slopes or [1.0] * len(values)), 0

    def gradient(self, point):
        return POINT + ACROSS

    def value_and_gradient(self, point):
        self.calls += 1
        return self.values.pop(0), point + self.slopes.pop(0) * orthonormalised(ACROSS - point * (point.T @ ACROSS))


class ScriptedModel:
    """A model that predicts the same of every radius, and keeps the radii that it was asked for."""

    def __init__(self, predicted=PREDICTED, length=LENGTH, at_edge=True):
        self.step, self.radii, self.builds = ModelStep(length * ACROSS, predicted, length, at_edge), [], 0

    def build(self, tangents):
        self.builds += 1
        return self

    def minimise(self, radius):
        self.radii.append(radius)
        return self.step


def search_with(monkeypatch, model, *values, before=0.0, slopes=None):
    monkeypatch.setattr(finish, "build_model", model.build)
    problem = Scripted(*values, slopes=slopes)
    return NewtonSearch(problem, POINT, before), problem


def published_radius(radius, ratio, length, at_edge):
    """Absil, Baker, Gallivan, algorithm 1: a quarter below 1/4, doubled above 3/4 at the edge, else as it was."""
    if ratio < 1 / 4:
        return length / 4
    return 2 * length if ratio > 3 / 4 and at_edge else radius


@pytest.mark.parametrize("at_edge", [True, False])
def test_the_radius_of_accepted_steps_follows_the_rule(monkeypatch, at_edge):
    for ratio in [0.12, 0.2, 0.24, 0.26, 0.5, 0.74, 0.76, 1.0, 2.0]:
        model = ScriptedModel(at_edge=at_edge)
        search, _ = search_with(monkeypatch, model, ratio * PREDICTED, 9.0)
        assert search.step()
        assert search.value == ratio * PREDICTED
        search.step()
        assert model.radii == [np.inf, published_radius(np.inf, ratio, LENGTH, at_edge)]
        # The model is that of the new iterate.
        assert model.builds == 2


LARGE = 1e6


@pytest.mark.parametrize(("slope", "better"), [(1e-3, True), (1e3, False)])
def test_near_a_solution_rounding_of_f_does_not_refuse_a_step(monkeypatch, slope, better):
    for gained in [-1e-10, 0.0, 1e-10]:
        # What is predicted is a millionth of what rounding may do to F; the slope says whether the step was one.
        model = ScriptedModel(predicted=1e-16)
        search, _ = search_with(monkeypatch, model, LARGE + gained, LARGE, before=LARGE, slopes=[slope, 1.0])
        assert search.step() == better
        assert search.value == LARGE + gained
        # A ratio of rounding errors is taken for 1: at the edge the region grows.
        search.step()
        assert model.radii[1] == 2 * LENGTH


def test_newton_steps_square_the_stationarity():
    problem = small_problem("linear")
    leading = np.linalg.eigh(problem.initial_surrogate())[1][:, -2:]
    search = NewtonSearch(
        problem, beside := orthonormalised(leading + 0.05 * random_projection()), problem.value(beside)
    )
    history = [search.stationarity]
    while search.stationarity > 1e-12:
        assert search.step()
        history.append(search.stationarity)
    # Far from rounding the exponent is 2 or, where the third derivative vanishes as it does here, 3.
    assert np.log(history[2] / history[1]) / np.log(history[1] / history[0]) > 1.8
    assert len(history) <= 5


def test_the_curvature_is_relative_to_the_eigenvalues_there():
    for factor in [1.0, 1e-6, 1e6]:
        # At the second axis: up to the first, down to the third.
        search = NewtonSearch(Quadratic(5.0 * factor, 3.0 * factor, 2.0 * factor), np.eye(3)[:, 1:2], 3.0 * factor)
        assert search.curvature() == pytest.approx(-2 / 3)


def test_a_saddle_is_left_along_its_negative_curvature():
    problem = small_problem("linear")
    values, vectors = np.linalg.eigh(problem.initial_surrogate())
    # The largest eigenvector and the third: upwards leads only the way to the second.
    saddle = vectors[:, [-1, -3]]
    beside = escaped(problem, saddle)
    gain = values[-2] - values[-3]
    assert 0.25 * gain < problem.value(beside) - problem.value(saddle) < gain * (1 + 1e-12)
    span = vectors[:, [-1, -2, -3]]
    np.testing.assert_allclose(span @ (span.T @ beside), beside, atol=1e-12)
    search = NewtonSearch(problem, saddle, problem.value(saddle))
    assert escape(search)
    assert search.value == pytest.approx(problem.value(beside), rel=1e-12)
    assert escaped(problem, vectors[:, [-1, -2]]) is None


@pytest.mark.parametrize(("share", "left"), [(1e-4, True), (1e-8, False)])
def test_a_saddle_is_one_by_its_relative_curvature(share, left):
    for factor in [1e-6, 1.0, 1e6]:
        problem = Quadratic(factor, factor * (1.0 - share), 0.5 * factor)
        assert (escaped(problem, np.eye(3)[:, 1:2]) is not None) == left


def test_where_rounding_hides_the_gain_a_search_does_not_escape():
    problem = Quadratic(1.0, 1.0 - 1e-14, 0.5)
    search = NewtonSearch(problem, second := np.eye(3)[:, 1:2], problem.value(second))
    assert not escape(search)
    np.testing.assert_array_equal(search.point, second)


@pytest.mark.parametrize("broken", ["value", "gradient"])
def test_what_is_not_finite_is_refused(broken):
    problem, first = Quadratic(np.nan if broken == "gradient" else 1.0, 0.5), np.eye(2, 1)
    with pytest.raises(InputError, match="not finite on these samples"):
        NewtonSearch(problem, first, np.nan if broken == "value" else 1.0)
