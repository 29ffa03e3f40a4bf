"""The monitors of a solver, and runs that go on from their checkpoint after they were killed."""

import errno
import os
import signal
import time

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from kdrbench.solvers.dimension_growth import DimensionGrowth
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.referee import BenchFaultError
from kdrbench.suite.engine.run_files import (
    Checkpoint,
    RunFiles,
    read_array,
    read_checkpoint,
    read_trace,
    write_checkpoint,
)
from kdrbench.suite.systems.ikdr import monitor
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.monitor import OutOfTimeError, ProjectionMonitor, Round, TimedMonitor
from kdrbench.suite.systems.ikdr.solver_run import make_solver_run
from support.helpers import random_projection, small_problem
from support.one_batch import batch_of, context_of, files_in, referee_in, run_batch, wait_until_free, workspace_of


def monitor_for(problem, folder):
    return ProjectionMonitor(referee_in(folder), problem, 2)


def test_evaluating_changes_neither_path_nor_counters(tmp_path):
    results = []
    for evaluates in (False, True):
        problem = small_problem()
        start = make_start("random", problem, 2, np.random.default_rng(0))
        monitor = monitor_for(problem, tmp_path) if evaluates else Monitor()
        results.append(solve(build_solver({"method": "stiefel_cayley"}), problem, start, monitor))
    np.testing.assert_array_equal(results[0].projection, results[1].projection)
    assert results[0].counters == results[1].counters
    assert len(read_trace(tmp_path / "trace.jsonl")) > 5


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
    assert 10 <= len(read_trace(tmp_path / "trace.jsonl")) < 500
    assert monitor.iterations == 2000


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
    assert (len(made), len(read_trace(tmp_path / "trace.jsonl"))) == (4, 4)
    # They slept 1.2 s.
    assert monitor.clock.wall_s < 0.9
    assert Monitor().keep_going(slowly)
    assert len(made) == 4


