import numpy as np
import pytest

from helpers import gamma_by_loops
from kdrbench.errors import InputError
from kdrbench.kernels import Linear
from kdrbench.problems import TraceObjective, supervised_gamma

LABELS = np.array([0, 1, 1, 2, 0, 2, 2, 1])


def test_equals_the_definition():
    np.testing.assert_allclose(supervised_gamma(LABELS).dense(), gamma_by_loops(LABELS), atol=1e-15)


def test_keeps_its_diagonal_on_request_and_is_then_centred():
    gamma = supervised_gamma(LABELS, zero_diagonal=False).dense()
    assert np.abs(gamma.sum(axis=0)).max() < 1e-14
    assert gamma.diagonal().min() > 0


def test_names_of_classes_do_not_matter():
    renamed = np.array(["b", "c", "a"])[LABELS]
    np.testing.assert_allclose(supervised_gamma(renamed).dense(), supervised_gamma(LABELS).dense(), atol=1e-15)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1, 1], r"at least 2 classes, got 1 class\(es\): \[1\]"),
        ([[1, 2], [2, 1]], r"one-dimensional.*got shape \(2, 2\)"),
        ([0.0, 1.0, np.nan], "must not be NaN"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        supervised_gamma(labels)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((7, 2)), "7 samples but labels have 8"),
        (np.ones((8, 2), dtype=np.float32), "must be float64, got float32"),
        (np.ones(8), r"non-empty n x d array, got shape \(8,\)"),
        (np.full((8, 2), np.nan), "hold 16 NaN or infinite values, the first at row 0, column 0"),
        (np.where(np.eye(8, 2) > 0, np.inf, 1.0), "hold 2 NaN or infinite values"),
    ],
)
def test_bad_features_are_refused(features, message):
    with pytest.raises(InputError, match=message):
        TraceObjective(features, Linear(), supervised_gamma(LABELS))
