"""The problem on the range of K0 against dense matrices, and the bounds that prove that nothing meets a set."""

import numpy as np
import pytest

from kdrbench.lowrank import diagonal, join, learn_kernel, similarities, squared_distances
from kdrbench.lowrank.reduced import in_conflict, out_of_reach, reduce_problem, trace_bound
from support.lowrank_cases import TIGHT, dense_matrices, feasible_problem


def reduced(factor, constraints, orthonormal=False):
    return reduce_problem(factor, constraints, orthonormal=orthonormal, slack=np.inf)


@pytest.mark.parametrize("orthonormal", [False, True])
@pytest.mark.parametrize("full_rank", [False, True])
def test_values_and_units_are_those_of_dense_matrices(full_rank, orthonormal):
    for seed in range(6):
        factor, constraints = feasible_problem(seed, full_rank=full_rank)
        problem, matrices = reduced(factor, constraints, orthonormal), dense_matrices(constraints)
        chosen = matrices[problem.numbers] * problem.turned[:, None, None]
        np.testing.assert_allclose(problem.initial, np.einsum("mij,ik,jk->m", chosen, factor, factor), atol=1e-9)
        basis = factor @ problem.basis_map
        inside = np.einsum("ia,mij,jb->mab", basis, chosen, basis)
        duals = np.random.default_rng(seed).standard_normal(len(problem))
        np.testing.assert_allclose(problem.combination(duals), np.einsum("m,mab->ab", duals, inside), atol=1e-9)
        for number, matrix in enumerate(inside):
            values, vectors = np.linalg.eigh(matrix)
            absolute = (vectors * np.abs(values)) @ vectors.T
            size = np.sum(absolute * np.diag(problem.spectrum))
            # Where tr(KA) can have both signs, the unit is |b| + tr(K0 |A|), else b.
            both = values.min() < -1e-9 * np.abs(values).max()
            bound = problem.bounds[number]
            assert problem.scale[number] == pytest.approx(abs(bound) + size if both else bound, rel=1e-9)
            unit = np.trace(absolute) if orthonormal else problem.scale[number]
            assert problem.dual_unit[number] == pytest.approx(unit, rel=1e-9)


@pytest.mark.parametrize("orthonormal", [False, True])
def test_the_trace_bound_is_below_every_kernel_of_the_set(orthonormal):
    bounds = []
    for seed in range(8):
        factor, constraints = feasible_problem(seed, full_rank=False)
        problem = reduced(factor, constraints, orthonormal)
        kernel = learn_kernel(factor, constraints, divergence="burg", stopping=TIGHT)
        # K = G0 M G0', whatever basis the problem is in.
        trace = np.sum(kernel.factor_map**2) / problem.rank
        rng = np.random.default_rng(seed)
        for _ in range(20):
            duals = problem.clip(rng.standard_normal(len(problem)) / problem.scale)
            bound, gain = trace_bound(problem, duals), duals @ problem.bounds
            root = np.sqrt(problem.spectrum)
            largest = np.linalg.eigvalsh(root[:, None] * problem.combination(duals) * root)[-1]
            if gain <= 1e-12 * (np.abs(duals) @ np.abs(problem.bounds)):
                # Rounding, or no dual at all, proves nothing.
                assert bound == 0
                continue
            assert bound == pytest.approx(gain / largest / problem.rank, rel=1e-9)
            assert bound <= trace * (1 + 1e-6)
            bounds.append(bound / trace)
    assert max(bounds) > 0.3


def test_duals_that_exclude_every_kernel_give_infinite_bounds():
    # In a range of one dimension tr(KA) <= 1 and tr(KA) >= 3: twice the first is left over by one.
    asked = join(diagonal(2, [0], "<=", [1.0]), diagonal(2, [0], ">=", [3.0]))
    problem = reduced(np.array([[1.0], [0.0]]), asked)
    assert trace_bound(problem, np.array([-2.0, 1.0])) == np.inf
    # The same duals the other way prove nothing.
    assert trace_bound(problem, np.array([-4.0, 1.0])) == 0.0


@pytest.mark.parametrize("build", ["distance", "similarity"])
def test_what_is_out_of_reach_goes_with_what_is_asked_for(build):
    # A value 1e9 times that of K0 needs a trace of about as many times that of K0, which proves nothing.
    factor = np.random.default_rng(0).standard_normal((4, 4))
    for times in (1.0, 1e9):
        asked = (
            squared_distances(4, [(0, 1)], "=", [1.0]) if build == "distance" else similarities(4, [(0, 1)], "=", [1.0])
        )
        problem = reduced(factor, asked)
        value = abs(float(problem.initial[0]))
        problem = reduced(factor, asked.__class__(**vars(asked) | {"bounds": np.array([times * value])}))
        assert not out_of_reach(problem, 1e4 * times)
        assert out_of_reach(problem, 1e8 * times)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_constraints_of_a_conflict_are_the_same_in_every_unit(unit):
    asked = diagonal(3, [0, 1, 2], ["<=", "<=", ">="], np.array([1.0, 2.0, 3.0]) * unit**2)
    problem = reduced(unit * np.eye(3), asked)
    # Duals are as large as the inverse of their bounds: the second is a millionth of the first.
    duals = np.array([-1.0, -1e-6, 0.5]) / unit**2
    for size in (1e-6, 1.0, 1e6):
        assert in_conflict(problem, size * duals) == (0, 2)
