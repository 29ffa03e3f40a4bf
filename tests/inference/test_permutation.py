import re
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kdrbench import progress
from kdrbench.errors import InputError
from kdrbench.estimators import DNE, InterpretableKDR
from kdrbench.inference import bootstrap_angles, choose_n_components, held_out_test, linear_time_hsic, permutation_test
from kdrbench.inference.permutation import sequential_test
from kdrbench.inference.statistics import hsic

RNG = np.random.default_rng(0)
NOISE, LABELS = RNG.standard_normal((40, 5)), np.repeat([0, 1], 20)
SHIFTED = NOISE + 2.5 * np.outer(LABELS, [1, 0, 0, 0, 0])


def labellings(y):
    """Return all different orders of the labels."""
    return [np.array(order) for order in sorted(set(permutations(y)))]


def binomial_limits(share, n):
    """Return counts that are exceeded with probability 1e-6 at most."""
    return binom.ppf(1e-6, n, share), binom.ppf(1 - 1e-6, n, share)


def test_of_all_orders_of_tiny_data_the_p_value_is_the_share():
    X, y = NOISE[:6, :2].copy(), np.array([0, 0, 0, 1, 1, 1])
    X[3:, 0] += 4.0
    model = InterpretableKDR(1)
    values = np.array([model.fit(X, order).objective_ for order in labellings(y)])
    share = np.mean(values >= model.fit(X, y).objective_ * (1 - 1e-9))
    found = permutation_test(model, X, y, n_permutations=100, max_exceedances=None, random_state=0)
    # The same labels under the other name are another of the 20 orders, with the same objective.
    assert all(np.abs(values - one).min() <= 1e-9 * abs(one) for one in found.null)
    assert share == 0.1
    low, high = binomial_limits(share, 100)
    assert low <= found.exceedances <= high
    assert found.p_value == (1 + found.exceedances) / 101


def test_the_sequential_p_value_is_exact_among_all_orders():
    # Besag and Clifford (1991): with equally likely orders, P(p <= t) = t at each value t that p can have.
    orders = list(permutations(range(6)))
    p_values = np.array([sequential_test(float(first), map(float, rest), 5, 2).p_value for first, *rest in orders])
    for value in np.unique(p_values):
        assert np.mean(p_values <= value + 1e-12) == pytest.approx(value)
    assert len(np.unique(p_values)) > 4


def test_ties_and_nan_count_against_the_data():
    assert sequential_test(1.0, [1.0 - 1e-12, 0.5, 0.2], 3, None).p_value == 2 / 4
    assert sequential_test(1.0, [np.nan, 0.5, 0.2], 3, None).p_value == 2 / 4
    with pytest.raises(InputError, match="the statistic of the data is nan; it must be a finite number"):
        sequential_test(np.nan, [0.0], 1, None)


