"""The problem on the range of K0 and its dual: dense matrices, finite differences, and bounds that prove a conflict."""

import numpy as np
import pytest

from kdrbench.lowrank import DIVERGENCES, Stopping, diagonal, join, learn_kernel, similarities, squared_distances
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.learn import search_conflict
from kdrbench.lowrank.reduced import in_conflict, out_of_reach, reduce_problem, trace_bound
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann
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


KINDS = {"burg": Burg, "von_neumann": VonNeumann}


def case(kind, slack, seed=0):
    """A divergence under three distances, and duals at which its matrix exists."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((5, 3))
    asked = squared_distances(5, [(0, 1), (2, 3), (1, 4)], "=", rng.uniform(1, 3, 3))
    problem = reduce_problem(factor, asked, orthonormal=KINDS[kind].orthonormal, slack=slack)
    return KINDS[kind](problem), 0.05 * rng.standard_normal(3)


@pytest.mark.parametrize("slack", [np.inf, 0.7])
@pytest.mark.parametrize("kind", DIVERGENCES)
def test_the_dual_is_the_lagrangian_and_has_its_derivatives(kind, slack):
    for seed in range(3):
        divergence, duals = case(kind, slack, seed)
        problem, state = divergence.problem, divergence.at(duals)

        def dual(at, divergence=divergence):
            return divergence.dual(at, divergence.at(at))

        def gradient(at, divergence=divergence):
            return divergence.bounds(at) - divergence.problem.values(divergence.at(at).root())

        # D(X) + slack's cost + sum mu_i (xi_i - tr(X A_i)) at the X and xi that minimise it.
        lagrangian = divergence.value(state) + divergence.slack_cost(duals) + duals @ gradient(duals)
        assert dual(duals) == pytest.approx(lagrangian, rel=1e-10, abs=1e-12)
        steps = 1e-5 * np.eye(3)
        slopes = [(dual(duals + step) - dual(duals - step)) / 2e-5 for step in steps]
        np.testing.assert_allclose(slopes, gradient(duals), rtol=1e-6, atol=1e-7)
        bends = [(gradient(duals - step) - gradient(duals + step)) / 2e-5 for step in steps]
        curvature = divergence.curvature(duals, state, np.ones(3, dtype=bool))
        np.testing.assert_allclose(bends, curvature, rtol=1e-5, atol=1e-6 * np.abs(curvature).max())
        part = divergence.curvature(duals, state, np.array([True, False, True]))
        np.testing.assert_allclose(part, curvature[np.ix_([0, 2], [0, 2])], rtol=1e-12)
        assert problem.slack == slack


@pytest.mark.parametrize("solver", ["cyclic", "newton"])
@pytest.mark.parametrize("kind", DIVERGENCES)
def test_with_slack_the_primal_and_the_dual_meet(kind, solver):
    asked = squared_distances(4, [(0, 1), (2, 3), (0, 2)], ["<=", ">=", "="], [0.5, 6.0, 2.5])
    learned = learn_kernel(
        np.eye(4), asked, divergence=kind, solver=solver, slack=0.8, stopping=Stopping(1e-10, 1e-10, 500)
    )
    assert abs(learned.duality_gap) <= 1e-8
    assert np.abs(learned.duals).min() > 0.01
    # The slack lets each be missed, by more the larger its dual.
    moved = asked.values(learned.factor) / asked.bounds
    if kind == "von_neumann":
        np.testing.assert_allclose(moved, np.exp(-learned.duals / 0.8), rtol=1e-8)
    else:
        np.testing.assert_allclose(moved, 1 / (1 + learned.duals * asked.bounds / 0.8), rtol=1e-8)
    assert learned.trace_dual == 0.0


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_where_the_duals_overflow_there_is_no_matrix(kind):
    divergence, _ = case(kind, np.inf)
    for duals in ([1e308, 1e308, 1e308], [1e5, 0.0, 0.0], [np.nan, 0.0, 0.0]):
        with np.errstate(all="ignore"):
            assert divergence.at(np.array(duals)) is None


def test_the_residual_is_the_smaller_of_slack_and_dual():
    asked = diagonal(3, [0, 1, 2], ["<=", ">=", "="], [4.0, 0.25, 2.0])
    problem = reduce_problem(np.eye(3), asked, orthonormal=False, slack=np.inf)
    # Excesses are relative to the bounds; a dual, times its bound, is relative, too.
    for duals, excess, residual, violation in (
        ([-0.05, 0.0, 7.0], [-2.0, 0.0, 0.0], 0.2, 0.0),
        ([-0.25, 0.0, 7.0], [-2.0, 0.0, 0.0], 0.5, 0.0),
        ([0.0, 0.4, 7.0], [-2.0, 1.0, 0.0], 0.1, 0.0),
        ([0.0, 0.4, 7.0], [-2.0, -0.2, 0.5], 0.8, 0.8),
        ([0.0, 0.4, 7.0], [2.0, 0.0, -1.8], 0.9, 0.9),
    ):
        found = problem.residual(np.array(duals), np.array(excess))
        assert found == (pytest.approx(residual), pytest.approx(violation))


def test_a_conflict_is_searched_where_there_can_be_one():
    at_most, at_least = (squared_distances(3, [(0, 1), (1, 2), (0, 2)], "<=", [1.0, 1.0, 1.0]) for _ in range(2))
    at_least = squared_distances(3, [(0, 1), (1, 2), (0, 2)], ["<=", "<=", ">="], [0.1, 0.1, 4.0])
    for asked, slack, found in ((at_least, np.inf, True), (at_most, np.inf, False), (at_least, 2.0, False)):
        problem = reduce_problem(np.eye(3), asked, orthonormal=False, slack=slack)
        progress = Progress()
        assert search_conflict(problem, 200, progress) is found
        assert progress.conflicting == ((0, 1, 2) if found else ())
