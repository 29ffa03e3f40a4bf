"""Times that need care, from made-up runs."""

import pandas as pd

from kdrbench.suite.reports.making import sections_of_runs
from kdrbench.suite.reports.tables.table import render_html, render_latex
from kdrbench.suite.systems.ikdr.tables import beside_published, compared_cells, ikdr_table
from support.report_rows import run

EXPERIMENT = {
    "title": "Times.",
    "published": {"paper": "neurips2019", "table": "4", "setting": "supervised"},
    "datasets": ["wine"],
    "kernels": ["gaussian"],
    "solvers": ["ism", "dg", "sm"],
}


def laid_out(*changes):
    runs = pd.DataFrame([run("wine", solver, fold, **columns) for solver, fold, columns in changes])
    cells = compared_cells(runs, EXPERIMENT)
    table = ikdr_table("e", cells, EXPERIMENT)
    page = render_html(table, [beside_published(cells), *sections_of_runs(runs)])
    return {(row.method, row.metric): row for row in cells}, table, page


DRIFTED = {"drift": -0.234, "drifted": True}


def test_times_on_drifting_cores_are_marked_and_counted():
    cells, table, page = laid_out(("ism", 0, DRIFTED), ("ism", 1, {}), ("dg", 0, {}), ("sm", 0, {}))
    time = cells["ism", "time_s"]
    assert time.ours.warning == "the cores were not as fast as for other methods in 1 of 2 runs, by up to 23%"
    assert time.ours.warning in time.why
    assert time.ours.mean is not None
    # A mean of which one time is doubtful is shown, and is the best of nothing.
    assert not time.best
    assert {key for key, row in cells.items() if row.ours.warning} == {("ism", "time_s")}
    doubt = "the cores were not as fast (10 %) as for other methods, a run waited for its core or worked off the clock"
    said = f"in 1 of 3 times {doubt}"
    assert table.notes[-1] == f"\u2021 Times to be taken with care: {said}."
    assert page.count("<sup>\u2021</sup>") == 1
    assert f"\u2021 Times to be taken with care: {said}." in page
    assert "whose cores were not as fast (10 %) as for other methods on the same problem: 1;" in page
    latex = render_latex(table)
    assert latex.count(r"$^\ddagger$") == 2
    assert "20ms" in latex


def test_untimed_times_are_shown_and_compared_with_nothing():
    cells, table, page = laid_out(("ism", 0, {"timed": False, "drifted": None, "drift": None}), ("dg", 0, {}))
    time = cells["ism", "time_s"]
    assert time.ours.text == "20ms"
    assert (time.ours.mean, time.best, time.verdict) == (None, False, "not judged")
    assert cells["ism", "cost"].ours.mean == -1311.0
    assert "times of runs that shared their cores, not comparable" in table.notes[-1]
    assert "that did not own their cores: 1;" in page


def test_runs_without_budget_are_printed_in_the_papers_notation():
    nothing = {"status": "skipped", "time_s": None, "cost": None, "quality": None}
    cells, table, _ = laid_out(("ism", 0, {}), ("ism", 1, nothing), ("dg", 0, nothing))
    assert [cells[key].ours.text for key in (("ism", "time_s"), ("dg", "time_s"), ("dg", "cost"))] == ["> budget"] * 3
    assert cells["ism", "cost"].ours.text == "-1311.0 \u00b1 0.0"
    assert cells["ism", "cost"].ours.complete is False
    assert table.remarks[0].endswith("1 of 2 folds: not run, the budget of the grid was used up")
