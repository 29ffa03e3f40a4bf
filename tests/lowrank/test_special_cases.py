"""Correlation matrices, kernels of a given trace as DefiniteBoost's problem asks for, kernel k-means, unfolding."""

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.optimize import minimize

from kdrbench.errors import InputError
from kdrbench.lowrank import (
    DIVERGENCES,
    SOLVERS,
    LowRankStatus,
    centred_factor,
    definite_boost,
    diagonal,
    factor_of,
    isometry_constraints,
    join,
    kmeans_on_factor,
    learn_kernel,
    nearest_correlation,
    similarities,
    squared_distances,
)
from support.lowrank_cases import TIGHT, dense_matrices, minimiser

RNG = np.random.default_rng(7)
FACTOR = RNG.standard_normal((5, 5))
KERNEL = FACTOR @ FACTOR.T


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_nearest_correlation_matrix_is_the_one_slsqp_finds(divergence):
    found = nearest_correlation(KERNEL, divergence=divergence, stopping=TIGHT)
    np.testing.assert_allclose(np.diag(found.kernel), 1.0, atol=1e-8)
    least, _ = minimiser(divergence, factor_of(KERNEL), diagonal(5, range(5), "=", 1.0))
    assert found.divergence == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_printed_kernels_may_have_tiny_negative_eigenvalues(unit):
    printed = unit * (np.ones((3, 3)) - 5e-7 * np.eye(3))
    np.testing.assert_allclose(factor_of(printed), np.sqrt(unit) * np.ones((3, 1)), rtol=1e-6)
    with pytest.raises(InputError, match="not positive semidefinite"):
        factor_of(printed - 1e-5 * unit * np.eye(3))


def test_a_correlation_matrix_of_low_rank_has_that_rank_or_none():
    rng = np.random.default_rng(1)
    factor = rng.standard_normal((5, 4))
    found = nearest_correlation(factor @ factor.T, rank=4, stopping=TIGHT)
    assert found.status is LowRankStatus.CONVERGED
    assert np.linalg.matrix_rank(found.kernel) == 4
    np.testing.assert_allclose(np.diag(found.kernel), 1.0, atol=1e-8)
    # Twenty equations and three unknowns.
    many = rng.standard_normal((20, 2))
    assert nearest_correlation(many @ many.T).status is LowRankStatus.INFEASIBLE


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: factor_of(np.ones((2, 3))), r"a kernel must be a square array of .* got shape \(2, 3\)"),
        (lambda: factor_of([[1.0, 0.5], [0.0, 1.0]]), "the kernel is not symmetric"),
        (lambda: factor_of([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue is -1; take another kernel, or add 1 to"),
        (lambda: factor_of(np.eye(3), rank=4), "None or an integer between 1 and the kernel's rank 3, got 4"),
        (lambda: kmeans_on_factor(FACTOR, 6, RNG), "n_clusters must be an integer between 1 and the 5 samples, got 6"),
        (lambda: isometry_constraints(FACTOR, 5), "n_neighbours must be an integer between 1 and 4, got 5"),
        (
            lambda: definite_boost(FACTOR, diagonal(5, [0], "<=", 0.1), step="none"),
            "unknown step 'none'; allowed: own_range, symmetric, exact",
        ),
        (lambda: definite_boost(FACTOR, diagonal(5, [0], ">=", 1.5)), "whose bounds are below the largest value"),
        (lambda: definite_boost(FACTOR, similarities(5, [(0, 1)], ">=", 0.1)), "is for constraints of rank one"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_an_arc_is_straightened_by_bounds_on_near_distances():
    angles = np.linspace(0, 1.5 * np.pi, 24)
    arc = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    constraints = isometry_constraints(arc, 2)
    start = 100.0 * centred_factor(np.eye(24))
    learned = learn_kernel(start, constraints, divergence="von_neumann", stopping=TIGHT)
    assert learned.status is LowRankStatus.CONVERGED
    np.testing.assert_allclose(learned.kernel.sum(axis=0), 0.0, atol=1e-8)
    assert constraints.violations(learned.factor).max() <= 1e-6
    values, vectors = np.linalg.eigh(learned.kernel)
    straight, bent = np.diff(vectors[:, -1]), np.linalg.eigvalsh(arc @ arc.T)
    assert (straight > 0).all() or (straight < 0).all()
    assert values[-1] / values.sum() > 0.95 > bent[-1] / bent.sum()


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


def test_the_start_is_scaled_and_an_excluded_trace_recognised():
    factor = np.diag([1.0, 2.0])
    learned = learn_kernel(factor, diagonal(2, [0], "<=", 1.0).take([]), divergence="von_neumann", trace=1.0)
    np.testing.assert_allclose(learned.kernel, factor @ factor.T / 5, atol=1e-12)
    assert learned.trace_dual == pytest.approx(-np.log(5))
    asked = diagonal(3, [0, 1, 2], ">=", [1.0, 1.0, 1.0])
    for solver in SOLVERS:
        learned = learn_kernel(np.eye(3), asked, divergence="von_neumann", solver=solver, trace=2.0)
        assert learned.status is LowRankStatus.INFEASIBLE
        assert "the trace" in learned.message
