"""The atlas' page and figure from made-up rows and charts."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import figures_of, tables_of
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.systems.atlas import tables as atlas
from kdrbench.suite.systems.atlas.optima import Charted
from kdrbench.suite.systems.atlas.tables import cells_of_atlas, sentences
from support.configs import whole_config

SOLVERS = ("ism", "ism_converged")
AXES = np.eye(4)[:, :, None]
ROW = {"experiment": "atlas", "cells_of": "table4_supervised", "kernel": "gaussian", "dataset": "wine"}
ROW |= {"paradigm": "supervised", "n_starts": 10, "n_ended": 10, "n_certified": 10, "cpu_s": 1.1}
ROW |= {"share_at_best": 0.6, "share_near_best": 0.8, "median_gap": 1e-5, "largest_gap": 0.02, "leading_gap": 0.0}
ROW |= {"best_quality": 0.9, "lowest_quality": 0.9, "highest_quality": 0.9}
ROW |= dict.fromkeys(("tau", "tau_low", "tau_high"), np.nan)


class Charts:
    """Rows of an atlas with a chart a run: optima along axes, with costs, qualities and shares of two solvers."""

    def __init__(self, monkeypatch):
        self.rows, self.found = [], []
        monkeypatch.setattr(atlas, "read_charts", lambda rows, _: iter(self.found))
        monkeypatch.setattr(atlas, "sections_of_runs", lambda _: [])

    def add(self, problem, costs, qualities, shares=(0.6, 0.3, 0.05, 0.05), draw=0, axes=(0, 1, 2, 3), **columns):
        """Add a run; the shares are those of the second solver, the first one's starts reach no certified optimum."""
        run = len(self.rows) // len(SOLVERS)
        for place, solver in enumerate(SOLVERS):
            certified = {"n_certified": 10 * place}
            row = ROW | {"method": solver, "problem": problem, "problem_run": len(self.found), "draw": draw, "run": run}
            best = {"best_cost": costs[0] if costs else np.nan}
            self.rows.append(row | certified | best | columns)
        if costs:
            of_both = np.column_stack([np.zeros(len(costs)), shares[: len(costs)]])
            chart = Charted(
                problem, draw, AXES[list(axes[: len(costs)])], np.array(costs), np.array(qualities), of_both
            )
            self.found.append((pd.Series(self.rows[-1]), chart))

    @property
    def runs(self):
        return pd.DataFrame(self.rows)

    def cells(self):
        return cells_of_atlas(self.runs, None)

    def sentences(self):
        return sentences(self.cells(), whole_config())

    def page(self):
        (report,) = list(tables_of(whole_config(), "atlas").values())
        return atlas.page(Source(report, self.runs, whole_config(), Path("nowhere")))


@pytest.fixture
def charts(monkeypatch):
    return Charts(monkeypatch)


def cells_of(table, place=0):
    """Return the cells of a row by column; of solvers' columns the last one."""
    return dict(zip(table.columns, table.rows[place], strict=True))


def test_optima_of_lower_cost_may_be_better_or_worse(charts):
    charts.add("a", [-10.0, -9.0, -8.0], [0.9, 0.8, 0.9])
    for problem, qualities in (("b", [0.9, 0.8]), ("c", [0.7, 0.8]), ("d", [0.9, np.nan])):
        charts.add(problem, [-10.0, -9.0], qualities)
    assert (
        "4 of 4 problems have more than one certified optimum; there the one of lowest cost is more accurate than the "
        "others in 1, as accurate as the best of them in 1 and less accurate in 1. Over ends "
    ) in charts.sentences()[2]


def ranked(tau, half, apart=0.1):
    return {"tau": tau, "tau_low": tau - half, "tau_high": tau + half, "highest_quality": 0.9 + apart}


def test_the_rank_correlation_is_the_mean_over_draws_of_starts(charts):
    charts.add("a", [-10.0], [0.9], **ranked(-0.5, 0.3))
    charts.add("b", [-10.0], [0.9], **ranked(-0.1, 0.4, apart=0.05))
    # Its ends are equally accurate.
    charts.add("c", [-10.0], [0.9])
    # Squares of half widths add up.
    assert charts.cells()[0].correlation() == pytest.approx((-0.3, -0.3 - 0.25, -0.3 + 0.25))
    tau = cells_of(charts.page()[0])["Tau"]
    assert (tau.text, tau.value) == ("-0.30 (-0.55 to -0.05)", pytest.approx(-0.3))
    assert tau.detail == "Kendall's tau-b, mean of 2 draws of starts, 95 % by bootstrap of ends"
    assert charts.sentences()[2].endswith(
        "Over ends of random starts of ISM, certified or not, cost and quality both differ in 1 of 1 cell: lower "
        "cost is better in 1 and worse in none (95 % intervals of Kendall's tau); qualities of one draw are at most "
        "0.100 apart."
    )


