"""Calibration beside each batch, and what is made of it when rows are merged."""

import csv
from itertools import count

import pytest

from kdrbench.bench.batch import Surroundings
from kdrbench.bench.calibration import calibration_s, drift_columns
from kdrbench.bench.merge import merge_records
from kdrbench.bench.record import append_record
from kdrbench.bench.state import claimed
from kdrbench.bench.terms import TIMED, Terms
from kdrbench.datasets import load_dataset
from made_up import record
from one_batch import LIMITS, batch_of, files_in, run_batch


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def drifts(*batches, **columns):
    """Drift and flag of one row of each batch, given by the seconds before and after it."""
    rows = [
        record("wine", "ism", fold, batch_sha256=str(fold), calibration_before_s=before, calibration_after_s=after)
        for fold, (before, after) in enumerate(batches)
    ]
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
    many = [record("wine", "ism", fold, batch_sha256="a", calibration_before_s=0.03) for fold in range(5)]
    others = [record("wine", "dg", fold, batch_sha256=str(fold), calibration_before_s=0.02) for fold in range(2)]
    assert [one["drifted"] for one in drift_columns(many + others)] == [True] * 5 + [False] * 2


def test_other_processors_and_untimed_runs_are_no_reference():
    fast = [record("wine", "ism", fold, batch_sha256=str(fold), calibration_before_s=0.01) for fold in range(3)]
    slow = record("wine", "dg", 0, processor="slow", batch_sha256="s", calibration_before_s=0.04)
    untimed = record("wine", "sm", 0, batch_sha256="u")
    assert [one["drifted"] for one in drift_columns([*fast, slow, untimed])] == [False] * 4 + [None]


def test_the_kernel_takes_the_time_of_work():
    # Two products of order 512 are 5e8 operations: no core does them in a tenth of a millisecond.
    assert 1e-4 < calibration_s() < 10.0


@pytest.mark.parametrize(("after", "flags"), [(0.0204, {"False"}), (0.03, {"True"})])
def test_a_disturbed_batch_is_flagged_in_the_table_and_another_is_not(files, tmp_path, after, flags):
    seconds = iter([0.02, after])
    around = Surroundings(LIMITS, 0.01, calibrate=lambda: next(seconds))
    rows = run_batch(batch_of("ism", folds=2), load_dataset("wine"), around, files)
    assert [(row.calibration_before_s, row.calibration_after_s) for row in rows] == [(0.02, after)] * 2
    merge_records([files.records], {row.axes: row.definition_sha256 for row in rows}, tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as stream:
        assert {row["drifted"] for row in csv.DictReader(stream)} == flags


def test_rows_made_before_an_interruption_keep_their_own_calibration(files):
    ticks = count(1)
    around = Surroundings(LIMITS, 0.01, calibrate=lambda: float(next(ticks)))
    data, batch = load_dataset("wine"), batch_of("ism", folds=2)
    first = run_batch(batch, data, around, files)
    files.records.unlink()
    with claimed(files, batch, LIMITS, 0.01, TIMED):
        pass
    append_record(files.rows, first[0].__class__(**{**vars(first[0]), "calibration_after_s": None}))
    rows = run_batch(batch, data, around, files)
    assert [(row.calibration_before_s, row.calibration_after_s) for row in rows] == [(1.0, None), (3.0, 4.0)]


def test_runs_that_are_not_timed_are_not_calibrated(files):
    def never():
        raise AssertionError

    around = Surroundings(LIMITS, 0.0, terms=Terms(timed=False), calibrate=never)
    (row,) = run_batch(batch_of("ism"), load_dataset("wine"), around, files)
    assert (row.timed, row.calibration_before_s, row.contaminated) == (False, None, None)
