"""Sets that cannot be met, bounds at the edge, slack, and errors."""

import itertools

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.lowrank import (
    DIVERGENCES,
    SOLVERS,
    LowRankStatus,
    Stopping,
    constraints_from_labels,
    diagonal,
    join,
    learn_kernel,
    relative_distances,
    similarities,
    squared_distances,
)
from kdrbench.lowrank.learn import Progress, collected
from kdrbench.lowrank.reduced import reduce_problem
from support.lowrank_cases import TIGHT, feasible_problem
from support.numerics import constraints_in_order

RNG = np.random.default_rng(0)
FACTOR = RNG.standard_normal((6, 3))
BOTH = list(itertools.product(DIVERGENCES, SOLVERS))
VON_NEUMANN = {"divergence": "von_neumann"}


@pytest.mark.parametrize(("divergence", "solver"), BOTH)
def test_a_set_without_solution_names_its_conflict(divergence, solver):
    # Samples 0 and 2 cannot be far apart when both are near 1; the last constraint is innocent.
    near = squared_distances(6, [(0, 1), (1, 2)], "<=", 0.1)
    far = squared_distances(6, [(0, 2), (3, 4)], ">=", [4.0, 1.0])
    learned = learn_kernel(FACTOR, join(near, far), divergence=divergence, solver=solver)
    assert learned.status is LowRankStatus.INFEASIBLE
    assert learned.conflicting == (0, 1, 2)
    assert learned.largest_violation > 1
    # A trace that grows proves it, not one that is infinite.
    assert 1e6 < learned.trace_bound < np.inf
    assert f"has at least {learned.trace_bound:.1e} times K0's trace" in learned.message
    assert "in conflict: 0, distance(0, 1) <= 0.1; 1, distance(1, 2) <= 0.1; 2, distance(0, 2) >= 4" in learned.message
    assert "set a finite slack" in learned.message
    assert np.isfinite(learned.factor).all()


@pytest.mark.parametrize(("divergence", "solver"), BOTH)
def test_far_solutions_are_not_taken_for_none(divergence, solver, permutation):
    factor, far = constraints_in_order(FACTOR, squared_distances(6, [(0, 1)], "=", 1e9))
    # Burg's dual gives 1 / v of a value v as a difference from the 1 / v0 of K0, to 1e-16 / v0: v to 1e-16 v / v0.
    reachable = 100 * np.finfo(float).eps * 1e9 / far.values(factor)[0]
    learned = learn_kernel(factor, far, divergence=divergence, solver=solver, stopping=Stopping(1e-9, reachable))
    assert learned.status is LowRankStatus.CONVERGED
    assert far.values(learned.factor)[0] == pytest.approx(1e9, rel=2 * reachable)


@pytest.mark.parametrize(("divergence", "solver"), BOTH)
def test_constraints_that_contradict_each_other_are_the_conflict(divergence, solver):
    for pair in (
        join(squared_distances(6, [(0, 1)], ">=", 2.0), squared_distances(6, [(1, 0)], "<=", 1.0)),
        join(similarities(6, [(0, 1)], "=", 2.0), similarities(6, [(0, 1)], "=", 1.0)),
    ):
        learned = learn_kernel(FACTOR, pair, divergence=divergence, solver=solver)
        assert (learned.status, learned.conflicting) == (LowRankStatus.INFEASIBLE, (0, 1))


def test_running_out_of_sweeps_is_said():
    factor, constraints = feasible_problem(1, full_rank=True, senses=("=",))
    learned = learn_kernel(factor, constraints, stopping=Stopping(1e-12, 1e-12, max_sweeps=3))
    assert learned.status is LowRankStatus.MAX_SWEEPS
    assert learned.sweeps == 3
    assert learned.projections == 3 * len(constraints)
    assert "raise max_sweeps, or try solver='newton'" in learned.message


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_convergence_needs_small_changes_and_a_small_residual(divergence):
    factor, constraints = feasible_problem(2, full_rank=True, senses=("=",))
    loose = learn_kernel(factor, constraints, divergence=divergence, stopping=Stopping(0.5, 1e-9, 50_000))
    assert loose.kkt_residual <= 1e-9
    eager = learn_kernel(factor, constraints, divergence=divergence, stopping=Stopping(1e-9, 0.5, 50_000))
    assert eager.dual_change < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_what_holds_already_changes_nothing(divergence, solver):
    constraints = squared_distances(6, [(0, 1), (2, 3)], [">=", "<="], [-1.0, 1e6])
    learned = learn_kernel(FACTOR, constraints, divergence=divergence, solver=solver)
    np.testing.assert_allclose(learned.kernel, FACTOR @ FACTOR.T, atol=1e-12)
    assert learned.status is LowRankStatus.CONVERGED
    assert learned.divergence == pytest.approx(0.0, abs=1e-12)
    assert learned.changes == 0 or solver == "newton"
    assert "1 constraints hold for every kernel of the range" in learned.message


