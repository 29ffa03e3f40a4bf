"""Calibration beside each batch, and work that the clock of a method does not cover."""

import time
from dataclasses import asdict, dataclass, replace
from itertools import count
from types import SimpleNamespace

import pandas as pd
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.engine.isolation.guardian import Exit, ProcessExit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.provenance import calibration_s, drift_columns
from kdrbench.suite.engine.publish import merge_records
from kdrbench.suite.engine.run import RunResult, unclocked
from kdrbench.suite.findings.outcome import clean_times, steady_times
from support.made_up import provenance
from support.misbehaving import Misbehaving
from support.one_batch import alone, batch_of, context_of, files_in, run_batch
from support.tiny_system import DATA, TinyRecord, TinySystem, tiny_batch


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(batch, files, calibrate, **changes):
    context = context_of(calibrate=calibrate, **changes)
    return run_job(TinySystem(), alone(batch), lambda name: DATA, context, files)


def times_of(rows):
    return [(row.provenance.calibration_before_s, row.provenance.calibration_after_s) for row in rows]


def calibrated(before, after=None, method="m", run=0, repeats=0, experiment="e", **columns):
    columns = {"calibration_before_s": before, "calibration_after_s": after} | columns
    own = {"experiment": experiment, "dataset": "d", "run": run, "kernel": "k", "method": method, "repeats": repeats}
    return SimpleNamespace(CELL=("kernel", "method"), provenance=provenance(timed=True, **columns), **own)


def drifts(*rows):
    return [(columns["drift"], columns["drifted"]) for columns in drift_columns(rows)]


def test_methods_timed_side_by_side_have_not_drifted():
    # A whole day on a slow core does not matter: all methods of the problem had it.
    slow = [calibrated(0.03, 0.03, method, run=1) for method in "ab"]
    assert drifts(*[calibrated(0.02, 0.02, method) for method in "ab"], *slow) == [(0.0, False)] * 4


def test_a_method_timed_on_a_slower_core_is_marked():
    rows = [calibrated(0.02, 0.02, "a"), calibrated(0.0202, 0.0202, "b"), calibrated(0.026, 0.026, "c")]
    assert drifts(*rows) == [(-0.0099, False), (0.0, False), (0.2871, True)]
    # Nothing is known of what came after an interruption.
    assert drifts(*rows[:2], calibrated(0.026, None, "c"))[2] == (0.2871, True)


def test_a_change_during_a_single_measurement_is_marked():
    # Repeats in turns meet the change alike; a first solve of seconds does not.
    assert drifts(*[calibrated(0.019, 0.022, method) for method in "ab"]) == [(0.1579, True)] * 2
    assert drifts(*[calibrated(0.022, 0.019, method) for method in "ab"]) == [(-0.1364, True)] * 2
    assert drifts(*[calibrated(0.019, 0.022, method, repeats=9) for method in "ab"]) == [(0.0, False)] * 2


def test_calibrations_shared_by_rows_count_once_for_the_median():
    rows = [calibrated(0.03, 0.03, method) for method in "abcde"]
    rows += [calibrated(seconds, seconds, method) for seconds, method in ((0.02, "f"), (0.0201, "g"))]
    assert [drifted for _, drifted in drifts(*rows)] == [True] * 5 + [False] * 2


@pytest.mark.parametrize("other", [{"run": 1}, {"experiment": "f"}, {"processor": "slow"}])
def test_other_problems_and_machines_are_no_reference(other):
    assert drifts(calibrated(0.01, 0.01, "a"), calibrated(0.04, 0.04, "b", **other)) == [(0.0, False)] * 2


def test_the_drift_of_untimed_runs_is_unknown():
    assert drifts(calibrated(0.01, 0.01, "a"), calibrated(None, None, "b")) == [(0.0, False), (None, None)]


def test_times_of_several_sizes_need_equally_fast_cores():
    rows = [calibrated(seconds, seconds, run=run) for run, seconds in enumerate((0.02, 0.0205, 0.026, 0.02))]
    frame = pd.DataFrame([flat_row(row) | drift for row, drift in zip(rows, drift_columns(rows), strict=True)])
    assert list(clean_times(frame)["run"]) == [0, 1, 2, 3]
    assert list(steady_times(frame)["run"]) == [0, 1, 3]


def flat_row(row):
    return {"experiment": row.experiment, "run": row.run, **asdict(row.provenance)}


def test_the_kernel_takes_the_time_of_work():
    # Two products of order 512 are 5e8 operations: no core does them in a tenth of a millisecond.
    assert 1e-4 < calibration_s() < 10.0


@pytest.mark.parametrize(("after", "flags"), [(0.0204, {"False"}), (0.03, {"True"})])
def test_only_a_disturbed_batch_is_flagged_in_the_table(files, tmp_path, after, flags):
    seconds = iter([0.02, after])
    rows = run(tiny_batch(), files, lambda: next(seconds))
    assert times_of(rows) == [(0.02, after)] * 4
    expected = {row.axes: row.provenance.definition_sha256 for row in rows}
    merge_records([files.records], TinyRecord, expected, tmp_path / "tiny.csv")
    assert {row["drifted"] for row in read_csv(tmp_path / "tiny.csv")} == flags


