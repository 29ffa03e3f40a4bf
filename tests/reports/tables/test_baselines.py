"""Tables with baselines beside the solvers, from made-up runs whose cells are known by hand."""

import pandas as pd
import pytest

from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.report_rows import run

EXPERIMENT = {
    "title": "A table.",
    "published": {"paper": "neurips2019", "table": "4", "setting": "supervised"},
    "datasets": ["wine", "wdbc"],
    "kernels": ["gaussian", "polynomial"],
    "solvers": ["ism", "dg"],
    "baselines": ["svm", "lda_svm", "pca_svm"],
}


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
