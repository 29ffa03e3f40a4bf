"""Scores by cell, duels, and ranks and tests over data sets: SciPy's, published critical values, examples by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, rankdata

from kdrbench.suite.paired import corrected_t_p, signed_rank_p
from kdrbench.suite.systems.league.table_rows import (
    LOSS,
    NEITHER,
    WIN,
    Scores,
    bootstrap_mean_ranks,
    critical_difference,
    duel_of,
    friedman,
    not_different,
    outcome_of,
    ranks_of,
    wilcoxon_holm,
)

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
    for duels, outcome in (([better] * 2, WIN), ([better, equal], NEITHER), ([better, worse], LOSS), ([], NEITHER)):
        assert outcome_of(duels) == outcome
    # Significance is corrected over the rivals: p about .03: alone it counts, beside another it does not.
    gain = next(gain for gain in np.linspace(0.001, 0.1, 1000) if duel_of(BASE + gain + NOISE, BASE, 0.25).p < 0.03)
    near = duel_of(BASE + gain + NOISE, BASE, 0.25)
    assert outcome_of([near]) == WIN
    assert outcome_of([near, near]) == NEITHER
    # A missing run loses the cell whatever the others say.
    gone = np.where(np.arange(10) == 3, np.nan, 1.0)
    assert outcome_of([duel_of(gone, BASE, 0.25)]) == LOSS
    assert outcome_of([duel_of(0.1 * BASE, gone, 0.25)]) == WIN
    assert duel_of(gone, gone, 0.25).lost == 0


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
    scores = Scores.of(pd.DataFrame(rows()), "knn_accuracy")
    assert scores.methods == ("good", "bad", "gone")
    np.testing.assert_allclose(scores.means[0], [0.901, 0.501, 0.991])
    assert np.isnan(scores.means[3, 2])
    np.testing.assert_allclose(scores.mean_ranks, [[2, 3, 1], [1.5, 2.5, 2]])
    assert [scores.n_lost(name) for name in scores.methods] == [0, 0, 1]
    assert scores.test_shares["one", 1] == 0.25
    assert np.isnan(scores.dataset_means[1, 2])
    assert scores.outcomes("gone", ["good"]) == [WIN] * 3 + [LOSS]
    # A row that never came counts as one that failed.
    shorter = [row for row in rows() if row["method"] != "good" or row["run"] != 0]
    assert Scores.of(pd.DataFrame(shorter), "knn_accuracy").n_lost("good") == 4


def test_friedmans_test_is_of_mean_ranks_with_ties():
    scores = np.random.default_rng(0).integers(0, 4, (14, 4)).astype(float)
    ranks = ranks_of(scores)
    n, k = ranks.shape
    spread = (ranks**2).sum() - n * k * (k + 1) ** 2 / 4
    chi_squared, p = friedman(scores)
    assert chi_squared == pytest.approx((k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum() / spread)
    assert p == pytest.approx(chi2.sf(chi_squared, k - 1))
    # Equal methods do not differ.
    assert friedman(np.ones((5, 3))) == (0.0, 1.0)


def test_nemenyis_critical_values_are_the_published_ones():
    # Demsar 2006, Table 5(a), alpha .05: q for 2 to 10 classifiers.
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(published, 2):
        # Printed to three digits.
        assert critical_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)


def test_ranks_are_scipys_and_lost_scores_rank_last():
    scores = np.random.default_rng(0).integers(0, 4, (20, 6)).astype(float)
    np.testing.assert_array_equal(ranks_of(scores), [rankdata(-row) for row in scores])
    np.testing.assert_array_equal(ranks_of([[np.nan, 0.1, 0.0, np.nan, 0.1]]), [[4.5, 1.5, 3, 4.5, 1.5]])
    # Neither renamed data sets nor a rising map of the scores of one change a rank.
    np.testing.assert_array_equal(ranks_of(np.exp(scores[::-1])), ranks_of(scores)[::-1])


def test_groups_join_what_lies_within_the_critical_difference():
    assert not_different([3.1, 1.0, 1.5, 4.0, 2.2], 1.2) == [(0, 2), (2, 3), (3, 4)]
    assert not_different([1.0, 5.0, 9.0], 1.0) == []
    assert not_different([2.0, 1.0, 3.0], 5.0) == [(0, 2)]


def test_bootstrap_intervals_hold_the_mean_and_shrink():
    ranks = ranks_of(np.random.default_rng(1).normal(size=(40, 3)))
    few, many = (bootstrap_mean_ranks(part, np.random.default_rng(0)) for part in (ranks[:10], ranks))
    assert ((many[:, 0] <= ranks.mean(axis=0)) & (ranks.mean(axis=0) <= many[:, 1])).all()
    assert (np.ptp(many, axis=1) < np.ptp(few, axis=1)).all()
    # Of normal theory, 1.96 sd / sqrt(n) to each side, up to the error of 2,000 draws.
    np.testing.assert_allclose(np.ptp(many, axis=1), 2 * 1.96 * ranks.std(axis=0) / np.sqrt(40), rtol=0.1)
    same = bootstrap_mean_ranks(np.tile([1.0, 2.0], (4, 1)), np.random.default_rng(0))
    np.testing.assert_array_equal(same, [[1, 1], [2, 2]])


def test_pairs_are_corrected_together():
    scores = np.random.default_rng(2).uniform(0.5, 1.0, (8, 3))
    scores[:, 0] += 0.6
    raw = {pair: signed_rank_p(scores[:, pair[0]] - scores[:, pair[1]]) for pair in ((0, 1), (0, 2), (1, 2))}
    corrected = wilcoxon_holm(scores, list(raw))
    assert corrected[0, 1] == pytest.approx(min(1, 3 * raw[0, 1]))
    assert corrected[1, 2] >= raw[1, 2]
    assert wilcoxon_holm(scores, [(0, 1)]) == {(0, 1): raw[0, 1]}
    lost = scores.copy()
    lost[:, 0] = np.nan
    assert wilcoxon_holm(lost, [(0, 1)])[0, 1] == 2 / 2**8