def test_a_bound_of_zero_takes_a_dimension_from_the_kernel():
    constraints = join(squared_distances(6, [(0, 1)], "<=", 0.0), diagonal(6, [2], "=", 0.5))
    learned = learn_kernel(FACTOR, constraints, divergence="von_neumann", stopping=TIGHT)
    assert learned.status is LowRankStatus.CONVERGED
    assert learned.factor.shape == (6, 2)
    np.testing.assert_allclose(learned.factor[0], learned.factor[1], atol=1e-12)
    # Bounds that approach zero approach it, if slowly.
    gaps = []
    for bound in (1e-2, 1e-4, 1e-6):
        nearly = join(squared_distances(6, [(0, 1)], "<=", bound), diagonal(6, [2], "=", 0.5))
        close = learn_kernel(FACTOR, nearly, divergence="von_neumann", stopping=TIGHT)
        gaps.append(np.abs(close.kernel - learned.kernel).max())
    assert gaps[0] > gaps[1] > gaps[2]


def test_coinciding_samples_are_left_alone_or_refused():
    doubled = np.concatenate([FACTOR, FACTOR[:1]])
    fine = join(squared_distances(7, [(0, 6), (0, 1)], "<=", 1.0), relative_distances(7, [(1, 0, 6)], "<=", 0.5))
    assert learn_kernel(doubled, fine).status is LowRankStatus.CONVERGED
    for divergence in DIVERGENCES:
        with pytest.raises(InputError, match=r"0, distance\(0, 6\) >= 1 cannot hold: its samples coincide"):
            learn_kernel(doubled, squared_distances(7, [(0, 6)], ">=", 1.0), divergence=divergence)


@pytest.mark.parametrize(
    ("constraints", "options", "message"),
    [
        (squared_distances(6, [(0, 1)], "<=", 0.0), {}, "Burg's divergence has no solution there; von_neumann allows"),
        (squared_distances(6, [(0, 1)], "=", 1e-15), {}, "below the rounding of its value .* give 0 or a larger bound"),
        (squared_distances(6, [(0, 1)], "<=", -1.0), {}, r"0, distance\(0, 1\) <= -1 cannot hold: its value is never"),
        (similarities(6, [(0, 1)], "=", 2.0), {"slack": 1.0}, "slack is for constraints of rank one"),
        (diagonal(6, [0], "=", 1.0), {"slack": 0.0}, "slack must be a number > 0 or inf, got 0.0"),
        (diagonal(5, [0], "=", 1.0), {}, "factor has 6 rows, but the constraints are on kernels of 5 samples"),
        (diagonal(6, [0], "<=", 0.5), {"compiled": "yes"}, "compiled must be True, False or 'auto', got 'yes'"),
        (diagonal(6, [0], "<=", 0.5), VON_NEUMANN | {"trace": 0.0}, "trace must be None or a finite number > 0, got 0"),
        (diagonal(6, [0], "<=", 0.5), {"trace": 1.0}, "a trace is a constraint of von Neumann's divergence"),
        (diagonal(6, [0], "<=", 0.5), VON_NEUMANN | {"trace": 1.0, "slack": 2.0}, "with slack inf"),
        (diagonal(6, [0], "=", 1.0), {"divergence": "bregman"}, "unknown divergence 'bregman'; allowed: burg, von_"),
        (diagonal(6, [0], "=", 1.0), {"solver": "newtn"}, "unknown solver 'newtn'. Did you mean 'newton'?"),
        (
            diagonal(6, range(6), "=", 0.0),
            VON_NEUMANN,
            "6 constraints with bound 0 leave no kernel but K = 0 in the range of K0, of rank 3",
        ),
        *(
            (diagonal(6, [0], "=", 1.0), {"factor": factor}, "factor must be an n x r array")
            for factor in (FACTOR[0], np.full((6, 2), np.nan), np.zeros((6, 2)))
        ),
    ],
)
def test_what_cannot_be_is_said(constraints, options, message):
    with pytest.raises(InputError, match=message):
        learn_kernel(**{"factor": FACTOR, "constraints": constraints, **options})


