"""How good a projection is for its task, on samples it was not fitted to."""

from __future__ import annotations

from kdrbench.bench.fold import Fold
from kdrbench.kernels.family import FloatArray


def held_out_accuracy(projection: FloatArray, fold: Fold) -> float:
    """Return the share of test samples that an SVM fitted on the projected training samples gets right.

    RBF kernel exp(-gamma d^2) with gamma = 1/q, C = 1, as in the papers' code.
    """
    from sklearn.svm import SVC

    classifier = SVC(kernel="rbf", gamma="auto").fit(fold.train_features @ projection, fold.train_labels)
    return float(classifier.score(fold.test_features @ projection, fold.test_labels))
