"""Snakemake run for real with data, a kernel and a solver of one's own, given as files."""

import csv
import json

import pytest

from support.own_methods import DATA, SOLVER, write_all
from support.small_grid import Workflow

pytestmark = pytest.mark.workflow

OWN = {
    "datasets": {"blobs": {"loader": "my_data.py"}},
    "kernels": {"rational": {"family": "my_kernel.py"}},
    "solvers": {"mine": {"method": "my_solver.py"}},
    "baselines": {},
    "run": ["own"],
    "limits": {"time_s": 5, "memory_mib": 512},
    "experiments": {
        "own": {
            "title": "One's own.",
            "paradigm": "supervised",
            "datasets": ["blobs"],
            "kernels": ["gaussian", "rational"],
            "solvers": ["mine", "random"],
            "components": {"blobs": 2},
            "folds": 2,
            "start": "surrogate",
        }
    },
}


def test_files_run_by_their_names_and_an_edit_reruns_its_cells(tmp_path):
    workflow = Workflow(tmp_path / "here")
    write_all(workflow.folder)
    # The page of the table shows the figures.
    done = workflow.run("--until", "table", **OWN)
    assert done.returncode == 0, done.stdout + done.stderr
    with (workflow.tables / "merged" / "own.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["dataset"], row["kernel"], row["method"], row["status"]) for row in rows} == {
        ("blobs", kernel, solver, "converged") for kernel in ("gaussian", "rational") for solver in ("mine", "random")
    }
    assert len(rows) == 8
    page = (workflow.reports / "own.html").read_text()
    assert ">mine<" in page
    assert "MINE" not in page
    assert "Rational" in page
    assert (workflow.reports / "figures" / "own_cost_against_time.pdf").exists()

    assert "run_batch" not in workflow.planned(**OWN)
    (workflow.folder / "my_solver.py").write_text(SOLVER.replace("range(5)", "range(4)"))
    planned = workflow.planned(**OWN)
    assert (planned["run_batch"], "prepare_data" in planned) == (1, False)
    (workflow.folder / "my_solver.py").write_text(SOLVER)
    (workflow.folder / "my_data.py").write_text(DATA.replace("default_rng(0)", "default_rng(1)"))
    planned = workflow.planned(**OWN)
    assert (planned["run_batch"], planned["prepare_data"]) == (1, 1)


def test_a_fault_of_a_plug_in_is_a_finding_that_stops_nothing(tmp_path):
    workflow = Workflow(tmp_path / "here")
    write_all(workflow.folder)
    (workflow.folder / "my_solver.py").write_text(SOLVER.replace("].copy()", "] * 2"))
    # Beside the plug-ins, and called like a module that numpy imports.
    (workflow.folder / "random.py").write_text("raise SystemExit(0)")
    experiment = OWN["experiments"]["own"] | {"kernels": ["gaussian"], "title": "{braces} in a title"}
    changes = OWN | {"experiments": {"own": experiment}}
    assert workflow.planned(**changes)["check_plugin"] == 2
    done = workflow.run("--until", "check_plugin", "freeze_config", **changes)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.name.partition("-")[0]: json.loads(path.read_text()) for path in workflow.checks()}
    assert {kind: (one["plugin"], one["faults"]) for kind, one in found.items()} == {
        "dataset": ("my_data.py", 0),
        "solver": ("my_solver.py", 1),
    }
    assert "check_plugin" not in workflow.planned(**changes)
    (workflow.folder / "my_solver.py").write_text(SOLVER)
    assert workflow.planned(**changes)["check_plugin"] == 1
