"""The same problem in another order of its rows and features: results are equal, rounding is another.

Sums are taken in another order then, much as another processor does. A test that asks for the fixture ``permutation``
runs once for each of five orders; samples and projections of :mod:`helpers` follow it by themselves.
"""

from dataclasses import replace

import numpy as np

_number = 0


def use_permutation(number):
    """Let samples and projections be in this order from here on; 0 leaves them as they are drawn."""
    global _number
    _number = number


def row_order(count):
    """Return the order of ``count`` samples."""
    return _order(count, "rows")


def feature_order(count):
    """Return the order of ``count`` features."""
    return _order(count, "features")


def _order(count, of):
    return np.random.default_rng([_number, len(of), count]).permutation(count) if _number else np.arange(count)


def in_order(features, labels=None):
    """Return samples, and their labels if there are any, with rows and features in the order of the test."""
    if _number:
        rows = row_order(len(features))
        features = np.ascontiguousarray(features[rows][:, feature_order(features.shape[1])])
        labels = None if labels is None else labels[rows]
    return features if labels is None else (features, labels)


def constraints_in_order(factor, constraints):
    """Return a factor with rows and columns in the order of the test, and the same constraints on its rows."""
    if not _number:
        return factor, constraints
    return in_order(factor), replace(constraints, vectors=constraints.vectors[:, row_order(len(factor))])
