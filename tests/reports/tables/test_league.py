"""The league's page and figure, and what tuning gains, from made-up rows."""

import functools
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import wilcoxon

from kdrbench.suite.findings.answers import answer_of
from kdrbench.suite.reports.figures.chart import Mark
from kdrbench.suite.reports.making import Source, make
from kdrbench.suite.reports.outputs import figures_of, tables_of
from kdrbench.suite.systems.league import figures as figure
from kdrbench.suite.systems.league import table_rows as league_rows
from kdrbench.suite.systems.league.system import fixed_beside
from kdrbench.suite.systems.league.table_rows import League, critical_difference
from kdrbench.suite.systems.league.tables import page, standings
from kdrbench.suite.systems.league.tuning import Tuning, tuning_table
from support.configs import whole_config
from support.league_rows import SCORES, made_up


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


def test_accuracies_by_data_set_have_a_row_of_each_method(tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.systems.league.tables.sections_of_runs", lambda _: [])
    report = tables_of(config(), "league_fixed")["league_fixed_sets"]
    table, _ = page(Source(report, made_up(), config(), tmp_path))
    rows = {tuple(row[:2]): row[2:] for row in texts(table)}
    assert len(rows) == len(table.rows) == 2 * len(SCORES)
    assert [float(text[:5]) for text in rows["Wine", "LDA"]] == pytest.approx([0.85] * 4, abs=0.005)
    assert "(" not in "".join(rows["Satellite", "InterpretableKDR, Gaussian"])
    # The list of comma-separated values has each of these numbers in all digits.
    assert len(table.listed) == 4 * len(rows)


def test_letters_join_what_nemenyi_does_not_tell_apart(monkeypatch):
    def bold_of(rows):
        return [entry.text for row in standings("league", League(rows), "").rows for entry in row if entry.bold]

    league = League(made_up())
    # Mean ranks 2, 2.5 and 1.5. Only a rank that differs from all others is bold.
    for difference, letters, bold in (
        (0.4, ["b", "c", "a"], ["1.50"] * 3),
        (0.5, ["ab", "b", "a"], []),
        (1.0, ["a", "a", "a"], []),
    ):
        monkeypatch.setattr(league_rows, "critical_difference", lambda k, n, found=difference: found)
        assert (league.letters("knn_accuracy"), bold_of(made_up())) == (letters, bold)
    # One method alone is ahead of nothing.
    assert bold_of(made_up().query("method == 'lda'")) == []
    # Five methods in a row: the middle one is in three groups.
    monkeypatch.setattr(League, "mean_ranks", lambda league, judge: np.arange(5.0))
    monkeypatch.setattr(league_rows, "critical_difference", lambda k, n: 2.0)
    assert League(made_up()).letters("knn_accuracy") == ["a", "ab", "a-c", "bc", "c"]


def arrays_of_lda(rows, folder, kind):
    """Lines in the plane at 0, 10 and 30 degrees, which LDA has found with one component on the first data set."""
    found = [place for place in range(len(rows)) if rows["method"][place] == "lda"][:3] if kind[-1] == "1" else []
    angles = np.deg2rad([0.0, 10.0, 30.0])
    return ((place, np.array([[np.cos(a)], [np.sin(a)]])) for place, a in zip(found, angles, strict=False))


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
    config = {"experiments": {"league": whole_config()["experiments"]["league_fixed"]}, "run": ["league"]}
    (report,) = list(figures_of(config, "league").values())
    return figure.chart_of(Source(report, runs, config, folder))


def test_the_figure_shows_ranks_with_groups_cost_and_stability(tmp_path, monkeypatch):
    monkeypatch.setattr(league_rows, "read_arrays", arrays_of_lda)
    # The table has the median of the angles of 10, 30 and 20 degrees.
    by_name = {row[0]: row for row in texts(standings("league", League(made_up(), tmp_path), ""))}
    assert (by_name["LDA"][-3], by_name["PLS-DA"][-3]) == ("20", "-")
    chart = chart_of(made_up(), tmp_path)
    ranks, cost, stability = chart.panels[0], chart.panels[3], chart.panels[6]
    points = {one.label: one for one in ranks.series if one.mark is Mark.POINTS}
    found = {title: one.x for title, one in points.items()}
    assert found == {"InterpretableKDR, Gaussian": [2.0], "PLS-DA": [2.5], "LDA": [1.5]}
    # The best is at the top, by the table's name, and the difference above it.
    from_top = sorted(ranks.y.ticks, key=ranks.y.ticks.get, reverse=True)
    assert from_top[1:] == ["LDA", "InterpretableKDR, Gaussian", "PLS-DA"]
    assert all(one.y == [ranks.y.ticks[title]] for title, one in points.items())
    ruler, *groups = (one for one in ranks.series if one.group == "no difference by Nemenyi's test")
    assert ruler.x[1] - ruler.x[0] == pytest.approx(critical_difference(3, 2))
    # Two data sets tell nothing apart: one line joins all rows.
    assert [one.y for one in groups] == [[0.0, -2.0]]
    assert {one.label: one.x for one in cost.series}["LDA"] == [pytest.approx(0.15)]
    angles = [(one.label, one.x) for one in stability.series]
    assert angles == [("LDA", [pytest.approx(20.0)]), ("interval", [pytest.approx(20.0)] * 2)]
    assert chart_of(made_up().assign(status="failed"), tmp_path) is None


@functools.cache
def config():
    return whole_config() | {"run": ["league_fixed", "league_small", "league_small_tuned"]}


def rows_of(gain=0.0, lost=None, **columns):
    """Rows on seven copies of the made-up sets; those of Gaussian KDR gain, those of PLS-DA lose as much."""
    made = made_up(**(lost or {}))
    gains = made["method"].map({"kdr_gaussian": gain, "pls_da": -gain, "lda": 0.0})
    for judge in ("knn_accuracy", "linear_accuracy"):
        made[judge] += gains
    # A method without parameters to tune.
    made = pd.concat([made, made[made["method"] == "lda"].assign(method="pca")])
    copies = [made.assign(dataset=made["dataset"] + str(number)) for number in range(3)]
    speed = {"calibration_before_s": 0.01, "calibration_after_s": 0.01}
    return pd.concat(copies, ignore_index=True).assign(**(speed | columns))


def tuned_rows(gain=0.02, **options):
    rows = rows_of(gain, **options)
    chosen = rows["method"].map({"kdr_gaussian": '{"sigma": 2.0}'}).fillna("")
    # The machine has become half as quick, which is no cost of tuning.
    slow = {"calibration_before_s": 0.015, "calibration_after_s": 0.025}
    tuned = rows.assign(chosen=chosen, cpu_s=rows["cpu_s"] * 20.0, **slow)
    return tuned[(tuned["n_components"] == 2) & (tuned["run"] < 5)]


def cells_of(table):
    return {row[0].text: [entry.text for entry in row[1:]] for row in table.rows}


def test_a_method_is_compared_with_itself_in_shared_runs():
    tuning = Tuning(rows_of(), tuned_rows())
    assert tuning.methods == list(SCORES)
    scores = tuning.league.scores["knn_accuracy"]
    assert {count for _, count in scores.cells} == {2}
    assert {table.shape for table in scores.cells.values()} == {(6, 5)}
    fixed, tuned = tuning.means("knn_accuracy", "kdr_gaussian")
    own = rows_of().query("method == 'kdr_gaussian' and n_components == 2 and run < 5")["knn_accuracy"].mean()
    assert (fixed, tuned) == pytest.approx((own, own + 0.02))


def test_each_row_says_what_tuning_gains_and_costs():
    table = tuning_table("gains", "Tuned.", Tuning(rows_of(), tuned_rows()))
    rows = cells_of(table)
    # What gains most is first.
    assert list(rows) == ["InterpretableKDR, Gaussian", "LDA", "PLS-DA"]
    assert table.columns[:7] == ["Method", "Defaults", "Tuned", "Difference", "Wins", "Losses", "p (Holm)"]
    # All six differences are equal but for rounding, so the smallest p of six signed ranks counts, times three or two.
    least = wilcoxon(np.arange(1, 7)).pvalue
    assert rows["InterpretableKDR, Gaussian"][2:6] == ["+0.020", "6", "0", f"{3 * least:.2g}"]
    assert rows["PLS-DA"][2:5] == ["-0.020", "0", "6"]
    assert rows["LDA"][2:6] == ["+0.000", "0", "0", "1"]
    assert rows["LDA"][-4:] == ["150ms", "3s", "10", "100 %"]
    assert rows["InterpretableKDR, Gaussian"][-1] == "0 %"
    assert table.notes[1] == "Nothing to tune have PCA."
    untimed = tuned_rows().assign(calibration_before_s=None, calibration_after_s=None)
    unknown = tuning_table("gains", "Tuned.", Tuning(rows_of(), untimed))
    assert cells_of(unknown)["LDA"][-2] == "-"
    assert unknown.notes[0].endswith("(signed ranks over data sets).")


def test_a_tuned_run_that_is_lost_counts_as_nothing():
    tuned = tuned_rows(lost={"kdr_gaussian": ("wine", 2, 3)})
    tuning = Tuning(rows_of(), tuned)
    fixed, lost = tuning.means("knn_accuracy", "kdr_gaussian")
    assert lost < fixed - 0.05
    table = cells_of(tuning_table("gains", "Tuned.", tuning))
    assert table["InterpretableKDR, Gaussian"][3:5] == ["3", "3"]
    # Of what ended, and a file without a word is read as NaN.
    read = tuned.assign(chosen=tuned["chosen"].replace("", np.nan))
    assert cells_of(tuning_table("gains", "Tuned.", Tuning(rows_of(), read))) == table
    assert (table["InterpretableKDR, Gaussian"][-1], table["LDA"][-1]) == ("0 %", "100 %")


def test_a_league_on_other_folds_or_cells_does_not():
    experiments = config()["experiments"]
    for changes in ({"folds": 4}, {"most_rows": 400}, {"components": [1]}, {"datasets": ["moons"]}):
        changed = experiments | {"league_small": experiments["league_small"] | changes}
        assert fixed_beside(config() | {"experiments": changed}, "league_small_tuned") is None


def test_the_page_and_the_answer_are_made_of_both_experiments(tmp_path, monkeypatch):
    both = {"league_small": rows_of(), "league_small_tuned": tuned_rows()}
    both = {name: rows.assign(experiment=name) for name, rows in both.items()}
    monkeypatch.setattr("kdrbench.suite.reports.making.read_runs", lambda path: both[path.stem])
    monkeypatch.setattr("kdrbench.suite.systems.league.tuning.sections_of_runs", lambda _: [])
    report = list(tables_of(config(), "league_small_tuned").values())[-1]
    table, _ = make(report, config(), tmp_path)
    assert cells_of(table)["InterpretableKDR, Gaussian"][2] == "+0.020"
    answer = answer_of("league_small_tuned", pd.concat(both.values(), ignore_index=True), config())
    assert answer.text == table.notes[0]