def test_rules_are_checked():
    for rule, message in (
        ({"tolerance": 0.0}, "tolerance must be a finite number > 0, got 0.0"),
        ({"kkt_tolerance": "x"}, "kkt_tolerance must be a finite number > 0, got 'x'"),
        ({"max_sweeps": 0}, "max_sweeps must be an integer >= 1, got 0"),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            Stopping(**rule)


def itml(features, constraints, sweeps, gamma):
    """Information-theoretic metric learning by its authors' formulas: M of (x - y)' M (x - y), for distances alone."""
    metric = np.eye(features.shape[1])
    differences = constraints.vectors @ features
    bounds, multipliers = constraints.bounds.copy(), np.zeros(len(constraints))
    give = 1.0 if gamma == np.inf else gamma / (gamma + 1)
    for _ in range(sweeps):
        for i, v in enumerate(differences):
            sign = 1.0 if constraints.senses[i] == "<=" else -1.0
            square = v @ metric @ v
            alpha = min(multipliers[i], sign * give * (1 / square - 1 / bounds[i]))
            multipliers[i] -= alpha
            beta = sign * alpha / (1 - sign * alpha * square)
            bounds[i] = 1 / (1 / bounds[i] + sign * alpha / gamma)
            metric = metric + beta * np.outer(metric @ v, metric @ v)
    return metric


@pytest.mark.parametrize("gamma", [np.inf, 1.0, 30.0])
def test_itml_is_burg_with_the_identity_and_its_slack(gamma):
    features = np.random.default_rng(5).standard_normal((30, 4))
    constraints = constraints_from_labels(features, np.arange(30) % 3, 20, np.random.default_rng(0))
    sweeps = 40
    learned = learn_kernel(features, constraints, slack=gamma, stopping=Stopping(1e-300, 1e-300, sweeps))
    assert learned.sweeps == sweeps
    metric = learned.factor_map @ learned.factor_map.T
    expected = itml(features, constraints, sweeps, gamma)
    np.testing.assert_allclose(metric, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_units_of_the_kernel_do_not_matter():
    factor, constraints = feasible_problem(5, full_rank=False)
    for divergence in DIVERGENCES:
        one = learn_kernel(factor, constraints, divergence=divergence, stopping=TIGHT)
        for scale in (1e-4, 1e4):
            scaled = constraints.take(range(len(constraints)))
            scaled.bounds[:] *= scale**2
            other = learn_kernel(scale * factor, scaled, divergence=divergence, stopping=TIGHT)
            np.testing.assert_allclose(
                other.kernel, scale**2 * one.kernel, rtol=0, atol=1e-7 * scale**2 * np.abs(one.kernel).max()
            )


@pytest.mark.parametrize(
    ("status", "end"),
    [(LowRankStatus.INFEASIBLE, LowRankStatus.INFEASIBLE), (LowRankStatus.CONVERGED, LowRankStatus.STALLED)],
)
def test_duals_without_a_kernel_leave_the_start(status, end):
    near = squared_distances(6, [(0, 1)], "<=", 0.1)
    kind = DIVERGENCES["von_neumann"]
    divergence = kind(reduce_problem(FACTOR, near, orthonormal=kind.orthonormal, slack=np.inf), False)
    duals = next(duals for duals in (np.array([1e6]), np.array([-1e6])) if divergence.at(duals) is None)
    # Five constraints in conflict are named, and no further ones.
    learned = collected(FACTOR, near, divergence, duals, status, Progress(conflicting=(0,) * 5))
    assert learned.status is end
    np.testing.assert_allclose(learned.factor @ learned.factor.T, FACTOR @ FACTOR.T, atol=1e-12)
    assert "more" not in learned.message


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_factor_without_a_logarithm_is_refused():
    with pytest.raises(InputError, match="entries are too large or too small for its kernel's logarithm"):
        learn_kernel(1e154 * FACTOR, squared_distances(6, [(0, 1)], "<=", 1.0), **VON_NEUMANN)
