"""Which steps of safeguarded ISM follow one another, on problems and searches whose answers are scripted."""

from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.solvers import Status, build_solver
from kdrbench.solvers.safeguarded import solver as module
from kdrbench.solvers.safeguarded.approach import Approach
from kdrbench.solvers.safeguarded.portfolio import explore
from support.helpers import random_projection
from support.quadratics import Noted, Quadratic


class Offering(Quadratic):
    """Offers an approximation, itself with another name, that is accurate to a share of the components asked for."""

    def __init__(self, *values, offers=True):
        super().__init__(*values)
        self.offers, self.near = offers, None

    def approximation(self, n_components):
        if self.offers:
            self.near = Offering(*np.diag(self.matrix), offers=False)
        return self.near

    def accuracy(self, n_components):
        # In thousandths, so that who asks for the wrong number is found out.
        return n_components / 1000

    def report(self):
        return {}

    def unused(self, *arguments):
        """Nothing: a problem that offers approximations offers these, too."""

    surrogate_is_constant = False
    explain = evaluated = refined_at = linearised_at = subsampled = in_row_space = unused


def run(problem, n_components=2, **options):
    start = random_projection(n_features=problem.n_features, n_components=n_components)
    return build_solver({"method": "ism_safeguarded"} | options).run(problem, start, Noted())


def test_exploration_ends_when_the_eigenvalues_settle():
    problem = Quadratic(5, 4, 1, 0)
    found = explore(problem, random_projection(n_features=4, n_components=2), Noted(), tolerance=0.01, max_steps=50)
    # The first step finds the eigenvalues, the second the same ones.
    assert problem.counters.surrogate == 2
    assert found.value == pytest.approx(9.0)


class Given:
    """Has these surrogates, one after the other, whatever W is; F grows with each."""

    def __init__(self, *surrogates):
        self.surrogates, self.asked = iter(surrogates), 0.0

    def surrogate(self, point):
        return next(self.surrogates)

    def value(self, point):
        self.asked += 1.0
        return self.asked


def test_the_drift_is_the_largest_change_after_the_first_step():
    start = np.full((3, 1), 3**-0.5)
    first, second, third, fourth = (
        np.diag(values) for values in ((0, 0, 9.0), (2.0, 0, 0), (0, 5.0, 0), (3.0, 3.0, 0))
    )
    found = explore(Given(first, second, fourth), start, Noted(), tolerance=1e-9, max_steps=3)
    assert found.drift == pytest.approx(1 - 1 / np.sqrt(2))
    # The unit of Phi does not matter, nor what follows a larger change.
    found = explore(Given(first, second, 7.0 * third, fourth), start, Noted(), tolerance=1e-9, max_steps=4)
    assert found.drift == pytest.approx(1.0)
    for steps in ([first], [first, second], [np.zeros((3, 3))] * 3):
        found = explore(Given(*steps), start, Noted(), tolerance=1e-9, max_steps=len(steps))
        assert found.drift == 0.0


class Searches:
    """Stands in for Newton searches: keeps those that were made; ``script`` says what each finds, by how it sees."""

    def __init__(self, **script):
        self.script, self.made, self.limited_memory = script, [], []

    def __call__(
        self, problem, point, value, gradient=None, approximation=None, *, limited_memory=False, surrogate=None
    ):
        kind = "approximate" if approximation is not None else "exact"
        self.made.append(kind)
        self.limited_memory.append(limited_memory)
        return Scripted(point, value, gradient, **self.script.get(kind, {}))


class Scripted:
    """Has this stationarity and these curvatures, one after the other; its steps gain nothing."""

    def __init__(self, point, value, gradient, stationarity=0.0, curvatures=(0.0,)):
        self.point, self.value, self.gradient, self.stationarity = point, value, gradient, stationarity
        self.curvatures, self.problem = iter(curvatures), None

    def curvature(self):
        return next(self.curvatures)

    def model(self):
        return SimpleNamespace(smallest_curvature=lambda: (0.0, self.point))

    def step(self):
        return False


