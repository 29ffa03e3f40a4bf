"""Baselines and controls in tables, from made-up runs whose cells are known by hand."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from kdrbench.suite.commands.reports import reports
from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.cells import COMPONENTS
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.report_rows import TABLE_4, experiment_of, run

OURS = {"datasets": ["wine", "wdbc"], "kernels": ["gaussian", "polynomial"]}
EXPERIMENT = experiment_of("ism", "dg", **OURS, published=TABLE_4, baselines=["svm", "lda_svm", "pca_svm"])


def baseline(dataset, name, fold, **columns):
    return run(dataset, name, fold, kernel="none", cost=None, **columns)


RUNS = pd.DataFrame(
    [
        *(
            run("wine", solver, fold, kernel=kernel)
            for kernel in ("gaussian", "polynomial")
            for solver in ("ism", "dg")
            for fold in (0, 1)
        ),
        baseline("wine", "svm", 0, time_s=0.001, quality=1.0),
        baseline("wine", "svm", 1, time_s=0.003, quality=0.9),
        baseline("wine", "lda_svm", 0, time_s=0.004, quality=1.0),
        baseline("wine", "lda_svm", 1, time_s=0.004, quality=1.0),
        baseline("wine", "pca_svm", 0, time_s=0.001),
        baseline("wine", "pca_svm", 1, time_s=None, quality=None, status="failed"),
    ]
)


@pytest.fixture
def cells():
    return compared_cells(RUNS, EXPERIMENT, gaps=gaps_of(RUNS))


def test_baselines_have_a_time_and_a_quality_and_no_cost(cells):
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


def test_baselines_compete_among_themselves():
    folds = pd.concat([RUNS.assign(run=RUNS["run"] + 2 * times) for times in range(8)], ignore_index=True)
    folds.loc[folds["method"] == "ism", "time_s"] = 0.01
    cells = compared_cells(folds, EXPERIMENT)
    best = {(row.kernel, row.method, row.metric) for row in cells if row.best and row.dataset == "wine"}
    assert {("none", "svm", "time_s"), ("none", "lda_svm", "accuracy")} <= best
    # The solvers' own best stay so, although a baseline is quicker and better.
    assert ("gaussian", "ism", "time_s") in best
    assert ("none", "lda_svm", "time_s") not in best


def test_the_word_for_no_kernel_survives_the_table_of_runs(tmp_path):
    # pandas reads some words for nothing as missing values.
    RUNS.to_csv(tmp_path / "runs.csv", index=False)
    assert set(read_runs(tmp_path / "runs.csv")["kernel"]) == {"gaussian", "polynomial", "none"}


SMALL = {"title": "T.", "paradigm": "supervised", "datasets": ["wine"], "kernels": ["gaussian"], "start": "random"}
SOLVERS = {"ism": {"method": "ism"}, "dg": {"method": "dimension_growth"}, "random": {"method": "start_alone"}}


def test_the_command_knows_the_controls_of_the_configuration(tmp_path, monkeypatch):
    config = {"run": ["e"], "experiments": {"e": SMALL | {"solvers": [*SOLVERS]}}, "solvers": SOLVERS}
    (tmp_path / "config.json").write_text(json.dumps(config))
    # The control is the quickest, the cheapest and the most accurate.
    numbers = {"ism": (1.0, -2.0, 0.8), "dg": (2.0, -1.0, 0.9), "random": (1e-6, -3.0, 1.0)}
    runs = [
        run("wine", method, fold, time_s=time_s, cost=cost, quality=quality)
        for method, (time_s, cost, quality) in numbers.items()
        for fold in range(8)
    ]
    (tmp_path / "merged").mkdir()
    pd.DataFrame(runs).to_csv(tmp_path / "merged" / "e.csv", index=False)
    monkeypatch.setattr("kdrbench.suite.experiments.results._check_config", lambda config: None)
    words = ["e", "--results", str(tmp_path), "--out", str(tmp_path)]
    CliRunner().invoke(reports, words, catch_exceptions=False)
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
