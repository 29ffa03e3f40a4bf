"""Which cells are bold: all that read as the best one does, and none of a run that was stopped."""

import pandas as pd
import pytest

from kdrbench.reports.tables.cells import BOLD_MEANS
from kdrbench.reports.tables.html import render_html
from kdrbench.reports.tables.ikdr import ikdr_table
from kdrbench.reports.tables.ikdr_cells import compared_cells
from kdrbench.reports.tables.kpca_trick import kpca_tables
from kdrbench.reports.tables.latex import render_latex
from kdrbench.reports.tables.table import Table
from support.report_rows import kpca_run, run

SOLVERS = ["ism", "dg", "sm"]
EXPERIMENT = {"title": "T.", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": SOLVERS}


@pytest.mark.parametrize(
    ("costs", "texts", "best"),
    [
        # To the digits that the spread leaves, the first two are one number.
        (
            ([-1297.0, -1327.0], [-1296.9, -1326.9], [-1290.0, -1320.0]),
            ["-1312 \u00b1 15", "-1312 \u00b1 15", "-1305 \u00b1 15"],
            ["ism", "dg"],
        ),
        (([-0.41540238], [-0.41540261], [-0.4151]), ["-0.4154", "-0.4154", "-0.4151"], ["ism", "dg"]),
        # The same number, printed in as many digits as each spread asks for.
        (
            ([-1297.0, -1327.0], [-1311.8, -1312.2], [-1.0, -2.0]),
            ["-1312 \u00b1 15", "-1312.00 \u00b1 0.20", "-1.50 \u00b1 0.50"],
            ["ism", "dg"],
        ),
        # The power of ten counts.
        (
            ([-1.8e8, -1.9e8], [-1.8e7, -1.9e7], [-1.0e7, -1.1e7]),
            ["(-1.850 \u00b1 0.050)e8", "(-1.850 \u00b1 0.050)e7", "(-1.050 \u00b1 0.050)e7"],
            ["ism"],
        ),
    ],
)
def test_costs_that_read_the_same_are_all_bold(costs, texts, best):
    rows = [
        run("wine", solver, fold, cost=cost)
        for solver, of_folds in zip(SOLVERS, costs, strict=True)
        for fold, cost in enumerate(of_folds)
    ]
    shape = {"split": "none"} if len(costs[0]) == 1 else {}
    frame = pd.DataFrame(rows).assign(split=shape.get("split", "folds"))
    found = [row for row in compared_cells(frame, EXPERIMENT | shape) if row.metric == "cost"]
    assert [row.ours.text for row in found] == texts
    assert [row.method for row in found if row.best] == best


def a_race(status, **columns):
    """Both fastest, lowest and most accurate is ``dg``, one of whose folds ended with ``status``; ISM is next."""
    numbers = {"ism": (0.02, -1311.0, 0.95), "dg": (0.01, -1500.0, 0.99), "sm": (0.03, -1200.0, 0.90)}
    rows = []
    for solver, (time_s, cost, quality) in numbers.items():
        for fold in range(2):
            ended = {"status": status} | columns if solver == "dg" and fold else {}
            found = {"time_s": time_s, "warm_s": time_s / 2, "cost": cost, "quality": quality}
            rows.append(run("wine", solver, fold, **found, **ended))
    return pd.DataFrame(rows)


def best_by_metric(frame):
    cells = compared_cells(frame, EXPERIMENT)
    return {row.metric: row.method for row in cells if row.best}, ikdr_table("e", cells, EXPERIMENT)


@pytest.mark.parametrize("status", ["time_limit", "memory_limit", "max_iterations", "failed", "skipped"])
def test_a_run_that_was_stopped_is_the_best_of_nothing_in_any_output(status):
    metrics = ("time_s", "warm_s", "cost", "accuracy")
    best, table = best_by_metric(a_race(status))
    assert best == dict.fromkeys(metrics, "ism")
    # What the dashboard reads, and what the page, LaTeX and the list of cells show.
    again = Table.from_json(table.to_json())
    stopped, first = (again.columns.index(name) for name in ("DG", "ISM"))
    assert not any(row[stopped].bold for row in again.rows)
    assert all(row[first].bold for row in again.rows)
    assert {row["method"] for row in table.listed if row["best"]} == {"ism"}
    page, latex = render_html(table), render_latex(table)
    assert page.count("<strong>") == latex.count(r"\textbf{") == len(metrics)
    assert all(BOLD_MEANS in text for text in (page, latex))
    # The same numbers of runs that came to their own end are the best.
    assert best_by_metric(a_race("stalled"))[0] == dict.fromkeys(metrics, "dg")


def test_a_learner_with_a_split_that_was_stopped_is_not_bold():
    rows = [
        kpca_run(run=split, variant=variant, accuracy=accuracy, test_selected=None)
        for split in range(12)
        for variant, accuracy in (("plain", 0.8), ("aligned", 0.9 + split / 1000))
    ]
    stopped = [row | {"status": "time_limit", "accuracy": None} if row["run"] == 11 else row for row in rows]
    for runs, bold in ((rows, True), (stopped, False)):
        accuracies, tests, _ = kpca_tables(pd.DataFrame(runs), "kpca_tables")
        assert {entry.bold for row in tests.rows for entry in row[3:4]} == {bold}
        assert any(entry.bold for row in accuracies.rows for entry in row) == bold
