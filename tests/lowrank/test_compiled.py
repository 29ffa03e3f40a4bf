"""Machine code against numpy: the same kernels, and the package without it."""

import sys
from functools import cache

import numpy as np
import pytest

import kdrbench.lowrank
from kdrbench.errors import InputError
from kdrbench.lowrank import (
    DIVERGENCES,
    LowRankStatus,
    Stopping,
    burg,
    constraints_from_labels,
    draw_pairs,
    learn_kernel,
    squared_distances,
    trace_step,
)
from kdrbench.lowrank.burg import compiled_sweep
from support.lowrank_cases import TIGHT, feasible_problem
from support.numerics import constraints_in_order

COMPILES = pytest.mark.slow("in a fresh clone numba compiles this divergence's sweep here")
# Rank, slack and divergence: every pair of the latter, and a diagonal.
CASES = [
    *(pytest.param(16, np.inf, divergence, marks=COMPILES) for divergence in DIVERGENCES),
    *((16, 3.0, divergence) for divergence in DIVERGENCES),
    *((1, np.inf, "burg"), (4, 3.0, "von_neumann"), (80, 3.0, "burg"), (80, np.inf, "von_neumann")),
]


def both(factor, constraints, **options):
    plain = learn_kernel(factor, constraints, compiled=False, **options)
    compiled = learn_kernel(factor, constraints, compiled=True, **options)
    assert plain.compiled_sweeps == 0
    return plain, compiled


