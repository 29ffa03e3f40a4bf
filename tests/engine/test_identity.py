"""What names a batch, when a stored row is what is asked for now, and what merging refuses."""

import json
import os
from dataclasses import replace
from functools import reduce
from operator import getitem

import pytest

from kdrbench import revisions
from kdrbench.errors import DamagedError
from kdrbench.revisions import Revision
from kdrbench.status import Status
from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.identity import (
    STEP,
    Attested,
    Requirements,
    append_attestation,
    attested_in,
    has_earlier_speed,
    reasons,
)
from kdrbench.suite.engine.provenance import write_evidence
from kdrbench.suite.engine.publish import merge_records
from kdrbench.suite.engine.record import RecordError, write_records
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.configs import table_4_config
from support.made_up import record
from support.one_batch import batch_of
from support.tiny_system import tiny_batch

BATCH = batch_of("ism")


def row(batch=BATCH, **columns):
    made = {"seed": batch.seed, "status": Status.CONVERGED, "timed": True}
    return made | batch.identity | columns


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({}, []),
        ({"definition_sha256": "o", "seed": 7}, ["seed 7 -> 0"]),
        ({"definition_sha256": "o", "data_sha256": "o"}, ["data changed"]),
        ({"definition_sha256": "o"}, ["its definition changed"]),
        ({"revisions": json.dumps(BATCH.revisions | {"solver/ism": "0.1"})}, ["solver/ism: numbers 0 -> 1"]),
        # Both causes, but nothing of components that the former definition did not have.
        (
            {"definition_sha256": "o", "revisions": json.dumps({"solver/ism": "0.1"})},
            ["its definition changed", "solver/ism: numbers 0 -> 1"],
        ),
        ({"revisions": json.dumps(BATCH.revisions | {"solver/ism": "1.9"})}, []),
        # A component that was declared later began with its first revision.
        ({"revisions": json.dumps({"solver/ism": "1.1"})}, []),
        ({"revisions": json.dumps(BATCH.revisions | {"kernel/not_used": "7.1"})}, []),
        ({"status": Status.SKIPPED}, ["it was skipped by an earlier version, which had a budget of all runs"]),
        ({"timed": False}, ["its times are those of shared cores"]),
    ],
)
def test_a_row_is_what_is_asked_for_or_says_why_not(columns, why):
    assert reasons(row(**columns), BATCH, Requirements(timed=True)) == why


def test_what_changed_in_a_definition_is_said_where_that_is_known():
    definition = BATCH.definition | {"n_components": 2, "method": {"method": "ism", "tolerance": 0.1}}
    former = replace(BATCH, definition=definition)
    found = reasons(row(former), BATCH, Requirements(), {former.definition_sha256: former})
    assert found == ['method {"method": "ism", "tolerance": 0.1} -> {"method": "ism"}', "n_components 2 -> 4"]


def test_a_plugin_counts_by_its_code():
    name = "solver/my folder/radam.py"
    batch = replace(BATCH, revisions={name: "0123456789abcdef"})
    assert reasons(row(batch), batch, Requirements()) == []
    changed = row(batch, revisions=json.dumps({name: "fedcba9876543210"}))
    assert reasons(changed, batch, Requirements()) == ["your solver radam.py changed"]


def test_a_raise_of_numbers_makes_rows_stale_and_one_of_speed_marks_times(monkeypatch):
    monkeypatch.setattr(revisions, "REVISIONS", {"solver/ism": Revision(2, 1), "kernel/gaussian": Revision(1, 2)})
    raised = batch_of("ism")
    assert reasons(row(), raised, Requirements()) == ["solver/ism: numbers 1 -> 2"]
    assert has_earlier_speed(row()["revisions"])
    assert not has_earlier_speed(row(raised)["revisions"])
    assert not has_earlier_speed("")
    # Of no other solver.
    assert reasons(row(batch_of("grassmann_trust_region")), batch_of("grassmann_trust_region"), Requirements()) == []


def test_audits_lead_from_one_revision_to_another():
    steps = [("solver/ism", 1, 2), ("solver/ism", 2, 4), ("kernel/gaussian", 1, 4)]
    attested = Attested(frozenset(steps))
    assert [attested.leads("solver/ism", 1, end) for end in (1, 2, 3, 4)] == [True, True, False, True]
    assert not attested.leads("solver/ism", 4, 1)


def attestation(*steps):
    return {"date": "2026-11-27T06:00:00+00:00", "steps": [dict(zip(STEP, step, strict=True)) for step in steps]}


def test_rows_before_revisions_are_valid_once_all_components_are_attested(tmp_path):
    former, names = row(revisions=""), sorted(BATCH.revisions)
    (why,) = reasons(former, BATCH, Requirements())
    assert why.startswith(f"made before revisions were declared, and not audited since ({names[0]} and ")
    append_attestation(tmp_path, attestation(*((name, 0, 1, 3, int(name == "solver/ism")) for name in names)))
    (why,) = reasons(former, BATCH, Requirements(attested=attested_in(tmp_path)))
    assert why == "made before revisions were declared, and not audited since (solver/ism)"
    append_attestation(tmp_path, attestation(("solver/ism", 0, 1, 1, 0)))
    assert reasons(former, BATCH, Requirements(attested=attested_in(tmp_path))) == []
    # A component of which no cell was made is not attested.
    append_attestation(tmp_path, attestation(("solver/other", 0, 1, 0, 0)))
    assert not attested_in(tmp_path).leads("solver/other", 0, 1)
    # The audits of the shipped record hold for other results, too.
    (tmp_path / "reference").mkdir()
    (tmp_path / "attestations.jsonl").rename(tmp_path / "reference" / "attestations.jsonl")
    assert reasons(former, BATCH, Requirements(attested=attested_in(tmp_path))) == []


