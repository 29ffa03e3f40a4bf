"""The league's page and figure from made-up rows."""

import functools
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from kdrbench.suite.reports.figures.chart import Mark
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.systems.league import figures as figure
from kdrbench.suite.systems.league import table_rows as league_rows
from kdrbench.suite.systems.league.table_rows import League, critical_difference
from kdrbench.suite.systems.league.tables import standings
from support.configs import whole_config
from support.league_rows import made_up


@functools.cache
def experiment():
    return whole_config()["experiments"]["league_fixed"]


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_standings_rank_by_set_and_count_what_is_lost():
    table = standings("league", League(made_up(lda=("satellite", 2, 0))), "")
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
    monkeypatch.setattr(League, "mean_ranks", lambda league, judge: np.arange(5.0))
    monkeypatch.setattr(league_rows, "critical_difference", lambda k, n: 2.0)
    assert League(made_up()).letters("knn_accuracy") == ["a", "ab", "a-c", "bc", "c"]


def test_only_a_rank_that_differs_from_all_others_is_bold(monkeypatch):
    # Mean ranks 2, 2.5 and 1.5: the least distance of the best is 0.5.
    for difference, bold in ((0.4, ["1.50"] * 3), (0.5, [])):
        monkeypatch.setattr(league_rows, "critical_difference", lambda k, n, found=difference: found)
        table = standings("league", League(made_up()), "")
        assert [entry.text for row in table.rows for entry in row if entry.bold] == bold
    # One method alone is ahead of nothing.
    alone = made_up()[lambda runs: runs["method"] == "lda"]
    table = standings("league", League(alone), "")
    assert not any(entry.bold for row in table.rows for entry in row)


def arrays_of_lda(rows, folder, kind):
    """Lines in the plane at 0, 10 and 30 degrees, which LDA has found with one component on the first data set."""
    found = [place for place in range(len(rows)) if rows["method"][place] == "lda"][:3] if kind[-1] == "1" else []
    angles = np.deg2rad([0.0, 10.0, 30.0])
    return ((place, np.array([[np.cos(a)], [np.sin(a)]])) for place, a in zip(found, angles, strict=False))


def test_stability_is_the_median_angle_between_folds(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    by_name = {row[0]: row for row in texts(standings("league", League(made_up(), tmp_path), ""))}
    # Angles of 10, 30 and 20 degrees.
    assert (by_name["LDA"][-3], by_name["PLS-DA"][-3]) == ("20", "-")


def test_angles_between_folds_are_those_of_scipy():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(9, 3))
    others = [base @ rng.normal(size=(3, 3)), base + 1e-6 * rng.normal(size=(9, 3)), rng.normal(size=(9, 3))]
    # One that spans a line only, and one of another shape.
    folds = [base, *others, np.repeat(base[:, :1], 3, axis=1), base[:, :2]]
    pairs = [(one, two) for one, two in combinations(folds, 2) if one.shape == two.shape]
    wanted = [np.degrees(subspace_angles(one, two).max()) for one, two in pairs]
    np.testing.assert_allclose(sorted(league_rows.largest_angles(folds)), sorted(wanted), rtol=1e-6, atol=1e-9)


def chart_of(runs, folder):
    config = {"experiments": {"league": experiment()}, "run": ["league"]}
    (report,) = list(figures_of(config, "league").values())
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
