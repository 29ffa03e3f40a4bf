"""Calibration beside each batch, and what is made of it when rows are merged."""

import csv
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest

from kdrbench.bench.job import run_job
from kdrbench.bench.provenance import calibration_s, drift_columns
from kdrbench.bench.publish import merge_records
from support.made_up import provenance
from support.one_batch import alone, context_of, files_in
from support.tiny_stage import DATA, TinyRecord, TinyStage, tiny_batch


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(batch, files, calibrate, **changes):
    context = context_of(calibrate=calibrate, **changes)
    return run_job(TinyStage(), alone(batch), lambda name: DATA, context, files)


def times_of(rows):
    return [(row.provenance.calibration_before_s, row.provenance.calibration_after_s) for row in rows]


def calibrated(batch, before, after=None, experiment="e", **columns):
    columns = {"calibration_before_s": before, "calibration_after_s": after} | columns
    return SimpleNamespace(experiment=experiment, provenance=provenance(batch_sha256=batch, timed=True, **columns))


def drifts(*batches):
    """Drift and flag of one row of each batch, given by the seconds before and after it."""
    rows = [calibrated(str(number), *times) for number, times in enumerate(batches)]
    return [(one["drift"], one["drifted"]) for one in drift_columns(rows)]


def test_a_batch_that_is_like_all_others_has_not_drifted():
    assert drifts((0.020, 0.020), (0.021, 0.020), (0.020, 0.019)) == [(0.0, False), (0.05, False), (-0.05, False)]


def test_a_core_that_changes_its_speed_within_a_batch_is_flagged():
    # Neither time is 10 % from the median, 0.02; one is 15.8 % above the other.
    calm = [(0.02, 0.02)] * 3
    assert drifts(*calm, (0.019, 0.022))[3] == (0.1579, True)
    assert drifts(*calm, (0.022, 0.019))[3] == (-0.1364, True)


def test_a_batch_on_a_slow_core_is_flagged_though_its_core_was_steady():
    assert drifts((0.02, 0.02), (0.02, 0.02), (0.03, 0.03)) == [(0.0, False), (0.0, False), (0.5, True)]
    # Its two halves are steady, and nothing is known after an interruption.
    assert drifts((0.02, 0.02), (0.02, 0.02), (0.03, None))[2] == (0.5, True)


def test_rows_of_one_batch_count_once_for_the_median():
    rows = [calibrated("a", 0.03)] * 5 + [calibrated(str(number), 0.02) for number in range(2)]
    assert [one["drifted"] for one in drift_columns(rows)] == [True] * 5 + [False] * 2


def test_other_processors_and_untimed_runs_are_no_reference():
    fast = [calibrated(str(number), 0.01) for number in range(3)]
    rows = [*fast, calibrated("s", 0.04, processor="slow"), calibrated("u", None)]
    assert [one["drifted"] for one in drift_columns(rows)] == [False] * 4 + [None]


def test_experiments_that_were_measured_on_other_days_are_no_reference_for_each_other():
    rows = [
        calibrated(str(day), seconds, experiment=day) for day in "ab" for seconds in (0.02 + 0.01 * (day == "b"),) * 3
    ]
    assert [one["drift"] for one in drift_columns(rows)] == [0.0] * 6
    # In a table of its own each row has what it has here.
    assert drift_columns(rows)[3:] == drift_columns(rows[3:])


def test_the_kernel_takes_the_time_of_work():
    # Two products of order 512 are 5e8 operations: no core does them in a tenth of a millisecond.
    assert 1e-4 < calibration_s() < 10.0


@pytest.mark.parametrize(("after", "flags"), [(0.0204, {"False"}), (0.03, {"True"})])
def test_a_disturbed_batch_is_flagged_in_the_table_and_another_is_not(files, tmp_path, after, flags):
    seconds = iter([0.02, after])
    rows = run(tiny_batch(), files, lambda: next(seconds))
    assert times_of(rows) == [(0.02, after)] * 4
    expected = {row.axes: row.provenance.definition_sha256 for row in rows}
    merge_records([files.records], TinyRecord, expected, tmp_path / "tiny.csv")
    with (tmp_path / "tiny.csv").open(newline="") as stream:
        assert {row["drifted"] for row in csv.DictReader(stream)} == flags


def test_rows_made_before_an_interruption_keep_their_own_calibration(files):
    ticks = count(1)
    batch = tiny_batch()
    first = run(batch, files, lambda: float(next(ticks)))
    workspace = files.workspace(batch, TinyRecord)
    # As an interruption leaves it: with what was known when the first run ended.
    workspace.replace([replace(row, provenance=replace(row.provenance, calibration_after_s=None)) for row in first[:2]])
    rows = run(batch, files, lambda: float(next(ticks)))
    assert times_of(rows) == [(1.0, None)] * 2 + [(3.0, 4.0)] * 2


def test_runs_that_are_not_timed_are_not_calibrated(files):
    def never():
        raise AssertionError

    rows = run(tiny_batch(), files, never, timed=False)
    assert {(row.provenance.timed, row.provenance.calibration_before_s) for row in rows} == {(False, None)}
    assert {row.provenance.contaminated for row in rows} == {None}


@pytest.mark.parametrize(("cores", "contaminated"), [((0,), True), ((0, 1), None)])
def test_a_run_that_waited_for_its_core_is_marked(files, cores, contaminated):
    # It sleeps on its clock: wall seconds without CPU seconds. Of several cores that is not known.
    (first, second) = run(tiny_batch(first_s=0.05, then="fails", runs=[0]), files, lambda: 0.02, cores=cores)
    assert first.provenance.contaminated is contaminated
    assert first.provenance.cores == ",".join(map(str, cores))
    # Nor of a row without seconds.
    assert second.provenance.contaminated is None
