"""The steps of the workflow as commands: merge rows, say how far the runs have come."""

import csv
import json

import pytest

from kdrbench.suite.commands import progress
from kdrbench.suite.engine.record import append_records
from kdrbench.suite.experiments.config import load_grid
from support.command_line import kdrbench
from support.tiny_system import tiny_record

CONFIG = {
    "seed": 0,
    "run": ["e"],
    "data": {"mirror": ""},
    "limits": {"time_s": 1, "memory_mib": 256},
    "timing": {"repeat_for_s": 0, "threads": 1},
    "experiments": {
        "e": {
            "system": "support.tiny_system:TinySystem",
            "title": "Answers.",
            "datasets": ["wine"],
            "answers": {"it": 1},
        }
    },
}


@pytest.fixture
def results(tmp_path):
    """Results of the first of two runs, beside the frozen configuration."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    _add(tmp_path, 0)
    return tmp_path


def _add(results, number):
    grid = load_grid(CONFIG)
    (batch,), (bundle,) = grid.batches(), grid.bundles()
    hashes = batch.identity
    rows = [tiny_record(half, number=number, timed=True, **hashes) for half in ("first", "second")]
    append_records(results / "runs" / f"{bundle.path}.jsonl", rows)


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


def test_an_experiment_missing_in_the_configuration_is_named(results):
    done = kdrbench("merge", results / "config.json", "e", "late", "--results", results, "--out", results / "tiny.csv")
    said = "config.json: unknown experiment in `run` 'late'; allowed: e."
    assert (done.exit_code, said in done.stderr) == (2, True)
    assert not (results / "tiny.csv").exists()


def test_the_status_is_read_from_rows(results):
    done = kdrbench("status", results)
    assert done.exit_code == 0, done.output
    cell, _, summary = done.stdout.splitlines()
    assert cell.startswith("e/wine/it     1 of 2     2 rows: 1 converged, 1 failed; run 0 failed: not well; 1 run to")
    assert summary.startswith("1 of 2 runs ended (2 rows: 1 converged, 1 failed), none of them out of date; 1 run to ")


def test_the_status_of_many_cells_is_that_of_their_experiments(results, monkeypatch):
    monkeypatch.setattr(progress, "_MOST_CELLS", 0)
    experiment, title, cell, *_ = kdrbench("status", results).stdout.splitlines()
    assert experiment == "e      1 of 2      2 rows: 1 converged, 1 failed"
    assert title == "unfinished, out of date, or with failed runs:"
    assert kdrbench("status", results, "--all").stdout.splitlines()[0] == cell.strip()


def test_the_status_of_the_only_configuration_needs_no_name(results):
    (results / "demo").mkdir()
    (results / "config.json").rename(results / "demo" / "config.json")
    assert kdrbench("status", results).exit_code == 0
    assert kdrbench("status", results, "--name", "demo").exit_code == 0
    done = kdrbench("status", results, "--name", "mine")
    assert (done.exit_code, "config.json is not there: start the workflow" in done.stderr) == (2, True)
    assert "those with a name: demo (--name demo)" in done.stderr


@pytest.mark.parametrize("command", ["papers", "reports"])
def test_reports_without_a_frozen_configuration_are_refused(tmp_path, command):
    for text in (None, "{", "\0", "[]", "{}", '{"run": 3}', '{"a": NaN}', '{"name": "../../x"}'):
        config = tmp_path / "config.json"
        if text is not None:
            config.write_text(text)
        done = kdrbench(command, "--results", tmp_path, "--out", tmp_path / "page")
        said = "config.json is not there" if text is None else "config.json is no frozen configuration"
        assert (done.exit_code, said in done.stderr) == (2, True)
        assert {path.name for path in tmp_path.iterdir()} <= {"config.json"}
