import time

import numpy as np
import pytest

from helpers import random_projection, small_problem
from kdrbench.bench.monitor import Referee, TimedMonitor, read_projection, read_trace
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve


def referee_for(problem, tmp_path, time_limit_s=60.0):
    return Referee(problem, time_limit_s, tmp_path / "trace.jsonl", tmp_path / "projection.npy")


def test_watching_changes_neither_path_nor_counters(tmp_path):
    results = []
    for watched in (False, True):
        problem = small_problem()
        start = make_start("random", problem, 2, np.random.default_rng(0))
        monitor = referee_for(problem, tmp_path) if watched else IterationMonitor()
        results.append(solve(build_solver({"method": "stiefel_cayley"}), problem, start, monitor))
    np.testing.assert_array_equal(results[0].projection, results[1].projection)
    assert results[0].counters == results[1].counters
    assert len(results[1].trace) > 5


def test_trace_on_disk_equals_the_trace_in_memory_and_ends_at_the_result(tmp_path):
    problem = small_problem()
    start = make_start("random", problem, 2, np.random.default_rng(0))
    result = solve(build_solver({"method": "stiefel_cayley"}), problem, start, referee_for(problem, tmp_path))
    assert read_trace(tmp_path / "trace.jsonl") == [tuple(point) for point in result.trace]
    np.testing.assert_array_equal(read_projection(tmp_path / "projection.npy"), result.projection)
    assert result.trace[-1].cost == pytest.approx(-problem.value(result.projection), rel=1e-12)


def test_the_clock_stands_while_the_referee_looks(tmp_path):
    class Slow:
        def __init__(self, problem):
            self._problem = problem

        def fresh(self):
            return self

        def value(self, projection):
            time.sleep(0.05)
            return self._problem.value(projection)

        def gradient(self, projection):
            return self._problem.gradient(projection)

    referee = referee_for(Slow(small_problem()), tmp_path)
    projection = random_projection()
    referee.begin()
    for _ in range(5):
        referee.keep_going(projection)
    referee.end(projection)
    # Six looks slept 0.3 s; were they on the clock, it would show at least that.
    assert referee.clock.wall_s < 0.25


def test_later_iterates_are_looked_at_rarely(tmp_path):
    referee = referee_for(small_problem(), tmp_path)
    projection = random_projection()
    referee.begin()
    for _ in range(2000):
        referee.keep_going(projection)
    referee.end(projection)
    assert 11 <= len(referee.trace) < 500
    assert referee.iterations == 2000


def test_an_unfinished_trace_line_is_left_out(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("[0.1, -5.0, 0.01]\n[0.2, -6.")
    assert read_trace(path) == [(0.1, -5.0, 0.01)]
    assert read_trace(tmp_path / "none") == []
    assert read_projection(tmp_path / "none.npy") is None


def test_time_is_over_at_the_limit():
    monitor = TimedMonitor(time_limit_s=0.05)
    monitor.begin()
    assert monitor.keep_going(random_projection())
    time.sleep(0.06)
    assert not monitor.keep_going(random_projection())
    assert monitor.stop_message == "stopped at the time limit of 0.05 s"
