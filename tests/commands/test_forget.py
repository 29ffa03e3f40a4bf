"""Runs that are forgotten, so that the workflow makes them again."""

import json

import pandas as pd
import pytest

from kdrbench.files import sealed, unsealed
from kdrbench.suite.engine.workspace import workspace_lock
from support.command_line import kdrbench
from support.record_folders import folder_of


@pytest.fixture
def workspaces(tmp_path):
    """Files of two cells, each of two runs in a job of its own, and of two data sets with a shared job."""
    names = [f"{place}/{runs}" for place in ("e/wine/it", "e/wine/ism") for runs in ("0-0", "1-1")]
    names += ["e/cheap", "f/cheap"]
    for name in names:
        path = tmp_path / "runs" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        (tmp_path / ".workspace" / name.replace("cheap", "iris/it/0-1")).mkdir(parents=True)
    return tmp_path


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


def test_tables_of_other_configurations_stay(workspaces):
    tables = [workspaces / name / file for name in ("mine", "other") for file in ("ikdr.csv", "merged/e.csv")]
    tables[3] = workspaces / "other/merged/g.csv"
    for table in tables:
        table.parent.mkdir(parents=True, exist_ok=True)
        table.touch()
    assert kdrbench("forget", "e/wine/it", "--results", workspaces).exit_code == 0
    assert [table.exists() for table in tables] == [False, False, True, True]


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
def disturbed(tmp_path):
    """Two runs of a cell: the second of ISM drifted, its first with one kernel shared its cores; DG is not timed."""
    results = folder_of(tmp_path / "results", folds=2)
    table = pd.read_csv(results / "merged/first.csv", keep_default_na=False)
    timed = table["method"] == "ism"
    shared = (table["run"] == 0) & (table["kernel"] == "polynomial")
    marks = {"timed": timed, "drifted": table["run"] == 1, "contaminated": shared}
    table.assign(**marks).to_csv(results / "merged/first.csv", index=False)
    for kernel, method in table[["kernel", "method"]].drop_duplicates().itertuples(index=False):
        workspace = results / f".workspace/first/wine/{kernel}/{method}/0-1"
        for number in (0, 1):
            (workspace / f"run-{number}").mkdir(parents=True)
        # Sealed, as the bench writes them.
        (workspace / "rows.jsonl").write_text(
            "".join(f"{sealed(json.dumps({'run': one}))}\n" for one in (0, 1)) + "cut"
        )
    (results / "runs/first").mkdir(parents=True, exist_ok=True)
    return results


def left_of(results, cell):
    """The runs that a workspace has rows of, and those of which it has a folder."""
    folder = results / f".workspace/first/wine/{cell}/0-1"
    *lines, cut = (folder / "rows.jsonl").read_text().split("\n")
    assert cut == "cut"
    left = sorted(int(path.name[4:]) for path in folder.glob("run-*") if path.is_dir())
    return [json.loads(unsealed(line))["run"] for line in lines], left


def test_only_disturbed_timed_runs_are_forgotten(disturbed):
    done = kdrbench("forget", "--disturbed", "--results", disturbed)
    assert done.exit_code == 0, done.output
    assert left_of(disturbed, "gaussian/ism") == ([0], [0])
    assert left_of(disturbed, "polynomial/ism") == ([], [])
    assert left_of(disturbed, "gaussian/dg") == left_of(disturbed, "polynomial/dg") == ([0, 1], [0, 1])
    assert "the workflow will make 1 run of first/wine/gaussian/ism again" in done.stdout
    assert "2 runs of first/wine/polynomial/ism again" in done.stdout
    assert not (disturbed / "merged/first.csv").exists()


def test_only_reports_of_the_experiment_itself_are_removed(disturbed):
    reports = disturbed.parent / "reports"
    own, others = (
        ("first.html", "first.csv", "figures/first.png"),
        ("first_d.html", "first_notes.md", "other/first.html"),
    )
    for name in (*own, *others):
        path = reports / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert kdrbench("forget", "first", "--results", disturbed).exit_code == 0
    left = {path.relative_to(reports).as_posix() for path in reports.rglob("*.*")}
    assert {"first.html", "first.csv"}.isdisjoint(left)
    assert set(others) <= left


def test_disturbed_runs_of_a_configuration_by_its_folder(disturbed):
    (disturbed / "demo").mkdir()
    for name in ("config.json", "merged"):
        (disturbed / name).rename(disturbed / "demo" / name)
    assert kdrbench("forget", "--disturbed", "--results", disturbed / "demo").exit_code == 0
    assert left_of(disturbed, "gaussian/ism") == ([0], [0])


def test_disturbed_runs_of_a_place_alone(disturbed):
    elsewhere = kdrbench("forget", "first/iris", "--disturbed", "--results", disturbed)
    assert (elsewhere.exit_code, elsewhere.stdout) == (0, "no timed run was disturbed\n")
    assert kdrbench("forget", "first/wine/gaussian", "--disturbed", "--results", disturbed).exit_code == 0
    assert left_of(disturbed, "gaussian/ism") == ([0], [0])
    assert left_of(disturbed, "polynomial/ism") == ([0, 1], [0, 1])


def test_only_what_is_there_is_forgotten(workspaces, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for place in ("e/wine/i", ".", "..", "e/../f", "/", elsewhere):
        done = kdrbench("forget", place, "--results", workspaces)
        assert (done.exit_code, "holds no runs of" in done.stderr) == (2, True)
    assert elsewhere.is_dir()
    assert len(jobs_of(workspaces)) == 6
    assert (workspaces / ".workspace/f/iris/it/0-1").is_dir()


def test_runs_that_a_limit_ended_are_forgotten_and_no_others(disturbed):
    table = pd.read_csv(disturbed / "merged/first.csv", keep_default_na=False)
    cells = table["kernel"].eq("gaussian"), table["method"].eq("ism"), table["run"]
    table.loc[cells[0] & cells[1] & (cells[2] == 1), "status"] = "time_limit"
    table.loc[cells[0] & ~cells[1] & (cells[2] == 0), "status"] = "memory_limit"
    table.to_csv(disturbed / "merged/first.csv", index=False)
    elsewhere = kdrbench("forget", "first/iris", "--stopped", "--results", disturbed)
    assert (elsewhere.exit_code, elsewhere.stdout) == (0, "no run was stopped\n")
    done = kdrbench("forget", "--stopped", "--results", disturbed)
    assert done.exit_code == 0, done.output
    assert left_of(disturbed, "gaussian/ism") == ([0], [0])
    assert left_of(disturbed, "gaussian/dg") == ([1], [1])
    assert left_of(disturbed, "polynomial/ism") == left_of(disturbed, "polynomial/dg") == ([0, 1], [0, 1])
