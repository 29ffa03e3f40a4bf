"""The steps of the workflow as commands: freeze a configuration, merge rows, say how far the runs have come."""

import csv
import json

import pandas as pd
import pytest
from click.testing import CliRunner

from kdrbench.bench.record import append_records
from kdrbench.bench.workspace_lock import workspace_lock
from kdrbench.cli import main
from kdrbench.stages.config import load_grid
from support.record_folders import folder_of
from support.tiny_stage import tiny_record

CONFIG = {
    "seed": 0,
    "run": ["e"],
    "data": {"mirror": ""},
    "limits": {"time_s": 1, "memory_mib": 256},
    "timing": {"repeat_for_s": 0, "threads": 1},
    "experiments": {
        "e": {
            "system": "support.tiny_stage:TinyStage",
            "title": "Answers.",
            "datasets": ["wine"],
            "answers": {"it": 1},
        },
    },
}


def kdrbench(*words):
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.fixture
def results(tmp_path):
    """Results of the first of two runs, beside the frozen configuration."""
    assert kdrbench("freeze-config", "--config", json.dumps(CONFIG), "--out", tmp_path / "config.json").exit_code == 0
    _add(tmp_path, 0)
    return tmp_path


def _add(results, number):
    grid = load_grid(CONFIG)
    (batch,), (bundle,) = grid.batches(), grid.bundles()
    hashes = {"batch_sha256": batch.sha256, "definition_sha256": batch.definition_sha256}
    rows = [tiny_record(half, number=number, **hashes) for half in ("first", "second")]
    append_records(results / "runs" / f"{bundle.path}.jsonl", rows)


def test_a_frozen_configuration_is_complete_and_checked(tmp_path):
    done = kdrbench("freeze-config", "--config", json.dumps(CONFIG), "--out", tmp_path / "config.json")
    assert (done.exit_code, json.loads((tmp_path / "config.json").read_text())) == (0, CONFIG)
    wrong = json.dumps(CONFIG | {"sead": 1})
    done = kdrbench("freeze-config", "--config", wrong, "--out", tmp_path / "other.json")
    assert (done.exit_code, done.stderr[:39]) == (2, "kdrbench: config: unknown key: 'sead'. ")
    assert not (tmp_path / "other.json").exists()


def merge(results):
    return kdrbench("merge", results / "config.json", "e", "--results", results, "--out", results / "tiny.csv")


def test_rows_are_merged_when_all_are_there(results):
    done = merge(results)
    assert done.exit_code == 2
    assert "without a record: 2 rows, the first is ('e', 'wine', 'it', 1, 'first'); run the workflow" in done.stderr
    assert not (results / "tiny.csv").exists()
    _add(results, 1)
    done = merge(results)
    assert (done.exit_code, done.stdout) == (0, f"4 rows -> {results / 'tiny.csv'}\n")
    with (results / "tiny.csv").open(newline="") as stream:
        assert [(row["run"], row["half"]) for row in csv.DictReader(stream)] == [
            (number, half) for number in "01" for half in ("first", "second")
        ]
    # A table that is to be shorter says so.
    with (results / "tiny.csv").open("a") as stream:
        stream.write("\n".join(["of another configuration"] * 3) + "\n")
    assert "tiny.csv had 3 rows more: the configuration asks for fewer runs than before" in merge(results).stdout


def test_the_status_is_read_from_rows(results):
    done = kdrbench("status", "--results", results)
    assert done.exit_code == 0, done.output
    cell, summary = done.stdout.splitlines()
    assert cell.startswith("e/wine/it     1 of 2     2 rows: 1 converged, 1 failed; runs 0-1 begun")
    assert summary.startswith("1 of 2 runs ended (2 rows: 1 converged, 1 failed); 1 run to make")


def test_the_status_of_the_only_named_configuration_needs_no_name(results):
    (results / "demo").mkdir()
    (results / "config.json").rename(results / "demo" / "config.json")
    assert kdrbench("status", "--results", results).exit_code == 0
    assert kdrbench("status", "--results", results, "--name", "demo").exit_code == 0
    done = kdrbench("status", "--results", results, "--name", "mine")
    assert (done.exit_code, "config.json is not there: start the workflow" in done.stderr) == (2, True)
    assert "those with a name: demo (--name demo)" in done.stderr


@pytest.mark.parametrize("text", [None, "{", "\0", "[]", '{"name": "../../x"}'])
@pytest.mark.parametrize("command", ["claims", "published-vs-ours"])
def test_reports_without_a_frozen_configuration_end_in_a_sentence(tmp_path, command, text):
    config = tmp_path / "config.json"
    if text is not None:
        config.write_text(text)
    done = kdrbench(command, "--config", config, "--results", tmp_path, "--out", tmp_path / "page")
    assert (done.exit_code, "config.json is no frozen configuration" in done.stderr) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} <= {"config.json"}


@pytest.fixture
def workspaces(results):
    """Files of two cells, each of two runs in a job of its own, and of two data sets with a shared job."""
    names = [f"{place}/{runs}" for place in ("e/wine/it", "e/wine/ism") for runs in ("0-0", "1-1")]
    names += ["e/cheap", "f/cheap"]
    for name in names:
        path = results / "runs" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        (results / ".workspace" / name.replace("cheap", "iris/it/0-1")).mkdir(parents=True)
    return results


def jobs_of(results):
    runs = results / "runs"
    return {path.relative_to(runs).with_suffix("").as_posix() for path in runs.rglob("*.jsonl")}


