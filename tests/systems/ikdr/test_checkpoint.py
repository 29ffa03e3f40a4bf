"""Runs that go on from their checkpoint after they were killed."""

import os
import signal
from functools import partial

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.solvers import make_start, solve
from kdrbench.solvers.dimension_growth import DimensionGrowth
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.isolation.supervisor import supervise
from kdrbench.suite.engine.referee import BenchFaultError, Referee
from kdrbench.suite.engine.run import execute
from kdrbench.suite.engine.run_files import (
    Checkpoint,
    RunFiles,
    read_array,
    read_checkpoint,
    read_trace,
    write_checkpoint,
)
from kdrbench.suite.systems.ikdr import monitor
from kdrbench.suite.systems.ikdr.monitor import PROJECTION, ProjectionMonitor, Round
from support.helpers import small_problem
from support.one_batch import IKDR, batch_of, context_of, files_in, referee_in, run_batch, wait_until_free, workspace_of

LIMITS = Limits(time_s=60.0, memory_mib=512)
CONTEXT = context_of(LIMITS)


@pytest.fixture
def always(monkeypatch, tmp_path):
    """Keep every state; nothing has been killed yet."""
    monkeypatch.setattr(monitor, "CHECKPOINT_EVERY_S", 0.0)
    monkeypatch.setenv("KILLED_NOTE", str(tmp_path / "killed"))
    return tmp_path / "killed"


def supervised(files, batch):
    data = load_dataset("wine")
    run = IKDR.prepare(batch, data, CONTEXT)(0)
    files.clear()
    referee = Referee(LIMITS, 0.0, Pauses(), files)
    return supervise(partial(execute, run, referee, batch.rows), LIMITS, referee.pauses)


def test_a_killed_run_goes_on_to_the_same_projection_bit_for_bit(always, tmp_path):
    batch = batch_of("support.misbehaving:IsKilledOnTheWay")
    disturbed, other = RunFiles(tmp_path / "disturbed"), RunFiles(tmp_path / "other")
    ending = supervised(disturbed, batch)
    assert (ending.end, ending.code) == (Exit.SIGNALLED, signal.SIGKILL)
    kept = read_checkpoint(disturbed.checkpoint)
    # The state before the step that was cut short.
    assert kept.iterations == 22
    assert not disturbed.results.exists()
    assert supervised(disturbed, batch).code == 0
    # Nothing is killed a second time.
    assert supervised(other, batch).code == 0
    np.testing.assert_array_equal(read_array(disturbed.array(PROJECTION)), read_array(other.array(PROJECTION)))
    # The oracles are the same sums in the same order, so the costs agree to the last bit as well.
    assert read_trace(disturbed.trace)[-1][1:] == read_trace(other.trace)[-1][1:]
    times = [point[0] for point in read_trace(disturbed.trace)]
    assert times == sorted(times)
    # The clock went on from where it was.
    assert [time for time in times if time > kept.wall_s]


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
        assert [point[1:] for point in result.trace[part]] == [point[1:] for point in expected.trace[part]]
    if variant == "converged":
        assert "column 1 had not settled after 4 steps" in result.message


def monitor_in(folder, problem, n_components=2):
    return ProjectionMonitor(referee_in(folder), problem, n_components, checkpoints=True)


def test_a_state_is_kept_only_when_the_last_one_is_old(tmp_path):
    states = []
    timed = monitor_in(tmp_path, small_problem())
    timed.begin()
    timed.checkpoint(lambda: states.append(1))
    timed.end()
    assert (states, read_checkpoint(RunFiles(tmp_path).checkpoint)) == ([], None)


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


def test_a_checkpoint_that_cannot_be_written_is_the_benchs_fault(always, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    timed = monitor_in(tmp_path / "file", small_problem())
    timed.begin()
    with pytest.raises(BenchFaultError, match="the checkpoint cannot be written"):
        timed.checkpoint(dict)
