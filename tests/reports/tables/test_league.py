"""The league's page and figure from made-up rows."""

import numpy as np
import pandas as pd
import pytest

from kdrbench.reports.figures import league as figure
from kdrbench.reports.figures.making import Source
from kdrbench.reports.outputs import experiment_figures, experiment_tables
from kdrbench.reports.tables.html import render_html
from kdrbench.reports.tables.latex import render_latex
from kdrbench.reports.tables.league import league_page
from kdrbench.reports.tables.league_rows import League, controls_sentence, headlines
from support.configs import whole_config

EXPERIMENT = whole_config()["experiments"]["league_fixed"]
# Accuracy of each method, of which a kernel projection is the best on the first set alone.
SCORES = {"kdr_gaussian": (0.95, 0.70), "pls_da": (0.80, 0.80), "lda": (0.85, 0.90)}
SIZES = {"wine": (178, 13, 3), "satellite": (6435, 36, 6)}


def made_up(**lost):
    rng, rows = np.random.default_rng(0), []
    for place, (dataset, (n, d, classes)) in enumerate(SIZES.items()):
        for q in (1, 2):
            for run in range(10):
                for seconds, (method, scores) in enumerate(SCORES.items(), 1):
                    score = scores[place] + 0.005 * rng.normal()
                    sizes = {"n_train": n - n // 5, "n_test": n // 5, "n_features": d, "n_classes": classes}
                    failed = lost.get(method) == (dataset, q, run)
                    judged = dict.fromkeys(("knn_accuracy", "linear_accuracy", "distance_correlation"), score)
                    row = {"dataset": dataset, "method": method, "n_components": q, "run": run} | sizes
                    row |= {"status": "failed", **dict.fromkeys(judged)} if failed else {"status": "converged"} | judged
                    rows.append(row | {"cpu_s": None if failed else 0.05 * seconds})
    return pd.DataFrame(rows)


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_the_headline_is_what_the_rows_say():
    first, second, missing = headlines(League(made_up()))
    assert first == (
        "By k-NN accuracy, InterpretableKDR, Gaussian is significantly better than each of PLS-DA and LDA in 2 of 4 "
        "cells; in 2 it is significantly worse than at least one of them."
    )
    assert second == first.replace("k-NN", "linear")
    assert missing == "Not in this experiment: gradient_kdr."
    lost = headlines(League(made_up(kdr_gaussian=("wine", 1, 3))))[0]
    assert "in 1 of 4 cells; in 3 it is" in lost


def test_every_method_is_named_on_the_page_and_in_print():
    table, sections = league_page("league", made_up(), EXPERIMENT)
    html, tex = render_html(table, sections), render_latex(table)
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    for title in ("InterpretableKDR, Gaussian", "PLS-DA", "LDA"):
        assert f"<td>{title}</td>" in body
        assert f"\n{title} & " in tex


def test_standings_rank_by_set_and_count_what_is_lost():
    table, sections = league_page("league", made_up(lda=("satellite", 2, 0)), EXPERIMENT)
    by_name = {row[0]: row for row in texts(table)}
    # Ranks 1, 1, 3, 2 (LDA lost a cell), of sets 1 and 2.5.
    assert by_name["InterpretableKDR, Gaussian"][1] == "1.75"
    assert by_name["LDA"][-2:] == ["150ms", "1"]
    assert float(by_name["LDA"][3]) == pytest.approx((0.85 + 0.85 + 0.9 + 0.0) / 4, abs=0.005)
    assert [section.title for section in sections][:2] == ["In one sentence", "What to use when"]


def test_advice_keeps_to_kinds_of_data_and_budgets():
    advice = league_page("league", made_up(), EXPERIMENT)[1][1].table
    rows = {row[0]: row[1:] for row in texts(advice)}
    assert rows["n <= 300"][:2] == ["2", "InterpretableKDR, Gaussian (1.0), LDA (2.0)"]
    assert rows["n > 1000"][1].startswith("LDA (1.0), PLS-DA")
    # PLS-DA takes .1 s, LDA .15 s.
    assert rows["n > 1000"][3] == "PLS-DA (1.0), InterpretableKDR, Gaussian (2.0)"
    assert rows["n > 1000"][4] == "none"
    assert "300 < n <= 1000" not in rows


def test_controls_that_do_not_come_last_are_named(monkeypatch):
    league = League(made_up())
    assert controls_sentence(league) == "There is no control."
    league.__dict__["controls"] = np.array([False, True, False])
    # PLS-DA's mean rank is 2.5, that of the kernel projection 2: no rank is behind.
    assert controls_sentence(league) == "The controls come last by each judge."
    league = League(made_up())
    league.__dict__["controls"] = np.array([False, False, True])
    assert "by k-NN accuracy, InterpretableKDR, Gaussian behind LDA; PLS-DA behind LDA" in controls_sentence(league)


def test_the_figure_shows_ranks_with_groups_cost_and_stability(tmp_path, monkeypatch):
    (report,) = experiment_figures({"experiments": {"league": EXPERIMENT}, "run": ["league"]}, "league")
    config = {"experiments": {"league": EXPERIMENT}, "run": ["league"]}
    assert experiment_tables(config, "league")[0].figures == ("league",)
    angles = np.deg2rad([0.0, 10.0, 30.0])
    runs = made_up()

    def arrays(rows, folder, kind):
        found = (
            [place for place in range(len(rows)) if rows["method"][place] == "lda"][:3]
            if kind == "projection_1"
            else []
        )
        return ((place, np.array([[np.cos(a)], [np.sin(a)]])) for place, a in zip(found, angles, strict=False))

    monkeypatch.setattr(figure, "read_arrays", arrays)
    chart = figure.chart_of(Source(report, runs, config, tmp_path))
    ranks, stability = chart.panels[0], chart.panels[-1]
    assert ranks.series[0].x == ["lda", "kdr_gaussian", "pls_da"]
    assert ranks.series[0].y == [1.5, 2.0, 2.5]
    # Two data sets tell nothing apart.
    assert [series.x for series in ranks.series[1:]] == [["lda", "kdr_gaussian", "pls_da"]]
    assert {series.label: series.x for series in chart.panels[3].series}["lda"] == [pytest.approx(0.15)]
    # Angles of 10, 30 and 20 degrees.
    assert [(one.label, one.x, one.y) for one in stability.series] == [("q = 1", ["lda"], [pytest.approx(20.0)])]
    assert figure.chart_of(Source(report, runs.assign(status="failed"), config, tmp_path)) is None
