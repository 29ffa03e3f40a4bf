"""Judges of a projection against loops, closed forms and invariances."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.metric_learning.selection import Part
from kdrbench.suite.systems.league.judges import distance_correlation, judge, knn_accuracy, linear_accuracy

RNG = np.random.default_rng(0)
POINTS, CODES = RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40)


def by_loops(points, codes):
    """Distance correlation as Szekely, Rizzo and Bakirov 2007 define it."""
    n = len(points)

    def centred(distance):
        a = [[distance(k, j) for j in range(n)] for k in range(n)]
        whole = sum(map(sum, a)) / n**2
        mean = [sum(row) / n for row in a]
        return [[a[k][j] - mean[k] - mean[j] + whole for j in range(n)] for k in range(n)]

    def covariance(one, other):
        return sum(one[k][j] * other[k][j] for k in range(n) for j in range(n)) / n**2

    a = centred(lambda k, j: np.linalg.norm(points[k] - points[j]))
    b = centred(lambda k, j: float(codes[k] != codes[j]))
    return np.sqrt(covariance(a, b) / np.sqrt(covariance(a, a) * covariance(b, b)))


def test_distance_correlation_is_its_definition_and_as_invariant():
    value = distance_correlation(POINTS, CODES)
    assert value == pytest.approx(by_loops(POINTS, CODES), rel=1e-10)
    turned = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    assert distance_correlation(7.0 * POINTS @ turned + 5.0, 2 - CODES) == pytest.approx(value, rel=1e-9)
    # Two classes as two points: the distances are those of the labels.
    assert distance_correlation(CODES[:, None] % 2 * 3.0, CODES % 2) == pytest.approx(1.0, rel=1e-12)
    assert distance_correlation(np.ones((10, 2)), CODES[:10]) == 0.0


def test_classifiers_see_what_they_can_separate():
    angle = RNG.uniform(0, 2 * np.pi, 300)
    codes = np.arange(300) % 2
    rings = (1.0 + 2.0 * codes)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    halves = rings[:200], codes[:200], rings[200:], codes[200:]
    assert knn_accuracy(Part(*halves)) == 1.0
    assert linear_accuracy(Part(*halves)) < 0.7
    line = codes[:, None] + 0.1 * RNG.normal(size=(300, 1))
    scores = judge(Part(line[:200], codes[:200], line[200:], codes[200:]))
    assert scores["linear_accuracy"] == scores["knn_accuracy"] == 1.0
    # Scale is a part of what nearest neighbours see, and none of what the linear judge does.
    scaled = rings * [1.0, 1e-6]
    assert knn_accuracy(Part(scaled[:200], codes[:200], scaled[200:], codes[200:])) < 0.95
    pair = [linear_accuracy(Part(x[:200], codes[:200], x[200:], codes[200:])) for x in (line, 1e-6 * line)]
    assert pair[0] == pair[1]


def test_what_is_no_projection_is_refused():
    good, codes = RNG.normal(size=(4, 2)), np.array([0, 1, 0, 1])
    for bad in (np.full((4, 2), np.nan), np.zeros((3, 2)), np.zeros((4, 0)), np.zeros(4)):
        with pytest.raises(InputError, match="the projected test rows must be 4 rows of finite numbers"):
            judge(Part(good, codes, bad, codes))
    with pytest.raises(InputError, match="projected to 2 columns, test rows to 1"):
        judge(Part(good, codes, good[:, :1], codes))
