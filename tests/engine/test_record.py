"""Rows as lines of JSON, and as they are read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from kdrbench.suite.engine.record import (
    Provenance,
    Record,
    RecordError,
    append_records,
    column,
    column_types,
    flat,
    parse_record,
    read_records,
    read_undamaged,
    record_json,
    write_records,
)
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from kdrbench.suite.systems.registry import SYSTEMS, build_system
from support.damage import flip_bit
from support.made_up import record

ROW = record("wine", "ism", 3)


def test_a_row_is_read_as_it_was_written():
    assert parse_record(record_json(ROW), IKDRRecord) == ROW
    assert ROW.axes == ("e", "wine", "gaussian", "ism", 3)


def test_columns_are_the_shared_the_own_and_those_of_provenance():
    columns = list(flat(ROW))
    shared = ["schema_version", "experiment", "dataset", "run", "seed", "status", "message", "time_s", "cpu_s"]
    assert columns[: len(shared)] == shared
    assert columns[len(shared) : len(shared) + 2] == ["kernel", "method"]
    provenance = [name for name in column_types(IKDRRecord) if name in Provenance.__dataclass_fields__]
    assert columns[-len(provenance) :] == provenance
    assert (columns[-1], columns.index("wall_s")) == ("env_id", len(columns) - len(provenance))


# The rows of each system as they were stored in November 2026, before any column was added.
FORMER_ROWS = [json.loads(line) for line in Path(__file__).with_name("former_rows.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("former", FORMER_ROWS, ids=lambda one: one["system"])
def test_rows_of_a_former_schema_are_read(former):
    kind = build_system(former["system"]).record
    row = parse_record(json.dumps(former["row"]), kind)
    # Rows had a budget of all runs, which there is no more.
    kept = {name: value for name, value in former["row"].items() if name != "budget_s"}
    assert {name: value for name, value in flat(row).items() if name in kept} == kept
    assert row.provenance.revisions == ""
    assert {one["system"] for one in FORMER_ROWS} == set(SYSTEMS)


class Renamed(Record):
    """A record whose seed was once called otherwise, and began at one."""

    SCHEMA_VERSION = 3
    MIGRATIONS: ClassVar = {2: lambda row: {**row, "seed": row["draw"] - 1}}


def test_a_change_of_meaning_is_a_migration():
    values = json.loads(record_json(ROW)) | {"draw": 8, "schema_version": 2}
    row = parse_record(json.dumps(values), Renamed)
    assert (row.seed, row.schema_version) == (7, 3)
    with pytest.raises(RecordError, match="must have schema version 2 or 3, got 1; read it with the version"):
        parse_record(json.dumps(values | {"schema_version": 1}), Renamed)


def test_a_column_that_is_added_is_one_line():
    @dataclass(frozen=True, kw_only=True)
    class Further(IKDRRecord):
        colour: str = column(since="0.3", default="blue")

    assert parse_record(record_json(ROW), Further).colour == "blue"
    # An earlier version ignores it.
    further = json.loads(record_json(ROW)) | {"colour": "red"}
    assert parse_record(json.dumps(further), Further).colour == "red"
    assert parse_record(json.dumps(further), IKDRRecord) == ROW


def test_rows_are_checked_when_they_are_read():
    for change, message in (
        ({"schema_version": 99}, "a IKDRRecord must have schema version 8, got 99; read it with the version"),
        ({"status": "fine"}, "unknown status 'fine'; allowed: converged"),
        ({"cost": "low"}, "column cost holds 'low'"),
        ({"wall_s": "long"}, "column wall_s holds 'long'"),
        ({"wall_s": KeyError}, "the record lacks columns of the schema: wall_s"),
    ):
        values = json.loads(record_json(ROW)) | change
        line = json.dumps({name: value for name, value in values.items() if value is not KeyError})
        with pytest.raises(RecordError, match=message):
            parse_record(line, IKDRRecord)


def test_an_unfinished_last_line_is_left_out(tmp_path):
    path = tmp_path / "folder" / "rows.jsonl"
    assert read_records(path, IKDRRecord) == []
    append_records(path, [ROW])
    append_records(path, [ROW, ROW])
    with path.open("a") as stream:
        stream.write('{"half a line')
    assert read_records(path, IKDRRecord) == [ROW] * 3
    write_records(path, [ROW])
    assert path.read_text() == record_json(ROW) + "\n"


@pytest.mark.parametrize(
    ("garbage", "said"),
    [(b"\xff\xfe", "not UTF-8"), (b"5", "a record must be a JSON object, got '5'"), (b"", "not a line of JSON")],
)
def test_a_file_with_a_line_that_is_no_row_is_named(tmp_path, garbage, said):
    path = tmp_path / "rows.jsonl"
    append_records(path, [ROW])
    path.write_bytes(path.read_bytes() + garbage + b"\n")
    with pytest.raises(RecordError) as caught:
        read_records(path, IKDRRecord)
    assert str(caught.value).startswith(f"{path}: line 2: {said}")
    assert str(caught.value).endswith("delete that file and run the workflow again")
    assert len(str(caught.value)) < 400


def test_a_sealed_line_with_any_bit_changed_is_no_row(tmp_path, attack_rng):
    path = tmp_path / "rows.jsonl"
    append_records(path, [ROW], seal=True)
    line = path.read_bytes()
    assert read_records(path, IKDRRecord) == [ROW]
    for _ in range(60):
        flip_bit(path, int(attack_rng.integers(8 * (len(line) - 1))))
        records, faults = read_undamaged(path, IKDRRecord)
        assert (records, bool(faults)) == ([], True)
        path.write_bytes(line)


def test_a_number_that_json_lacks_is_no_row():
    with pytest.raises(ValueError, match="not JSON compliant"):
        record_json(record("wine", "ism", 0, cost=float("nan")))
