"""Merging tolerates no hole, no double, no stranger, and no row of another definition."""

import pytest

from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.engine.publish import merge_records
from kdrbench.suite.engine.record import RecordError, write_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.made_up import record

ROWS = [record("wine", "ism", number, definition_sha256="today's", cost=-1.0 - number) for number in range(2)]
EXPECTED = {row.axes: "today's" for row in ROWS}


@pytest.fixture
def rows(tmp_path):
    write_records(tmp_path / "rows.jsonl", ROWS)
    return tmp_path / "rows.jsonl"


def test_all_rows_are_in_the_table_in_the_configured_order(rows, tmp_path):
    table = tmp_path / "ikdr.csv"
    backwards = dict(reversed(EXPECTED.items()))
    assert merge_records([rows], IKDRRecord, backwards, table) == ROWS[::-1]
    lines = read_csv(table)
    assert [(line["run"], line["cost"], line["quality"], line["curvature"]) for line in lines] == [
        ("1", "-2.0", "0.95", ""),
        ("0", "-1.0", "0.95", ""),
    ]
    assert list(lines[0])[-2:] == ["drift", "drifted"]


LAST = "row \\('e', 'wine', 'gaussian', 'ism', 0\\)"


@pytest.mark.parametrize(
    ("times", "expected", "message"),
    [
        (2, EXPECTED, rf"{LAST} occurs twice .* in .*rows\.jsonl"),
        (
            1,
            EXPECTED | {(*ROWS[0].axes[:4], 7): "today's"},
            r"without a record: 1 row, the first is .*'ism', 7\); run the",
        ),
        (1, {ROWS[0].axes: "today's"}, r"no row of the configuration: 1 record, one is .*'ism', 1\)"),
        (1, dict.fromkeys(EXPECTED, "yesterday's"), rf"{LAST} in .*rows.jsonl was made for another definition"),
    ],
)
def test_rows_that_are_not_those_expected_are_refused(rows, tmp_path, times, expected, message):
    with pytest.raises(RecordError, match=message):
        merge_records([rows] * times, IKDRRecord, expected, tmp_path / "ikdr.csv")
    assert not (tmp_path / "ikdr.csv").exists()
