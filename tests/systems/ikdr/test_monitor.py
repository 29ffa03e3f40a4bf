import errno
import os
import time

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve
from kdrbench.suite.engine.referee import BenchFaultError
from kdrbench.suite.engine.run_files import read_array, read_trace
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.monitor import OutOfTimeError, ProjectionMonitor, Round, TimedMonitor
from kdrbench.suite.systems.ikdr.solver_run import make_solver_run
from support.helpers import random_projection, small_problem
from support.one_batch import batch_of, referee_in


def monitor_for(problem, folder):
    return ProjectionMonitor(referee_in(folder), problem, 2)


def test_evaluating_changes_neither_path_nor_counters(tmp_path):
    results = []
    for evaluates in (False, True):
        problem = small_problem()
        start = make_start("random", problem, 2, np.random.default_rng(0))
        monitor = monitor_for(problem, tmp_path) if evaluates else IterationMonitor()
        results.append(solve(build_solver({"method": "stiefel_cayley"}), problem, start, monitor))
    np.testing.assert_array_equal(results[0].projection, results[1].projection)
    assert results[0].counters == results[1].counters
    assert len(results[1].trace) > 5


def test_the_trace_on_disk_ends_at_the_result(tmp_path):
    problem = small_problem()
    start = make_start("random", problem, 2, np.random.default_rng(0))
    result = solve(build_solver({"method": "stiefel_cayley"}), problem, start, monitor_for(problem, tmp_path))
    assert [line[:3] for line in read_trace(tmp_path / "trace.jsonl")] == [tuple(point) for point in result.trace]
    np.testing.assert_array_equal(read_array(tmp_path / "projection.npy"), result.projection)
    assert result.trace[-1].cost == pytest.approx(-problem.value(result.projection), rel=1e-12)


