"""What tuning gains, from made-up rows of a league by defaults and of one that is tuned."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from kdrbench.suite.findings.answers import answer_of
from kdrbench.suite.reports.making import make
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.systems.league.system import fixed_beside
from kdrbench.suite.systems.league.tuning import Tuning, tuning_table
from support.configs import whole_config
from support.league_rows import SCORES, made_up


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


@pytest.mark.parametrize("changes", [{"folds": 4}, {"most_rows": 400}, {"components": [1]}, {"datasets": ["moons"]}])
def test_a_league_on_other_folds_or_cells_does_not(changes):
    small = config()["experiments"]["league_small"] | changes
    experiments = config()["experiments"] | {"league_small": small}
    assert fixed_beside(config() | {"experiments": experiments}, "league_small_tuned") is None


def test_the_page_and_the_answer_are_made_of_both_experiments(tmp_path, monkeypatch):
    both = {"league_small": rows_of(), "league_small_tuned": tuned_rows()}
    monkeypatch.setattr(
        "kdrbench.suite.reports.making.read_runs", lambda path: both[path.stem].assign(experiment=path.stem)
    )
    monkeypatch.setattr("kdrbench.suite.systems.league.tuning.sections_of_runs", lambda _: [])
    report = list(tables_of(config(), "league_small_tuned").values())[-1]
    table, _ = make(report, config(), tmp_path)
    assert cells_of(table)["InterpretableKDR, Gaussian"][2] == "+0.020"
    runs = pd.concat([rows.assign(experiment=name) for name, rows in both.items()], ignore_index=True)
    answer = answer_of("league_small_tuned", runs, config())
    assert answer.text == table.notes[0]
