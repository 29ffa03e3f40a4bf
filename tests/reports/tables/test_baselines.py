"""Baselines and controls in tables, from made-up runs whose cells are known by hand."""

import json

import pandas as pd

from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.cells import COMPONENTS
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.command_line import kdrbench
from support.report_rows import TABLE_4, experiment_of, run, runs_of

OURS = {"datasets": ["wine", "wdbc"], "kernels": ["gaussian", "polynomial"]}
EXPERIMENT = experiment_of("ism", "dg", **OURS, published=TABLE_4, baselines=["svm", "lda_svm", "pca_svm"])


def baseline(name, fold, **columns):
    return run("wine", name, fold, kernel="none", cost=None, **columns)


RUNS = pd.DataFrame(
    [
        *(
            run("wine", solver, fold, kernel=kernel)
            for kernel in ("gaussian", "polynomial")
            for solver in ("ism", "dg")
            for fold in (0, 1)
        ),
        baseline("svm", 0, time_s=0.001, quality=1.0),
        baseline("svm", 1, time_s=0.003, quality=0.9),
        baseline("lda_svm", 0, time_s=0.004, quality=1.0),
        baseline("lda_svm", 1, time_s=0.004, quality=1.0),
        baseline("pca_svm", 0, time_s=0.001),
        baseline("pca_svm", 1, time_s=None, quality=None, status="failed"),
    ]
)


def test_baselines_have_a_time_and_a_quality_and_no_cost(tmp_path):
    cells = compared_cells(RUNS, EXPERIMENT, gaps=gaps_of(RUNS))
    rows = [(row.dataset, row.method, row.metric) for row in cells if row.kernel == "none"]
    names = EXPERIMENT["baselines"]
    metrics = ("time_s", "warm_s", "accuracy")
    assert rows == [(d, name, metric) for d in ("wine", "wdbc") for metric in metrics for name in names]
    # They follow the solvers of their data set.
    assert [row.kernel == "none" for row in cells] == 2 * (20 * [False] + 9 * [True])
    cells = {(row.dataset, row.method, row.metric): row for row in cells if row.kernel == "none"}
    assert cells["wine", "svm", "time_s"].ours.text == "2ms \u00b1 1ms"
    assert cells["wine", "svm", "accuracy"].ours.text == "95.0% \u00b1 5.0%"
    assert cells["wine", "pca_svm", "time_s"].ours.text == "failed"
    assert cells["wdbc", "svm", "accuracy"].ours.text == "not run"
    # NeurIPS 2019 prints no baselines.
    assert {row.verdict for row in cells.values()} == {Verdict.NOT_PUBLISHED}
    # Of the words for nothing, which pandas reads as missing values, that for no kernel survives the table of runs.
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    assert set(read_runs(tmp_path / "runs.csv")["kernel"]) == {"gaussian", "polynomial", "none"}


def test_baselines_compete_among_themselves():
    folds = pd.concat([RUNS.assign(run=RUNS["run"] + 2 * times) for times in range(8)], ignore_index=True)
    folds.loc[folds["method"] == "ism", "time_s"] = 0.01
    cells = compared_cells(folds, EXPERIMENT)
    best = {(row.kernel, row.method, row.metric) for row in cells if row.best and row.dataset == "wine"}
    assert {("none", "svm", "time_s"), ("none", "lda_svm", "accuracy")} <= best
    # The solvers' own best stay so, although a baseline is quicker and better.
    assert ("gaussian", "ism", "time_s") in best
    assert ("none", "lda_svm", "time_s") not in best


SMALL = {"title": "T.", "paradigm": "supervised", "datasets": ["wine"], "kernels": ["gaussian"], "start": "random"}
SOLVERS = {"ism": {"method": "ism"}, "dg": {"method": "dimension_growth"}, "random": {"method": "start_alone"}}


def test_the_command_knows_the_controls_of_the_configuration(tmp_path, monkeypatch):
    config = {"run": ["e"], "experiments": {"e": SMALL | {"solvers": [*SOLVERS]}}, "solvers": SOLVERS}
    (tmp_path / "config.json").write_text(json.dumps(config))
    # The control is the quickest, the cheapest and the most accurate.
    runs = runs_of("wine", "ism", range(8), time_s=1.0, cost=-2.0, quality=0.8)
    runs += runs_of("wine", "dg", range(8), time_s=2.0, cost=-1.0, quality=0.9)
    runs += runs_of("wine", "random", range(8), time_s=1e-6, cost=-3.0, quality=1.0)
    (tmp_path / "merged").mkdir()
    pd.DataFrame(runs).to_csv(tmp_path / "merged" / "e.csv", index=False)
    monkeypatch.setattr("kdrbench.suite.experiments.results._check_config", lambda config: None)
    done = kdrbench("reports", "e", "--results", tmp_path, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    best = pd.read_csv(tmp_path / "e.csv").query("best")
    assert dict(zip(best["metric"], best["method"], strict=True)) == {"time_s": "ism", "cost": "ism", "accuracy": "dg"}
    tex = (tmp_path / "e.tex").read_text()
    assert r"\textbf{1s $\pm$ 0s}" in tex
    assert "1us" in tex


def test_the_q_that_a_rule_found_is_a_row_and_none_is_the_best():
    runs = pd.DataFrame([run("wine", method, 0, n_components=q) for method, q in (("ism", 2), ("dg", 3))])
    for rule, shown in (("eigengap", [("2", False), ("3", False)]), (2, [])):
        cells = compared_cells(runs, SMALL | {"solvers": ["ism", "dg"], "components": {"wine": rule}})
        assert [(cell.ours.text, cell.best) for cell in cells if cell.metric == COMPONENTS] == shown
