"""Snakemake run for real on small grids, with solvers that go wrong among good ones."""

import csv
import json
import re
import shutil

import psutil
import pytest

from small_grid import BAD, LIMIT_S, REFERENCE_STATUS, STATUS, Workflow, overlay

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the small grid; tests that change it work on a copy."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow") / "with a space")
    done = workflow.run()
    assert done.returncode == 0, done.stdout + done.stderr
    return workflow


@pytest.fixture
def copy(finished, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "copy", dirs_exist_ok=True)
    return Workflow(tmp_path / "copy")


def test_every_run_left_the_right_row_with_its_partial_trace(finished):
    records = finished.records()
    assert set(records) == {*STATUS, *REFERENCE_STATUS}
    for solver, status in STATUS.items():
        assert [record.fold for record in records[solver]] == [0, 1]
        for record in records[solver]:
            assert record.status == status
            assert record.wall_s < LIMIT_S + 1.0
        (trace,) = (finished.folder / "results/traces").rglob(f"{solver}/*.jsonl")
        points = [json.loads(line) for line in trace.read_text().splitlines()]
        assert {point["fold"] for point in points} == {0, 1}
        assert len(points) >= 6
    for reference, status in REFERENCE_STATUS.items():
        assert [(row.fold, row.kernel, row.status) for row in records[reference]] == [
            (fold, "none", status) for fold in (0, 1)
        ]
        assert all(row.cost is None and (row.quality is None) == (status == "time_limit") for row in records[reference])


def test_nothing_of_a_killed_run_is_left(finished):
    assert not psutil.pid_exists(int((finished.folder / "grandchild").read_text()))
    assert not list((finished.folder / "results/.state").rglob("*.jsonl"))


def test_table_and_figure_are_complete(finished):
    reports = finished.folder / "reports"
    with (reports / "table4_supervised.csv").open() as stream:
        cells = {(row["solver"], row["metric"]): row["ours"] for row in csv.DictReader(stream)}
    assert len(cells) == 6 * 3 + 2 * 2
    assert cells["FitsForEver", "time_s"] == "> 1.5s"
    assert cells["FitsForEver", "accuracy"] == "> 1.5s"
    assert re.fullmatch(r"9\d\.\d% \u00b1 [\d.]+%", cells["svm", "accuracy"])
    assert cells["Sleeps", "time_s"] == "> 1.5s"
    assert cells["Allocates", "time_s"] == "> 256 MiB"
    assert cells["IsKilled", "time_s"] == "failed"
    assert re.fullmatch(r"-1\d{3}(\.\d+)? \u00b1 [\d.]+|-\d{3}(\.\d+)? \u00b1 [\d.]+", cells["ism", "cost"])
    for name in ("table4_supervised.tex", "table4_supervised.html"):
        assert "failed" in (reports / name).read_text()
    assert (reports / "figures/table4_supervised_cost_against_time.pdf").stat().st_size > 1000
    assert (reports / "table4_supervised.pdf").exists() == (shutil.which("pdflatex") is not None)


def test_merged_table_has_every_row(finished):
    with (finished.folder / "results/runs.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["solver"], row["fold"]) for row in rows] == [
        (name, fold) for name in (*STATUS, *REFERENCE_STATUS) for fold in "01"
    ]
    assert all(row["git_commit"] and row["lock_sha256"] and row["processor"] for row in rows)


def test_a_finished_workflow_has_nothing_to_do(finished):
    assert finished.planned() == {}


def test_raising_limits_reruns_no_run(finished):
    planned = finished.planned(limits={"time_s": 9, "memory_mib": 512})
    assert planned["freeze_config"] == 1
    assert "run_batch" not in planned


def test_another_option_reruns_the_cells_of_that_solver(finished):
    solvers = overlay()["solvers"] | {"ism": {"tolerance": 0.5}}
    planned = finished.planned(solvers=solvers)
    assert planned["run_batch"] == 1
    references = overlay()["references"] | {"svm": {"penalty": 9.0}}
    assert finished.planned(references=references)["run_batch"] == 1


def test_an_edited_solver_reruns_its_own_cells(tmp_path):
    workflow = Workflow(tmp_path / "run")
    workflow.environment["PYTHONPATH"] += f":{workflow.folder}"
    code = workflow.folder / "mine.py"
    code.write_text("from misbehaving import NeverEnds\n\n\nclass Mine(NeverEnds):\n    pass\n")
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["ism", "mine"], "references": []}
    grid = {
        "solvers": {"mine": {"method": "mine:Mine"}},
        "limits": {"time_s": 0.2, "memory_mib": 256},
        "experiments": {"table4_supervised": experiment},
    }
    done = workflow.run(**grid)
    assert done.returncode == 0, done.stdout + done.stderr
    assert workflow.planned(**grid) == {}
    code.write_text(
        "# As patient as ever.\n" + code.read_text().replace("    pass", '    """Nothing new."""\n\n    pass')
    )
    assert workflow.planned(**grid) == {}
    code.write_text(code.read_text() + "\n    version = 2\n")
    done = workflow.run("--dry-run", **grid)
    assert "solver=mine" in done.stdout + done.stderr
    assert workflow.planned(**grid)["run_batch"] == 1


def test_results_are_rebuilt_piecewise(copy):
    before = copy.records()
    (deleted,) = (copy.folder / "results/runs").rglob("ism/*.jsonl")
    deleted.unlink()
    (copy.folder / "results/runs.csv").unlink()
    (copy.folder / "results/data/wine.npz").unlink()
    shutil.rmtree(copy.folder / "reports")
    planned = copy.planned()
    assert (planned["run_batch"], planned["prepare_data"], planned["merge_runs"]) == (1, 1, 1)
    done = copy.run()
    assert done.returncode == 0, done.stdout + done.stderr
    after = copy.records()
    others = (*BAD, *REFERENCE_STATUS)
    assert {name: after[name] for name in others} == {name: before[name] for name in others}
    assert [record.cost for record in after["ism"]] == [record.cost for record in before["ism"]]
    assert (copy.folder / "reports/table4_supervised.html").exists()


def test_an_interruption_is_no_row_and_a_red_end_with_its_reason(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["IsTerminated", "ism"]}
    done = workflow.run(experiments={"table4_supervised": experiment})
    assert done.returncode != 0
    assert "the run was ended by SIGTERM; start the workflow again" in done.stdout + done.stderr
    assert set(workflow.records()) == {"ism", *REFERENCE_STATUS}
    assert not (workflow.folder / "reports").exists()


def test_a_mistyped_name_is_one_sentence_before_any_job(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = overlay()["experiments"]["table4_supervised"] | {"kernels": ["gausian"]}
    done = workflow.run("--dry-run", experiments={"table4_supervised": experiment})
    assert done.returncode != 0
    assert (
        "config: experiments.table4_supervised.kernels: unknown kernel 'gausian'; allowed: gaussian, linear, "
        "polynomial, squared. Did you mean 'gaussian'?" in done.stdout + done.stderr
    )
    assert not (workflow.folder / "results").exists()


def test_the_linter_is_content(tmp_path):
    done = Workflow(tmp_path / "run").run("--lint")
    assert "Congratulations, your workflow is in a good condition!" in done.stdout + done.stderr
