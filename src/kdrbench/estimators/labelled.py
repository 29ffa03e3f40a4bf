"""What estimators that learn from class labels ask of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kdrbench.kernels.family import FloatArray


def labelled_samples(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, NDArray[np.generic]]:
    """Return features and labels as arrays, and set the estimator's ``classes_`` and what scikit-learn keeps of X.

    Raises ``ValueError`` in scikit-learn's words for NaN, sparse or too few samples, and labels that are no classes.
    """
    features, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(labels)
    estimator.classes_ = np.unique(labels)
    return features, labels
