import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from kdrbench.errors import InputError
from kdrbench.kernels import estimated_median_distance, median, median_distance
from support.helpers import traced_memory


def squared_distances(features):
    """All differences in extended precision, whose exponents hold any square."""
    wide = np.asarray(features).astype(np.longdouble)
    return ((wide[:, None] - wide) ** 2).sum(axis=2)


def reference(features):
    return np.median(np.sqrt(squared_distances(features)))


DATA = {
    "two": lambda rng: rng.standard_normal((2, 3)),
    "three": lambda rng: rng.standard_normal((3, 3)),
    "four": lambda rng: rng.standard_normal((4, 3)),
    "normal": lambda rng: rng.standard_normal((111, 3)),
    "even number": lambda rng: rng.standard_normal((112, 3)),
    "one feature": lambda rng: rng.standard_normal((90, 1)),
    "more features than samples": lambda rng: rng.standard_normal((40, 300)),
    "single precision": lambda rng: rng.standard_normal((90, 3)).astype(np.float32),
    "whole numbers": lambda rng: rng.integers(0, 3, (100, 2)),
    "binary": lambda rng: rng.integers(0, 2, (101, 30)).astype(float),
    "two ties": lambda rng: np.repeat(np.eye(4) * [[1], [1], [5], [5]], 4, axis=0),
    "duplicates": lambda rng: np.repeat(rng.standard_normal((40, 3)), 2, axis=0),
    "nearly half coincide": lambda rng: np.vstack([np.ones((65, 2)), rng.standard_normal((35, 2))]) + 1e3,
    "far apart": lambda rng: rng.standard_normal((100, 2)) + 1e6 * (np.arange(100) % 2)[:, None],
    # 45 of 100 samples lie so far away that products of centred samples lose their distances.
    "one-sided": lambda rng: rng.standard_normal((100, 3)) + 1e9 * (np.arange(100) % 20 < 9)[:, None],
    "one far away": lambda rng: np.vstack([rng.standard_normal((90, 3)), np.full((1, 3), 1e8)]),
    "some very far away": lambda rng: np.vstack([1e-5 * rng.standard_normal((90, 3)), np.full((4, 3), 1e30)]),
    "every scale": lambda rng: rng.standard_normal((90, 2)) * 10.0 ** rng.integers(-12, 12, (90, 1)),
    "minute": lambda rng: 1e-300 * rng.standard_normal((90, 3)),
    "immense": lambda rng: 1e300 * rng.standard_normal((90, 3)),
    "far from the origin": lambda rng: rng.standard_normal((90, 2)) + 1e8,
}
SETTINGS = {
    "differences": {},
    "blocks": {"_FEW": 3, "_DIRECT": 0},
    "few pairs held": {"_FEW": 3, "_DIRECT": 0, "_HELD_PAIRS": 5},
    "missed at first": {"_FEW": 3, "_DIRECT": 0, "_BRACKET": 1e-6},
}


@pytest.fixture(params=SETTINGS)
def settings(request, monkeypatch):
    small = {"_ROWS": 16, "_COLUMNS": 32, "_PANEL": 32}
    for name, value in {**small, **SETTINGS[request.param]}.items():
        monkeypatch.setattr(median, name, value)
    return request.param


def test_equals_the_median_of_the_full_distance_matrix(settings):
    # Of ties that are not held, squares are equal to 1e-11; other distances differ by the rounding of a square root.
    exact = 1e-11 if settings == "few pairs held" else 1e-13
    for name, drawn in DATA.items():
        features = drawn(np.random.default_rng(0))
        assert median_distance(features) == pytest.approx(float(reference(features)), rel=exact, abs=0.0), name


def test_equals_it_on_random_data(settings):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        features = rng.standard_t(1 + seed % 3, (int(rng.integers(4, 80)), int(rng.integers(1, 9))))
        assert median_distance(features) == pytest.approx(float(reference(features)), rel=1e-13, abs=0.0), seed


@pytest.mark.parametrize("kind", median._KINDS)
def test_no_square_is_farther_from_the_true_one_than_its_bound(kind):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n_samples, n_features = int(rng.integers(4, 40)), int(2 ** rng.uniform(0, 11))
        features = rng.standard_normal((n_samples, n_features)) * 10.0 ** rng.uniform(-3, 3, (n_samples, 1)) + 7.0
        samples, every = median._Samples(features), slice(0, n_samples)
        left, right = (samples.sides(every, kind, right=is_right) for is_right in (False, True))
        found = cdist(left, right, "sqeuclidean") if kind is None else left @ right.T
        true = squared_distances(features[samples._order]) / np.longdouble(samples.unit) ** 2
        bounds = [[samples.error(kind, one + other, 0.0) for other in samples.radii] for one in samples.radii]
        if kind is None:
            bounds = samples.error(kind, 0.0, 1.0) * found
        assert np.all(np.abs(found - true) <= np.array(bounds)), seed


def test_threads_find_the_same_bits(monkeypatch):
    monkeypatch.setattr(median, "_ROWS", 32)
    features = np.random.default_rng(0).standard_normal((3000, 5))
    assert median_distance(features, threads=3) == median_distance(features)


