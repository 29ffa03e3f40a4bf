"""Snakemake run for real on small grids, with solvers that go wrong among good ones."""

import csv
import json
import re
import shutil

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.reports.figures.chart import Chart
from support.small_grid import BASELINE_STATUS, LIMIT_S, ROWS, STATUS, Workflow, overlay

pytestmark = pytest.mark.whole

# Characters of the longest word of a command: what is longer is in a file that the word names.
WORD = 2048


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
    assert set(records) == {*STATUS, *BASELINE_STATUS}
    for solver, status in STATUS.items():
        assert [record.run for record in records[solver]] == [0, 1]
        for record in records[solver]:
            assert record.status == status
            assert record.provenance.wall_s < LIMIT_S + 1.0
        (trace,) = (finished.folder / "results/traces").rglob(f"{solver}/*.jsonl")
        points = [json.loads(line) for line in trace.read_text().splitlines()]
        assert {point["run"] for point in points} == {0, 1}
        assert len(points) >= 6
    for baseline, status in BASELINE_STATUS.items():
        assert [(row.run, row.kernel, row.status) for row in records[baseline]] == [
            (fold, "none", status) for fold in (0, 1)
        ]
        assert all(row.cost is None and (row.quality is None) == (status == "time_limit") for row in records[baseline])


def test_nothing_of_a_killed_run_is_left(finished):
    assert not psutil.pid_exists(int((finished.folder / "grandchild").read_text()))
    (trace,) = (finished.folder / "results/.workspace").rglob("IsKilled/0-1/run-0/trace.jsonl")
    assert trace.read_text().endswith("\n")


def test_table_and_figure_are_complete(finished):
    reports = finished.reports
    with (reports / "table4_supervised.csv").open() as stream:
        cells = {(row["method"], row["metric"]): row["ours"] for row in csv.DictReader(stream)}
    # Two times, cost, how far it is above the best known, and quality; baselines have no cost.
    assert len(cells) == 6 * 5 + 2 * 3
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
    assert "failed" in (reports / "dashboard.html").read_text()
    assert (reports / "table4_supervised.pdf").exists() == (shutil.which("pdflatex") is not None)


def test_what_was_found_is_kept_and_drawn(finished):
    figures = finished.reports / "figures"
    names = ["table4_supervised_cost_against_calls", "table4_supervised_loadings", "table4_supervised_scatter"]
    charts = {name: Chart.from_json((figures / f"{name}.json").read_text()) for name in [*names, "performance_profile"]}
    for name in charts:
        assert (figures / f"{name}.pdf").stat().st_size > 1000
        assert (figures / f"{name}.png").stat().st_size > 1000
    calls, loadings, scatter, profile = charts.values()
    # ISM is the first solver, and no converged one is among them.
    fallen = {series.key: series.y[-1] for series in calls.panels[0].series if series.label == "median"}
    assert fallen["ISM"] < 1e-3
    assert len(loadings.panels[0].series[0].x) == 13
    assert sum(len(series.x) for series in scatter.panels[0].series) == 178
    assert {series.key for series in profile.panels[0].series} >= {"ISM", "Raises", "Sleeps"}
    (kept,) = (finished.folder / "results/findings").rglob("ism/*.npz")
    with np.load(kept) as arrays:
        assert {name: arrays[name].shape for name in arrays.files} == {
            f"wine/gaussian/ism/projection_{run}": (13, 4) for run in (0, 1)
        }


def test_published_numbers_stand_beside_ours(finished):
    reports = finished.reports
    with (reports / "published_vs_ours.csv").open() as stream:
        rows = {(row["dataset"], row["kernel"], row["method"], row["metric"]): row for row in csv.DictReader(stream)}
    # All of the part of Table 4 that the experiment names, but for what is printed as not available.
    # And three ranges of iterations.
    assert len(rows) == 4 * 2 * 4 * 3 - 8 + 3
    cost = rows["wine", "gaussian", "ism", "cost"]
    assert (cost["published"], cost["experiment"]) == ("-1311\u00b126", "table4_supervised")
    assert cost["ours"].startswith("-")
    # The grid has two folds, the paper ten.
    assert (cost["verdict"], cost["why"].split("; ")[0]) == ("not comparable", "2 folds, printed of 10")
    assert rows["mnist", "gaussian", "ism", "cost"]["verdict"] == "not run"
    said = (finished.folder / "results/logs/reports/small/papers.log").read_text()
    (line,) = [line for line in said.splitlines() if line.startswith("NeurIPS 2019: ")]
    # Of the three numbers of each solver on Wine one is a time.
    assert "0 reproduced (0%), 0 close (0%), 0 differs (0%)" in line
    assert "more are not comparable (our runs depart from the paper's protocol)" in line


def test_what_was_found_is_made_and_leads_to_the_dashboard(finished):
    page = (finished.reports / "summary" / "what_we_found.md").read_text()
    assert "](../dashboard.html#published)" in page


