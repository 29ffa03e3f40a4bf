"""Runs that go on from their checkpoint after they were killed."""

import contextlib
import fcntl
import os
import signal
import time
from functools import partial

import numpy as np
import pytest

from helpers import small_problem
from kdrbench.bench import monitor
from kdrbench.bench.batch import Surroundings, fold_of
from kdrbench.bench.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from kdrbench.bench.execute import RunFiles, execute
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import BenchFaultError, Referee
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.rounds import Rounds
from kdrbench.bench.solver_job import make_solver_job
from kdrbench.bench.state import claimed
from kdrbench.bench.supervisor import End, supervise
from kdrbench.bench.terms import TIMED
from kdrbench.bench.traces import read_array, read_trace
from kdrbench.datasets import load_dataset
from kdrbench.solvers import Status, build_solver, make_start, solve
from kdrbench.solvers.dimension_growth import DimensionGrowth
from one_batch import batch_of, files_in, run_batch

LIMITS = Limits(time_s=60.0, memory_mib=512)
AROUND = Surroundings(LIMITS, 0.0, calibrate=lambda: 0.02)


@pytest.fixture
def always(monkeypatch, tmp_path):
    """Keep every state; the killer finds nobody killed yet."""
    monkeypatch.setattr(monitor, "CHECKPOINT_EVERY_S", 0.0)
    monkeypatch.setenv("KILLED_NOTE", str(tmp_path / "killed"))
    return tmp_path / "killed"


def supervised(files, batch):
    data = load_dataset("wine")
    job = make_solver_job(batch, build_solver(batch.solver_definition), 512, 0, fold_of(batch, data, 0))
    files.clear()
    pauses = Pauses()
    return supervise(partial(execute, job, 0.0, LIMITS, pauses, files), LIMITS, pauses)


def test_a_killed_run_goes_on_to_the_same_projection_bit_for_bit(always, tmp_path):
    batch = batch_of("misbehaving:IsKilledOnTheWay")
    disturbed, other = RunFiles(tmp_path / "disturbed"), RunFiles(tmp_path / "other")
    ending = supervised(disturbed, batch)
    assert (ending.end, ending.code) == (End.SIGNALLED, signal.SIGKILL)
    kept = read_checkpoint(disturbed.checkpoint)
    # The state before the step that was cut short.
    assert kept.iterations == 22
    assert not disturbed.result.exists()
    assert supervised(disturbed, batch).code == 0
    # Nobody is killed a second time.
    assert supervised(other, batch).code == 0
    np.testing.assert_array_equal(read_array(disturbed.projection), read_array(other.projection))
    # The oracles are the same sums in the same order, so the costs agree to the last bit as well.
    assert read_trace(disturbed.trace)[-1][1:] == read_trace(other.trace)[-1][1:]
    times = [point[0] for point in read_trace(disturbed.trace)]
    assert times == sorted(times)
    # The clock went on from where it was.
    assert [time for time in times if time > kept.wall_s]


def freed(lock, within_s=30.0):
    """Wait until the guardian of a killed batch, which holds the lock as well, has gone."""
    until = time.monotonic() + within_s
    with lock.open("w") as stream:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                return fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.02)
    raise AssertionError(f"{lock} is still held")


COMPARED = ("status", "message", "iterations", "value_calls", "gradient_calls", "surrogate_calls", "cost", "quality")


@pytest.mark.parametrize("victim", ["run", "batch"])
def test_a_batch_goes_on_where_it_or_its_run_was_killed(always, tmp_path, victim):
    batch, data = batch_of("misbehaving:IsKilledOnTheWay", options={"victim": victim}), load_dataset("wine")
    (tmp_path / "disturbed").mkdir()
    files = files_in(tmp_path / "disturbed")
    if victim == "batch":
        child = os.fork()
        if child == 0:
            run_batch(batch, data, AROUND, files)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert not files.records.exists()
        freed(files.lock)
    rows = run_batch(batch, data, AROUND, files)
    assert always.exists()
    again = run_batch(batch, data, AROUND, files_in(tmp_path))
    assert rows[0].status == "converged"
    assert [getattr(rows[0], name) for name in COMPARED] == [getattr(again[0], name) for name in COMPARED]


