"""Judges of a projection: two classifiers of different kind, and dependence on the labels.

None of them is what a method of the league optimises by itself, and no one of them decides alone.

``knn_accuracy``          share of test rows that 5 nearest neighbours classify rightly; the coordinates keep the scale
                          that the method gave them, which is a part of what it learned.
``linear_accuracy``       the same by logistic regression on standardised coordinates.
``distance_correlation``  of projected test rows and their labels, 0 where independent; needs no classifier.

Source: Szekely, Rizzo, Bakirov, "Measuring and testing dependence by correlation of distances", Annals of Statistics
35, 2007, Definitions 4 and 5; labels are 0 or 1 apart.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part

NEIGHBOURS = 5
# Distances between more test rows than this are not needed to tell methods apart, and their number is squared.
MOST_ROWS = 2000


def judge(part: Part) -> dict[str, float]:
    """Return the scores of projected rows (n x q to learn from, m x q to test) by name; each is at most 1.

    Raises ``InputError`` unless they are finite and of as many columns.
    """
    train, test = part.train, part.test
    for name, rows, codes in (("training", train, part.train_codes), ("test", test, part.test_codes)):
        if rows.ndim != 2 or rows.shape[0] != len(codes) or not rows.shape[1] or not np.isfinite(rows).all():
            raise InputError(f"the projected {name} rows must be {len(codes)} rows of finite numbers; got {rows.shape}")
    if train.shape[1] != test.shape[1]:
        raise InputError(f"training rows are projected to {train.shape[1]} columns, test rows to {test.shape[1]}")
    return {
        "knn_accuracy": knn_accuracy(part),
        "linear_accuracy": linear_accuracy(part),
        "distance_correlation": distance_correlation(test[:MOST_ROWS], part.test_codes[:MOST_ROWS]),
    }


def knn_accuracy(part: Part) -> float:
    """Return the share of test rows that their nearest training rows classify rightly."""
    classifier = KNeighborsClassifier(min(NEIGHBOURS, len(part.train))).fit(part.train, part.train_codes)
    return float(np.mean(classifier.predict(part.test) == part.test_codes))


def linear_accuracy(part: Part) -> float:
    """Return the share of test rows that logistic regression with penalty 1 classifies rightly."""
    scaler = StandardScaler().fit(part.train)
    classifier = LogisticRegression(max_iter=1000).fit(scaler.transform(part.train), part.train_codes)
    return float(np.mean(classifier.predict(scaler.transform(part.test)) == part.test_codes))


def distance_correlation(points: FloatArray, codes: IntArray) -> float:
    """Return the distance correlation of n points (n x q) and their classes, in [0, 1]; 0 where either is constant.

    R^2 = mean(A B) / sqrt(mean(A^2) mean(B^2)), with A and B the doubly centred n x n matrices of distances.
    """
    apart = _centred(squareform(pdist(points)))
    differs = _centred((codes[:, None] != codes).astype(float))
    product = float(np.sqrt(np.mean(apart**2) * np.mean(differs**2)))
    together = max(0.0, float(np.mean(apart * differs)))
    return float(np.sqrt(together / product)) if product > 0 else 0.0


def _centred(distances: FloatArray) -> FloatArray:
    means = distances.mean(axis=0)
    centred: FloatArray = distances - means - means[:, None] + means.mean()
    return centred
