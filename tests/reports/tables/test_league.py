"""The league's page and figure from made-up rows."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import DamagedError
from kdrbench.league.judges import largest_angle
from kdrbench.league.ranks import critical_difference
from kdrbench.league.rules import JUDGES
from kdrbench.reduction.methods import METHODS
from kdrbench.reports.figures import league as figure
from kdrbench.reports.figures.chart import BLACK, Mark
from kdrbench.reports.figures.making import Source
from kdrbench.reports.outputs import experiment_figures, experiment_tables
from kdrbench.reports.tables import league_rows
from kdrbench.reports.tables.html import render_html
from kdrbench.reports.tables.latex import render_latex
from kdrbench.reports.tables.league import league_table
from kdrbench.reports.tables.league_rows import League, controls_sentence, headlines
from support.configs import whole_config
from support.league_rows import SCORES, made_up

NAMES = ["league", "league_advice", "league_duels", "league_controls"]
EXPERIMENT = whole_config()["experiments"]["league_fixed"]


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
    table = league_table("league", "league", made_up(), EXPERIMENT)
    html, tex = render_html(table), render_latex(table)
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    for title in ("InterpretableKDR, Gaussian", "PLS-DA", "LDA"):
        assert f"<td>{title}</td>" in body
        assert f"\n{title} & " in tex


def test_an_experiment_has_its_tables_and_each_can_be_written():
    (first, *_) = reports = experiment_tables({"experiments": {"league": EXPERIMENT}, "run": ["league"]}, "league")
    tables = [league_table(name, "league", made_up(), EXPERIMENT) for name in NAMES]
    assert [report.name for report in reports] == [table.name for table in tables] == NAMES
    assert (first.figures, {report.kind for report in reports}) == (("league",), {"league"})
    # Nothing to compare: no rival plays, and no control.
    alone = made_up()[lambda runs: runs["method"] == "lda"]
    for table in (league_table(name, "league", alone, EXPERIMENT) for name in NAMES):
        assert table.title in render_html(table)
        assert render_latex(table)


def test_standings_rank_by_set_and_count_what_is_lost():
    table = league_table(NAMES[0], "league", made_up(lda=("satellite", 2, 0)), EXPERIMENT)
    by_name = {row[0]: row for row in texts(table)}
    # Ranks 1, 1, 3, 2 (LDA lost a cell), of sets 1 and 2.5.
    assert by_name["InterpretableKDR, Gaussian"][1] == "1.75"
    assert by_name["LDA"][-3:] == ["-", "150ms", "1"]
    assert float(by_name["LDA"][4]) == pytest.approx((0.85 + 0.85 + 0.9 + 0.0) / 4, abs=0.005)
    assert table.notes[0].startswith("By k-NN accuracy, InterpretableKDR, Gaussian is significantly better")


def test_letters_join_what_nemenyi_does_not_tell_apart(monkeypatch):
    league = League(made_up())
    # Mean ranks 2, 2.5 and 1.5.
    for difference, letters in ((0.4, ["b", "c", "a"]), (0.5, ["ab", "b", "a"]), (1.0, ["a", "a", "a"])):
        monkeypatch.setattr(league_rows, "critical_difference", lambda k, n, found=difference: found)
        assert league.letters("knn_accuracy") == letters
    # Five methods in a row: the middle one is in three groups.
    monkeypatch.setattr(League, "ranks", lambda league, judge: np.arange(5.0)[None])
    monkeypatch.setattr(league_rows, "critical_difference", lambda k, n: 2.0)
    assert League(made_up()).letters("knn_accuracy") == ["a", "ab", "a-c", "bc", "c"]


def test_effects_against_controls_come_with_their_tests(monkeypatch):
    league = League(many_sets())
    monkeypatch.setattr(League, "controls", np.array([False, True, False]))
    monkeypatch.setattr("kdrbench.reports.tables.league.WITH_LABELS", {"pls_da": "lda"})
    table = league_table(NAMES[3], "league", league.runs, EXPERIMENT)
    row = dict(zip(table.columns, texts(table)[0], strict=True))
    assert (row["Control"], row["Judge"], row["Ahead"], row["Behind"]) == ("PLS-DA", "k-NN accuracy", "1", "1")
    # Of eight sets, LDA is better in all, the kernel projection is worse in all: exact p of 2 / 2^8, twice by Holm.
    assert (row["Better"], row["Worse"], row["p (Holm)"]) == ("1", "1", f"{4 / 2**8:.2g}")
    assert row["With labels"] == "+0.100"
    assert float(row["Effect"]) > 10
    # Of +.1 and -.2.
    assert row["Median difference"] == "-0.050"
    assert {entry.axes for entry in table.rows[0][2:]} == {("", "", "", "pls_da")}


def test_every_number_of_a_duel_leads_to_the_runs_of_the_projection():
    duels = league_table(NAMES[2], "league", made_up(), EXPERIMENT)
    assert {entry.axes for row in duels.rows for entry in row[3:]} == {("", "", "", "kdr_gaussian")}
    assert {entry.axes for row in duels.rows for entry in row[:3]} == {()}


def many_sets():
    """Eight data sets on which LDA is .1 ahead of PLS-DA, about so, and the kernel projection .2 behind."""
    runs = made_up()[lambda rows: rows["dataset"] == "wine"]
    scores = {"kdr_gaussian": 0.6, "pls_da": 0.8, "lda": 0.9}
    parts = []
    for number in range(8):
        score = runs["method"].map(scores) + 0.001 * (number - 3.5) * (runs["method"] == "lda")
        parts.append(runs.assign(dataset=f"set {number}", **dict.fromkeys(JUDGES, score)))
    return pd.concat(parts, ignore_index=True)


def test_advice_keeps_to_kinds_of_data_and_budgets():
    advice = league_table(NAMES[1], "league", made_up(), EXPERIMENT)
    rows = {row[0]: row[1:] for row in texts(advice)}
    assert rows["n <= 300"][:2] == ["2", "InterpretableKDR, Gaussian (1.0); LDA (2.0)"]
    assert rows["n > 1000"][1].startswith("LDA (1.0); PLS-DA")
    # PLS-DA takes .1 s, LDA .15 s.
    assert rows["n > 1000"][3] == "PLS-DA (1.0); InterpretableKDR, Gaussian (2.0)"
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


def arrays_of_lda(rows, folder, kind):
    """Lines in the plane at 0, 10 and 30 degrees, which LDA has found with one component on the first data set."""
    found = [place for place in range(len(rows)) if rows["method"][place] == "lda"][:3] if kind[-1] == "1" else []
    angles = np.deg2rad([0.0, 10.0, 30.0])
    return ((place, np.array([[np.cos(a)], [np.sin(a)]])) for place, a in zip(found, angles, strict=False))


def test_stability_is_the_median_angle_between_folds(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    by_name = {row[0]: row for row in texts(league_table(NAMES[0], "league", made_up(), EXPERIMENT, tmp_path))}
    # Angles of 10, 30 and 20 degrees.
    assert (by_name["LDA"][-3], by_name["PLS-DA"][-3]) == ("20", "-")


@pytest.mark.parametrize("spoiled", [lambda line: line * np.nan, np.ravel, lambda line: line.astype(str)])
def test_a_projection_that_is_none_is_named(tmp_path, monkeypatch, spoiled):
    monkeypatch.setattr(
        league_rows, "read_arrays", lambda *asked: ((place, spoiled(line)) for place, line in arrays_of_lda(*asked))
    )
    with pytest.raises(DamagedError, match=r"run 0 of league/.*/lda has left a projection of shape"):
        league_table("league", "league", made_up().assign(experiment="league", run=0), EXPERIMENT, tmp_path)


def test_angles_between_folds_are_those_of_the_judge():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(9, 3))
    others = [base @ rng.normal(size=(3, 3)), base + 1e-6 * rng.normal(size=(9, 3)), rng.normal(size=(9, 3))]
    # One that spans a line only, and one of another shape.
    folds = [base, *others, np.repeat(base[:, :1], 3, axis=1), base[:, :2]]
    pairs = [(one, two) for one, two in combinations(folds, 2) if one.shape == two.shape]
    wanted = [largest_angle(one, two) for one, two in pairs]
    np.testing.assert_allclose(league_rows.largest_angles(folds), wanted, rtol=1e-6, atol=1e-9)


def chart_of(runs, folder):
    config = {"experiments": {"league": EXPERIMENT}, "run": ["league"]}
    (report,) = experiment_figures(config, "league")
    return figure.chart_of(Source(report, runs, config, folder))


def test_the_figure_shows_ranks_with_groups_cost_and_stability(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    chart = chart_of(made_up(), tmp_path)
    ranks, cost, stability = chart.panels[0], chart.panels[3], chart.panels[6]
    points = {one.label: one for one in ranks.series if one.mark is Mark.POINTS}
    assert {title: one.x for title, one in points.items()} == {
        "InterpretableKDR, Gaussian": [2.0],
        "PLS-DA": [2.5],
        "LDA": [1.5],
    }
    # The best is at the top, by the table's name, and the difference above it.
    assert [title for title, row in sorted(ranks.y.ticks.items(), key=lambda one: -one[1])][1:] == [
        "LDA",
        "InterpretableKDR, Gaussian",
        "PLS-DA",
    ]
    assert all(one.y == [ranks.y.ticks[title]] for title, one in points.items())
    ruler, *groups = (one for one in ranks.series if one.group == "no difference by Nemenyi's test")
    assert ruler.x[1] - ruler.x[0] == pytest.approx(critical_difference(3, 2))
    # Two data sets tell nothing apart: one line joins all rows.
    assert [one.y for one in groups] == [[0.0, -2.0]]
    assert {one.label: one.x for one in cost.series}["LDA"] == [pytest.approx(0.15)]
    assert [(one.label, one.x) for one in stability.series] == [
        ("LDA", [pytest.approx(20.0)]),
        ("interval", [pytest.approx(20.0)] * 2),
    ]
    assert chart_of(made_up().assign(status="failed"), tmp_path) is None


def test_each_method_looks_like_itself_alone_in_every_panel(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    assert set(figure.STYLES) == set(METHODS)
    assert len(set(figure.STYLES.values())) == len(METHODS)
    # Black is for controls.
    assert {name for name, (colour, _) in figure.STYLES.items() if colour == BLACK} == {
        name for name, entry in METHODS.items() if entry.control
    }
    looks = {}
    for panel in chart_of(made_up(), tmp_path).panels:
        for one in (series for series in panel.series if series.mark is Mark.POINTS):
            assert looks.setdefault(one.key, (one.colour, one.symbol)) == (one.colour, one.symbol)
    assert len(looks) == len(SCORES)