def test_reports_can_be_asked_for_by_name(finished, tmp_path):
    planned = Workflow(tmp_path / "run").planned("neurips2019_table4")
    assert (planned["neurips2019_table4"], planned["experiment_table4_supervised"]) == (1, 1)
    # What one table shows waits for no other.
    assert not {"merge", "papers", "dashboard", "all"} & set(planned)
    assert Workflow(tmp_path / "run").planned("table4_supervised")["experiment_table4_supervised"] == 1
    done = finished.run("--dry-run", "table4_superviced")
    assert done.returncode != 0
    assert "unknown target 'table4_superviced'" in done.stdout + done.stderr
    assert "Did you mean 'table4_supervised'?" in done.stdout + done.stderr


def test_the_users_configuration_keeps_its_reports_apart(finished):
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["ism"], "title": "Mine."}
    mine = {"paradigm": "supervised", "components": {"wine": 4}, "start": "surrogate", "baselines": []}
    changes = {"name": "mine", "run": ["mine"], "experiments": {"mine": experiment | mine}}
    planned = finished.planned("mine", **changes)
    assert (planned["run_batch"], planned["experiment_mine"]) == (1, 1)
    before = (finished.tables / "ikdr.csv").read_bytes()
    done = finished.run("--", "mine", **changes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (finished.folder / "reports/mine/mine.html").exists()
    assert "tables and figures are in reports/mine: `kdrbench show --results results/mine`" in done.stderr
    assert (finished.tables / "ikdr.csv").read_bytes() == before
    assert finished.planned() == {}


CLUSTER_STATUS = {"ism": "converged", "Raises": "failed", "Sleeps": "time_limit", "NeverEnds": "time_limit"}


def test_an_unsupervised_experiment_with_failing_solvers(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = {
        "title": "Clusters.",
        "published": {"paper": "ismplus", "table": "6", "setting": "unsupervised"},
        "paradigm": "unsupervised",
        "datasets": ["wine"],
        "kernels": ["gaussian"],
        "solvers": list(CLUSTER_STATUS),
        "baselines": ["pca_spectral_clustering", "ClustersForEver"],
        "components": {"wine": 4},
        "split": "none",
        "start": "surrogate",
    }
    baselines = overlay()["baselines"] | {"ClustersForEver": {"method": "support.misbehaving:ClustersForEver"}}
    solvers = overlay()["solvers"] | {"NeverEnds": {"method": "support.misbehaving:NeverEnds"}}
    changes = {"run": ["clusters"], "solvers": solvers, "baselines": baselines}
    done = workflow.run("--", "clusters", **changes, experiments={"clusters": experiment})
    assert done.returncode == 0, done.stdout + done.stderr
    records = workflow.records()
    found = {name: rows[0].status for name, rows in records.items()}
    assert found == CLUSTER_STATUS | {"pca_spectral_clustering": "converged", "ClustersForEver": "time_limit"}
    (traces,) = (workflow.folder / "results/traces").rglob("*.jsonl")
    points = read_points(traces)
    for solver in CLUSTER_STATUS:
        assert points[f"wine/gaussian/{solver}", 0]
        assert records[solver][0].cost is not None
    with (workflow.reports / "clusters.csv").open() as stream:
        rows = {(row["method"], row["metric"]): row for row in csv.DictReader(stream)}
    assert (rows["ism", "cost"]["ours"], rows["ism", "cost"]["verdict"]) == ("-39.082", "reproduced")
    assert (rows["ism", "nmi"]["ours"], rows["ism", "nmi"]["verdict"]) == ("0.878", "reproduced")
    assert rows["pca_spectral_clustering", "nmi"]["ours"] == "0.835"
    assert rows["Raises", "time_s"]["ours"] == "failed"
    assert rows["NeverEnds", "time_s"]["ours"] == rows["ClustersForEver", "time_s"]["ours"] == "> 1.5s"
    assert (workflow.reports / "figures/clusters_cost_against_time.png").exists()
    assert workflow.planned("--", "clusters", **changes, experiments={"clusters": experiment}) == {}


def test_merged_table_has_every_row(finished):
    with (finished.tables / "ikdr.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["method"], row["run"]) for row in rows] == [
        (name, run) for name in (*STATUS, *BASELINE_STATUS) for run in "01"
    ]
    assert all(row["git_commit"] and row["lock_sha256"] and row["processor"] for row in rows)


def test_a_finished_workflow_has_nothing_to_do(finished):
    assert finished.planned() == {}


def test_raising_limits_reruns_no_run(finished):
    planned = finished.planned(limits={"time_s": 9, "memory_mib": 512})
    assert planned["freeze_config"] == 1
    assert "run_batch" not in planned


def test_a_dry_run_after_a_change_prints_a_page(finished):
    done = finished.run("--dry-run", "--quiet", "rules", seed=1)
    lines = (done.stdout + done.stderr).splitlines()
    assert any("run_batch" in line for line in lines)
    assert len(lines) < 100
    assert max(map(len, lines)) < 400


def test_a_dry_run_prints_no_whole_configuration(finished):
    done = finished.run("--dry-run", seed=1)
    said = done.stdout + done.stderr
    assert "out of date: seed 0 -> 1" in said
    # A line has a word, and paths.
    assert max(map(len, said.split())) <= WORD
    assert max(map(len, said.splitlines())) < 3 * WORD
    jobs = int(re.search(r"^total +(\d+)$", said, re.M)[1])
    assert len(said) < 3 * WORD * jobs


def test_another_option_reruns_the_cells_of_that_solver(finished):
    solvers = overlay()["solvers"] | {"Sleeps": {"method": "ism", "tolerance": 0.5}}
    planned = finished.planned(solvers=solvers)
    assert planned["run_batch"] == 1
    baselines = overlay()["baselines"] | {"svm": {"penalty": 9.0}}
    assert finished.planned(baselines=baselines)["run_batch"] == 1
    # Nor does another mirror hide it, as a job of the data's that is run again would.
    assert finished.planned(solvers=solvers, data={"mirror": "/elsewhere"})["run_batch"] == 1
    assert "run_batch" not in finished.planned(data={"mirror": "/elsewhere"})


def test_an_edited_solver_reruns_its_own_cells(tmp_path):
    workflow = Workflow(tmp_path / "run")
    workflow.environment["PYTHONPATH"] += f":{workflow.folder}"
    code = workflow.folder / "mine.py"
    code.write_text("from support.misbehaving import NeverEnds\n\n\nclass Mine(NeverEnds):\n    pass\n")
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["ism", "mine"], "baselines": []}
    grid = {
        "solvers": {"mine": {"method": "mine:Mine"}},
        "limits": {"time_s": 0.2, "memory_mib": 256},
        "experiments": {"table4_supervised": experiment},
    }
    done = workflow.run(*ROWS, **grid)
    assert done.returncode == 0, done.stdout + done.stderr
    assert workflow.planned(*ROWS, **grid) == {}
    # Of the user's own file every byte counts.
    code.write_text("# As patient as ever.\n" + code.read_text())
    done = workflow.run("--dry-run", "--quiet", "progress", *ROWS, **grid)
    assert "job=table4_supervised/wine/gaussian/mine/0-1" in done.stdout + done.stderr
    assert workflow.planned(*ROWS, **grid)["run_batch"] == 1


CONDA = """#!/bin/sh
case "$1" in
--version) echo "conda 26.1.0" ;;
info) echo '{"conda_prefix": "/nowhere", "platform": "linux-64"}' ;;
config) echo '{"get": {"channel_priority": "strict"}}' ;;
esac
"""


def test_other_software_reruns_no_run(finished, tmp_path):
    # What a dry run asks of conda.
    (tmp_path / "conda").write_text(CONDA)
    (tmp_path / "conda").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{finished.environment['PATH']}"}
    # Rows name the software that has made them; `make contract` says where results changed with it.
    elsewhere = Workflow(finished.folder, path).planned("--sdm", "conda")
    assert not {"run_batch", "prepare_bundled"} & set(elsewhere)


def test_the_report_of_snakemake_is_one_page(finished):
    done = finished.run("--report", finished.folder / "report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (finished.folder / "report.html").read_text()
    for shown in ("Tables", "Figures", "Published and ours", "table4_supervised"):
        assert shown in page


def test_results_are_rebuilt_piecewise(copy):
    before = copy.records()
    (deleted,) = (copy.folder / "results/runs/table4_supervised").rglob("ism/*.jsonl")
    deleted.unlink()
    (copy.tables / "ikdr.csv").unlink()
    (copy.folder / "results/data/wine.npz").unlink()
    shutil.rmtree(copy.folder / "reports")
    planned = copy.planned()
    assert (planned["run_batch"], planned["prepare_bundled"], planned["merge"]) == (1, 1, 1)
    assert planned["experiment_table4_supervised"] == 1
    done = copy.run("--", "table4_supervised")
    assert done.returncode == 0, done.stdout + done.stderr
    after = copy.records()
    assert after == before
    assert (copy.reports / "table4_supervised.html").exists()


def test_an_interruption_is_no_row_and_a_red_end_with_its_reason(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["KillsItsGuardian", "ism"]}
    done = workflow.run(experiments={"table4_supervised": experiment})
    assert done.returncode != 0
    assert "the guardian of a run was killed" in done.stdout + done.stderr
    assert "runs have ended and are kept; the same command goes on with what is left." in done.stderr
    assert set(workflow.records()) == {"ism", *BASELINE_STATUS}
    assert not (workflow.folder / "reports").exists()


def test_a_mistyped_name_is_one_sentence_before_any_job(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = overlay()["experiments"]["table4_supervised"] | {"kernels": ["gausian"]}
    done = workflow.run("--dry-run", experiments={"table4_supervised": experiment})
    assert done.returncode != 0
    assert (
        "config: experiments.table4_supervised.kernels: unknown kernel 'gausian'. "
        "Did you mean 'gaussian'? Allowed: gaussian, gaussian_narrow, gaussian_polynomial, gaussian_polynomial_ones, "
        "linear, multiquadric, polynomial, squared." in done.stdout + done.stderr
    )
    assert not (workflow.folder / "results").exists()


def test_the_linter_is_content(tmp_path):
    done = Workflow(tmp_path / "run").run("--lint")
    assert "Congratulations, your workflow is in a good condition!" in done.stdout + done.stderr