@pytest.mark.parametrize(
    ("iterate", "message"),
    [(np.full((6, 2), np.nan), "the iterate holds NaN"), (2.0 * random_projection(), "the iterate is not orthonormal")],
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


LIMITS = Limits(time_s=60.0, memory_mib=512)
CONTEXT = context_of(LIMITS)


@pytest.fixture
def always(monkeypatch, tmp_path):
    """Keep every state; nothing has been killed yet."""
    monkeypatch.setattr(monitor, "CHECKPOINT_EVERY_S", 0.0)
    monkeypatch.setenv("KILLED_NOTE", str(tmp_path / "killed"))
    return tmp_path / "killed"


COMPARED = ("status", "message", "iterations", "value_calls", "gradient_calls", "surrogate_calls", "cost", "quality")


@pytest.mark.parametrize("victim", ["run", "batch"])
def test_a_batch_goes_on_where_it_or_its_run_was_killed(always, tmp_path, victim):
    batch, data = batch_of("support.misbehaving:IsKilledOnTheWay", options={"victim": victim}), load_dataset("wine")
    (tmp_path / "disturbed").mkdir()
    files = files_in(tmp_path / "disturbed")
    if victim == "batch":
        child = os.fork()
        if child == 0:
            run_batch(batch, data, CONTEXT, files)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert not files.records.exists()
        wait_until_free(workspace_of(files, batch).lock)
    rows = run_batch(batch, data, CONTEXT, files)
    assert always.exists()
    again = run_batch(batch, data, CONTEXT, files_in(tmp_path))
    assert rows[0].status == "converged"
    assert [getattr(rows[0], name) for name in COMPARED] == [getattr(again[0], name) for name in COMPARED]


@pytest.mark.parametrize("solver", ["NeverEnds", "Sleeps"])
def test_time_used_before_an_interruption_is_charged(tmp_path, solver):
    batch, files, limits = batch_of(f"support.misbehaving:{solver}"), files_in(tmp_path), Limits(1000.0, 512)
    workspace = workspace_of(files, batch)
    with workspace.claimed(batch, limits, Requirements(timed=True)):
        workspace.run(0).folder.mkdir()
    kept = Checkpoint(999.8, 900.0, 5, {"oracle_calls": np.arange(6)})
    write_checkpoint(workspace.run(0).checkpoint, kept)
    (row,) = run_batch(batch, load_dataset("wine"), context_of(limits), files)
    assert row.status == "time_limit"
    assert row.time_s >= 1000.0


class Interrupts:
    """A problem that is interrupted at its gradient number ``at``."""

    def __init__(self, problem, at):
        self._problem, self._left = problem, at

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def gradient(self, projection):
        self._count()
        return self._problem.gradient(projection)

    def value_and_gradient(self, projection):
        self._count()
        return self._problem.value_and_gradient(projection)

    def _count(self):
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("variant", "at"),
    # At 30 the polish, in which the converged variant begins again from the grown columns.
    [("converged", 1), ("published", 3), ("converged", 9), ("published", 16), ("converged", 30)],
)
def test_growth_goes_on_from_any_column_as_if_never_interrupted(always, tmp_path, variant, at):
    # Four steps are not enough for a column, so that what is said of the columns before is part of the state.
    solver, whole = DimensionGrowth(max_iterations=4, variant=variant), small_problem(n_features=6)
    start = make_start("random", whole, 4, np.random.default_rng(0))

    def monitored(name):
        (tmp_path / name).mkdir(exist_ok=True)
        return monitor_in(tmp_path / name, whole, 4)

    expected = solve(solver, whole.fresh(), start, monitored("whole"))
    with pytest.raises(KeyboardInterrupt):
        solve(solver, Interrupts(whole.fresh(), at), start, monitored("cut"))
    result = solve(solver, whole.fresh(), start, monitored("cut"))
    np.testing.assert_array_equal(result.projection, expected.projection)
    assert (result.status, result.message) == (expected.status, expected.message)
    assert (result.iterations, result.counters) == (expected.iterations, expected.counters)
    # Ten iterates are always evaluated, and the last.
    for part in (slice(10), slice(-1, None)):
        whole_trace, cut_trace = (read_trace(tmp_path / name / "trace.jsonl")[part] for name in ("whole", "cut"))
        assert [line[1:3] for line in cut_trace] == [line[1:3] for line in whole_trace]
    if variant == "converged":
        assert "column 1 had not settled after 4 steps" in result.message


def monitor_in(folder, problem, n_components=2):
    return ProjectionMonitor(referee_in(folder), problem, n_components, checkpoints=True)


def test_a_state_is_kept_only_when_the_last_one_is_old(tmp_path):
    timed = monitor_in(tmp_path, small_problem())
    timed.begin()
    timed.checkpoint(lambda: pytest.fail("a state is made, which is not kept"))
    assert read_checkpoint(RunFiles(tmp_path).checkpoint) is None


def test_alternations_do_not_resume_a_solver(always, tmp_path):
    timed, checkpoint = monitor_in(tmp_path, small_problem()), RunFiles(tmp_path).checkpoint
    one = Round(timed)
    timed.begin()
    one.checkpoint(lambda: {"x": np.zeros(1)})
    assert read_checkpoint(checkpoint) is None
    timed.checkpoint(lambda: {"x": np.zeros(1)})
    assert one.resumed is None
    again = monitor_in(tmp_path, small_problem())
    assert list(again.resumed) == ["x"]
    assert Round(again).resumed is None


def test_a_checkpoint_that_cannot_be_written_is_the_benchs_fault_and_a_state_the_solvers(always, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    timed = monitor_in(tmp_path / "file", small_problem())
    timed.begin()
    with pytest.raises(BenchFaultError, match="the checkpoint cannot be written"):
        timed.checkpoint(dict)
    with pytest.raises(FileNotFoundError, match="absent"):
        timed.checkpoint(lambda: {"x": np.load(tmp_path / "absent")})
