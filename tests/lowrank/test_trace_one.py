"""Von Neumann's divergence among kernels of a given trace: DefiniteBoost's kernel, and traces out of reach."""

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.optimize import minimize

from kdrbench.lowrank import SOLVERS, LowRankStatus, definite_boost, diagonal, join, learn_kernel, squared_distances
from support.lowrank_cases import TIGHT, dense_matrices


def boost_problem(seed):
    """A factor, and constraints of rank one for kernels of trace one."""
    rng = np.random.default_rng(seed)
    factor, other = rng.standard_normal((2, 6, 6))
    other /= np.linalg.norm(other)
    asked = join(
        squared_distances(6, [(0, 1), (2, 3), (1, 4)], ["<=", ">=", "="], [0.0, 0.0, 0.0]), diagonal(6, [5], "<=", 0.0)
    )
    asked.bounds[:] = asked.values(other) * np.array([1.2, 0.8, 1.0, 1.2])
    return factor, asked


@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_kernel_of_definite_boost_and_of_the_dual(seed):
    factor, constraints = boost_problem(seed)
    matrices, start = dense_matrices(constraints), np.real(logm(factor @ factor.T))

    def negative_dual(duals):
        return np.log(np.trace(expm(start + np.einsum("m,mij->ij", duals, matrices)))) - duals @ constraints.bounds

    limits = [(None, 0), (0, None), (None, None), (None, 0)]
    found = minimize(negative_dual, np.zeros(4), method="SLSQP", bounds=limits, options={"ftol": 1e-15, "maxiter": 500})
    direct = expm(start + np.einsum("m,mij->ij", found.x, matrices))
    kernels = [learn_kernel(factor, constraints, divergence="von_neumann", trace=1.0, stopping=TIGHT)]
    kernels += [
        definite_boost(factor, constraints, step=step, stopping=TIGHT) for step in ("symmetric", "exact", "own_range")
    ]
    for learned in kernels:
        assert learned.status is LowRankStatus.CONVERGED
        # SLSQP's own accuracy in the duals.
        np.testing.assert_allclose(learned.kernel, direct / np.trace(direct), atol=2e-6)
        np.testing.assert_allclose(learned.kernel, kernels[0].kernel, atol=1e-7)
        assert learned.trace_dual == pytest.approx(kernels[0].trace_dual, abs=1e-6)
        own = expm(start + np.einsum("m,mij->ij", learned.duals, matrices))
        np.testing.assert_allclose(learned.kernel, own / np.trace(own), atol=1e-8)
        assert np.trace(learned.kernel) == pytest.approx(1.0, rel=1e-9)
        assert constraints.violations(learned.factor).max() <= 1e-8
        np.testing.assert_allclose(factor @ learned.factor_map, learned.factor, atol=1e-12)
        assert abs(learned.duality_gap) <= 1e-7
    for learned in kernels[1:]:
        # The start of trace one has the logarithm of its trace less.
        least = np.log(np.trace(factor @ factor.T)) - found.fun
        assert learned.divergence == pytest.approx(least, rel=1e-7)


def test_without_constraints_the_start_is_scaled():
    factor = np.diag([1.0, 2.0])
    learned = learn_kernel(factor, diagonal(2, [0], "<=", 1.0).take([]), divergence="von_neumann", trace=1.0)
    np.testing.assert_allclose(learned.kernel, factor @ factor.T / 5, atol=1e-12)
    assert learned.trace_dual == pytest.approx(-np.log(5))


def test_a_trace_that_the_constraints_exclude_is_recognised():
    asked = diagonal(3, [0, 1, 2], ">=", [1.0, 1.0, 1.0])
    for solver in SOLVERS:
        learned = learn_kernel(np.eye(3), asked, divergence="von_neumann", solver=solver, trace=2.0)
        assert learned.status is LowRankStatus.INFEASIBLE
        assert "the trace" in learned.message
