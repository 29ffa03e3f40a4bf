"""Snakemake run for real on the systems beside dimension reduction, and on a fourth one in a folder of its own."""

import json
import os

import pytest

from kdrbench.suite.csv_files import read_csv
from support.small_grid import ROOT, Workflow

pytestmark = pytest.mark.whole

LIMITS = {"limits": {"time_s": 60, "memory_mib": 1024}}
KPCA = {"system": "kpca_trick", "title": "Splits.", "datasets": ["iris-bundled"], "learners": ["dne"]}
KPCA |= {"variants": ["plain", "cross_validated", "aligned"], "candidates": {"default": {"sigmas": [0.1, 1.0, 10.0]}}}
KPCA |= {"training": {"default": 100}, "cv_folds": 5, "splits": 12, "test_selected": [], "runs_per_job": 10, **LIMITS}
LOW_RANK = {"system": "low_rank", "title": "Kernels.", "datasets": ["gyrb-standin"], "constraints": [0, 5]}
LOW_RANK |= {"methods": ["von_neumann"], "runs": 1, **LIMITS}
HALVES = {"system": "nearest_mean:NearestMeanSystem", "title": "Shrunken means.", "datasets": ["wine"]}
HALVES |= {"shrinkages": [0, 0.5], "draws": 3}


def configuration(**experiments):
    return {"run": list(experiments), "experiments": experiments, "solvers": {}, "baselines": {}}


def planned(workflow, *words, **experiments):
    return workflow.planned(*words, **configuration(**experiments))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Both systems in one configuration, by one command."""
    workflow = Workflow(tmp_path_factory.mktemp("systems") / "with a space", words=("--cores", "2"))
    workflow.succeed(**configuration(kpca=KPCA, gyrb=LOW_RANK))
    return workflow


def test_each_system_leaves_its_rows_tables_and_figures(finished):
    rows = read_csv(finished.tables / "kpca_trick.csv")
    assert [(row["run"], row["variant"]) for row in rows] == [
        (str(split), variant) for split in range(12) for variant in KPCA["variants"]
    ]
    assert {row["status"] for row in rows} == {"converged"}
    # The columns of the engine are those of every system.
    assert all(row["calibration_before_s"] and row["drifted"] and float(row["time_s"]) > 0 for row in rows)
    tables = {path.suffix for path in finished.reports.glob("kpca_table3.*")}
    assert tables == {".tex", ".html", ".csv", ".json"}
    rows = read_csv(finished.tables / "low_rank.csv")
    assert [(row["method"], row["n_constraints"]) for row in rows] == [("von_neumann", "0"), ("von_neumann", "5")]
    chart = json.loads((finished.reports / "figures/gyrb.json").read_text())
    assert [panel["y"]["title"] for panel in chart["panels"]] == ["accuracy", "NMI", "NMI", "sweeps"]
    for name in ("gyrb.tex", "gyrb.html", "gyrb.csv", "figures/gyrb.pdf", "dashboard.html"):
        assert (finished.reports / name).stat().st_size > 100


def test_what_is_run_again_is_what_has_changed_and_nothing_else(finished):
    both = {"kpca": KPCA, "gyrb": LOW_RANK}
    assert planned(finished, **both) == {}
    larger = {"limits": {"time_s": 99, "memory_mib": 999}}
    assert "run_batch" not in planned(finished, **{name: one | larger for name, one in both.items()})
    # The first ten splits are a job of their own.
    assert planned(finished, kpca=KPCA | {"splits": 15}, gyrb=LOW_RANK)["run_batch"] == 1
    assert planned(finished, kpca=KPCA, gyrb=LOW_RANK | {"constraints": [0, 6]})["run_batch"] == 1


@pytest.fixture
def fourth(tmp_path):
    workflow = Workflow(tmp_path / "run", words=("--cores", "2"))
    paths = [ROOT / "src", ROOT / "tests" / "fourth_system", workflow.folder]
    workflow.environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    return workflow


def test_a_fourth_system_is_one_folder(fourth):
    fourth.succeed(**configuration(halves=HALVES))
    rows = read_csv(fourth.tables / "merged" / "halves.csv")
    assert read_csv(fourth.tables / "nearest_mean_NearestMeanSystem.csv") == rows
    assert [(row["run"], row["shrinkage"], row["status"]) for row in rows] == [
        (str(draw), shrinkage, "converged") for draw in range(3) for shrinkage in ("0.0", "0.5")
    ]
    assert all(float(row["accuracy"]) > 0.5 and row["calibration_before_s"] for row in rows)
    assert "halves/wine     3 of 3" in fourth.status()
    page = (fourth.reports / "halves.html").read_text()
    assert "shrinkage 0.5" in page
    assert "Shrunken means." in (fourth.reports / "dashboard.html").read_text()
    (panel,) = json.loads((fourth.reports / "figures/halves.json").read_text())["panels"]
    assert [series["label"] for series in panel["series"]] == ["wine"]
    (claim,) = json.loads((fourth.reports / "claims.json").read_text())
    # Six of six runs have a 95 % interval from .54 on, which does not reach nine of ten.
    assert (claim["verdict"], claim["measure"].partition(";")[0]) == ("not distinguishable", "6 of 6 runs (100 %)")
    assert "6 numbers" in fourth.kdrbench("verify", fourth.folder / "results", "--name", "small", "--own-code")
    assert planned(fourth, halves=HALVES) == {}
    assert planned(fourth, halves=HALVES | {"shrinkages": [0, 0.25]})["run_batch"] == 1
