"""What each part of a solve promises, on problems small enough to know the answer."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.problems import Counters
from kdrbench.solvers import IterationMonitor, SolverOutcome, Status, build_solver, solve
from kdrbench.solvers.base import check_projection, run_in_row_space
from kdrbench.solvers.controls import DiscriminantAxes, PrincipalAxes
from kdrbench.solvers.dimension_growth import _Growth
from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import Tangents
from kdrbench.solvers.geometry.stiefel import outside, relative_stationarity, subspace_turn
from kdrbench.solvers.growth_column import RULES, Column
from kdrbench.solvers.monitor import SolveMonitor
from kdrbench.solvers.registry import eigengap_components
from kdrbench.solvers.safeguarded.solver import explore
from kdrbench.solvers.stiefel_cayley import _RULES, _Search
from support.helpers import random_projection, random_samples, small_problem


class Noted(IterationMonitor):
    """Keeps the names of its calls, and what it was given."""

    def __init__(self, **options):
        super().__init__(**options)
        self.calls, self.accepted, self.states = [], [], []

    def begin(self):
        self.calls.append("begin")
        super().begin()

    def keep_going(self, iterate):
        self.calls.append("keep_going")
        return super().keep_going(iterate)

    def end(self):
        self.calls.append("end")

    def accept(self, projection):
        self.calls.append("accept")
        self.accepted.append(projection)

    def checkpoint(self, state):
        self.states.append(state())


def test_a_monitor_hears_of_begin_iterates_end_and_the_checked_result_in_this_order():
    monitor = Noted()
    result = solve(build_solver({"method": "ism"}), small_problem(), random_projection(), monitor)
    going = monitor.calls.count("keep_going")
    assert monitor.calls == ["begin", *["keep_going"] * going, "end", "accept"]
    assert result.iterations == monitor.iterations == going > 1
    np.testing.assert_array_equal(monitor.accepted[0], result.projection)
    # A second run counts from zero.
    assert solve(build_solver({"method": "ism"}), small_problem(), random_projection(), monitor).iterations == going


def test_a_status_of_another_kind_is_refused():
    class Odd:
        requires = frozenset()

        def run(self, problem, start, monitor):
            return SolverOutcome(start, "done", "")

    with pytest.raises(InputError, match="Odd ended with status 'done'; allowed: converged"):
        solve(Odd(), small_problem(), random_projection(), IterationMonitor())


def test_a_projection_has_at_least_one_column():
    check_projection("start", np.eye(6, 1), 6)
    with pytest.raises(InputError, match=r"must be 6 x q with q >= 1, got shape \(6, 0\)"):
        check_projection("start", np.eye(6, 0), 6)


def test_what_a_monitor_accepts_is_in_the_original_coordinates():
    monitor, basis = Noted(), np.linalg.qr(np.random.default_rng(0).standard_normal((9, 6)))[0]

    class Lifted:
        lower, lift = staticmethod(lambda w: basis.T @ w), staticmethod(lambda w: basis @ w)

    class Wide(type(small_problem())):
        def in_row_space(self, projection):
            return small_problem(), Lifted

    wide = small_problem()
    wide.__class__ = Wide

    def run(problem, start, lifting):
        lifting.accept(start)
        return SolverOutcome(start, Status.CONVERGED, "")

    start = basis @ random_projection()
    outcome = run_in_row_space(run, wide, start, monitor)
    np.testing.assert_allclose(monitor.accepted[0], start, atol=1e-14)
    np.testing.assert_allclose(outcome.projection, start, atol=1e-14)


def test_only_an_iterate_to_go_on_from_is_the_latest():
    monitor = SolveMonitor(Noted(max_iterations=1), Counters())
    assert monitor.latest("none") == "none"
    assert monitor.keep_going("first")
    assert not monitor.keep_going("second")
    assert monitor.latest("none") == "first"


def test_oracle_calls_go_on_from_a_checkpoint():
    inner = Noted()
    SolveMonitor(inner, Counters(value=3, surrogate=5)).checkpoint(lambda: {"mine": np.array(1)})
    assert inner.states[0]["mine"] == 1
    inner.resumed = inner.states[0]
    counters = Counters()
    SolveMonitor(inner, counters).restore_counters()
    assert counters == Counters(value=3, surrogate=5)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([9, 8, 3, 2], 2),
        ([9, 3, 2, 1], 1),
        ([9, 8, 7, 1], 3),
        # A gap between eigenvalues that add nothing to F does not count, the last step down to one does.
        ([3, 2, -1, -9], 2),
        ([3, 1, 0.5, -9], 3),
        ([-1, -5, -9], 1),
        ([0, 0, 0], 1),
        ([4], 1),
        # What is rounding beside the largest eigenvalue is not positive.
        ([1, 1 - 1e-9, 1e-14, -0.5], 2),
    ],
)
@pytest.mark.parametrize("factor", [1e-20, 1.0, 1e20])
def test_the_largest_eigengap_above_zero(values, expected, factor):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((len(values),) * 2))[0]
    assert eigengap_components(factor * (turn * values) @ turn.T) == expected


class Quadratic:
    """F = Tr(W'AW): Phi is A wherever W is."""

    def __init__(self, *values):
        self.matrix, self.counters, self.n_features = np.diag(np.array(values, float)), Counters(), len(values)

    def value(self, point):
        self.counters.value += 1
        return float(np.vdot(point, self.matrix @ point))

    def gradient(self, point):
        self.counters.gradient += 1
        return 2 * self.matrix @ point

    def hessian_vector(self, point, direction):
        return 2 * self.matrix @ direction

    def surrogate(self, point):
        self.counters.surrogate += 1
        return self.matrix


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_a_certificate_by_hand(factor):
    certificate = certify(Quadratic(*(factor * np.array([5.0, 4.0, 3.0, 1.0]))), np.eye(4)[:, [0, 2]])
    # 3 was chosen where 4 was better: that turn has the curvature 2 (3 - 4), and 2 times 5 is the scale.
    assert certificate.curvature == pytest.approx(-1 / 5)
    assert certificate.eigengap == pytest.approx(-1 / 5)
    assert certificate.eigengap_needed == pytest.approx(0.0, abs=1e-12)
    assert certificate.stationarity == certificate.feasibility == 0.0
    assert certificate.curvature_error <= 1e-14
    first = certify(Quadratic(factor * 5.0, factor * 2.0), np.eye(2, 1))
    assert first.curvature == first.eigengap == pytest.approx(3 / 5)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_an_eigenvalue_lies_within_the_error_that_a_certificate_states(monkeypatch, factor):
    # After one round of an iteration that is not replaced, the error is large.
    for name, value in (("DENSE_DIMENSION", 0), ("_AFFORDABLE_DIMENSION", 0), ("_MOST_ROUNDS", 1)):
        monkeypatch.setattr(curvature, name, value)
    problem, point = Quadratic(*(factor * np.linspace(1.0, 2.0, 30) ** 2)), np.eye(30)[:, [3, 20]]
    certificate = certify(problem, point)
    values = np.linalg.eigvalsh(Tangents(problem, point, problem.gradient(point)).hessian)
    distance = np.abs(values / (2 * problem.matrix[20, 20]) - certificate.curvature).min()
    assert 1e-4 < certificate.curvature_error < 1
    assert distance <= certificate.curvature_error


ITERATED = {"grassmann_conjugate_gradient": 3, "grassmann_trust_region": 2}


@pytest.mark.parametrize("method", ITERATED)
def test_pymanopts_solvers_take_the_iterations_allowed_and_check_their_options(method):
    problem, monitor = Quadratic(9, 8, 7, 5, 3, 1), Noted()
    start, most = random_projection(), ITERATED[method]
    result = solve(build_solver({"method": method, "max_iterations": most}), problem, start, monitor)
    assert result.status is Status.MAX_ITERATIONS
    assert f"after {most} iterations" in result.message
    # The start and each iterate are shown.
    assert monitor.calls.count("keep_going") == most + 1
    for wrong in ({"tolerance": 0.0}, {"max_iterations": 0}):
        with pytest.raises(InputError, match=f"solver option {next(iter(wrong))} must be"):
            build_solver({"method": method, **wrong})
    assert "hessian_vector" in build_solver({"method": method, "escape": True}).requires


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize("method", ITERATED)
def test_pymanopts_solvers_end_by_relative_stationarity(method, factor):
    problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
    result = solve(build_solver({"method": method}), problem, random_projection(), IterationMonitor())
    assert result.status is Status.CONVERGED
    assert relative_stationarity(result.projection, problem.gradient(result.projection)) <= 1e-6
    assert subspace_turn(np.eye(6, 2), result.projection) <= 1e-5


def test_pymanopts_solvers_leave_a_saddle_only_when_told_to():
    saddle = np.eye(6)[:, [0, 2]]
    for escape, value in ((False, 9 + 4), (True, 9 + 8)):
        problem = Quadratic(9, 8, 4, 3, 2, 1)
        for method in ITERATED:
            result = solve(build_solver({"method": method, "escape": escape}), problem, saddle, IterationMonitor())
            assert problem.value(result.projection) == pytest.approx(value)


def test_ism_knows_that_an_unchanged_surrogate_changes_nothing():
    problem = Quadratic(9, 8, 4, 3, 2, 1)
    result = solve(build_solver({"method": "ism"}), problem, random_projection(), IterationMonitor())
    assert (result.status, problem.counters.surrogate) == (Status.CONVERGED, 2)
    np.testing.assert_allclose(np.abs(result.projection), np.eye(6, 2), atol=1e-12)


def column(problem, rule="converged", start=None):
    start = random_projection() if start is None else start
    return Column(problem, start[:, :0], start, RULES[rule])


def test_a_columns_step_gains_what_the_slope_promises_and_the_next_trial_is_twice_as_long():
    values = []

    class Narrow(Quadratic):
        """Gains only where the step is at most 0.1."""

        def value(self, point):
            values.append(float(np.arccos(min(1.0, abs(start[:, 0] @ point[:, 0])))))
            return super().value(point) if values[-1] <= 0.11 else -1.0

    start = np.linalg.qr(np.array([[0.1, 0.0], [1.0, 0.0], [0.0, 1.0]]))[0]
    growing = column(Narrow(2.0, 1.0, 0.5), start=start)
    assert not growing.settled(1e-6)
    del values[:]
    assert growing.step()
    # 1, 1/2, 1/4, 1/8 and 1/16 of a turn along the great circle.
    np.testing.assert_allclose(np.sin(values), 0.5 ** np.arange(5), rtol=1e-6)
    assert growing.settled(1.0)
    assert not growing.settled(1e-6)
    start = growing.grown()
    del values[:]
    growing.step()
    assert np.sin(values[0]) == pytest.approx(1 / 8)


@pytest.mark.parametrize(("rule", "fewest", "most"), [("published", 20, 20), ("converged", 40, 60)])
def test_a_column_gives_up_after_the_trials_of_its_rule(rule, fewest, most):
    class Flat(Quadratic):
        def value(self, point):
            self.counters.value += 1
            return 0.0

    problem = Flat(3, 2, 1)
    growing = column(problem, rule, np.eye(3, 2)[[1, 0, 2]] * 0.8 + np.eye(3, 2) * 0.6)
    growing.settled(1e-6)
    before = problem.counters.value
    assert not growing.step()
    assert fewest <= problem.counters.value - before <= most
    # What did not gain has settled.
    assert growing.settled(1e-6)


def test_growth_remembers_the_worst_that_was_said_of_a_column():
    growth = _Growth(Quadratic(4, 3, 2, 1), np.eye(4, 3), RULES["converged"], None)
    growth.steps = 7
    growth.end_column(Status.STALLED, "no step along {} after {}")
    assert (growth.status, growth.steps, growth.columns.shape[1]) == (Status.STALLED, 0, 1)
    growth.end_column()
    assert growth.status is Status.STALLED
    growth.steps = 9
    growth.end_column(Status.MAX_ITERATIONS, "column {} after {}")
    assert growth.status is Status.MAX_ITERATIONS
    assert growth.complete
    assert growth.outcome(1e-6).message == "no step along 1 after 7; column 3 after 9"


def test_beyond_the_classes_discriminant_axes_are_principal_axes_of_the_rest():
    features, labels = random_samples()
    problem, start = small_problem(), random_projection(n_components=4)
    axes = solve(DiscriminantAxes(), problem, start, IterationMonitor()).projection
    first = axes[:, : len(np.unique(labels)) - 1]
    rest = outside(first, (features - features.mean(axis=0)).T)
    theirs = np.linalg.svd(rest)[0][:, :2]
    assert subspace_turn(axes[:, 2:], theirs) < 1e-7
    for control in (DiscriminantAxes(), PrincipalAxes(), build_solver({"method": "shuffled_labels"})):
        assert control.control
    with pytest.raises(InputError, match="solver option max_iterations must be"):
        build_solver({"method": "shuffled_labels", "max_iterations": 0})


def test_shuffled_labels_stop_when_told():
    solver = build_solver({"method": "shuffled_labels", "max_iterations": 9})
    result = solve(solver, small_problem(), random_projection(), IterationMonitor(4))
    assert (result.status, result.iterations) == (Status.MAX_ITERATIONS, 4)


def cayley(variant="converged", factor=1.0):
    problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
    return problem, _Search(problem, random_projection(), _RULES[variant])


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_sms_first_step_is_as_long_whatever_the_unit_of_f(factor):
    _, search = cayley(factor=factor)
    before = search.point
    assert search.step()
    assert 0.05 < np.linalg.norm(search.point - before) < 0.11


@pytest.mark.parametrize("variant", ["converged", "published"])
def test_sms_step_lengths_are_those_of_barzilai_and_borwein_by_turns(variant):
    problem, search = cayley(variant, factor=1e-3)
    for number in range(6):
        before, cost = search.point, -problem.value(search.point)
        slope = _cayley_slope(problem, before)
        assert search.step()
        moved, turned = search.point - before, _cayley_slope(problem, search.point) - slope
        product = abs(np.vdot(moved, turned))
        long, short = np.vdot(moved, moved) / product, product / np.vdot(turned, turned)
        expected = long if (number % 2 == 0) == (variant == "converged") else short
        assert search._tau == pytest.approx(np.clip(expected, 1e-20, 1e20), rel=1e-9)
        size, gain = search.changes[-1]
        assert size == pytest.approx(np.linalg.norm(moved) / np.sqrt(6), rel=1e-9)
        assert gain == pytest.approx(abs(-problem.value(search.point) - cost) / (abs(cost) + 1), rel=1e-6)
        assert search.steps == len(search.changes) == number + 1


def _cayley_slope(problem, point):
    gradient = -problem.gradient(point)
    return gradient - point @ gradient.T @ point


def test_where_nothing_moves_sm_keeps_its_step():
    _, search = cayley()
    assert search._barzilai_borwein(0.0, 0.0, np.zeros((6, 2))) == search._tau
    assert search._barzilai_borwein(0.5, -0.25, np.ones((6, 2))) == 2.0


def test_published_sm_settles_only_when_both_w_and_its_cost_do():
    _, search = cayley("published")
    settled = _RULES["published"].settled
    for changes, expected in (
        ([], False),
        ([(1e-7, 1e-13)], True),
        ([(1e-7, 1e-3)], False),
        ([(1e-3, 1e-13)], False),
        # In the mean of five steps ten times as much is allowed.
        ([(1.0, 1.0), *[(5e-6, 5e-12)] * 5], True),
        ([(1.0, 1.0), *[(5e-6, 5e-12)] * 4], False),
    ):
        search.changes = changes
        assert bool(settled(search, 1e-6)) == expected


@pytest.fixture
def safeguarded():
    return build_solver({"method": "ism_safeguarded"})


def test_safeguarded_ism_counts_its_newton_steps_and_says_what_it_ended_with(safeguarded):
    problem, start = small_problem(), random_projection()
    for most in (1, 2):
        solver = build_solver({"method": "ism_safeguarded", "max_exploration": 1, "max_iterations": most})
        result = solve(solver, problem.fresh(), start, Noted())
        assert (result.status, result.counters["hessian"]) == (Status.MAX_ITERATIONS, most)
        assert f"after {most} steps" in result.message
    saddle = np.eye(6)[:, [0, 2]]
    quadratic = Quadratic(9, 8, 4, 3, 2, 1)
    left = solve(safeguarded, quadratic, saddle, IterationMonitor())
    assert quadratic.value(left.projection) == pytest.approx(17.0)
    for steps in (0, 1, 2):
        stopped = solve(safeguarded, small_problem(), start, IterationMonitor(steps))
        assert stopped.status is Status.MAX_ITERATIONS
        assert stopped.message == f"stopped after {steps} iterations"


def test_exploration_ends_where_two_iterates_take_turns():
    class Turning(Quadratic):
        """Phi sends the first axis to the second and the second to the first."""

        def surrogate(self, point):
            self.counters.surrogate += 1
            return np.diag([0.0, 1.0, 0.1]) if abs(point[0, 0]) > 0.5 else np.diag([1.0, 0.0, 0.1])

    problem = Turning(3.0, 2.0, 1.0)
    found = explore(problem, np.eye(3)[:, 1:2], IterationMonitor(), tolerance=1e-12, max_steps=50)
    assert problem.counters.surrogate == 2
    assert found.value == 3.0
    np.testing.assert_array_equal(np.abs(found.point), np.eye(3, 1))
    assert explore(problem, np.eye(3, 1), IterationMonitor(0), tolerance=1e-12, max_steps=50) is None