def test_refits_are_fits_of_the_estimator_as_it_was_given():
    # Their bandwidth is taken from the first fit, which must make no difference.
    found = permutation_test(InterpretableKDR(2), SHIFTED, LABELS, n_permutations=5, random_state=3)
    seed = int(np.random.RandomState(3).randint(2**31))
    orders = [LABELS[np.random.default_rng((seed, number)).permutation(40)] for number in range(5)]
    np.testing.assert_array_equal(found.null, [InterpretableKDR(2).fit(SHIFTED, one).objective_ for one in orders])
    assert found.statistic == InterpretableKDR(2).fit(SHIFTED, LABELS).objective_
    aligned = {"members": [{"family": "gaussian"}, {"family": "linear"}], "weights": "alignment"}
    model = InterpretableKDR(1, kernel="combination", kernel_params=aligned)
    found = permutation_test(model, SHIFTED, LABELS, n_permutations=2, random_state=3)
    np.testing.assert_array_equal(found.null, [model.fit(SHIFTED, one).objective_ for one in orders[:2]])


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (InterpretableKDR(1), LABELS),
        (make_pipeline(StandardScaler(), InterpretableKDR(1)), np.array(["b", "a"])[LABELS]),
        (LinearDiscriminantAnalysis(), LABELS),
        (NeighborhoodComponentsAnalysis(1, max_iter=5), LABELS),
        (PLSRegression(1), np.eye(2)[LABELS]),
        (DNE(), LABELS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_clear_shift_is_found_by_whatever_learns(estimator, y):
    assert permutation_test(estimator, SHIFTED, y, n_permutations=39, random_state=0).p_value == 1 / 40
    noise = permutation_test(estimator, NOISE, y, n_permutations=39, max_exceedances=3, random_state=0)
    assert 3 / 39 < noise.p_value == 3 / len(noise.null)


def test_what_separates_labels_drawn_at_random_is_seen_through():
    X, y = np.random.default_rng(1).standard_normal((40, 36)), LABELS
    learned = LinearDiscriminantAnalysis().fit_transform(X, y)[:, 0]
    # All samples of one class are on one side.
    assert learned[y == 0].max() < learned[y == 1].min() or learned[y == 1].max() < learned[y == 0].min()
    assert permutation_test(LinearDiscriminantAnalysis(), X, y, n_permutations=39, random_state=0).p_value > 0.05
    # Scoring the fit on permuted labels, without refitting, takes it for real.
    scored = [hsic(learned[:, None], np.random.default_rng(number).permutation(y)) for number in range(99)]
    assert max(scored) < hsic(learned[:, None], y)


def test_labels_are_permuted_within_groups():
    # Three sites differ in their samples and in their labels; within a site there is nothing to learn.
    sites = np.repeat([0, 1, 2], 20)
    X = np.random.default_rng(0).standard_normal((60, 3)) + 3.0 * sites[:, None]
    y = np.random.default_rng(1).random(60) < np.array([0.1, 0.5, 0.9])[sites]
    options = {"n_permutations": 99, "random_state": 0}
    assert permutation_test(PCA(1), X, y, **options).p_value == 0.01
    assert permutation_test(PCA(1), X, y, groups=sites, **options).p_value > 0.05


def test_the_result_does_not_depend_on_the_number_of_jobs(monkeypatch, capsys):
    # Seconds without a word.
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    options = {"n_permutations": 60, "max_exceedances": 3, "random_state": 5}
    alone = permutation_test(PCA(2), NOISE, LABELS, **options)
    with parallel_config("threading"):
        several = permutation_test(PCA(2), NOISE, LABELS, n_jobs=3, **options)
    np.testing.assert_array_equal(alone.null, several.null)
    choose_n_components(PCA(), NOISE, LABELS, max_components=1, **options)
    bootstrap_angles(PCA(1), NOISE, LABELS, n_resamples=20)
    said = dict.fromkeys(
        re.sub(r" \d+ of (.*), .*s, .*s left", r" \1", line) for line in capsys.readouterr().err.splitlines()
    )
    titles = ("permutation_test: up to 60", "choose_n_components, component 1: up to 60", "resamples: up to 20")
    assert [*said] == [f"{title} fits for all" for title in titles]


def test_other_statistics_and_data_frames():
    frame = pd.DataFrame(SHIFTED, columns=list("abcde"))
    options = {"n_permutations": 19, "random_state": 0}
    assert 0.5 < permutation_test(PCA(1), frame, LABELS, statistic="accuracy", **options).statistic <= 1.0
    first = permutation_test(PCA(1), frame, LABELS, statistic=lambda model, X, y: abs(X.a @ (y - 0.5)), **options)
    assert first.p_value == 0.05
    continuous = SHIFTED[:, 0] ** 2
    assert permutation_test(PCA(3), SHIFTED, continuous, **options).p_value == 0.05
    # What a statistic fits to a part of y takes that for what all of y is.
    options["statistic"] = lambda model, *_: float(model.target == "classes")
    assert permutation_test(InterpretableKDR(1), frame, LABELS, **options).statistic == 1.0


def hsic_by_loops(Z, y):
    n = len(Z)
    squares = np.array([[np.sum((a - b) ** 2) for b in Z] for a in Z])
    K = np.exp(-squares / (2 * squares.mean()))
    H = np.eye(n) - 1 / n
    L = H @ (np.asarray(y)[:, None] == np.asarray(y)) @ H
    return sum(K[i, j] * L[i, j] for i, j in product(range(n), repeat=2) if i != j)


def test_hsic_is_its_definition_and_invariant():
    Z, y = SHIFTED[::3, :2], LABELS[::3]
    expected = hsic_by_loops(Z, y)
    assert hsic(Z, y) == pytest.approx(expected, rel=1e-12)
    rotation = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert hsic(3.0 * Z @ rotation + 7.0, np.array(["x", "w"])[y]) == pytest.approx(expected, rel=1e-12)
    assert hsic(np.ones((4, 2)), [0, 0, 1, 1]) == 0.0


def test_the_linear_time_statistic_tends_to_hsic():
    Z, y = SHIFTED[::3, :2], LABELS[::3]
    n, diagonal = len(y), 1.0 - 1.0 / len(y)
    # Tr(H L H) for two classes of n0 and n1 samples is 2 n0 n1 / n, the diagonal that hsic leaves out.
    exact = (hsic_by_loops(Z, y) + 2 * np.sum(y == 0) * np.sum(y == 1) / n) / n**2
    found = linear_time_hsic(Z, y, n_frequencies=200_000, n_permutations=1, random_state=0).statistic
    # An average over frequencies of terms of at most Tr(L) / n each: six standard errors.
    assert found == pytest.approx(exact, abs=6 * diagonal / np.sqrt(200_000))


@pytest.mark.parametrize("scale", [1e200, 1e-200, 2.0**-1000])
def test_the_unit_of_features_does_not_matter(scale):
    Z, y = SHIFTED[::3, :2], LABELS[::3]
    assert hsic(scale * Z, y) == pytest.approx(hsic(Z, y), rel=1e-12)
    one, other = (linear_time_hsic(each, y, n_permutations=99, random_state=0) for each in (Z, scale * Z))
    assert other.statistic == pytest.approx(one.statistic, rel=1e-12)
    assert other.p_value == one.p_value


def test_dependence_without_correlation_is_found():
    ring = np.hypot(NOISE[:, 0], NOISE[:, 1]) > 1.2
    assert linear_time_hsic(NOISE[:, :2], ring, n_permutations=99, random_state=0).p_value == 0.01
    assert linear_time_hsic(NOISE, LABELS, n_permutations=99, random_state=0).p_value > 0.05
    X, y = np.random.default_rng(1).standard_normal((40, 15)), LABELS
    assert held_out_test(LinearDiscriminantAnalysis(), X, y, random_state=0).p_value > 0.05
    assert held_out_test(LinearDiscriminantAnalysis(), SHIFTED, y, n_permutations=99, random_state=0).p_value == 0.01


class Nothing(BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "pca"}, "the estimator must have scikit-learn's fit and get_params, got 'pca'"),
        ({"estimator": Nothing()}, "Nothing has neither transform nor embedding_: it learns no projection"),
        ({"y": LABELS[:-1]}, r"same number of samples, at least 2; got 40 and \(39,\)"),
        ({"n_permutations": 0}, "n_permutations must be an integer >= 1, got 0"),
        ({"max_exceedances": 0}, "max_exceedances must be None or an integer >= 1, got 0"),
        ({"statistic": "hsci"}, "unknown statistic 'hsci'. Did you mean 'hsic'?"),
        ({"statistic": "objective"}, "PCA has no objective_; choose another statistic, such as 'hsic'"),
        ({"statistic": "accuracy", "y": np.arange(40) // 39}, "'accuracy' needs at least two samples of each class"),
        ({"statistic": "accuracy", "y": NOISE[:, 0]}, "'accuracy' needs one column of class labels, got continuous y"),
        ({"groups": [0, 1]}, r"groups must be one entry for each of 40 samples, got shape \(2,\)"),
        ({"groups": np.where(LABELS, np.nan, 1.0)}, r"got shape \(40,\) with 20 missing entries"),
        ({"groups": LABELS}, "each of the 2 groups has one value of y, so that no permutation within groups changes y"),
        ({"groups": np.arange(40)}, "each of the 40 groups has one value of y"),
    ],
)
def test_errors(change, message):
    with pytest.raises(InputError, match=message):
        permutation_test(**{"estimator": PCA(1), "X": NOISE, "y": LABELS, **change})
