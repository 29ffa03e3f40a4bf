"""One projection of Burg's divergence and one sweep, against exact arithmetic and the inverse that the duals give."""

from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

from kdrbench.lowrank import Stopping, diagonal, join, learn_kernel, similarities, squared_distances
from kdrbench.lowrank.burg import Burg, two_step
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress


def exact_step(values, bound):
    """The alpha with sum e_k / (1 - alpha e_k) = bound between the poles, by bisection in 60 decimal digits.

    The sum grows from minus to plus infinity there, for one value is positive and one negative.
    """
    with localcontext(prec=60):
        first, second = (Decimal(value) for value in values)
        low, high = sorted((1 / first, 1 / second))
        for _ in range(190):
            middle = (low + high) / 2
            met = first / (1 - middle * first) + second / (1 - middle * second)
            low, high = (middle, high) if met < Decimal(bound) else (low, middle)
        return float(low)


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-8, 1e-14])
def test_a_step_of_rank_two_loses_no_digits_of_unequal_rows(share):
    for bound in [-1e3, -1.0, -1e-3, 1e-3, 1.0, 1e3]:
        # Orthogonal rows: the eigenvalues are plus and minus their squared lengths, without rounding.
        for lengths in ((1.0, np.sqrt(share)), (np.sqrt(share), 1.0)):
            rows = np.diag(lengths)
            values = lengths[0] ** 2, -(lengths[1] ** 2)
            # The term b t - 2 D of the quadratic is rounded by 1e-16 of b t, and D counts beside it from 1e-14 on.
            assert two_step(*rows, 1.0, -1.0, bound) == pytest.approx(exact_step(values, bound), rel=1e-13)


def two_constraints(seed):
    """A distance that is to be ten times its value in K0, and a similarity of the same samples; Burg's problem."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((4, 3))
    asked = join(squared_distances(4, [(0, 1)], "=", [1.0]), similarities(4, [(0, 2)], "=", [1.0]))
    asked.bounds[:] = asked.values(factor) * 10 + [0.0, 5 * rng.standard_normal()]
    return reduce_problem(factor, asked, orthonormal=False, slack=np.inf)


@pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=pytest.mark.slow("in a fresh clone numba compiles Burg's sweep here"))]
)
def test_a_sweep_moves_the_factor_to_where_the_duals_say(compiled):
    for seed in range(150):
        problem = two_constraints(seed)
        burg = Burg(problem, compiled)
        duals = np.zeros(2)
        state, progress = burg.at(duals), Progress()
        assert burg.sweep(state, duals, progress)
        reached = burg.at(duals)
        size = np.linalg.norm(reached.root(), 2) ** 2
        # Each inverse is rounded by its condition, at most some 1e6 on these cases.
        np.testing.assert_allclose(state.root() @ state.root().T, reached.root() @ reached.root().T, atol=1e-8 * size)
        pull = problem.combination(np.array([0.0, 1.0]))
        assert np.trace(reached.root() @ reached.root().T @ pull) == pytest.approx(problem.bounds[1], rel=1e-8)
        assert (progress.projections, progress.changes) == (2, 2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("asked", [diagonal(2, [0], "=", 1e17), similarities(2, [(0, 1)], "=", [1e17])])
def test_a_sweep_ends_where_rounding_leaves_no_eigenvalue(asked, compiled):
    # A value 1e17 times that of K0 takes a step of 1 - 1e-17 of the way to the pole, which is 1 in 53 bits.
    problem = reduce_problem(np.eye(2), asked, orthonormal=False, slack=np.inf)
    burg = Burg(replace(problem, vectors=np.eye(2)[: len(problem.signs)]), compiled)
    duals = np.zeros(1)
    assert not burg.sweep(burg.at(duals), duals, Progress())


@pytest.mark.parametrize("compiled", [False, True])
def test_constraints_that_hold_are_visited_and_change_nothing(compiled):
    # The last one counts too: one that holds is passed over, not the end of the sweep.
    asked = diagonal(3, [0, 1, 2], "<=", [2.0, 1.0, 0.5])
    learned = learn_kernel(np.eye(3), asked, stopping=Stopping(1e-12, 1e-12, 1), compiled=compiled)
    assert (learned.projections, learned.changes) == (3, 1)
    np.testing.assert_allclose(learned.kernel, np.diag([1.0, 1.0, 0.5]), atol=1e-15)