def test_an_attestation_is_in_its_file_when_that_is_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((tmp_path / "attestations.jsonl").read_text()))
    append_attestation(tmp_path, attestation())
    assert synced == [(tmp_path / "attestations.jsonl").read_text()]
    assert synced[0].endswith("}\n")


def test_a_line_that_is_no_attestation_is_named(tmp_path):
    append_attestation(tmp_path, attestation())
    with (tmp_path / "attestations.jsonl").open("a") as stream:
        stream.write('{"date": 1}\n')
    with pytest.raises(DamagedError, match="line 2, is no attestation"):
        attested_in(tmp_path)


def test_evidence_is_named_by_its_content(tmp_path):
    first = write_evidence(tmp_path)
    assert write_evidence(tmp_path) == first
    paths = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "evidence").iterdir()}
    assert set(paths) == {f"code-{first['code_id']}", f"env-{first['env_id']}"}
    assert "solvers.ism" in paths[f"code-{first['code_id']}"]
    assert "numpy" in paths[f"env-{first['env_id']}"]


def test_a_definition_is_the_same_whatever_the_revisions():
    batch = replace(tiny_batch(answer=1), revisions={"solver/ism": "1.1"})
    raised = replace(batch, revisions={"solver/ism": "2.1"})
    assert raised.sha256 != batch.sha256 == replace(batch, revisions={"solver/ism": "1.2"}).sha256
    assert raised.definition_sha256 == batch.definition_sha256


def test_the_hash_of_a_definition_is_that_of_the_stored_rows():
    batch = Batch("ikdr", "e", "iris", "d", ("gaussian", "ism"), {"method": {"method": "ism"}}, (0,), ((),), 0, 1)
    assert batch.definition_sha256 == "17ac5fa8ff2d8d31070c5d40936853c7f8435d12c6ff82d61360e6763e4395cd"


def test_what_decides_results_is_in_the_batch_and_limits_are_not():
    def hashes(**changes):
        config = table_4_config(datasets=["wine"], kernels=["gaussian"])
        for path, value in changes.items():
            *parents, last = path.split("__")
            reduce(getitem, parents, config)[last] = value
        return {batch.path: batch.sha256 for batch in load_grid(config).batches()}

    base = hashes()
    assert hashes(timing__strict=False) == base
    assert hashes(limits__time_s=5) == hashes(timing__repeat_for_s=5) == base
    assert hashes(experiments__table4_supervised__limits={"time_s": 7}) == base
    assert hashes(experiments__table4_supervised__timed=False) == base
    assert not set(hashes(seed=1).items()) & set(base.items())
    for method, change in (("ism", {"solvers__ism__tolerance": 0.5}), ("svm", {"baselines__svm__penalty": 9})):
        other = hashes(**change)
        assert {path for path in base if base[path] != other[path]} == {path for path in base if f"/{method}/" in path}
    elsewhere = hashes(experiments__table4_supervised__start="random")
    # Baselines have no start, and published variants one of their own.
    own = ("/none/", "/dg/", "/sm/", "/gm/")
    same = {path for path in base if base[path] == elsewhere[path]}
    assert same == {path for path in base if any(name in path for name in own)}


ROWS = [record("wine", "ism", number, definition_sha256="today's", cost=-1.0 - number) for number in range(2)]
EXPECTED = {row.axes: "today's" for row in ROWS}


def test_all_rows_are_in_the_table_in_the_configured_order(tmp_path):
    write_records(rows := tmp_path / "rows.jsonl", ROWS)
    table = tmp_path / "ikdr.csv"
    backwards = dict(reversed(EXPECTED.items()))
    assert merge_records([rows], IKDRRecord, backwards, table) == ROWS[::-1]
    lines = read_csv(table)
    shown = [(line["run"], line["cost"], line["quality"], line["curvature"]) for line in lines]
    assert shown == [("1", "-2.0", "0.95", ""), ("0", "-1.0", "0.95", "")]
    assert list(lines[0])[-2:] == ["drift", "drifted"]


LAST = "row \\('e', 'wine', 'gaussian', 'ism', 0\\)"


@pytest.mark.parametrize(
    ("times", "expected", "message"),
    [
        (2, EXPECTED, rf"{LAST} occurs twice .* in .*rows\.jsonl"),
        (1, EXPECTED | {(*ROWS[0].axes[:4], 7): "today's"}, r"without a record: 1 row, .*'ism', 7\); run the"),
        (1, {ROWS[0].axes: "today's"}, r"no row of the configuration: 1 record, one is .*'ism', 1\)"),
        (1, dict.fromkeys(EXPECTED, "yesterday's"), rf"{LAST} in .*rows.jsonl was made for another definition"),
    ],
)
def test_rows_that_are_not_those_expected_are_refused(tmp_path, times, expected, message):
    write_records(rows := tmp_path / "rows.jsonl", ROWS)
    with pytest.raises(RecordError, match=message):
        merge_records([rows] * times, IKDRRecord, expected, tmp_path / "ikdr.csv")
    assert not (tmp_path / "ikdr.csv").exists()
