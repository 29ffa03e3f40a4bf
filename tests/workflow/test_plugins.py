"""Snakemake run for real with data, a kernel and a solver of one's own, given as files."""

import json
import os
import re
import shlex

import pytest

from kdrbench.suite.csv_files import read_csv
from support.checkout import ROOT, checkout_at, write_table
from support.forks import forked
from support.own_methods import DATA, SOLVER, write_all
from support.small_grid import Workflow

pytestmark = pytest.mark.whole

EXPERIMENT = {
    "title": "One's own.",
    "paradigm": "supervised",
    "datasets": ["blobs"],
    "kernels": ["gaussian", "rational"],
}
EXPERIMENT |= {"solvers": ["mine", "random"], "components": {"blobs": 2}, "folds": 2, "start": "surrogate"}
OWN = {"datasets": {"blobs": {"loader": "my_data.py"}}, "kernels": {"rational": {"family": "my_kernel.py"}}}
OWN |= {"solvers": {"mine": {"method": "my_solver.py"}}, "baselines": {}, "run": ["own"]}
OWN |= {"limits": {"time_s": 5, "memory_mib": 512}, "experiments": {"own": EXPERIMENT}}


def test_files_run_by_their_names_and_an_edit_reruns_its_cells(tmp_path):
    workflow = Workflow(tmp_path / "here")
    write_all(workflow.folder)
    workflow.succeed("--", "own", **OWN)
    rows = read_csv(workflow.tables / "merged" / "own.csv")
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
    workflow.succeed("--", "own", **OWN)
    again = read_csv(workflow.tables / "merged" / "own.csv")
    assert not {row["data_sha256"] for row in rows} & {row["data_sha256"] for row in again}


def test_a_fault_of_a_plug_in_is_a_finding_that_stops_nothing(tmp_path):
    workflow = Workflow(tmp_path / "here")
    write_all(workflow.folder)
    (workflow.folder / "my_solver.py").write_text(SOLVER.replace("].copy()", "] * 2"))
    # Beside the plug-ins, and called like a module that numpy imports.
    (workflow.folder / "random.py").write_text("raise SystemExit(0)")
    experiment = EXPERIMENT | {"kernels": ["gaussian"], "title": "{braces} in a title"}
    changes = OWN | {"experiments": {"own": experiment}}
    assert workflow.planned(**changes)["check_plugin"] == 2
    workflow.succeed("--until", "check_plugin", **changes)
    found = {path.name.partition("-")[0]: json.loads(path.read_text()) for path in workflow.checks()}
    assert {kind: (one["plugin"], one["faults"]) for kind, one in found.items()} == {
        "dataset": ("my_data.py", 0),
        "solver": ("my_solver.py", 1),
    }
    assert "check_plugin" not in workflow.planned(**changes)
    (workflow.folder / "my_solver.py").write_text(SOLVER)
    assert workflow.planned(**changes)["check_plugin"] == 1


def test_the_readmes_commands_compare_the_users_solver(tmp_path):
    checkout = checkout_at(tmp_path / "kdrbench")
    write_table(checkout / "my_data.csv", 30)
    before = {path.name for path in checkout.iterdir()}
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path), "KDRBENCH_MIRROR": ""}

    def give(words):
        done = forked(shlex.split(words), checkout, environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    give("kdrbench new solver my_solver")
    written = give("kdrbench new experiment mine my_solver.py my_data.csv:species").stdout
    (command,) = re.findall(r"^run it: +(.*)$", written, re.M)
    assert command == "snakemake --cores 2 --configfile config.mine.yaml"
    said = give(command).stderr
    assert "kdrbench: reports/mine/dashboard.html shows all of it, " in said

    rows = read_csv(checkout / "results/mine/merged/mine.csv")
    solvers = ("my_solver", "ism_converged", "random")
    assert sorted({(row["dataset"], row["kernel"], row["method"], row["run"]) for row in rows}) == sorted(
        ("my_data", "gaussian", solver, run) for solver in solvers for run in "01234"
    )
    assert {row["status"] for row in rows if row["method"] == "my_solver"} == {"converged"}
    for page in ("mine.html", "dashboard.html"):
        text = (checkout / "reports/mine" / page).read_text()
        assert "my_solver" in text
        assert "my_data" in text
    table = json.loads((checkout / "reports/mine/mine.json").read_text())
    assert "my_solver" in json.dumps(table)

    own = {"my_solver.py", "test_my_solver.py", "config.mine.yaml"}
    assert {path.name for path in checkout.iterdir()} == before | own | {"reports", ".snakemake"}
    nothing = give(f"{command} --dry-run")
    assert "Nothing to be done" in nothing.stdout + nothing.stderr