def test_rows_before_an_interruption_keep_their_calibration(files):
    ticks = count(1)
    batch = tiny_batch()
    first = run(batch, files, lambda: float(next(ticks)))
    workspace = files.workspace(batch, TinyRecord)
    # As an interruption leaves it: with what was known when the first run ended.
    workspace.replace([replace(row, provenance=replace(row.provenance, calibration_after_s=None)) for row in first[:2]])
    rows = run(batch, files, lambda: float(next(ticks)))
    assert times_of(rows) == [(1.0, None)] * 2 + [(3.0, 4.0)] * 2


@pytest.mark.parametrize(("cores", "contaminated"), [((0,), True), ((0, 1), None)])
def test_a_run_that_waited_for_its_core_is_marked(files, cores, contaminated):
    # It sleeps on its clock: wall seconds without CPU seconds. Of several cores that is not known.
    (first, second) = run(tiny_batch(first_s=0.05, then="fails", runs=[0]), files, lambda: 0.02, cores=cores)
    assert first.provenance.contaminated is contaminated
    assert first.provenance.cores == ",".join(map(str, cores))
    # Nor of a row without seconds.
    assert second.provenance.contaminated is None


LIMITS = Limits(time_s=30.0, memory_mib=512)
WORK_S = 0.6


def works(seconds=WORK_S):
    """Keep a core busy, for as long by the CPU clock as by the wall clock: `os.times` counts in steps of 10 ms."""
    cpu_s, wall_s = time.thread_time(), time.perf_counter()
    while min(time.thread_time() - cpu_s, time.perf_counter() - wall_s) < seconds:
        sum(range(1000))


@dataclass(frozen=True)
class WorksInTheIterate(Misbehaving):
    """Does its work in what the referee calls to have the iterate, while the clock is stopped."""

    def run(self, problem, start, monitor):
        def lazily():
            works()
            return start

        monitor.keep_going(lazily)
        return SolverOutcome(start, Status.CONVERGED, "at once")


@dataclass(frozen=True)
class WorksOnTheClock(Misbehaving):
    """Is honest."""

    def run(self, problem, start, monitor):
        works()
        for _ in range(20):
            monitor.keep_going(start)
        return SolverOutcome(start, Status.CONVERGED, "at last")


def row_of(method, tmp_path):
    batch = batch_of(f"{__name__}:{method.__name__}")
    (row,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files_in(tmp_path))
    return row


def test_work_off_the_clock_is_marked(tmp_path):
    row = row_of(WorksInTheIterate, tmp_path)
    assert (row.status, row.provenance.unaccounted) == ("converged", True), row.message
    assert row.time_s < WORK_S / 2
    assert row.provenance.unclocked_s > WORK_S / 2
    assert row.provenance.evaluation_s < WORK_S / 2


def test_work_on_the_clock_is_not(tmp_path):
    row = row_of(WorksOnTheClock, tmp_path)
    assert row.time_s >= WORK_S
    assert row.provenance.unaccounted is False
    assert row.provenance.evaluation_s > 0


PROCESS = ProcessExit(Exit.EXITED, 0, wall_s=10.0, memory_mib=0.0, involuntary_switches=0, cpu_s=5.0)


def result(wall_s, cpu_s):
    return RunResult(Status.CONVERGED, "", clocked_s=wall_s, clocked_cpu_s=cpu_s)


@pytest.mark.parametrize(
    ("clocked_s", "cpu_s", "evaluation_s", "unaccounted"),
    [
        # Up to a fifth of what is claimed, or a tenth of a second.
        (5.0, 4.2, 0.0, False),
        (5.0, 4.1, 0.0, True),
        (5.0, 4.1, 0.5, False),
        (0.0, 0.0, 4.91, False),
        (0.0, 0.0, 4.89, True),
        # More wall seconds than the process took.
        (10.05, 5.0, 0.0, False),
        (10.2, 5.0, 0.0, True),
    ],
)
def test_the_rule(clocked_s, cpu_s, evaluation_s, unaccounted):
    found = unclocked(PROCESS, [result(clocked_s, cpu_s)], evaluation_s)
    assert found["unclocked_s"] == pytest.approx(10.0 - clocked_s)
    assert (found["evaluation_s"], found["unaccounted"]) == (evaluation_s, unaccounted)


def test_what_is_not_known_is_not_judged():
    assert unclocked(PROCESS, [], 0.0)["unclocked_s"] is None
    assert unclocked(PROCESS, [RunResult(Status.FAILED, "")], 0.0)["unclocked_s"] is None
    found = unclocked(PROCESS, [result(1.0, 1.0), result(4.0, 4.0)], None)
    assert (found["unclocked_s"], found["unaccounted"]) == (6.0, None)


def test_such_times_do_not_count():
    runs = pd.DataFrame({"timed": [True] * 3, "unaccounted": [True, False, None]})
    assert clean_times(runs).index.tolist() == [1, 2]