def test_a_cell_is_better_or_worse_where_the_interval_says_so(charts):
    for kernel, tau in (("gaussian", -0.5), ("linear", 0.5), ("squared", 0.2)):
        charts.add("a", [-10.0], [0.9], **ranked(tau, 0.3), kernel=kernel)
    assert "differ in 3 of 3 cells: lower cost is better in 1 and worse in 1 (" in charts.sentences()[2]
    assert charts.cells()[1].correlation() == pytest.approx((0.5, 0.2, 0.8))


def test_the_share_of_the_best_is_of_certified_ends(charts):
    charts.add("a", [-10.0, -9.0], [0.9, 0.9], shares=(0.7, 0.3))
    charts.add("b", [-10.0, -9.0], [0.9, 0.9], shares=(0.5, 0.4), n_certified=9)
    # Of ten ends 7 and 5; of 10 certified and, by each solver, 9 ones.
    charts.rows[2]["n_certified"] = 0
    assert charts.cells()[0].share_of_best() == pytest.approx(12 / 19)
    share = cells_of(charts.page()[0])["Share of best"]
    assert (share.text, share.detail) == ("63.2 %", "of 19 certified ends of random starts")


def test_optima_that_another_draw_finds_are_counted(charts):
    charts.add("a", [-10.0, -9.0, -8.0], [0.9] * 3, shares=(0.7, 0.25, 0.02))
    charts.add("a", [-10.0, -9.0], [0.9] * 2, axes=(0, 2), draw=1)
    charts.add("b", [-10.0], [0.9], kernel="polynomial")
    charts.add("b", [-10.0], [0.9], kernel="polynomial", draw=1)
    # The second optimum is not in the other draw, and the third one is below 2 %.
    low, high = binomtest(2, 3).proportion_ci()
    assert charts.sentences()[3] == (
        "Are the optima found again? Of 3 that more than 2 % of a solver's starts reach, other seeds find 2: 66.7 % "
        f"({100 * low:.1f} to {100 * high:.1f}); the goal is 95 %."
    )
    again = [cells_of(charts.page()[0], place)["Found again"] for place in range(2)]
    assert [one.text for one in again] == ["1 of 2", "1 of 1"]
    assert again[1].detail == "optima that the next draw finds; 95 % 2.5 to 100.0"
    # Shares have exact intervals.
    for count, n in ((0, 7), (3, 7), (7, 7)):
        assert clopper_pearson(count, n) == pytest.approx(tuple(binomtest(count, n).proportion_ci()))


def test_a_cell_without_a_certified_end_has_no_number(charts):
    nothing = dict.fromkeys(("best_quality", "share_at_best", "share_near_best", "median_gap", "largest_gap"), np.nan)
    charts.add("a", [], [], n_certified=0, **nothing, leading_gap=np.nan)
    shown = cells_of(charts.page()[0])
    columns = ("Optima", "Share of best", "Best cost", "Quality at best", "Printed above", "Found again", "Tau")
    assert [shown[name].text for name in columns] == ["none", *"------"]
    assert charts.sentences()[0].endswith("No start of ISM has come to an end beside a known optimum.")
    assert not any(re.search(r"\bnan\b", sentence) for sentence in charts.sentences())


def test_the_figure_has_a_point_a_problem_and_an_optimum(charts, tmp_path):
    def chart():
        config = whole_config() | {"run": ["atlas"]}
        (report,) = list(figures_of(config, "atlas").values())
        return atlas.chart_of(Source(report, charts.runs, config, tmp_path))

    # Nothing is drawn where nothing is known.
    charts.add("a", [], [])
    assert chart() is None
    charts.rows.clear()
    charts.add("a", [-10.0, -9.0], [0.9, 0.8], share_near_best=0.5)
    charts.add("b", [-10.0], [0.7], share_near_best=1.0, median_gap=0.0)
    # A second draw has the same optima again, which are drawn once.
    charts.add("b", [-10.0], [0.7], draw=1)
    near, above, worth = chart().panels
    shares = {one.label: one for one in near.series}
    assert shares["ISM"].x == ["Wine, Gaussian"] * 3
    assert shares["ISM"].y == [0.5, 1.0, 0.8]
    # A logarithmic axis has no zero.
    assert {one.label: one.y for one in above.series}["ISM, converged"] == [1e-5, 1e-10, 1e-5]
    (optima,) = worth.series
    assert optima.x == pytest.approx([1e-10, 0.1, 1e-10])
    assert (optima.label, optima.y, optima.words) == ("optima of Wine", [0.9, 0.8, 0.7], ["Wine, Gaussian"] * 3)
