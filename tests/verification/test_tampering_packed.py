"""Tampering with a packed record is found as well, as far as the record can show it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.csv_files import read_csv
from kdrbench.errors import DamagedError
from kdrbench.packing.other_limits import OTHER_LIMITS
from kdrbench.verification.batches import ArraysOfRuns, marks_out_of_place
from kdrbench.verification.bookkeeping import Finding
from kdrbench.verification.marks import of_ending
from kdrbench.verification.record import Record
from kdrbench.verification.traces import lowest_ends
from kdrbench.verification.verify import verify
from support.forgery import FORGERIES
from support.tampering import FOLD, PACKED, TAMPERINGS, change, place_of


def test_a_sound_packed_record_verifies(packed_record):
    found = verify(Record(packed_record, own_code=True))
    assert [str(finding) for finding in found.findings] == []


# What packing changes, or puts elsewhere. In the other columns a packed record has what the record had that it was made
# of, and test_verify.py tampers with that.
OF_PACKING = {"cost", "stationarity", "curvature", "feasibility", "quality", "nmi_given", "result", "trace"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if column in OF_PACKING or name not in TAMPERINGS else pytest.mark.whole)
        for name, (_, column) in PACKED.items()
    ],
)
def test_tampering_with_a_packed_record_is_found(packed_record, name):
    tamper, column = PACKED[name]
    tamper(packed_record)
    found = verify(Record(packed_record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_columns_are_found(packed_record, name):
    forge, column = FORGERIES[name]
    forge(packed_record)
    found = verify(Record(packed_record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


@pytest.mark.parametrize(
    ("iterations", "method", "found"),
    [("9", {"max_iterations": 10}, ["status"]), ("10", {"max_iterations": 10}, []), ("9", {}, []), ("9", "burg", [])],
)
def test_all_iterations_that_are_allowed_are_counted(iterations, method, found):
    row = {"status": "max_iterations", "message": "after 10 steps", "iterations": iterations}
    assert [finding.column for finding in of_ending("place", row, {"method": method})] == found


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"message": "killed beyond the memory limit of 100 MiB", "memory_mib": "95.0"}, []),
        ({"message": "out of memory: no room for 1 GiB", "memory_mib": "5.0"}, []),
        ({"message": "killed beyond the memory limit of 100 MiB", "memory_mib": "50.0"}, ["status"]),
        ({"message": "out of memory: no room for 1 GiB", "memory_mib": "5.0", "iterations": "3"}, ["status"]),
    ],
)
def test_a_run_at_its_limit_of_memory_needed_it_and_has_no_result(columns, found):
    row = {"status": "memory_limit", "memory_limit_mib": "100.0", "cpu_s": "", "iterations": "", **columns}
    assert [finding.column for finding in of_ending("place", row, {})] == found


def test_problems_of_one_method_have_no_lowest_end():
    ends = [("one", "ism", -3.0), ("one", "ism", -4.0), ("two", "ism", -3.0), ("two", "dg", -2.0)]
    assert lowest_ends(ends) == {"two": -3.0}


def test_a_finding_is_a_short_line_of_visible_letters():
    line = str(Finding("place", "config.seed", "1" + "0" * 400, "\x1b[31m"))
    assert len(line) < 300
    assert line.isprintable()


def limits_found(record, stated):
    (record / OTHER_LIMITS).write_text(json.dumps({"folds": stated}))
    return [str(one) for one in verify(Record(record, own_code=True)).findings if one.column == "time_limit_s"]


def test_a_run_that_ended_before_both_limits_may_have_one_that_the_record_states(packed_record):
    change(packed_record, FOLD, time_limit_s="3600.0")
    assert limits_found(packed_record, {"3600.0": 1}) == []
    assert limits_found(packed_record, {"360.0": 1}) == [f"{FOLD}: time_limit_s is 3600.0, should be 300.0"]
    assert limits_found(packed_record, {}) == [f"{FOLD}: time_limit_s is 3600.0, should be 300.0"]


def test_no_more_rows_may_have_another_limit_than_the_record_states(packed_record):
    rows = [row for row in read_csv(packed_record / "ikdr.csv") if row["experiment"] == "folds"]
    places = [place_of(row) for row in rows if row["status"] == "converged"][:2]
    for place in places:
        change(packed_record, place, time_limit_s="3600.0")
    assert limits_found(packed_record, {"3600.0": 2}) == []
    assert limits_found(packed_record, {"3600.0": 1}) == [
        "folds: time_limit_s is 3600.0 in 2 rows, should be in 1, as the record states"
    ]


@pytest.mark.parametrize("columns", [{"time_s": "301.0"}, {"status": "time_limit", "message": "too long"}])
def test_a_run_that_one_of_both_limits_stops_may_not(packed_record, columns):
    change(packed_record, FOLD, time_limit_s="3600.0", **columns)
    assert f"{FOLD}: time_limit_s is 3600.0, should be 300.0" in limits_found(packed_record, {"3600.0": 1})


def test_limits_that_are_none_are_said(packed_record):
    (packed_record / OTHER_LIMITS).write_text('{"folds": {"3600.0": "many"}}')
    with pytest.raises(DamagedError, match=r"states no limits .*many rows.*unpack the record again"):
        verify(Record(packed_record, own_code=True))


@pytest.mark.parametrize(
    ("stored", "found"),
    [("sss", []), ("sxx", []), ("xss", [0]), ("sxs", [1]), ("sxxs", [1]), ("xxx", [0]), ("s-x", [])],
)
def test_only_the_last_projections_of_a_cell_may_not_be_stored(stored, found):
    """s: stored; x: said not to be; -: a run that failed and left none."""
    left = {"s": {"projection": np.eye(2)}, "x": {"not_stored": np.array(["projection"])}, "-": {}}
    batch = SimpleNamespace(cell_name="wine/gaussian/ism", runs=tuple(range(len(stored))))
    runs = ArraysOfRuns(None, batch, _read={"a.jsonl": {run: left[letter] for run, letter in enumerate(stored)}})
    rows = [(str(run), {"run": str(run), "trace_file": "a.jsonl"}) for run in reversed(range(len(stored)))]
    assert [finding.place for finding in marks_out_of_place(rows, runs)] == [str(run) for run in found]