@pytest.fixture
def searches(monkeypatch):
    """Replace the Newton searches by scripted ones, and return what keeps them."""

    def replace(**script):
        made = Searches(**script)
        monkeypatch.setattr(module, "NewtonSearch", made)
        return made

    return replace


@pytest.mark.parametrize(
    ("script", "kinds", "status"),
    [
        ({}, ["approximate"], Status.CONVERGED),
        # Where steps by the approximate Hessian bring nothing, exact ones are taken.
        ({"approximate": {"stationarity": 1.0}}, ["approximate", "exact"], Status.CONVERGED),
        ({"approximate": {"stationarity": 1.0}, "exact": {"stationarity": 1.0}}, None, Status.STALLED),
    ],
)
def test_second_order_is_the_approximations_while_it_gains(searches, script, kinds, status):
    made, problem = searches(**script), Offering(5, 4, 1, 0)
    assert run(problem).status is status
    assert made.made == (kinds or ["approximate", "exact"])
    # Plain ISM's steps are the approximation's.
    assert problem.near.counters.surrogate == 2
    assert problem.counters.surrogate == 0


def test_without_an_approximation_all_steps_are_exact(searches):
    made, problem = searches(), Quadratic(5, 4, 1, 0)
    assert run(problem).status is Status.CONVERGED
    assert made.made == ["exact"]
    assert problem.counters.surrogate == 2


@pytest.mark.parametrize(
    ("curvatures", "escapes", "asked"),
    [
        ((0.0,), [], 0),
        ((-1e-7,), [], 0),
        ((-1.0,), [False], 1),
        ((-1.0, 0.0), [True], 1),
        ((-1.0, -1.0), [True, False], 2),
    ],
)
def test_a_saddle_is_left_until_there_is_none_or_no_way_out(searches, monkeypatch, curvatures, escapes, asked):
    tried, answers = [], iter(escapes)
    monkeypatch.setattr(module, "escape", lambda search: tried.append(search) or next(answers))
    searches(exact={"curvatures": curvatures})
    outcome = run(Quadratic(5, 4, 1, 0))
    assert outcome.status is Status.CONVERGED
    assert len(tried) == asked


@pytest.mark.parametrize(("n_features", "large"), [(4, False), (5, False), (6, True), (9, True)])
def test_large_tangent_spaces_need_no_second_order(searches, monkeypatch, n_features, large):
    made = searches()
    # Tangents have (d - q) q numbers: 4, 6, 8 and 14.
    monkeypatch.setattr(module, "QUASI_NEWTON_DIMENSION", 6)
    run(Quadratic(*range(n_features)))
    assert made.limited_memory == [large]
    # Where an approximation has second order at a lower price, that is taken.
    made = searches(approximate={"stationarity": 1.0})
    run(Offering(*range(n_features)))
    assert made.limited_memory == [False, False]


@pytest.mark.parametrize("corrected", [0.0, 1.0])
def test_an_approximation_comes_first_to_its_accuracy(searches, monkeypatch, corrected):
    came = []

    def approach(problem, start, surrogate, tolerance, keep_going, *, slack=0.0):
        came.append((problem, tolerance, slack))
        return Approach(start, problem.value(start), problem.gradient(start), 1.0)

    def through(approximation, exact, start, surrogate, tolerance, keep_going):
        came.append((approximation, exact, tolerance))
        return Approach(start, exact.value(start), exact.gradient(start), corrected)

    searches()
    monkeypatch.setattr(module, "approach", approach)
    monkeypatch.setattr(module, "approach_through", through)
    monkeypatch.setattr(module, "DENSE_DIMENSION", 6)
    problem = Offering(*range(8))
    assert run(problem).status is Status.CONVERGED
    # For two components the accuracy is 2e-3, whatever is asked for below it.
    first, then = (problem.near, 2e-3, 2e-3), (problem.near, problem, 2e-3)
    assert came == [first, then, *([(problem, 2e-3, 2e-3)] if corrected else [])]
