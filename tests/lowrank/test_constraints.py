import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.lowrank import (
    Sense,
    constraints_from_labels,
    diagonal,
    draw_pairs,
    join,
    relative_distances,
    similarities,
    squared_distances,
)
from support.lowrank_cases import dense_matrices

RNG = np.random.default_rng(0)
FACTOR = RNG.standard_normal((6, 3))
KERNEL = FACTOR @ FACTOR.T


def distance(i, j):
    return KERNEL[i, i] + KERNEL[j, j] - 2 * KERNEL[i, j]


def test_values_are_those_of_the_definitions():
    every = join(
        squared_distances(6, [(0, 1), (4, 2)], "<=", 1.0),
        similarities(6, [(3, 5)], ">=", 0.5),
        diagonal(6, [2, 4], "=", [1.0, 2.0]),
        relative_distances(6, [(0, 1, 2)], "<=", -1.0),
    )
    expected = [distance(0, 1), distance(4, 2), KERNEL[3, 5], KERNEL[2, 2], KERNEL[4, 4]]
    expected += [distance(0, 1) - distance(0, 2)]
    np.testing.assert_allclose(every.values(FACTOR), expected, rtol=1e-12)
    np.testing.assert_allclose(np.einsum("mij,ij->m", dense_matrices(every), KERNEL), expected, rtol=1e-12)
    assert every.senses == tuple(map(Sense, ["<=", "<=", ">=", "=", "=", "<="]))
    assert every.bounds.tolist() == [1, 1, 0.5, 1, 2, -1]
    assert every.describe(1) == "1, distance(4, 2) <= 1"
    missed = every.values(FACTOR) - every.bounds
    assert every.violations(FACTOR)[3:5].tolist() == np.abs(missed[3:5]).tolist()
    assert every.violations(FACTOR)[2] == max(0.0, -missed[2])
    part = every.take([5, 2])
    np.testing.assert_allclose(part.values(FACTOR), [expected[5], expected[2]], rtol=1e-12)
    assert part.names == (every.names[5], every.names[2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: squared_distances(3, [(0, 3)], "<=", 1.0), "pairs must name samples 0 to 2, got 0 to 3"),
        (lambda: squared_distances(3, [(0, 1, 2)], "<=", 1.0), "pairs must be integers in an m x 2 array, got int64"),
        (lambda: squared_distances(3, [(0.5, 1)], "<=", 1.0), "pairs must be integers in an m x 2 array, got float64"),
        (lambda: squared_distances(3, [(1, 1)], "<=", 1.0), "names sample 1 twice; its samples must differ"),
        (lambda: relative_distances(3, [(0, 1, 1)], "<=", 1.0), "names sample 1 twice; its samples must differ"),
        (
            lambda: squared_distances(3, [(0, 1)], "<", 1.0),
            "unknown sense of a constraint '<'. Did you mean '<='. Allowed: <=, >=, =",
        ),
        (lambda: squared_distances(3, [(0, 1)], ["<=", "="], 1.0), "1 constraints need one sense or 1, got 2"),
        (lambda: squared_distances(3, [(0, 1)], "<=", [1.0, 2.0]), r"one number or 1, got shape \(2,\)"),
        (lambda: squared_distances(3, [(0, 1)], "<=", np.nan), "bounds must be finite, 1 of 1 are not"),
        (lambda: squared_distances(0, [(0, 1)], "<=", 1.0), "n_samples must be an integer >= 1, got 0"),
        (
            lambda: join(diagonal(2, [0], "=", 1.0), diagonal(3, [0], "=", 1.0)),
            r"must be on kernels of one size, got sizes \[2, 3\]",
        ),
        (lambda: draw_pairs(4, 7, RNG), "must be an integer between 1 and the 6 pairs of 4 samples"),
        (lambda: constraints_from_labels(FACTOR, [0, 1], 2, RNG), r"labels must be 6 values, .* shape \(2,\)"),
        (
            lambda: constraints_from_labels(FACTOR, [0] * 6, 2, RNG, change=1.0),
            "change must be a number > 0 and < 1, got 1.0",
        ),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_all_pairs_are_drawn_once_each_of_many_samples_too():
    pairs = draw_pairs(30, 435, np.random.default_rng(1))
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.min() == 0
    assert pairs.max() == 29
    assert len({tuple(pair) for pair in pairs.tolist()}) == 435
    # Large enough that the square root of pair numbers rounds.
    many = draw_pairs(200_000_000, 1000, np.random.default_rng(1))
    assert (many[:, 0] < many[:, 1]).all()
    assert (many >= 0).all()
    # Where 8 codes + 1 is no float64, the square root may round up to a whole number.
    upper = 2**29 + np.arange(500)
    first = upper * (upper - 1) // 2

    class Drawn:
        def choice(self, *sizes, **options):
            return np.concatenate([first, first + upper - 1])

    pairs = draw_pairs(2**30, 1000, Drawn())
    np.testing.assert_array_equal(pairs[:500], np.column_stack([0 * upper, upper]))
    np.testing.assert_array_equal(pairs[500:], np.column_stack([upper - 1, upper]))


def test_labels_ask_for_the_papers_change_of_distances():
    labels = np.array([0, 0, 0, 1, 1, 1])
    drawn = constraints_from_labels(FACTOR, labels, 15, np.random.default_rng(0))
    for name, sense, bound, value in zip(drawn.names, drawn.senses, drawn.bounds, drawn.values(FACTOR), strict=True):
        i, j = (int(part) for part in name.removeprefix("distance(").removesuffix(")").split(", "))
        same = labels[i] == labels[j]
        assert sense == ("<=" if same else ">=")
        assert bound == pytest.approx((0.75 if same else 1.25) * value)
    doubled = np.concatenate([FACTOR, FACTOR[:1]])
    assert len(constraints_from_labels(doubled, [0, 0, 0, 1, 1, 1, 0], 21, np.random.default_rng(0))) == 20
