"""The stage of low-rank kernel learning, run by Snakemake for real on a small task."""

import csv
import json

import pytest

from small_grid import Workflow

pytestmark = pytest.mark.workflow

SECTION = {
    "run": ["gyrb"],
    "runs": 1,
    "tasks": {"gyrb": {"constraints": [0, 5], "methods": ["von_neumann"]}},
}


def test_the_stage_leaves_rows_tables_and_a_figure_and_runs_once(tmp_path):
    workflow = Workflow(tmp_path / "run", words=("--cores", "2"))
    done = workflow.run("--", "lowrank", lowrank=SECTION)
    assert done.returncode == 0, done.stdout + done.stderr
    with (workflow.folder / "results/lowrank.csv").open() as stream:
        assert [(row["method"], row["n_constraints"]) for row in csv.DictReader(stream)] == [
            ("von_neumann", "0"),
            ("von_neumann", "5"),
        ]
    reports = workflow.folder / "reports"
    chart = json.loads((reports / "figures/lowrank_gyrb.json").read_text())
    assert [panel["y"]["title"] for panel in chart["panels"]] == ["accuracy", "NMI", "NMI", "sweeps"]
    for name in ("lowrank.tex", "lowrank.html", "lowrank_measured.csv", "figures/lowrank_gyrb.pdf"):
        assert (reports / name).stat().st_size > 500 or name.endswith(".csv")
    # A second time nothing is to be done; another number of constraints is another batch.
    assert not workflow.planned("lowrank", lowrank=SECTION)
    more = {"gyrb": {"constraints": [0, 6], "methods": ["von_neumann"]}}
    assert workflow.planned("lowrank", lowrank=SECTION | {"tasks": more})["run_lowrank_batch"] == 1
    # Limits are no part of a batch.
    longer = {"limits": {"time_s": 700, "memory_mib": 4096}}
    assert "run_lowrank_batch" not in workflow.planned("lowrank", lowrank=SECTION | longer)
