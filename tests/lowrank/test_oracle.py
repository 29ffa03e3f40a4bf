"""The learned kernel against minimisers found independently, and what theory says of it."""

import numpy as np
import pytest
from scipy.linalg import logm

from kdrbench.lowrank import DIVERGENCES, SOLVERS, LowRankStatus, diagonal, join, learn_kernel, squared_distances
from support.lowrank_cases import TIGHT, dense_matrices, divergence_of, feasible_problem, minimiser, outside_range
from support.products import crossed


@pytest.mark.parametrize(("divergence", "traced"), [*((name, False) for name in DIVERGENCES), ("von_neumann", True)])
@pytest.mark.parametrize(("sense", "full_rank"), crossed(["<=", ">=", "=", "mixed"], [True, False], ["mixed"], [True]))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.whole)])
def test_both_solvers_find_the_minimum_that_slsqp_finds(sense, full_rank, seed, divergence, traced):
    senses = ("<=", ">=", "=") if sense == "mixed" else (sense,)
    factor, constraints = feasible_problem(seed, full_rank=full_rank, senses=senses)
    # The trace of a kernel that meets the constraints, with room beside.
    free = learn_kernel(factor, constraints, divergence=divergence, stopping=TIGHT) if traced else None
    trace = 1.1 * float(np.trace(free.kernel)) if free else None
    least, violation = minimiser(divergence, factor, constraints, trace)
    assert violation < 1e-8
    for solver in SOLVERS:
        learned = learn_kernel(factor, constraints, divergence=divergence, solver=solver, trace=trace, stopping=TIGHT)
        assert learned.status is LowRankStatus.CONVERGED, learned.message
        if trace is not None:
            assert np.trace(learned.kernel) == pytest.approx(trace, rel=1e-9)
            assert outside_range(learned.kernel, factor) <= 1e-10 * trace
            # The trace is visited last in each sweep.
            assert solver == "newton" or learned.projections == learned.sweeps * (len(constraints) + 1)
        assert learned.kkt_residual <= 1e-8
        assert learned.largest_violation <= 1e-8
        assert abs(learned.divergence - least) <= 1e-6 * (1 + abs(least))
        # What is reported is true of the kernel returned.
        assert divergence_of(divergence, learned.kernel, factor) == pytest.approx(
            learned.divergence, rel=1e-7, abs=1e-9
        )
        assert constraints.violations(learned.factor).max() <= 1e-7 * (1 + np.abs(constraints.bounds).max())
        assert abs(learned.duality_gap) <= 1e-6 * (1 + abs(least))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("full_rank", [True, False])
def test_the_kernel_meets_the_conditions_of_optimality(full_rank, divergence, permutation):
    for seed in range(5):
        factor, constraints = feasible_problem(10 + seed, full_rank=full_rank)
        learned = learn_kernel(factor, constraints, divergence=divergence, stopping=TIGHT)
        basis = np.linalg.svd(factor, full_matrices=False)[0]
        inside, start = basis.T @ learned.kernel @ basis, basis.T @ factor @ factor.T @ basis
        pull = np.einsum("m,ia,mij,jb->ab", learned.duals, basis, dense_matrices(constraints), basis)
        if divergence == "burg":
            residual = np.linalg.inv(start) - np.linalg.inv(inside) - pull
            size = np.abs(np.linalg.inv(inside)).max()
        else:
            residual = logm(inside) - logm(start) - pull
            size = 1 + np.abs(logm(inside)).max()
        # Inverse and logarithm lose the condition of K, up to 1e6 on these cases.
        assert np.abs(residual).max() <= 1e-8 * size
        slack = constraints.values(learned.factor) - constraints.bounds
        for dual, room, sense in zip(learned.duals, slack, constraints.senses, strict=True):
            assert dual <= 0 if sense == "<=" else dual >= 0 if sense == ">=" else True
            assert abs(dual * room) <= 1e-7 * (1 + abs(dual))


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_dual_that_becomes_needless_returns_to_zero(divergence):
    factor = np.diag([1.0, 2.0, 3.0])
    constraints = join(squared_distances(3, [(0, 1)], "<=", 2.0), diagonal(3, [1], "<=", 0.1))
    learned = learn_kernel(factor, constraints, divergence=divergence, stopping=TIGHT)
    alone = learn_kernel(factor, constraints.take([1]), divergence=divergence, stopping=TIGHT)
    assert learned.duals[0] == 0
    np.testing.assert_allclose(learned.kernel, alone.kernel, atol=1e-9)
    # The first projection without its correction stays in the kernel for ever.
    uncorrected = learn_kernel(factor, constraints.take([0]), divergence=divergence, stopping=TIGHT)
    uncorrected = learn_kernel(uncorrected.factor, constraints.take([1]), divergence=divergence, stopping=TIGHT)
    assert np.abs(uncorrected.kernel - alone.kernel).max() > 0.05
