"""Which cells are bold: those that tests over runs call the best, and none of a run that was stopped."""

import pandas as pd
import pytest

from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.tables.cells import BOLD_MEANS
from kdrbench.suite.reports.tables.table import Table, render_html, render_latex
from kdrbench.suite.systems.ikdr.tables import compared_cells, ikdr_table
from kdrbench.suite.systems.kpca_trick.tables import kpca_tables
from support.report_rows import experiment_of, kpca_runs, runs_of

SOLVERS = ["ism", "dg", "sm"]
EXPERIMENT = experiment_of(*SOLVERS)


@pytest.mark.parametrize(
    ("costs", "best"),
    [
        # They read the same, but one is lower in every run.
        (([-1297.0, -1327.0], [-1296.9, -1326.9], [-1290.0, -1320.0]), ["ism"]),
        # Costs within 1e-6 of each other are the same cost.
        (([-1.0, -2.0], [-1.0000001, -2.0000001], [-0.9, -1.9]), ["ism", "dg"]),
        # Where no test tells them apart, both are; where none tells any apart, none is.
        (([-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]), []),
        (([-1297.0, -1327.0], [-1311.8, -1312.2], [-1.0, -2.0]), ["ism", "dg"]),
    ],
)
def test_costs_that_are_significantly_lowest_are_bold(costs, best):
    rows = []
    for solver, of_folds in zip(SOLVERS, costs, strict=True):
        rows += runs_of("wine", solver, range(8), cost=lambda fold, of_folds=of_folds: of_folds[fold % 2])
    found = [row for row in compared_cells(pd.DataFrame(rows), EXPERIMENT) if row.metric == "cost"]
    assert [row.method for row in found if row.best] == best
    assert found[0].ours.text == ("-1312 \u00b1 15" if costs[0][0] < -1000 else "-1.50 \u00b1 0.50")


def a_race(status, **columns):
    """Both fastest, lowest and most accurate is ``dg``, one of whose folds ended with ``status``; ISM is next."""
    numbers = {"ism": (0.02, -1311.0, 0.95), "dg": (0.01, -1500.0, 0.99), "sm": (0.03, -1200.0, 0.90)}
    rows = []
    for solver, (time_s, cost, quality) in numbers.items():
        rows += runs_of("wine", solver, range(8), time_s=time_s, warm_s=time_s / 2, cost=cost, quality=quality)
    rows[9] |= {"status": status} | columns
    return pd.DataFrame(rows)


def best_by_metric(frame):
    cells = compared_cells(frame, EXPERIMENT, gaps=gaps_of(frame))
    return {row.metric: row.method for row in cells if row.best}, ikdr_table("e", cells, EXPERIMENT)


@pytest.mark.parametrize("status", ["time_limit", "memory_limit", "max_iterations", "failed", "skipped"])
def test_a_stopped_run_is_the_best_of_nothing_in_any_output(status):
    metrics = ("time_s", "warm_s", "cost", "accuracy")
    best, table = best_by_metric(a_race(status))
    assert best == dict.fromkeys(metrics, "ism")
    # What the dashboard reads, and what the page, LaTeX and the list of cells show.
    again = Table.from_json(table.to_json())
    stopped, first = (again.columns.index(name) for name in ("DG", "ISM"))
    assert not any(row[stopped].bold for row in again.rows)
    assert [row[first].bold for row in again.rows] == [row[1].text != "Above best known" for row in again.rows]
    assert {row["method"] for row in table.listed if row["best"]} == {"ism"}
    page, latex = render_html(table), render_latex(table)
    assert page.count("<strong>") == latex.count(r"\textbf{") == len(metrics)
    assert all(BOLD_MEANS in text for text in (page, latex))
    # The same numbers of runs that came to their own end are the best.
    assert best_by_metric(a_race("stalled"))[0] == dict.fromkeys(metrics, "dg")


def test_too_few_runs_or_disturbed_times_are_the_best_of_nothing():
    few = a_race("converged")
    assert best_by_metric(few[few["run"] < 5])[0] == {}
    best, _ = best_by_metric(a_race("converged", drifted=True, drift=0.2))
    assert (best["time_s"], best["cost"]) == ("ism", "dg")


def test_a_learner_with_a_split_that_was_stopped_is_not_bold():
    accuracies = {"plain": [0.8] * 12, "aligned": [0.9 + split / 1000 for split in range(12)]}
    rows = kpca_runs(accuracies, test_selected=None)
    stopped = [row | {"status": "time_limit", "accuracy": None} if row["run"] == 11 else row for row in rows]
    for runs, bold in ((rows, True), (stopped, False)):
        accuracies, tests, _ = kpca_tables(pd.DataFrame(runs), "kpca_tables")
        assert {entry.bold for row in tests.rows for entry in row[3:4]} == {bold}
        assert any(entry.bold for row in accuracies.rows for entry in row) == bold
