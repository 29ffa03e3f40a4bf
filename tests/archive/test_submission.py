"""Submissions as layers over a record: added beside what is there, superseded, and refused by other rules."""

import json
import shutil

import pytest

from kdrbench.suite.archive.layers import opened, record_at
from kdrbench.suite.csv_files import read_csv
from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results

OWN = {name: {"method": "stiefel_cayley"} for name in ("mine", "yours")}


def packed_of(folder, *solvers, kernel=None, folds=2, **columns):
    """Pack made-up results of solvers, with a job for each; return the record's folder."""
    config = two_experiments(folds, runs_per_job=folds, solvers=list(solvers))
    config["kernels"]["gaussian"] |= kernel or {}
    results, place = folder / "results", folder / "packed"
    write_results(results, config | {"run": ["first"], "solvers": config["solvers"] | OWN}, **columns)
    (results / "submitted").mkdir()
    for name in set(solvers) & set(OWN):
        (results / f"submitted/{name}.py").write_text("raise SystemExit('loaded')")
    assert kdrbench("pack", results, "--out", place).exit_code == 0
    return place


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return packed_of(tmp_path_factory.mktemp("base"), "ism", "gm")


@pytest.fixture
def record(base, tmp_path):
    return shutil.copytree(base, tmp_path / "record")


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    return packed_of(tmp_path_factory.mktemp("mine"), "mine", git_commit="a", machine="far")


def add(submission, record, layer):
    return kdrbench("pack", submission, "--out", record, "--layer", layer)


def made_by(place):
    """By solver, the commits, machines and numbers of its rows."""
    with opened(place) as folder:
        rows = read_csv(folder / "merged/first.csv")
    names = {row["method"]: (row["git_commit"], row["machine"]) for row in rows}
    return {name: (*made, sum(row["method"] == name for row in rows)) for name, made in names.items()}


@pytest.mark.slow("packs four records")
def test_submissions_of_two_are_added_and_one_superseded(record, base, mine, tmp_path):
    done = add(mine, record, "2026-12-01")
    assert (done.exit_code, f"kdrbench report {record}" in done.stdout) == (0, True), done.output
    assert add(packed_of(tmp_path / "yours", "yours", git_commit="b"), record, "2026-12-02").exit_code == 0
    before = {path: path.read_bytes() for path in record.rglob("*") if path.is_file()}
    done = add(packed_of(tmp_path / "again", "mine", git_commit="c", machine="near"), record, "2026-12-03")
    assert f"mine -> {record}/layers/2026-12-03; its earlier rows stay in {record}/layers/2026-12-02" in done.stdout
    assert {path: path.read_bytes() for path in before} == before
    # An earlier state has the configuration of its time.
    at = {layer: made_by(record / "layers" / layer) for layer in ("base", "2026-12-01", "2026-12-02")}
    assert at["base"] == made_by(base)
    assert at["2026-12-01"] == at["base"] | {"mine": ("a", "far", 2)}
    assert at["2026-12-02"] == at["2026-12-01"] | {"yours": ("b", *at["base"]["ism"][1:])}
    assert made_by(record) == at["2026-12-02"] | {"mine": ("c", "near", 2)}
    assert record_at(record).content("others/submitted-yours.py") == b"raise SystemExit('loaded')"
    done = add(mine, record, "2026-12-04")
    assert (done.exit_code, f"{mine} holds nothing that {record} lacks" in done.stderr) == (2, True)


def test_a_layer_of_a_submission_counts_the_whole_record(record, mine, tmp_path):
    assert add(mine, record, "1").exit_code == 0
    everything = record_at(packed_of(tmp_path, "ism", "gm", "mine")).manifest
    assert record_at(record).manifest == {key: everything[key] for key in ("complete", "experiments")}


@pytest.mark.parametrize(
    ("solver", "changes", "message"),
    [
        ("gm", {}, "'gm' is a solver of {record} itself; rename the file and submit it again"),
        ("mine", {"kernel": {"sigma": 2.0}}, "was made by other rules than {record}: kernels; run `kdrbench submit`"),
        ("mine", {"data_sha256": "0" * 64}, "has rows of other data than {record}: wine; run `kdrbench submit`"),
        ("mine", {"folds": 4}, "was made by other rules than {record}: experiments; run `kdrbench submit`"),
    ],
)
def test_what_is_no_submission_to_a_record_is_refused(record, tmp_path, solver, changes, message):
    done = add(packed_of(tmp_path, solver, **changes), record, "1")
    assert (done.exit_code, message.format(record=record) in done.stderr) == (2, True), done.stderr
    assert not [*record.glob("layers/*/*")]


def test_runs_that_are_missing_are_refused(record, mine, tmp_path):
    copy = shutil.copytree(mine, tmp_path / "mine")
    for place, message in ((copy, "lacks runs or has layers"), (record, "lacks runs of its own solvers; start")):
        manifest = place / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
        done = add(copy, record, "1")
        assert (done.exit_code, f"{place} {message}" in done.stderr) == (2, True), done.stderr
