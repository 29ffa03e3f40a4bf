"""Cells that share a job, through Snakemake: what is run again, what stands, and what a job that fails leaves."""

import json

import pytest

from support.forks import forked
from support.small_grid import ROWS, Workflow, overlay

pytestmark = pytest.mark.whole

ENDED = "support.misbehaving:KillsItsGuardian"
CODE = "from support.misbehaving import Raises\n\n\nclass Mine(Raises):\n    pass\n"


def grid(*solvers, **methods):
    experiment = overlay()["experiments"]["table4_supervised"]
    experiment |= {"solvers": list(solvers), "baselines": ["svm"], "runs_per_job": "auto"}
    return {
        "solvers": {"mine": {"method": "mine:Mine"}, "ended": {"method": ENDED}} | methods,
        "limits": {"time_s": 5, "memory_mib": 256},
        "experiments": {"table4_supervised": experiment},
    }


def lines(workflow):
    (path,) = workflow.record_files()
    assert path.relative_to(workflow.folder).as_posix() == "results/runs/table4_supervised/cheap.jsonl"
    found = {}
    for line in path.read_text().splitlines():
        found.setdefault(json.loads(line)["method"], []).append(line)
    return found


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """A grid that has run once, with a solver of the user's own."""
    workflow = Workflow(tmp_path_factory.mktemp("sharing") / "run")
    workflow.environment["PYTHONPATH"] += f":{workflow.folder}"
    (workflow.folder / "mine.py").write_text(CODE)
    workflow.succeed(*ROWS, **grid("ism", "mine"))
    return workflow


def test_an_edited_solver_reruns_its_own_batch_alone(workflow):
    before = lines(workflow)
    assert {name: len(found) for name, found in before.items()} == {"ism": 2, "mine": 2, "svm": 2}
    assert "out of date" not in workflow.status()
    (workflow.folder / "mine.py").write_text(CODE + "\n    note = 2\n")
    assert "2 out of date: your solver mine:Mine changed" in workflow.status()
    assert workflow.planned(*ROWS, **grid("ism", "mine"))["run_batch"] == 1
    workflow.succeed(*ROWS, **grid("ism", "mine"))
    after = lines(workflow)
    assert (after["ism"], after["svm"]) == (before["ism"], before["svm"])
    assert not set(after["mine"]) & set(before["mine"])
    assert workflow.planned(*ROWS, **grid("ism", "mine")) == {}
    assert "out of date" not in workflow.status()


@pytest.mark.attack("sharing: a job that fails")
def test_a_job_that_fails_keeps_the_old_rows_and_is_run_again(workflow):
    before = lines(workflow)
    failing = grid("ism", "mine", "ended")
    done = workflow.run(*ROWS, **failing)
    assert done.returncode != 0
    assert "the guardian of a run was killed" in done.stdout + done.stderr
    # Snakemake deletes the outputs of a job that fails; the workspace keeps the rows.
    assert workflow.planned(*ROWS, **failing)["run_batch"] == 1
    workflow.succeed(*ROWS, **grid("ism", "mine"))
    assert lines(workflow) == before
    assert workflow.planned(*ROWS, **grid("ism", "mine")) == {}


@pytest.mark.attack("sharing: a deleted file")
def test_a_deleted_file_is_published_and_forgotten_runs_made(workflow):
    before = lines(workflow)
    (path,) = workflow.record_files()
    path.unlink()
    workflow.succeed("--", path.relative_to(workflow.folder), **grid("ism", "mine"))
    assert lines(workflow) == before
    words = ["kdrbench", "forget", "table4_supervised/wine/gaussian/mine", "--results", "results"]
    assert forked(words, workflow.folder, workflow.environment).returncode == 0
    workflow.succeed(*ROWS, **grid("ism", "mine"))
    after = lines(workflow)
    assert (after["ism"], after["svm"]) == (before["ism"], before["svm"])
    assert len(after["mine"]) == 2
    assert not set(after["mine"]) & set(before["mine"])
