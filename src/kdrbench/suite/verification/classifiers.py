"""The two classifiers of a league, fitted again, and the share of samples whose label rounding could change.

Rows are known to within their ``slack``: the stored map is rounded, and each classifier sees other numbers then.

Nearest neighbours: with distances d_ij known to within s_ij, a training row is among the k nearest for certain where
d + s is below the (k + 1)-th smallest d - s, and may be where d - s is at most the k-th smallest d + s.

Logistic regression ends where a gradient is small, so that no useful bound follows from its convexity. What rounding
does to it is seen by rounding again: it is fitted to rows of maps that are moved at random by as much, and a label is
in doubt where another class is within ``ROOM`` times the largest change of any decision value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from kdrbench.suite.verification.members import Array

NEIGHBOURS = 5
_MOST_STEPS = 1000
ROOM = 4.0

Codes = NDArray[np.int64]
# Projected training and test rows, n x q and m x q.
Rows = tuple[Array, Array]


def by_neighbours(rows: Rows, train_codes: Codes, test_codes: Codes) -> float:
    """Return the share of test rows that their nearest training rows classify rightly."""
    return float(np.mean(_nearest(rows, train_codes) == test_codes))


def _nearest(rows: Rows, train_codes: Codes) -> Codes:
    train, test = rows
    return np.asarray(KNeighborsClassifier(min(NEIGHBOURS, len(train))).fit(train, train_codes).predict(test))


def in_doubt_by_neighbours(rows: Rows, train_codes: Codes, test_codes: Codes, slack: Array) -> float:
    """Return the share of test rows whose label by neighbours is in doubt; ``slack`` is test x train."""
    train, test = rows
    k, predicted = min(NEIGHBOURS, len(train)), _nearest(rows, train_codes)
    distances = cdist(test, train)
    low, high = distances - slack, distances + slack
    possible = low <= np.partition(high, k - 1, axis=1)[:, k - 1 : k]
    certain = possible if k == len(train) else high < np.partition(low, k, axis=1)[:, k : k + 1]
    classes = np.unique(train_codes)
    columns = np.asarray(train_codes[:, None] == classes, dtype=float)
    sure, most = certain @ columns, possible @ columns
    left = k - certain.sum(axis=1)
    most = np.minimum(most, sure + left[:, None])
    chosen = np.searchsorted(classes, predicted)
    return float(np.mean((left > 0) & _is_reached(sure, most, chosen)))


def _is_reached(sure: Array, most: Array, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where another class may have as many votes as the chosen one has for certain."""
    rows = np.arange(len(sure))
    others = most.copy()
    others[rows, chosen] = -1.0
    return np.asarray(others.max(axis=1) >= sure[rows, chosen])


def by_logistic_regression(rows: Rows, train_codes: Codes, test_codes: Codes) -> float:
    """Return the share of test rows that logistic regression on standardised coordinates classifies rightly."""
    return float(np.mean(np.unique(train_codes)[_decisions(*rows, train_codes).argmax(axis=1)] == test_codes))


def in_doubt_by_logistic_regression(rows: Rows, train_codes: Codes, others: Sequence[Rows]) -> float:
    """Return the share of test rows whose label is in doubt.

    ``rows`` are training and test rows, and ``others`` the same as maps project them that are rounded otherwise.
    """
    decisions = _decisions(*rows, train_codes)
    change = max(float(np.abs(_decisions(*other, train_codes) - decisions).max()) for other in others)
    ordered = np.sort(decisions, axis=1)
    return float(np.mean(ordered[:, -1] - ordered[:, -2] <= 2.0 * ROOM * change))


def _decisions(train: Array, test: Array, codes: Codes) -> Array:
    """Return the decision values of test rows, a column each class; of two classes that of the first is 0."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    # A constant coordinate is 0.
    spread = np.where(spread > 10.0 * np.finfo(float).eps * np.abs(mean), spread, np.inf)
    model = LogisticRegression(max_iter=_MOST_STEPS).fit((train - mean) / spread, codes)
    decisions = model.decision_function((test - mean) / spread).reshape(len(test), -1)
    if decisions.shape[1] == 1:
        decisions = np.column_stack([np.zeros(len(test)), decisions])
    return np.asarray(decisions)
