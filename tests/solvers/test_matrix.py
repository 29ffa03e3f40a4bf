"""Every solver on every problem, and what it must reach from the surrogate's start.

- All: the status ``converged``, a feasible W, and F not below that of the start.
- Solvers to a tolerance: relative stationarity s of at most 1e-6. Then F is below its local maximum by about s^2
  times |W'G| over the smallest curvature, relatively; where the curvature is a thousandth of |W'G| or more, by 1e-9.
- Safeguarded ISM: the largest F that is known. The others may end at a local maximum, which is then stated.
- ISM, whose rule is about eigenvalues, and greedy growth: a share of F that is stated.
"""

import numpy as np
import pytest

from kdrbench.solvers import Status, make_start
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity
from support.helpers import solved
from support.solver_cases import CASES, ROUNDING

PRECISE = {
    method: {"method": method}
    for method in (
        *("ism_safeguarded", "stiefel_cayley", "grassmann_trust_region", "grassmann_conjugate_gradient"),
        *("riemannian_lbfgs", "scipy_lbfgs"),
    )
}
# What F may be below the maximum, as a share of it.
LOOSE = {
    "ism": ({"method": "ism"}, 5e-3),
    "ism_2018": ({"method": "ism_2018"}, 5e-3),
    "dimension_growth": ({"method": "dimension_growth"}, 5e-3),
    "dimension_growth, published": ({"method": "dimension_growth", "variant": "published"}, 2e-2),
    "stiefel_cayley, published": ({"method": "stiefel_cayley", "variant": "published"}, 1e-6),
    "grassmann_trust_region, published": ({"method": "grassmann_trust_region", "variant": "published"}, 1e-6),
}
AUTOGRAD = "grassmann_trust_region, published"


def products(solvers, of_every_case):
    """Pair solvers with the cases that they know: daily those of one solver, the Gaussian's, and a diagonal."""
    pairs = []
    for row, solver in enumerate(solvers):
        known = [case for case in CASES if solver != AUTOGRAD or case.autograd_knows_it]
        daily = {"gaussian", known[row].name, known[-row - 2].name}
        for case in known:
            marks = () if solver == of_every_case or case.name in daily else pytest.mark.whole
            pairs.append(pytest.param(solver, case, marks=marks, id=f"{solver}-{case.name}"))
    return pairs


def solved_case(case, definition):
    problem = case.problem()
    start = make_start("surrogate", problem, case.n_components, np.random.default_rng(0))
    return problem.fresh(), start, solved(problem, start=start, **definition)


def assert_sound(problem, start, result, statuses=(Status.CONVERGED,)):
    assert result.status in statuses, result.message
    assert result.message
    assert result.projection.shape == start.shape
    assert feasibility_error(result.projection) <= 1e-12
    before = problem.value(start)
    assert problem.value(result.projection) >= before - 1e-12 * abs(before)


@pytest.mark.parametrize(("solver", "case"), products(PRECISE, "ism_safeguarded"))
def test_precise_solvers_are_stationary_and_reach_the_maximum(solver, case):
    problem, start, result = solved_case(case, PRECISE[solver])
    assert_sound(problem, start, result)
    gradient = problem.gradient(result.projection)
    if case.n_components < problem.n_features:
        assert relative_stationarity(result.projection, gradient) <= 1e-6
    reached = problem.value(result.projection)
    wanted = case.optimum if solver == "ism_safeguarded" else case.local_optimum or case.optimum
    assert reached == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("solver", "case"), products(LOOSE, "dimension_growth"))
def test_other_rules_end_within_a_share_of_the_maximum(solver, case):
    definition, share = LOOSE[solver]
    problem, start, result = solved_case(case, definition)
    if case.ism_cycles and solver.startswith("ism"):
        assert result.status is Status.MAX_ITERATIONS
        return
    assert_sound(problem, start, result, (Status.CONVERGED, Status.STALLED))
    reached = problem.value(result.projection)
    assert reached >= (1.0 - share) * (case.local_optimum or case.optimum)
    assert reached <= (1.0 + ROUNDING) * case.optimum
