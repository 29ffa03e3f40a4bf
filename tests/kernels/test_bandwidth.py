import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from kdrbench.errors import InputError
from kdrbench.kernels import bandwidth, median_distance


@pytest.mark.parametrize("n_samples", [2, 3, 4, 7, 10, 31])
def test_equals_the_median_of_the_full_distance_matrix(n_samples):
    features = np.random.default_rng(n_samples).standard_normal((n_samples, 3))
    if n_samples == 2:
        # Two of four entries are zero: the median is half the one distance.
        assert median_distance(features) == pytest.approx(np.linalg.norm(features[0] - features[1]) / 2)
    else:
        assert median_distance(features) == pytest.approx(np.median(cdist(features, features)), rel=1e-12)


def clusters_that_mislead_a_sample(rng):
    """Every 41st row, which are those sampled, lies in one place."""
    features = rng.standard_normal((410, 3))
    features[::41] *= 1e-3
    return features


AWKWARD = {
    "normal": lambda rng: rng.standard_normal((411, 3)),
    "even number": lambda rng: rng.standard_normal((412, 3)),
    "many ties": lambda rng: rng.integers(0, 3, (400, 2)).astype(float),
    "misleading sample": clusters_that_mislead_a_sample,
    "far apart": lambda rng: rng.standard_normal((300, 2)) + 1e6 * (np.arange(300) % 2)[:, None],
    "coinciding": lambda rng: np.vstack([np.ones((150, 2)), rng.standard_normal((200, 2))]) + 1e3,
    "one far away": lambda rng: np.vstack([rng.standard_normal((300, 3)), np.full((1, 3), 1e8)]),
    "some very far away": lambda rng: np.vstack([1e-5 * rng.standard_normal((400, 3)), np.full((4, 3), 1e6)]),
    "minute": lambda rng: 1e-170 * rng.standard_normal((300, 3)),
    "immense": lambda rng: 1e170 * rng.standard_normal((300, 3)),
    "far from the origin": lambda rng: rng.standard_normal((300, 2)) + 1e5,
}


@pytest.mark.parametrize("data", AWKWARD)
def test_passes_over_blocks_find_the_same_median(data, monkeypatch):
    features = AWKWARD[data](np.random.default_rng(0))
    # The reference squares, so it is taken in a unit that squares.
    unit = {"minute": 1e-170, "immense": 1e170}.get(data, 1.0)
    expected = unit * np.median(cdist(features / unit, features / unit))
    monkeypatch.setattr(bandwidth, "_HELD_SAMPLES", 10)
    monkeypatch.setattr(bandwidth, "_BLOCK", 64)
    monkeypatch.setattr(bandwidth, "_SAMPLED", 10)
    monkeypatch.setattr(bandwidth, "_HELD_VALUES", 40)
    # Products of centred features round at 1e-16 of their squares.
    assert median_distance(features) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_the_median_of_many_samples_needs_no_array_of_all_pairs():
    features = np.random.default_rng(0).standard_normal((8000, 3))
    tracemalloc.start()
    try:
        found = median_distance(features)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The chi-square law of three degrees, times two.
    assert found == pytest.approx(np.sqrt(2 * chi2(3).median()), rel=0.01)
    # All pairs once take 256 MB, a block of them 8 MB.
    assert peak < 60e6


def test_differences_that_overflow_are_refused(monkeypatch):
    monkeypatch.setattr(bandwidth, "_HELD_SAMPLES", 1)
    features = np.array([[1.7e308], [-1.7e308], [-1.7e308]])
    with np.errstate(over="ignore"), pytest.raises(InputError, match="distances of these samples are not finite"):
        median_distance(features)


def test_samples_that_coincide_are_seen_among_many(monkeypatch):
    monkeypatch.setattr(bandwidth, "_HELD_SAMPLES", 10)
    rng = np.random.default_rng(0)
    features = np.vstack([np.ones((330, 5)), rng.standard_normal((80, 5))]) + 1e3 * rng.standard_normal(5)
    with pytest.raises(InputError, match="median distance of these 410 samples is 0"):
        median_distance(features)


def test_refuses_samples_that_coincide():
    with pytest.raises(InputError, match="median distance of these 5 samples is 0"):
        median_distance(np.ones((5, 2)))


def test_refuses_a_single_sample():
    with pytest.raises(InputError, match="at least 2 samples, got 1"):
        median_distance(np.ones((1, 2)))
