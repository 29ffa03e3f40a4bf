"""Snakemake run for real on a tiny grid: the few of these tests that are made every day."""

import shutil

import pytest

from support.small_grid import ROWS, Workflow, of_solvers, overlay

pytestmark = pytest.mark.slow("Snakemake takes two seconds to start")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    workflow = Workflow(tmp_path_factory.mktemp("workflow") / "with a space")
    workflow.succeed(*ROWS, **of_solvers("ism", "Raises"))
    return workflow


def test_every_run_leaves_a_row_and_nothing_is_left_to_do(finished):
    assert finished.statuses() == {"ism": ["converged"] * 2, "Raises": ["failed"] * 2}
    assert (finished.tables / "ikdr.csv").read_text().count("\n") == 1 + 4
    assert finished.planned(*ROWS, **of_solvers("ism", "Raises")) == {}


EXPERIMENT = of_solvers("ism", "Raises")["experiments"]["table4_supervised"]
LARGER = {"time_s": 9, "memory_mib": 512}
OTHERS = {
    "seed": {"seed": 7},
    "q": {"experiments": {"table4_supervised": EXPERIMENT | {"components": {"wine": 3}}}},
    "folds": {"experiments": {"table4_supervised": EXPERIMENT | {"folds": 3}}},
    "option": {"solvers": overlay()["solvers"] | {"Raises": {"method": "ism", "tolerance": 0.5}}},
}


@pytest.mark.parametrize("other", ["seed", *(pytest.param(one, marks=pytest.mark.whole) for one in [*OTHERS][1:])])
def test_stale_rows_are_found_whatever_snakemake_remembers(finished, other):
    grid, lost = of_solvers("ism", "Raises") | OTHERS[other], finished.folder / "lost"
    # A third fold is a job of its own.
    count = {"folds": 4, "option": 1}.get(other, 2)
    assert finished.planned("--rerun-triggers", "mtime", *ROWS, **grid)["run_batch"] == count
    (finished.folder / ".snakemake").rename(lost)
    try:
        assert finished.planned(*ROWS, **grid)["run_batch"] == count
        assert "run_batch" not in finished.planned(*ROWS, **of_solvers("ism", "Raises", limits=LARGER))
    finally:
        shutil.rmtree(finished.folder / ".snakemake", ignore_errors=True)
        lost.rename(finished.folder / ".snakemake")


def test_a_deleted_file_is_made_again_with_the_same_rows(finished):
    before = finished.records()
    finished.record_files()[0].unlink()
    (finished.tables / "ikdr.csv").unlink()
    finished.succeed(*ROWS, **of_solvers("ism", "Raises"))
    assert finished.records() == before
    assert (finished.tables / "ikdr.csv").is_file()


def test_a_mistyped_name_is_one_sentence_before_any_job(tmp_path):
    done = Workflow(tmp_path / "target").run("--dry-run", "table4_superviced", **of_solvers("ism"))
    assert (done.returncode, "WorkflowError" in done.stderr) == (2, False)
    assert "unknown target 'table4_superviced'" in done.stdout + done.stderr
    assert "Did you mean 'table4_supervised'?" in done.stdout + done.stderr
    workflow, grid = Workflow(tmp_path / "kernel"), of_solvers("ism")
    grid["experiments"]["table4_supervised"]["kernels"] = ["gausian"]
    done = workflow.run("--dry-run", **grid)
    assert (done.returncode, "WorkflowError" in done.stderr) == (2, False)
    assert (
        "config: experiments.table4_supervised.kernels: unknown kernel 'gausian'. Did you mean 'gaussian'?"
        in done.stdout + done.stderr
    )
    assert not (workflow.folder / "results").exists()
