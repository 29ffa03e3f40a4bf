"""Tampering with a packed record is found as well, as far as the record can show it."""

from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.verification.batches import ArraysOfRuns, marks_out_of_place
from kdrbench.verification.record import Record
from kdrbench.verification.verify import verify
from support.tampering import PACKED


def test_a_sound_packed_record_verifies(packed_record):
    found = verify(Record(packed_record, own_code=True))
    assert [str(finding) for finding in found.findings] == []


@pytest.mark.parametrize("name", PACKED)
def test_tampering_with_a_packed_record_is_found(packed_record, name):
    tamper, column = PACKED[name]
    tamper(packed_record)
    found = verify(Record(packed_record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


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
