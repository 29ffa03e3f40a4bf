"""Wins and losses of cells, and how rows become scores."""

import numpy as np
import pytest

from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.systems.league.scores import Scores, Verdict, duel_of, headline, verdict_of

BASE = np.linspace(0.7, 0.8, 10)
NOISE = 0.01 * np.array([1, -1, 2, -2, 0, 1, -1, 0, 2, -2])


def test_a_duel_shows_effect_and_p_of_the_differences():
    duel = duel_of(BASE + 0.02 + NOISE, BASE, 0.25)
    assert (duel.difference, duel.lost) == (pytest.approx(0.02), 0)
    assert duel.effect == pytest.approx(0.02 / NOISE.std(ddof=1))
    assert duel.p == pytest.approx(corrected_t_p(0.02 + NOISE, 0.25))
    assert duel.low < 0.02 < duel.high
    back = duel_of(BASE, BASE + 0.02 + NOISE, 0.25)
    assert (back.difference, back.p) == (pytest.approx(-duel.difference), pytest.approx(duel.p))


def test_a_cell_is_won_against_all_and_lost_against_any():
    better, worse, equal = (duel_of(BASE + gain + NOISE, BASE, 0.25) for gain in (0.2, -0.2, 0.0))
    assert verdict_of([better, better]) is Verdict.WINS
    assert verdict_of([better, equal]) is Verdict.NEITHER
    assert verdict_of([better, worse]) is Verdict.LOSES
    assert verdict_of([]) is Verdict.NEITHER


def test_significance_is_corrected_over_the_rivals():
    # p about .03: alone it counts, beside another it does not.
    gain = next(gain for gain in np.linspace(0.001, 0.1, 1000) if duel_of(BASE + gain + NOISE, BASE, 0.25).p < 0.03)
    near = duel_of(BASE + gain + NOISE, BASE, 0.25)
    assert verdict_of([near]) is Verdict.WINS
    assert verdict_of([near, near]) is Verdict.NEITHER


def test_a_missing_run_loses_the_cell_whatever_the_others_say():
    gone = np.where(np.arange(10) == 3, np.nan, 1.0)
    assert verdict_of([duel_of(gone, BASE, 0.25)]) is Verdict.LOSES
    assert verdict_of([duel_of(0.1 * BASE, gone, 0.25)]) is Verdict.WINS
    assert duel_of(gone, gone, 0.25).lost == 0


def test_the_headline_counts_both_ways():
    verdicts = [Verdict.WINS, Verdict.LOSES, Verdict.LOSES, Verdict.NEITHER]
    assert headline("A", ["B", "C", "D"], verdicts, "k-NN accuracy") == (
        "By k-NN accuracy, A is significantly better than each of B, C and D in 1 of 4 cells; in 2 it is significantly "
        "worse than at least one of them."
    )
    alone = headline("A", ["B"], verdicts[:1], "it")
    assert alone.endswith("better than B in 1 of 1 cell; in none it is significantly worse than it.")


def rows():
    for dataset in ("one", "two"):
        for q in (1, 2):
            for run in range(3):
                for method, score in (("good", 0.9), ("bad", 0.5), ("gone", 0.99)):
                    failed = method == "gone" and (dataset, q, run) == ("two", 2, 1)
                    sizes = {"n_train": 80, "n_test": 20, "status": "failed" if failed else "converged"}
                    axes = {"dataset": dataset, "n_components": q, "run": run, "method": method}
                    yield axes | sizes | {"knn_accuracy": score + 0.001 * run}


def test_a_cell_with_a_failed_run_ranks_last():
    scores = Scores.of(rows(), "knn_accuracy")
    assert scores.methods == ("good", "bad", "gone")
    np.testing.assert_allclose(scores.means[0], [0.901, 0.501, 0.991])
    assert np.isnan(scores.means[3, 2])
    np.testing.assert_allclose(scores.mean_ranks(), [[2, 3, 1], [1.5, 2.5, 2]])
    np.testing.assert_allclose(scores.mean_ranks(2), [[2, 3, 1], [1, 2, 3]])
    assert [scores.n_lost(name) for name in scores.methods] == [0, 0, 1]
    assert scores.test_shares["one", 1] == 0.25
    assert np.isnan(scores.by_dataset()[1, 2])
    assert scores.verdicts("gone", ["good"]) == [Verdict.WINS] * 3 + [Verdict.LOSES]
    # A row that never came counts as one that failed.
    shorter = [row for row in rows() if row["method"] != "good" or row["run"] != 0]
    assert Scores.of(shorter, "knn_accuracy").n_lost("good") == 4
