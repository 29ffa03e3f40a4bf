"""Data sets of many samples: the exact median distance by one pass over pairs, and which runs a budget allows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
# n x n arrays of doubles: 200 MB each.
MOST_SAMPLES = 5000
# Pairs that are drawn to find about where the median is, and standard errors of that.
_DRAWN, _ERRORS = 2**16, 6.0
_ENTRIES = 2**20
# Seconds of a pair of samples: measured, of one member of a kernel with its derivatives and the sums that bound their
# rounding, and of a feature of a distance.
_PAIR_S, _FEATURE_S = 2.5e-8, 1e-10


def median_distance(features: Array, most: int = MOST_SAMPLES) -> float:
    """Return the median of all n x n distances between rows, the n zeros of rows to themselves included.

    Above ``most`` rows a sample of pairs brackets it; one pass counts the pairs below, and sorts those in the bracket.
    """
    n = len(features)
    if n <= most:
        return float(np.median(cdist(features, features)))
    n_pairs = n * (n - 1) // 2
    # In the sorted list of all n^2 the zeros come first, then each pair twice.
    ranks = [(place - n) // 2 for place in ((n * n - 1) // 2, n * n // 2)]
    share, errors = ranks[0] / n_pairs, _ERRORS
    sample = _drawn(features)
    while True:
        width = errors * (share * (1.0 - share) / len(sample)) ** 0.5
        low, high = np.quantile(sample, [max(0.0, share - width), min(1.0, share + width)])
        if width >= share:
            low, high = 0.0, np.inf
        below, within = _split(features, float(low), float(high))
        if below <= ranks[0] and ranks[1] < below + len(within):
            within = np.sort(within)
            return float(np.mean([within[rank - below] ** 0.5 for rank in ranks]))
        errors *= 4.0


def _drawn(features: Array) -> Array:
    """Return squared distances of pairs that are drawn."""
    first, second = np.random.default_rng(0).integers(len(features), size=(2, _DRAWN))
    apart = first != second
    gaps = features[first[apart]] - features[second[apart]]
    return np.asarray(np.einsum("ij,ij->i", gaps, gaps))


def _split(features: Array, low: float, high: float) -> tuple[int, Array]:
    """Return how many pairs have a squared distance below ``low``, and the squared distances from there to ``high``."""
    norms = np.einsum("ij,ij->i", features, features)
    below, within = 0, [np.empty(0)]
    step = max(1, _ENTRIES // len(features))
    for begin in range(0, len(features), step):
        rows = features[begin : begin + step]
        squares = norms[begin : begin + step, None] + norms[begin:] - 2.0 * rows @ features[begin:].T
        # A pair is that of a row with one that comes later.
        later = np.triu(np.ones((len(rows), len(rows)), dtype=bool), 1)
        inner = squares[:, : len(rows)][later]
        for values in (inner, squares[:, len(rows) :].ravel()):
            below += int(np.count_nonzero(values < low))
            within.append(values[(values >= low) & (values <= high)])
    return below, np.maximum(np.concatenate(within), 0.0)


def within_budget(places: Iterable[tuple[str, float]], seed: int, budget_s: float) -> set[str]:
    """Return places, each with its seconds, in the order of the SHA-256 of seed/place, as far as the budget goes."""

    def drawn(one: tuple[str, float]) -> str:
        return hashlib.sha256(f"{seed}/{one[0]}".encode()).hexdigest()

    chosen: set[str] = set()
    spent_s = 0.0
    for place, seconds in sorted(places, key=drawn):
        spent_s += seconds
        if spent_s > budget_s:
            break
        chosen.add(place)
    return chosen


def obstacle(definition: Mapping[str, Any]) -> str:
    """Return why cost and stationarity of many samples are not computed again; empty where they are."""
    if definition["kind"] == "baseline":
        return "baselines"
    if definition["paradigm"] != "supervised":
        return "clusterings, whose embeddings take n x n eigenproblems,"
    kernels = definition["kernel"].get("members", [definition["kernel"]])
    if definition["kernel"].get("weights") == "alignment" or any(one["family"] == "rbf_relative" for one in kernels):
        return "runs with kernels that take n x n arrays"
    return ""


def seconds_of(definition: Mapping[str, Any], n_samples: int, n_features: int) -> float:
    """Return about how long cost and stationarity of a run take."""
    kernels = definition["kernel"].get("members", [definition["kernel"]])
    medians = sum(str(one.get("sigma", "median")).endswith("median") for one in kernels if one["family"] == "gaussian")
    return n_samples**2 * (_PAIR_S * len(kernels) + 0.5 * medians * (_PAIR_S / 3 + _FEATURE_S * n_features))
