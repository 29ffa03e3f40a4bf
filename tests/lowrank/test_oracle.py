"""The learned kernel against minimisers found independently, what theory says of it, and random hard sets."""

import numpy as np
import pytest
from scipy.linalg import logm, null_space

from kdrbench.errors import InputError
from kdrbench.lowrank import DIVERGENCES, SOLVERS, LowRankStatus, Stopping, learn_kernel
from kdrbench.lowrank.constraints import diagonal, join, relative_distances, similarities, squared_distances
from support.lowrank_cases import TIGHT, dense_matrices, divergence_of, feasible_problem, minimiser
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
            # Nothing of K is in the null space of K0.
            assert np.abs(null_space(factor.T).T @ learned.kernel).max(initial=0.0) <= 1e-10 * trace
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


def unreasonable_set(seed):
    """Bounds from a hundredth to a hundred times the values of K0, some of the wrong sign; samples of any scale."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    factor = rng.standard_normal((n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        factor[:, -1] = factor[:, 0]
    kinds = [(squared_distances, 2), (similarities, 2), (diagonal, 1)] + ([(relative_distances, 3)] if n > 2 else [])
    parts = []
    for _ in range(int(rng.integers(1, 15))):
        build, width = kinds[rng.integers(len(kinds))]
        samples = rng.choice(n, width, replace=False)
        part = build(n, samples if width == 1 else samples[None], ["<=", ">=", "="][rng.integers(3)], 0.0)
        part.bounds[:] = part.values(factor)[0] * 10.0 ** rng.uniform(-2, 2) * (1 if rng.random() < 0.9 else -1)
        parts.append(part)
    return factor, join(*parts), np.inf if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 2)


# 62 and 253 ended in overflows and square roots of negative numbers before rounding was watched.
@pytest.mark.parametrize(
    "seed", [*range(8), 62, 253, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(8, 25))]
)
def test_every_set_ends_in_words_and_solvers_agree(seed):
    factor, constraints, slack = unreasonable_set(seed)
    for divergence in DIVERGENCES:
        found, refusals = [], []
        for solver in SOLVERS:
            options = {"divergence": divergence, "solver": solver, "slack": slack}
            try:
                learned = learn_kernel(factor, constraints, stopping=Stopping(1e-6, 1e-6, 300), **options)
            except InputError as error:
                refusals.append(str(error))
                continue
            assert np.isfinite(learned.factor).all()
            assert learned.message
            if learned.status is LowRankStatus.CONVERGED:
                assert learned.kkt_residual <= 1e-6
            found.append(learned)
        # What is refused is refused before any work, in the same words for all solvers.
        assert len(refusals) in (0, 2)
        assert len(set(refusals)) <= 1
        outcomes = {learned.status for learned in found}
        assert outcomes != {LowRankStatus.CONVERGED, LowRankStatus.INFEASIBLE}
        if outcomes == {LowRankStatus.CONVERGED}:
            # Residuals of 1e-6 leave kernels by the condition of the constraints apart.
            size = np.abs(found[0].kernel).max()
            np.testing.assert_allclose(found[0].kernel, found[1].kernel, rtol=0, atol=1e-3 * size)
