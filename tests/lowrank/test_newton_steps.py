"""Newton's steps and the sweeps of projections between them: what they are for, and when they are not taken."""

import numpy as np
import pytest

from kdrbench.lowrank import LowRankStatus, Stopping, diagonal, draw_pairs, learn_kernel, squared_distances
from kdrbench.lowrank.burg import Burg

STOPPING = Stopping(1e-9, 1e-9, 100)


def far(seed):
    """Distances that are to be a thousandth to a thousand times what they are."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((10, 9))
    constraints = squared_distances(10, draw_pairs(10, 5, rng), "=", np.ones(5))
    constraints.bounds[:] = constraints.values(factor) * 1000.0 ** rng.uniform(-1, 1, 5)
    return factor, constraints


def learned(seed):
    return learn_kernel(*far(seed), solver="newton", stopping=STOPPING)


def test_sweeps_between_shortened_steps_halve_them_and_leave_the_kernel(monkeypatch):
    with_sweeps = [learned(seed) for seed in range(3)]
    monkeypatch.setattr(Burg, "cheap_sweeps", False)
    without = [learned(seed) for seed in range(3)]
    assert all(result.status is LowRankStatus.CONVERGED for result in with_sweeps)
    assert 2 * sum(result.sweeps for result in with_sweeps) < sum(result.sweeps for result in without)
    for first, second in zip(with_sweeps[1:], without[1:], strict=True):
        size = np.abs(second.kernel).max()
        np.testing.assert_allclose(first.kernel, second.kernel, atol=1e-6 * size)
    # What a sweep visits counts, too.
    assert with_sweeps[0].projections > 5 * with_sweeps[0].sweeps
    assert without[0].projections == 5 * without[0].sweeps


def test_a_sweep_that_rounding_ended_midway_is_not_taken(monkeypatch):
    def fails(self, state, duals, progress):
        state.root()[:], duals[:] = 0.0, 1e9
        return False

    monkeypatch.setattr(Burg, "sweep", fails)
    spoilt = learned(1)
    monkeypatch.setattr(Burg, "cheap_sweeps", False)
    plain = learned(1)
    assert spoilt.sweeps == plain.sweeps
    np.testing.assert_array_equal(spoilt.kernel, plain.kernel)


@pytest.mark.parametrize("solver", ["cyclic", "newton"])
def test_without_constraints_nothing_changes(solver):
    factor = np.arange(6.0).reshape(3, 2)
    result = learn_kernel(factor, diagonal(3, [0], "<=", 1.0).take([]), solver=solver)
    assert (result.status, result.dual_change, result.kkt_residual) == (LowRankStatus.CONVERGED, 0.0, 0.0)
    np.testing.assert_allclose(result.kernel, factor @ factor.T, atol=1e-12)
