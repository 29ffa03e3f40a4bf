"""The league's page and figure from made-up rows."""

import functools
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles

from kdrbench.errors import DamagedError
from kdrbench.reduction.methods import METHODS
from kdrbench.suite.reports.figures.chart import Mark
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import experiment_figures, experiment_tables
from kdrbench.suite.reports.tables.table import render_html, render_latex
from kdrbench.suite.systems.league import figures as figure
from kdrbench.suite.systems.league import table_rows as league_rows
from kdrbench.suite.systems.league.scores import WIN, critical_difference
from kdrbench.suite.systems.league.system import JUDGES
from kdrbench.suite.systems.league.table_rows import KERNEL_PROJECTIONS, League, headline, headlines
from kdrbench.suite.systems.league.tables import controls_sentence, league_table
from support.configs import whole_config
from support.league_rows import made_up

NAMES = ["league", "league_duels", "league_sets"]


@functools.cache
def experiment():
    return whole_config()["experiments"]["league_fixed"]


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


def test_a_single_rival_is_named_alone():
    alone = headline("A", ["B"], [WIN], "it")
    assert alone.endswith("better than B in 1 of 1 cell; in none it is significantly worse than it.")


def renamed(runs, **names):
    """The same rows with other methods; axes of what follows are in the order of the rows."""
    return runs.assign(method=runs["method"].replace(names))


def test_every_kernel_projection_has_its_headlines_ours_first():
    assert KERNEL_PROJECTIONS[0] == "kdr_gaussian"
    assert {"kernel_discriminant", "kpca_trick"} < set(KERNEL_PROJECTIONS) <= set(METHODS)
    other = renamed(made_up(kdr_gaussian=("wine", 1, 3)), kdr_gaussian="kernel_discriminant")
    runs = pd.concat([made_up(kdr_gaussian=("wine", 1, 3)), other.query("method == 'kernel_discriminant'")])
    runs.loc[runs["method"] == "kernel_discriminant", list(JUDGES)] = 0.99
    runs["status"] = np.where(runs["method"] == "kernel_discriminant", "converged", runs["status"])
    found = headlines(League(runs))
    assert [one.partition(" is ")[0] for one in found[:4]] == [
        "By k-NN accuracy, InterpretableKDR, Gaussian",
        "By linear accuracy, InterpretableKDR, Gaussian",
        "By k-NN accuracy, Kernel discriminant analysis",
        "By linear accuracy, Kernel discriminant analysis",
    ]
    assert "in 4 of 4 cells; in none" in found[2]


def test_an_experiment_has_its_tables_and_each_can_be_written():
    (first, *_) = reports = experiment_tables({"experiments": {"league": experiment()}, "run": ["league"]}, "league")
    tables = [league_table(name, "league", made_up(), experiment()) for name in NAMES]
    assert [report.name for report in reports] == [table.name for table in tables] == NAMES
    assert (first.figures, {report.kind for report in reports}) == (("league",), {"league"})
    # Nothing to compare: no rival plays, and no control.
    alone = made_up()[lambda runs: runs["method"] == "lda"]
    for table in (league_table(name, "league", alone, experiment()) for name in NAMES):
        assert table.title in render_html(table)
        assert render_latex(table)


def test_standings_rank_by_set_and_count_what_is_lost():
    table = league_table(NAMES[0], "league", made_up(lda=("satellite", 2, 0)), experiment())
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
        table = league_table(NAMES[0], "league", made_up(), experiment())
        assert [entry.text for row in table.rows for entry in row if entry.bold] == bold
    # One method alone is ahead of nothing.
    alone = made_up()[lambda runs: runs["method"] == "lda"]
    table = league_table(NAMES[0], "league", alone, experiment())
    assert not any(entry.bold for row in table.rows for entry in row)