def assert_same_steps(plain, compiled):
    """The sweeps are given, so both made the same projections.

    At most 210 are made. Burg's round sums of at most 90 terms, 210 * 90 * 1e-16 = 2e-12; von Neumann's end at 1e-13 of
    a logarithm, 210 * 1e-13 = 2e-11. The rest of 1e-10 is for what constraints that share samples make of it.
    """
    for counted in ("status", "sweeps", "projections"):
        assert getattr(compiled, counted) == getattr(plain, counted), counted
    size = np.abs(plain.kernel).max()
    np.testing.assert_allclose(compiled.kernel, plain.kernel, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(compiled.duals, plain.duals, rtol=0, atol=1e-10 * np.abs(plain.duals).max())


@pytest.mark.parametrize(("rank", "slack", "divergence"), CASES)
def test_machine_code_takes_the_steps_of_numpy(rank, slack, divergence, permutation):
    rng = np.random.default_rng(rank)
    factor = rng.standard_normal((90, rank)) * np.linspace(0.2, 2.0, rank)
    factor, constraints = constraints_in_order(factor, constraints_from_labels(factor, np.arange(90) % 3, 30, rng))
    # A few sweeps, so that differences have not been lost in the limit, which is the same anyhow.
    for sweeps in (1, 7):
        plain, compiled = both(
            factor, constraints, divergence=divergence, slack=slack, stopping=Stopping(1e-300, 1e-300, sweeps)
        )
        assert compiled.compiled_sweeps == sweeps
        assert plain.changes > 0
        assert_same_steps(plain, compiled)


def test_von_neumanns_constraints_of_rank_two_are_left_to_numpy():
    factor, constraints = feasible_problem(0, full_rank=True)
    plain, compiled = both(factor, constraints, divergence="von_neumann", stopping=TIGHT)
    assert compiled.compiled_sweeps == 0
    np.testing.assert_array_equal(compiled.kernel, plain.kernel)


def test_coinciding_eigenvalues_are_turned_apart():
    # The identity: all eigenvalues coincide, and stay so until constraints have touched them.
    rng = np.random.default_rng(3)
    pairs = draw_pairs(12, 9, rng)
    constraints = squared_distances(12, pairs, "=", rng.uniform(0.5, 4.0, 9))
    for start in (np.eye(12), 0.3 * np.eye(12)):
        plain, compiled = both(start, constraints, divergence="von_neumann", stopping=Stopping(1e-300, 1e-300, 5))
        assert_same_steps(plain, compiled)
    # A given trace takes the same steps, too.
    plain, compiled = both(start, constraints, divergence="von_neumann", trace=1.0, stopping=Stopping(1e-9, 1e-9, 50))
    assert compiled.compiled_sweeps == compiled.sweeps > 0
    assert_same_steps(plain, compiled)


@cache
def step_code():
    from kdrbench.lowrank import compiled

    return compiled.machine_code(trace_step, compiled._VON_NEUMANN)


def test_eigenvalues_very_near_to_their_poles_are_found():
    secular_root = step_code()["_secular_root"]
    for seed in range(50):
        rng = np.random.default_rng(seed)
        poles, weights, differences = np.sort(rng.uniform(0, 5, 8)), 10.0 ** rng.uniform(-14, 1, 8), np.empty(8)
        weights[-1] = 10.0 ** rng.uniform(-28, -17)
        for number in range(8):
            secular_root(number, poles, weights, poles[-1] + 1.5 * weights.sum(), differences)
            terms = weights / differences
            # The secular equation, of which a relative error of 1e-9 in the distance moves the largest term by as much.
            assert abs(1 + terms.sum()) <= 1e-8 * (1 + np.abs(terms).sum())


def assert_spectrum(diagonal, w, rho):
    values, turned, poles, differences = (np.empty(size) for size in (len(w), len(w), len(w), len(w) ** 2))
    spectrum = values, turned, np.empty(len(w), dtype=np.int64), poles, differences
    step_code()["_secular"](diagonal, w, np.argsort(diagonal), rho, spectrum)
    matrix = np.diag(diagonal) + rho * np.outer(w, w)
    expected, basis = np.linalg.eigh(matrix)
    rounding = 50 * len(w) * np.finfo(float).eps * np.abs(matrix).max()
    np.testing.assert_allclose(np.sort(values), expected, rtol=0, atol=rounding)
    return np.abs(turned[np.argsort(values)]), np.abs(w @ basis), rounding


def test_eigenvalues_of_all_gaps_and_couplings_are_found():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        size, sign = rng.integers(2, 30), rng.choice([-1, 1])
        diagonal, w = np.cumsum(10.0 ** rng.uniform(-6, 2, size)), 10.0 ** rng.uniform(-6, 2, size)
        assert_spectrum(diagonal, w, sign * 10.0 ** rng.uniform(-4, 4))
        # The last root is d_k + rho |w|^2 to rounding, so that rounding may put it beyond its bracket.
        first, gap = rng.uniform(1, 100), 10.0 ** rng.uniform(-6, -3)
        w = np.array([10.0 ** rng.uniform(-7, -5), rng.uniform(1, 100)])
        assert_spectrum(np.array([first, first + gap]), w, 10.0 ** rng.uniform(-4, 0))
        # Some are not coupled.
        diagonal, w = np.sort(5 * rng.standard_normal(9)), rng.standard_normal(9) * 10.0 ** rng.uniform(-8, 0, 9)
        w[:3] *= 1e-20
        turned, expected, rounding = assert_spectrum(diagonal, w, sign * 10.0 ** rng.uniform(-3, 4))
        np.testing.assert_allclose(turned, expected, rtol=0, atol=rounding)


def test_auto_goes_over_to_machine_code_in_long_solves(monkeypatch):
    assert compiled_sweep("burg_sweep", False, "auto") is None
    assert compiled_sweep("burg_sweep", True, False) is None
    assert compiled_sweep("burg_sweep", True, "auto") is compiled_sweep("burg_sweep", False, True) is not None
    factor, constraints = feasible_problem(1, full_rank=True, senses=("=",))
    monkeypatch.setattr(burg, "_PAYS_AFTER", 3 * len(constraints))
    plain = learn_kernel(factor, constraints, stopping=TIGHT, compiled=False)
    long = learn_kernel(factor, constraints, stopping=TIGHT)
    assert long.compiled_sweeps == long.sweeps - 3 > 0
    assert long.status is plain.status is LowRankStatus.CONVERGED
    np.testing.assert_allclose(long.kernel, plain.kernel, rtol=0, atol=1e-6 * np.abs(plain.kernel).max())


def test_without_numba_auto_works_and_true_says_what_to_install(monkeypatch):
    monkeypatch.setattr(burg, "_PAYS_AFTER", 0)
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in ("kdrbench.lowrank.compiled", "kdrbench.kernels.compiled"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delattr(kdrbench.lowrank, "compiled", raising=False)
    factor, constraints = [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], squared_distances(3, [(0, 1)], "<=", 1.0)
    learned = learn_kernel(factor, constraints)
    assert learned.compiled_sweeps == 0
    np.testing.assert_allclose(learned.factor, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], atol=1e-12)
    message = r"compiled=True needs numba \(.*\): pip install 'kdrbench\[compiled\]'"
    with pytest.raises(InputError, match=message):
        learn_kernel(factor, constraints, compiled=True)


def test_without_a_writable_cache_it_compiles_for_this_process(monkeypatch):
    from kdrbench.kernels import compiled

    asked = []

    def njit(cache, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(compiled, "njit", njit)
    assert compiled.jit(len) is len
    assert asked == [True, False]