def test_one_pass_is_enough_for_ordinary_data(monkeypatch):
    passes = []
    count = median._pass
    monkeypatch.setattr(median, "_pass", lambda *given: passes.append(given) or count(*given))
    for seed in range(10):
        median_distance(np.random.default_rng(seed).standard_normal((1500, 8)))
    assert len(passes) == 10


def test_the_median_of_many_needs_no_array_of_all_pairs_or_ties(monkeypatch):
    features = np.random.default_rng(0).standard_normal((8000, 3))
    with traced_memory() as traced:
        found = median_distance(features)
    # The chi-square law of three degrees, times two.
    assert found == pytest.approx(np.sqrt(2 * chi2(3).median()), rel=0.01)
    # All pairs once take 128 MB even in single precision, a block 2 MB.
    assert traced.peak < 40e6
    monkeypatch.setattr(median, "_HELD_PAIRS", 1 << 12)
    features = np.random.default_rng(0).integers(0, 2, (2500, 3)).astype(float)
    with traced_memory() as traced:
        assert median_distance(features) == pytest.approx(1.0, rel=1e-11)
    # Of three million pairs, three in eight are at distance 1: held with both ends, they take 28 MB.
    assert traced.peak < 25e6


@pytest.mark.parametrize("few", [3, 64])
@pytest.mark.parametrize("held", [5, 1 << 22])
def test_samples_that_coincide_are_refused(few, held, monkeypatch):
    monkeypatch.setattr(median, "_FEW", few)
    monkeypatch.setattr(median, "_DIRECT", 0)
    monkeypatch.setattr(median, "_HELD_PAIRS", held)
    rng = np.random.default_rng(0)
    mostly = np.vstack([np.ones((330, 5)), rng.standard_normal((80, 5))]) + 1e3 * rng.standard_normal(5)
    for features in (mostly, np.ones((5, 2)), np.zeros((100, 2)), np.full((70, 1), 1e300)):
        with pytest.raises(InputError, match=f"median distance of these {len(features)} samples is 0"):
            median_distance(features)


def test_samples_without_a_median_distance_are_refused():
    with pytest.raises(InputError, match="distances of these samples are not finite"):
        median_distance(np.array([[1.7e308], [-1.7e308], [-1.7e308]]))
    for of in (median_distance, lambda features: estimated_median_distance(features, None)):
        with pytest.raises(InputError, match="at least 2 samples, got 1"):
            of(np.ones((1, 2)))
    features = np.vstack([np.ones((99, 2)), np.zeros((1, 2))])
    with pytest.raises(InputError, match="median distance of these 100 samples is 0"):
        estimated_median_distance(features, np.random.default_rng(0), n_pairs=300)


SCATTERED = {
    "normal": lambda rng: rng.standard_normal((300, 4)),
    "many features": lambda rng: rng.standard_normal((250, 60)),
    "heavy tails": lambda rng: rng.standard_t(2, (301, 3)),
    "every scale": lambda rng: rng.standard_normal((260, 3)) * 10.0 ** rng.uniform(-3, 3, (260, 1)),
    "clusters": lambda rng: rng.standard_normal((280, 2)) + 5.0 * rng.integers(0, 3, (280, 1)),
    "ties": lambda rng: rng.integers(0, 3, (300, 3)).astype(float),
}


def test_three_standard_errors_hold_the_exact_median():
    misses = 0
    for seed in range(240):
        data = SCATTERED[list(SCATTERED)[seed % len(SCATTERED)]]
        rng = np.random.default_rng(seed)
        features, n_pairs = data(rng), int(rng.integers(300, 6000))
        estimate = estimated_median_distance(features, rng, n_pairs=n_pairs)
        exact = median_distance(features)
        # An estimate is from products of centred samples, so that ties differ by their rounding.
        misses += abs(estimate.value - exact) > 3.0 * estimate.standard_error + 1e-9 * exact
    # By the normal law .65 are expected, and more than 4 in one of 1500 such tests.
    assert misses <= 4


@pytest.mark.parametrize("data", ["normal", "many features", "every scale"])
def test_the_standard_error_is_that_of_draws_without_replacement(data):
    features = SCATTERED[data](np.random.default_rng(0))
    exact = median_distance(features)
    found = [estimated_median_distance(features, np.random.default_rng(seed), n_pairs=1500) for seed in range(100)]
    root_mean_square = np.sqrt(np.mean([(one.value - exact) ** 2 for one in found]))
    stated = np.mean([one.standard_error for one in found])
    # The spread of a hundred draws is known to 7 %. Samples drawn with replacement would err twice as much.
    assert root_mean_square <= 1.2 * stated
    assert stated <= 3.0 * root_mean_square


def test_an_estimate_that_may_take_all_pairs_is_exact():
    features = np.random.default_rng(0).standard_normal((50, 3))
    estimate = estimated_median_distance(features, np.random.default_rng(1))
    assert (estimate.value, estimate.standard_error) == (median_distance(features), 0.0)