def test_numbers_of_a_data_set_are_beside_those_of_our_method():
    runs = made_up(lda=("satellite", 2, 0))
    table = league_table(NAMES[2], "league", runs, experiment())
    assert table.columns == ["Data", "Method", "q = 1", "q = 2", "q = 1", "q = 2"]
    assert [(group.title, group.width) for group in table.groups[0]] == [("k-NN accuracy", 2), ("linear accuracy", 2)]
    rows = {(row[0].text, row[1].text): row for row in table.rows}
    ours, theirs = rows["Wine", "InterpretableKDR, Gaussian"][2], rows["Wine", "LDA"][2]
    scores = {
        method: runs.query(f"dataset == 'wine' and n_components == 1 and method == '{method}'")["knn_accuracy"]
        for method in ("kdr_gaussian", "lda")
    }
    differences = scores["lda"].to_numpy(dtype=float) - scores["kdr_gaussian"].to_numpy(dtype=float)
    assert ours.text == f"{scores['kdr_gaussian'].mean():.3f}"
    effect = differences.mean() / differences.std(ddof=1)
    head = f"{scores['lda'].mean():.3f} ({differences.mean():+.3f}; {effect:+.1f}; "
    assert theirs.text.startswith(head)
    assert (ours.bold, theirs.bold, theirs.axes) == (False, True, ("", "wine", "", "lda"))
    assert rows["Satellite", "LDA"][3].text.startswith("lost (")
    assert rows["Satellite", "LDA"][3].detail.startswith("mean k-NN accuracy over 9 of 10 folds; difference 95 % ")
    # The file has every number of both accuracies, and the reference beside nothing.
    assert len(table.listed) == 2 * 4 * 3
    (line,) = (one for one in table.listed if list(one.values())[:4] == ["wine", 1, "lda", "knn_accuracy"])
    assert (line["difference"], line["effect"]) == (pytest.approx(differences.mean()), pytest.approx(effect))
    assert {one["p_holm"] for one in table.listed if one["method"] == "kdr_gaussian"} == {None}


def many_sets():
    """Eight data sets on which LDA is .1 ahead of PLS-DA, about so, and the kernel projection .2 behind."""
    runs = made_up()[lambda rows: rows["dataset"] == "wine"]
    scores = {"kdr_gaussian": 0.6, "pls_da": 0.8, "lda": 0.9}
    parts = []
    for number in range(8):
        score = runs["method"].map(scores) + 0.001 * (number - 3.5) * (runs["method"] == "lda")
        parts.append(runs.assign(dataset=f"set {number}", **dict.fromkeys(JUDGES, score)))
    return pd.concat(parts, ignore_index=True)


def test_controls_that_do_not_come_last_are_named(monkeypatch):
    league = League(made_up())
    assert controls_sentence(league) == "There is no control."
    league.__dict__["controls"] = np.array([False, True, False])
    # PLS-DA's mean rank is 2.5, that of the kernel projection 2: no rank is behind.
    ranked, _, tested = controls_sentence(league).partition(". ")
    assert ranked == "The controls rank last"
    # Two data sets are too few for signed ranks.
    assert tested == (
        "By signed ranks over data sets, no method is significantly behind a control; some judge does not distinguish "
        "InterpretableKDR, Gaussian and LDA from PLS-DA."
    )
    league = League(made_up())
    league.__dict__["controls"] = np.array([False, False, True])
    assert "by k-NN accuracy, InterpretableKDR, Gaussian behind LDA; PLS-DA behind LDA" in controls_sentence(league)


def test_controls_are_compared_by_test_as_well(monkeypatch):
    league = League(many_sets())
    # The kernel projection is behind PLS-DA on all of eight sets, LDA ahead.
    monkeypatch.setattr(League, "controls", np.array([False, True, False]))
    assert controls_sentence(league).endswith(
        "By signed ranks over data sets, significantly worse are InterpretableKDR, Gaussian behind PLS-DA; each "
        "differs from every control."
    )
    monkeypatch.setattr(League, "controls", np.array([True, False, False]))
    assert controls_sentence(league) == (
        "The controls rank last. By signed ranks over data sets, no method is significantly behind a control; each "
        "differs from every control."
    )


def arrays_of_lda(rows, folder, kind):
    """Lines in the plane at 0, 10 and 30 degrees, which LDA has found with one component on the first data set."""
    found = [place for place in range(len(rows)) if rows["method"][place] == "lda"][:3] if kind[-1] == "1" else []
    angles = np.deg2rad([0.0, 10.0, 30.0])
    return ((place, np.array([[np.cos(a)], [np.sin(a)]])) for place, a in zip(found, angles, strict=False))


def test_stability_is_the_median_angle_between_folds(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    by_name = {row[0]: row for row in texts(league_table(NAMES[0], "league", made_up(), experiment(), tmp_path))}
    # Angles of 10, 30 and 20 degrees.
    assert (by_name["LDA"][-3], by_name["PLS-DA"][-3]) == ("20", "-")


@pytest.mark.parametrize("spoiled", [lambda line: line * np.nan, np.ravel, lambda line: line.astype(str)])
def test_a_projection_that_is_none_is_named(tmp_path, monkeypatch, spoiled):
    monkeypatch.setattr(
        league_rows, "read_arrays", lambda *asked: ((place, spoiled(line)) for place, line in arrays_of_lda(*asked))
    )
    with pytest.raises(DamagedError, match=r"run 0 of league/.*/lda has left a projection of shape"):
        league_table("league", "league", made_up().assign(experiment="league"), experiment(), tmp_path)


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