@pytest.mark.parametrize(
    ("place", "gone"),
    [
        ("e/wine/it/1-1", {"e/wine/it/1-1"}),
        ("e/wine/it", {"e/wine/it/0-0", "e/wine/it/1-1"}),
        ("e/wine/it/", {"e/wine/it/0-0", "e/wine/it/1-1"}),
        ("f", {"f/cheap"}),
    ],
)
def test_what_is_to_be_run_again_is_forgotten_and_nothing_else(workspaces, place, gone):
    (workspaces / "runs/e/cheap.jsonl").unlink()
    before = jobs_of(workspaces)
    done = kdrbench("forget", place, "--results", workspaces)
    assert done.exit_code == 0, done.output
    assert not (workspaces / ".workspace" / place).exists()
    assert before - jobs_of(workspaces) == gone
    assert (workspaces / ".workspace/e/wine/ism/0-0").is_dir()


def test_shared_jobs_of_an_experiment_are_assembled_again(workspaces):
    assert kdrbench("forget", "e/wine/it", "--results", workspaces).exit_code == 0
    assert "e/cheap" not in jobs_of(workspaces)
    assert "f/cheap" in jobs_of(workspaces)
    # Nothing of it has to run: its cells have their workspaces.
    assert (workspaces / ".workspace/e/iris/it/0-1").is_dir()


def test_runs_are_not_forgotten_while_a_process_works_on_them(workspaces):
    folder = workspaces / ".workspace/e/wine/it/0-0"
    with workspace_lock(folder.with_name("0-0.lock"), folder):
        done = kdrbench("forget", "e/wine", "--results", workspaces)
    assert (done.exit_code, "another process works on" in done.stderr) == (2, True)
    assert folder.is_dir()
    assert "e/wine/it/0-0" in jobs_of(workspaces)


def test_a_place_has_to_be_said():
    done = kdrbench("forget")
    assert (done.exit_code, "say which PLACE to forget" in done.stderr) == (2, True)


@pytest.fixture
def drifted(tmp_path):
    """Merged tables in which the cores of ISM's timed runs have drifted, and those of a run of DG that is not timed."""
    results = folder_of(tmp_path / "results", folds=2)
    table = pd.read_csv(results / "merged/first.csv", keep_default_na=False)
    drifted = (table["method"] == "ism") | (table["run"] == 1)
    timed = table["method"] == "ism"
    table.assign(drifted=drifted, timed=timed).to_csv(results / "merged/first.csv", index=False)
    for kernel, method in table[["kernel", "method"]].drop_duplicates().itertuples(index=False):
        (results / f".workspace/first/wine/{kernel}/{method}/0-1").mkdir(parents=True)
    (results / "runs/first").mkdir(parents=True, exist_ok=True)
    return results


def test_timed_runs_that_have_drifted_are_forgotten(drifted):
    done = kdrbench("forget", "--drifted", "--results", drifted)
    assert done.exit_code == 0, done.output
    cells = {
        path.parent.relative_to(drifted / ".workspace").as_posix() for path in drifted.glob(".workspace/*/*/*/*/0-1")
    }
    assert cells
    assert not [cell for cell in cells if cell.endswith("/ism")]
    assert [cell for cell in cells if cell.endswith("/dg")]
    assert "the workflow will make the runs of first/wine/gaussian/ism again" in done.stdout
    assert not (drifted / "merged/first.csv").exists()


def test_only_reports_of_the_experiment_itself_are_removed(drifted):
    reports = drifted.parent / "reports"
    own, others = (
        ("first.html", "first.csv", "figures/first.png"),
        ("first_d.html", "first_notes.md", "other/first.html"),
    )
    for name in (*own, *others):
        path = reports / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert kdrbench("forget", "first", "--results", drifted).exit_code == 0
    left = {path.relative_to(reports).as_posix() for path in reports.rglob("*.*")}
    assert {"first.html", "first.csv"}.isdisjoint(left)
    assert set(others) <= left


def test_drifted_runs_of_a_configuration_by_its_folder(drifted):
    (drifted / "demo").mkdir()
    for name in ("config.json", "merged"):
        (drifted / name).rename(drifted / "demo" / name)
    assert kdrbench("forget", "--drifted", "--results", drifted / "demo").exit_code == 0
    assert not (drifted / ".workspace/first/wine/gaussian/ism").exists()


def test_drifted_runs_of_a_place_alone(drifted):
    elsewhere = kdrbench("forget", "first/iris", "--drifted", "--results", drifted)
    assert (elsewhere.exit_code, elsewhere.stdout) == (0, "no timed run has drifted\n")
    assert (drifted / ".workspace/first/wine/gaussian/ism/0-1").is_dir()
    assert kdrbench("forget", "first/wine/gaussian", "--drifted", "--results", drifted).exit_code == 0
    assert not (drifted / ".workspace/first/wine/gaussian/ism").exists()


@pytest.mark.parametrize("place", ["e/wine/i", ".", "..", "e/../f", "/"])
def test_only_what_is_there_is_forgotten(workspaces, place, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (place, str(elsewhere)):
        done = kdrbench("forget", name, "--results", workspaces)
        assert (done.exit_code, "holds no runs of" in done.stderr) == (2, True)
    assert elsewhere.is_dir()
    assert len(jobs_of(workspaces)) == 6
    assert (workspaces / ".workspace/f/iris/it/0-1").is_dir()