def test_the_clock_is_paused_while_the_referee_evaluates(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow:
        n_features = 6

        def __init__(self, problem):
            self.gradient, self._problem = problem.gradient, problem

        def fresh(self):
            return self

        def value(self, projection):
            now[0] += 100.0
            return self._problem.value(projection)

    monitor = monitor_for(Slow(small_problem()), tmp_path)
    monitor.begin()
    for _ in range(5):
        now[0] += 1.0
        monitor.keep_going(random_projection())
    monitor.end()
    assert monitor.clock.wall_s == 5.0
    assert now[0] >= 505.0


def test_later_iterates_are_evaluated_rarely(tmp_path):
    monitor = monitor_for(small_problem(), tmp_path)
    projection = random_projection()
    monitor.begin()
    for _ in range(2000):
        monitor.keep_going(projection)
    monitor.end()
    assert 10 <= len(monitor.trace) < 500
    assert monitor.iterations == 2000


def test_time_is_over_at_the_limit(tmp_path):
    monitor = TimedMonitor(referee_in(tmp_path, 0.05))
    monitor.begin()
    assert monitor.keep_going(random_projection())
    time.sleep(0.06)
    assert not monitor.keep_going(random_projection())
    assert monitor.stop_message == "stopped at the time limit of 0.05 s"


def test_iterates_for_the_referee_are_made_off_the_clock(tmp_path):
    made = []

    def slowly():
        time.sleep(0.3)
        made.append(1)
        return random_projection()

    monitor = monitor_for(small_problem(), tmp_path)
    monitor.begin()
    for _ in range(4):
        assert monitor.keep_going(slowly)
    monitor.end()
    assert (len(made), len(monitor.trace)) == (4, 4)
    # They slept 1.2 s.
    assert monitor.clock.wall_s < 0.9
    assert IterationMonitor().keep_going(slowly)
    assert len(made) == 4


@pytest.mark.parametrize(
    ("iterate", "message"),
    [
        (np.full((6, 2), np.nan), "the iterate holds NaN"),
        (2.0 * random_projection(), "the iterate is not orthonormal"),
        (random_projection(n_features=5), r"the iterate must be 6 x q"),
        (random_projection(n_components=3), "the iterate has 3 components, 2 were asked for"),
    ],
)
def test_iterates_off_the_manifold_are_refused(tmp_path, iterate, message):
    monitor = monitor_for(small_problem(), tmp_path)
    monitor.begin()
    with pytest.raises(InputError, match=message):
        monitor.keep_going(iterate)
    assert read_array(tmp_path / "projection.npy") is None
    # A solver that catches this does not get away with it, and its clock runs.
    time.sleep(0.01)
    with pytest.raises(InputError, match=message):
        monitor.keep_going(random_projection())
    monitor.end()
    assert monitor.clock.wall_s >= 0.01
    with pytest.raises(InputError, match=message):
        monitor.accept(random_projection())


def full(path, array):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("what", ["trace", "projection"])
def test_a_file_that_cannot_be_written_is_the_benchs_fault(tmp_path, monkeypatch, what):
    monitor = monitor_for(small_problem(), tmp_path)
    if what == "trace":
        (tmp_path / "trace.jsonl").mkdir()
    else:
        monkeypatch.setattr("kdrbench.suite.engine.referee.save_array", full)
    monitor.begin()
    with pytest.raises(BenchFaultError, match=f"the {what} cannot be written"):
        monitor.keep_going(random_projection())


class Killed(BaseException):
    """Ends a run at once, as SIGKILL does."""


@pytest.mark.parametrize("at", ["save", "note"])
def test_the_trace_of_a_killed_run_ends_at_its_row(tmp_path, monkeypatch, at):
    cell = CellDefinition.of(batch_of("ism", kernel="linear"))
    run = make_solver_run(cell, build_solver({"method": "ism"}), 256.0, 0, cell.fold(load_dataset("wine"), 0))
    referee = referee_in(tmp_path)
    monitor = ProjectionMonitor(referee, run.exact, run.n_components)
    rng = np.random.default_rng(0)
    first, second, third = (np.linalg.qr(rng.normal(size=(13, run.n_components)))[0] for _ in range(3))
    monitor.accept(first)
    monitor.accept(second)

    def killed(*_):
        raise Killed

    monkeypatch.setattr(type(referee), at, killed)
    with pytest.raises(Killed):
        monitor.accept(third)
    row = run.score(referee.files)
    assert row["cost"] == pytest.approx(-run.exact.value(second), rel=1e-9)
    assert [line.cost for line in read_trace(referee.files.trace)][1:] == [pytest.approx(row["cost"], rel=1e-9)]
    assert run.score(referee.files)["cost"] == row["cost"]
    assert len(read_trace(referee.files.trace)) == 2


START = np.eye(3)[:, :1]
# Far above what the clock can miss, far below what a test may take.
PAUSE_S = 0.05


@pytest.fixture
def monitor_of(tmp_path):
    """Make a monitor with a time limit."""
    return lambda time_s: TimedMonitor(referee_in(tmp_path, time_s))


def test_each_round_counts_its_own_iterations(monitor_of):
    monitor = monitor_of(60.0)
    monitor.begin()
    counts = []
    for iterations in (2, 3):
        one = Round(monitor)
        one.begin()
        for _ in range(iterations):
            assert one.keep_going(START)
        one.end()
        one.accept(START)
        counts.append(one.iterations)
    assert counts == [2, 3]
    assert monitor.iterations == 5


def test_the_clock_is_paused_while_a_result_is_noted(monitor_of):
    monitor = monitor_of(60.0)
    noted = []
    monitor.begin()
    one = Round(monitor, lambda projection: (noted.append(projection), time.sleep(10 * PAUSE_S)))
    one.begin()
    one.end()
    one.accept(START)
    time.sleep(PAUSE_S)
    monitor.end()
    assert PAUSE_S <= monitor.clock.wall_s < 10 * PAUSE_S
    assert len(noted) == 1


def test_after_the_limit_no_round_is_accepted(monitor_of):
    monitor = monitor_of(PAUSE_S)
    monitor.begin()
    one = Round(monitor)
    time.sleep(PAUSE_S)
    assert not one.keep_going(START)
    with pytest.raises(OutOfTimeError, match=r"stopped at the time limit of 0\.05 s"):
        one.accept(START)
