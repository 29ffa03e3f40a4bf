"""Snakemake run for real on small grids, with solvers that go wrong among good ones, and on half a packed record."""

import json
import re
import subprocess
import sys

import numpy as np
import psutil
import pytest
import yaml

from kdrbench.suite.csv_files import read_csv
from kdrbench.suite.reports.figures.chart import Chart
from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results
from support.small_grid import BASELINE_STATUS, LIMIT_S, ROOT, STATUS, Workflow, overlay

pytestmark = pytest.mark.whole

# Characters of the longest word of a command: what is longer is in a file that the word names.
WORD = 2048


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the small grid; tests that change it work on a copy."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow") / "with a space")
    workflow.succeed()
    return workflow


def test_every_run_left_its_row_and_trace_and_nothing_else(finished):
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
    assert not psutil.pid_exists(int((finished.folder / "grandchild").read_text()))
    (trace,) = (finished.folder / "results/.workspace").rglob("IsKilled/0-1/run-0/trace.jsonl")
    assert trace.read_text().endswith("\n")


def test_tables_and_figures_are_complete(finished):
    reports = finished.reports
    rows = read_csv(reports / "table4_supervised.csv")
    cells = {(row["method"], row["metric"]): row["ours"] for row in rows}
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
    figures = finished.reports / "figures"
    for name in ("table4_supervised_loadings", "table4_supervised_scatter", "performance_profile"):
        assert (figures / f"{name}.pdf").stat().st_size > 1000
        assert (figures / f"{name}.png").stat().st_size > 1000
    scatter = Chart.from_json((figures / "table4_supervised_scatter.json").read_text())
    assert sum(len(series.x) for series in scatter.panels[0].series) == 178
    (kept,) = (finished.folder / "results/findings").rglob("ism/*.npz")
    with np.load(kept) as arrays:
        assert {name: arrays[name].shape for name in arrays.files} == {
            f"wine/gaussian/ism/projection_{run}": (13, 4) for run in (0, 1)
        }


def test_reports_can_be_asked_for_by_name(finished, tmp_path):
    planned = Workflow(tmp_path / "run").planned("neurips2019_table4")
    assert (planned["neurips2019_table4"], planned["experiment_table4_supervised"]) == (1, 1)
    # What one table shows waits for no other.
    assert not {"merge", "papers", "dashboard", "all"} & set(planned)
    assert Workflow(tmp_path / "run").planned("table4_supervised")["experiment_table4_supervised"] == 1


def test_the_users_configuration_keeps_its_reports_apart(finished):
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["ism"], "title": "Mine."}
    mine = {"paradigm": "supervised", "components": {"wine": 4}, "start": "surrogate", "baselines": []}
    changes = {"name": "mine", "run": ["mine"], "experiments": {"mine": experiment | mine}}
    planned = finished.planned("mine", **changes)
    assert (planned["run_batch"], planned["experiment_mine"]) == (1, 1)
    before = (finished.tables / "ikdr.csv").read_bytes()
    done = finished.succeed("--", "mine", **changes)
    assert (finished.folder / "reports/mine/mine.html").exists()
    assert "tables and figures are in reports/mine; `kdrbench status results/mine`" in done.stderr
    assert (finished.tables / "ikdr.csv").read_bytes() == before
    assert finished.planned() == {}


def test_a_dry_run_and_a_report_are_a_page_each(finished):
    done = finished.run("--dry-run", "--quiet", "rules", seed=1)
    lines = (done.stdout + done.stderr).splitlines()
    assert any("run_batch" in line for line in lines)
    assert len(lines) < 100
    assert max(map(len, lines)) < 400
    done = finished.run("--dry-run", seed=1)
    said = done.stdout + done.stderr
    assert "out of date: seed 0 -> 1" in said
    # A line has a word, and paths.
    assert max(map(len, said.split())) <= WORD
    assert max(map(len, said.splitlines())) < 3 * WORD
    jobs = int(re.search(r"^total +(\d+)$", said, re.M)[1])
    assert len(said) < 3 * WORD * jobs
    finished.succeed("--report", finished.folder / "report.html")
    page = (finished.folder / "report.html").read_text()
    for shown in ("Tables", "Figures", "table4_supervised"):
        assert shown in page


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


def test_an_interruption_is_no_row_and_a_red_end_with_its_reason(tmp_path):
    workflow = Workflow(tmp_path / "run")
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": ["KillsItsGuardian", "ism"]}
    done = workflow.run(experiments={"table4_supervised": experiment})
    assert done.returncode != 0
    assert "the guardian of a run was killed" in done.stdout + done.stderr
    assert "runs have ended and are kept; the same command goes on with what is left." in done.stderr
    assert set(workflow.records()) == {"ism", *BASELINE_STATUS}
    assert not (workflow.folder / "reports").exists()


def test_the_linter_is_content(tmp_path):
    done = Workflow(tmp_path / "run").run("--lint")
    assert "Congratulations, your workflow is in a good condition!" in done.stdout + done.stderr


def test_an_unpacked_record_lacks_the_other_half_alone(tmp_path):
    config = two_experiments()
    write_results(tmp_path / "results", config, ["first"])
    assert kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed").exit_code == 0
    assert kdrbench("unpack", tmp_path / "packed", "--out", tmp_path / "on/results").exit_code == 0
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(config))
    words = ["--snakefile", ROOT / "Snakefile", "--configfile", tmp_path / "overlay.yaml", "--until", "merge"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--directory", tmp_path / "on", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
    )
    made = re.findall(r"^\s+output: (results/runs/\S+?\.jsonl)", done.stdout, re.M)
    assert made == ["results/runs/second/wine/gaussian/ism/0-3.jsonl"], done.stdout
