import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from kdrbench.reports.paired_tests import corrected_t_p, holm, wilcoxon_p


@pytest.mark.parametrize("count", [5, 12, 25])
def test_without_ties_it_is_scipys_exact_test(count):
    differences = np.random.default_rng(count).standard_normal(count) + 0.4
    expected = wilcoxon(differences, method="exact").pvalue
    assert wilcoxon_p(differences) == pytest.approx(expected, rel=1e-10)


def test_with_ties_and_zeros_it_counts_every_choice_of_signs():
    differences = np.array([0.1, -0.1, 0.2, 0.2, 0.0, -0.3, 0.1 + 1e-15, 0.4, 0.0])
    values = np.round(differences[differences != 0], 12)
    ranks = rankdata(np.abs(values))
    reached = ranks[values > 0].sum()
    sums = [np.dot(ranks, signs) for signs in itertools.product((0, 1), repeat=len(ranks))]
    expected = 2 * min(np.mean(np.array(sums) >= reached), np.mean(np.array(sums) <= reached))
    assert wilcoxon_p(differences) == pytest.approx(expected, rel=1e-12)


def test_no_difference_is_no_evidence_and_five_splits_are_little():
    assert wilcoxon_p(np.zeros(40)) == 1.0
    assert wilcoxon_p([]) == 1.0
    # All signs equal: one of 2^5 choices on either side.
    assert wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5]) == 2 / 32
    assert wilcoxon_p(-np.arange(1.0, 41.0)) == pytest.approx(2.0**-39)


def test_the_t_test_allows_for_overlapping_splits():
    # Mean .05, s = .01414, J = 2, ratio 1/2: t = .05 / .01414 with one degree of freedom.
    assert corrected_t_p([0.04, 0.06], 0.5) == pytest.approx(1 - 2 / np.pi * np.arctan(0.05 / np.sqrt(0.0002)))
    assert corrected_t_p(np.zeros(3), 0.5) == 1.0
    assert corrected_t_p(np.full(3, 0.5), 0.5) == 0.0
    assert corrected_t_p([0.1], 0.5) is None


def test_holms_correction_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    # Never decreasing, never above one.
    np.testing.assert_allclose(holm([0.02, 0.021, 0.9]), [0.06, 0.06, 0.9])
    np.testing.assert_allclose(holm([0.5, 0.6, 0.7]), 1.0)
    assert holm([]).size == 0
