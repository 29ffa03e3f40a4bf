import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Pairing, Polynomial, Squared
from kdrbench.kernels.combination import doubly_centred
from kdrbench.kernels.family import pairing_values
from kdrbench.problems import TraceObjective, integer_gamma, supervised_gamma, target_gamma
from support.helpers import traced_memory

LABELS = np.array([0, 1, 1, 2, 0, 2, 2, 1])


def labels_of(seed):
    """Names of classes in one to three columns, at least two classes in each."""
    rng = np.random.default_rng(seed)
    n_samples, n_columns = int(rng.integers(2, 60)), int(rng.integers(1, 4))
    labels = rng.integers(0, rng.integers(2, 9, n_columns), (n_samples, n_columns)).astype(str)
    labels[:2] = [["a"], ["b"]]
    return labels


def test_samples_are_of_one_class_if_all_their_labels_agree():
    for labels in map(labels_of, range(12)):
        gamma = supervised_gamma(labels if labels.shape[1] > 1 else labels[:, 0])
        together = (labels[:, None] == labels[None]).all(axis=2)
        np.testing.assert_array_equal(gamma.codes[:, None] == gamma.codes, together)
        assert sorted(set(gamma.codes)) == list(range(gamma.codes.max() + 1))
        one_hot = np.hstack([column[:, None] == np.unique(column) for column in labels.T]).astype(float)
        np.testing.assert_array_equal(gamma.factor, one_hot - one_hot.mean(axis=0))


def test_classes_come_largest_first_each_in_its_own_order():
    for labels in map(labels_of, range(12)):
        gamma = supervised_gamma(labels if labels.shape[1] > 1 else labels[:, 0])
        order = np.arange(len(labels)) if gamma.class_order is None else gamma.class_order
        sizes = np.bincount(gamma.codes)[gamma.codes[order]]
        assert (np.diff(sizes) <= 0).all()
        changes = np.flatnonzero(np.diff(gamma.codes[order]))
        assert len(changes) == gamma.codes.max()
        assert (np.delete(np.diff(order), changes) > 0).all()
        assert sorted(order) == list(range(len(labels)))


@pytest.mark.parametrize("kernel", [Gaussian(sigma=1.0), Linear(), Squared()])
def test_continuous_targets_weigh_by_their_centred_kernel(kernel):
    targets = np.random.default_rng(0).standard_normal((9, 2))
    centring = np.eye(9) - 1 / 9
    matrix = np.array([[kernel.value(np.array([_beta(kernel, a, b)]))[0] for b in targets] for a in targets])
    expected = centring @ matrix @ centring
    np.testing.assert_allclose(target_gamma(targets, kernel, zero_diagonal=False).dense(), expected, atol=1e-12)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(target_gamma(targets, kernel).dense(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "n_columns"),
    [
        *((kernel, 1) for kernel in (Gaussian(0.8), Multiquadric(), Polynomial(degree=2), Linear(), Squared())),
        (Gaussian(0.8), 2),
    ],
)
def test_a_factor_of_many_targets_leaves_a_small_definite_rest(kernel, n_columns):
    targets = np.random.default_rng(0).standard_normal((500, n_columns)) + 3.0
    values = kernel.value(pairing_values(kernel.pairing, targets))
    gamma = target_gamma(targets, kernel, zero_diagonal=False)
    rest = doubly_centred(values) - gamma.dense()
    # Targets are not centred, so entries of K are larger than what centring leaves of them.
    rounding = 64 * np.finfo(float).eps * 500 * np.abs(values).max()
    assert np.linalg.eigvalsh(rest)[0] >= -rounding
    # The rest of the factor, and the eigenvalues that are left out.
    left_out = 1e-12 * (np.trace(values) if kernel.pairing is Pairing.DOT else 500 * np.abs(values).max())
    assert np.trace(rest) <= left_out + 500 * 1e-12 * gamma.weights.max() + rounding
    np.testing.assert_allclose(gamma.factor.T @ gamma.factor, np.eye(len(gamma.weights)), atol=1e-3)
    np.testing.assert_allclose(gamma.factor.sum(axis=0), 0.0, atol=1e-7)
    few = target_gamma(targets[:300], kernel)
    assert len(few.weights) <= len(gamma.weights) + 3


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Multiquadric(), Polynomial(degree=2)])
def test_many_targets_need_no_array_of_samples_by_samples(kernel):
    targets = np.random.default_rng(0).standard_normal(4000)
    with traced_memory() as traced:
        rank = len(target_gamma(targets, kernel).weights)
    assert rank <= 100
    # 128 MB; what it returns is a twentieth of that.
    assert traced.peak < 0.25 * 8 * 4000**2


def _beta(kernel, a, b):
    return a @ b if kernel.pairing is Pairing.DOT else (a - b) @ (a - b)


def objective(features):
    return TraceObjective(features, Linear(), supervised_gamma(LABELS))


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (target_gamma, np.array([1.0, np.nan]), "targets must be finite"),
        (target_gamma, np.ones((3, 2)), "targets are all equal"),
        (target_gamma, np.ones((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (supervised_gamma, [1, 1, 1], r"at least 2 classes, got 1 class: \[1\]"),
        (supervised_gamma, np.zeros((2, 2, 2)), r"n entries or n x m columns of labels, got shape \(2, 2, 2\)"),
        (supervised_gamma, [], r"got shape \(0,\)"),
        (supervised_gamma, [[1, 2], [2, 2]], r"got 1 class: \[2\]"),
        (supervised_gamma, [0.0, 1.0, np.nan], "must not be NaN"),
        *(
            (integer_gamma, labels, "labels must be n integers, not all 0")
            for labels in (["a"], [[1], [2]], [0], [0.5])
        ),
        (objective, np.ones((7, 2)), "7 samples but labels have 8"),
        (objective, np.ones((8, 2), dtype=np.float32), "must be float64, got float32"),
        (objective, np.ones(8), r"non-empty n x d array, got shape \(8,\)"),
        (objective, np.full((8, 2), np.nan), "hold 16 NaN or infinite values, the first at row 0, column 0"),
        (objective, np.where(np.eye(8, 2) > 0, np.inf, 1.0), "hold 2 NaN or infinite values"),
    ],
)
def test_what_makes_no_problem_is_refused(make, given, message):
    with pytest.raises(InputError, match=message):
        make(given, Linear()) if make is target_gamma else make(given)


def test_class_integers_make_a_multiple_of_the_centring_matrix():
    classes = np.array([2, 1, 3, 3, 1])
    centring = np.eye(5) - 0.2
    # What numpy makes of Y Y' where Y is a vector.
    expected = centring * (classes @ classes.T) @ centring
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(integer_gamma(classes).dense(), expected, atol=1e-14)
