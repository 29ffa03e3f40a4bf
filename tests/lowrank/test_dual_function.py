"""What the solvers need of a divergence, by finite differences and by the Lagrangian."""

import numpy as np
import pytest

from kdrbench.lowrank import DIVERGENCES, Stopping, diagonal, learn_kernel, squared_distances
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.learn import search_conflict
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann

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
