"""That the permutation test keeps its level, on the problems of benchmarks/inference.py, and what these are."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from inference import METHODS, components_problem, null_problem, share

PROBLEMS = 2000


@pytest.mark.whole
def test_one_null_problem_in_twenty_is_rejected():
    rejected = sum(METHODS["LDA"](*null_problem(seed), seed).p_value <= 0.05 for seed in range(PROBLEMS))
    # The level is 5 %; the share of 2000 has a standard deviation of half a point.
    assert 0.04 <= rejected / PROBLEMS <= 0.06, rejected


def test_null_problems_have_each_kind_of_features_and_classes():
    problems = [null_problem(seed) for seed in range(8)]
    assert {X.shape for X, _ in problems} == {(24, 4)}
    assert [np.bincount(y).tolist() for _, y in problems] == [[12, 12]] * 4 + [[13, 6, 5]] * 4
    assert [bool((np.round(X) == X).all()) for X, _ in problems] == [False, False, False, True] * 2


@pytest.mark.parametrize("planted", [0, 1, 2])
def test_as_many_components_tell_classes_apart_as_are_planted(planted):
    X, y = (
        np.concatenate(parts) for parts in zip(*(components_problem(planted, 2 * n) for n in range(20)), strict=True)
    )
    # Even seeds have features as they are drawn: of 1200 samples means differ by 3, or by noise of 0.1.
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    assert (np.ptp(means, axis=0) > 1.0).tolist() == [place < planted for place in range(4)]
    model = LinearDiscriminantAnalysis().fit(*components_problem(planted, 1))
    assert (model.score(*components_problem(planted, 1)) > 0.8) == (planted > 0)


def test_a_share_has_its_interval_in_percent():
    found = binomtest(11, 50).proportion_ci()
    assert share(11, 50) == f"22.0 ({100 * found.low:.1f} to {100 * found.high:.1f})"
    assert share(50, 50) == "100.0 (92.9 to 100.0)"
