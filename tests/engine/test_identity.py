"""When a stored row is what is asked for now, and what is said where it is not."""

import json
from dataclasses import replace

import pytest

from kdrbench import revisions
from kdrbench.errors import DamagedError
from kdrbench.revisions import Revision
from kdrbench.status import Status
from kdrbench.suite.engine.identity import (
    Attestation,
    Attested,
    Requirements,
    Step,
    append_attestation,
    attested_in,
    has_earlier_speed,
    reasons,
)
from kdrbench.suite.engine.provenance import write_evidence
from support.one_batch import batch_of

BATCH = batch_of("ism")


def row(batch=BATCH, **columns):
    made = {"seed": batch.seed, "status": Status.CONVERGED, "timed": True}
    return made | batch.identity | columns


def words(**changes):
    return json.dumps(BATCH.revisions | changes)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({}, []),
        ({"definition_sha256": "o", "seed": 7}, ["seed 7 -> 0"]),
        ({"definition_sha256": "o", "data_sha256": "o"}, ["data changed"]),
        ({"definition_sha256": "o"}, ["its definition changed"]),
        ({"revisions": words(**{"solver/ism": "0.1"})}, ["solver/ism: numbers 0 -> 1"]),
        ({"revisions": words(**{"solver/ism": "1.9"})}, []),
        # A component that was declared later began with its first revision.
        ({"revisions": json.dumps({"solver/ism": "1.1"})}, []),
        ({"revisions": words(**{"kernel/not_used": "7.1"})}, []),
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
    assert found == [
        'method {"method": "ism", "tolerance": 0.1} -> {"method": "ism"}',
        "n_components 2 -> 4",
    ]


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
    made = ("2026-11-27T06:00:00+00:00", 0, 3, 1, "host", "processor", "c" * 40, "code", "env")
    return Attestation(*made, tuple(Step(*step) for step in steps))


def test_rows_before_revisions_are_valid_once_all_components_are_attested(tmp_path):
    former, names = row(revisions=""), sorted(BATCH.revisions)
    (why,) = reasons(former, BATCH, Requirements())
    assert why.startswith(f"made before revisions were declared, and not audited since ({names[0]} and ")
    append_attestation(tmp_path, attestation(*((name, 0, 1, 3, int(name == "solver/ism")) for name in names)))
    (why,) = reasons(former, BATCH, Requirements(attested=attested_in(tmp_path)))
    assert why == "made before revisions were declared, and not audited since (solver/ism)"
    append_attestation(tmp_path, attestation(("solver/ism", 0, 1, 1, 0)))
    assert reasons(former, BATCH, Requirements(attested=attested_in(tmp_path))) == []
    # The audits of the shipped record hold for other results, too.
    (tmp_path / "reference").mkdir()
    (tmp_path / "attestations.jsonl").rename(tmp_path / "reference" / "attestations.jsonl")
    assert reasons(former, BATCH, Requirements(attested=attested_in(tmp_path))) == []


def test_a_component_of_which_no_cell_was_made_is_not_attested():
    assert attestation(("solver/ism", 0, 1, 0, 0)).attested == set()


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