@pytest.mark.parametrize("solver", ["NeverEnds", "Sleeps"])
def test_time_used_before_an_interruption_is_charged(tmp_path, solver):
    batch, files, limits = batch_of(f"misbehaving:{solver}"), files_in(tmp_path), Limits(1000.0, 512)
    with claimed(files, batch, limits, 0.0, TIMED):
        files.run(0).folder.mkdir()
    write_checkpoint(files.run(0).checkpoint, Checkpoint(999.8, 900.0, 5, {"oracle_calls": np.arange(5)}))
    (row,) = run_batch(batch, load_dataset("wine"), Surroundings(limits, 0.0, calibrate=lambda: 0.02), files)
    assert row.status == "time_limit"
    assert row.time_s >= 1000.0


class Interrupts:
    """A problem that is interrupted at its gradient number ``at``."""

    def __init__(self, problem, at):
        self._problem, self._left = problem, at

    def __getattr__(self, name):
        return getattr(self._problem, name)

    def gradient(self, projection):
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt
        return self._problem.gradient(projection)


@pytest.mark.parametrize("variant", ["converged", "published"])
@pytest.mark.parametrize("at", [1, 3, 9, 16])
def test_growth_goes_on_from_any_column_as_if_never_interrupted(always, tmp_path, variant, at):
    # Four steps are not enough for a column, so that what is said of the columns before is part of the state.
    solver, whole = DimensionGrowth(max_iterations=4, variant=variant), small_problem(n_features=6)
    start = make_start("random", whole, 4, np.random.default_rng(0))

    def referee(folder):
        folder.mkdir(exist_ok=True)
        return Referee(whole, 4, 60.0, folder / "t", folder / "p", checkpoint=folder / "c.npz")

    expected = solve(solver, whole.fresh(), start, referee(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        solve(solver, Interrupts(whole.fresh(), at), start, referee(tmp_path / "cut"))
    result = solve(solver, whole.fresh(), start, referee(tmp_path / "cut"))
    np.testing.assert_array_equal(result.projection, expected.projection)
    assert (result.status, result.message) == (expected.status, expected.message)
    assert (result.iterations, result.counters) == (expected.iterations, expected.counters)
    # Ten iterates are always looked at, and the last.
    for part in (slice(10), slice(-1, None)):
        assert [point[1:] for point in result.trace[part]] == [point[1:] for point in expected.trace[part]]
    if variant == "converged":
        assert result.status is Status.MAX_ITERATIONS


def test_a_state_is_kept_only_when_the_last_one_is_old(tmp_path):
    problem, made = small_problem(), []
    referee = Referee(problem, 2, 60.0, tmp_path / "t", tmp_path / "p", checkpoint=tmp_path / "c.npz")
    referee.begin()
    referee.checkpoint(lambda: made.append(1))
    referee.end()
    assert (made, read_checkpoint(tmp_path / "c.npz")) == ([], None)


def test_alternations_do_not_resume_a_solver(always, tmp_path):
    referee = Referee(small_problem(), 2, 60.0, tmp_path / "t", tmp_path / "p", checkpoint=tmp_path / "c.npz")
    one = Rounds(referee)()
    referee.begin()
    one.checkpoint(lambda: {"x": np.zeros(1)})
    assert read_checkpoint(tmp_path / "c.npz") is None
    referee.checkpoint(lambda: {"x": np.zeros(1)})
    assert one.resumed is None
    again = Referee(small_problem(), 2, 60.0, tmp_path / "t", tmp_path / "p", checkpoint=tmp_path / "c.npz")
    assert list(again.resumed) == ["x"]
    assert Rounds(again)().resumed is None


def test_a_checkpoint_that_cannot_be_written_is_the_benchs_fault(always, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    referee = Referee(small_problem(), 2, 60.0, tmp_path / "t", tmp_path / "p", checkpoint=tmp_path / "file" / "c")
    referee.begin()
    with pytest.raises(BenchFaultError, match="the checkpoint cannot be written"):
        referee.checkpoint(dict)
