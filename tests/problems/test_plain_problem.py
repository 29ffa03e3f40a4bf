"""A problem that offers the plain contract and nothing else: what a plug-in may be."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.problems import Counters
from kdrbench.solvers import SOLVERS, Monitor, Status, build_solver, make_start, solve
from support.helpers import random_projection, small_problem
from support.quadratics import PlainProblem

PLAIN = sorted({*SOLVERS} - {"ism_2018"})


@pytest.mark.parametrize("method", PLAIN)
def test_every_solver_solves_it_as_it_solves_a_full_one(method):
    full = small_problem()
    plain = PlainProblem(full.fresh())
    start = make_start("surrogate", plain, 2, np.random.default_rng(0))
    assert plain.approximation(start) is None
    results = [solve(build_solver({"method": method}), one, start, Monitor()) for one in (full, plain)]
    assert results[1].status is Status.CONVERGED
    assert results[1].evaluation == "PlainProblem"
    values = [full.value(result.projection) for result in results]
    assert values[1] == pytest.approx(values[0], rel=1e-9)


def test_value_and_gradient_together_count_as_one():
    full, point = small_problem(), random_projection()
    assert (full.counters, full.counters.total) == (Counters(0, 0, 0, 0, 0, 0), 0)
    apart = PlainProblem(full.fresh())
    results = [problem.value_and_gradient(point) for problem in (full, apart)]
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-12)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-9)
    assert full.counters == Counters(value_gradient=1)
    assert apart.counters == Counters(value=1, gradient=1)


def test_a_hessian_built_from_products_is_the_oracle_s():
    full = small_problem()
    point = make_start("random", full, 2, np.random.default_rng(0))
    basis = np.linalg.qr(point, mode="complete")[0][:, 2:]
    expected = full.hessian(point, basis)
    np.testing.assert_allclose(PlainProblem(full).hessian(point, basis), expected, atol=1e-11 * np.abs(expected).max())


def test_what_needs_another_evaluator_says_so():
    plain = PlainProblem(small_problem())
    start = make_start("random", plain, 2, np.random.default_rng(0))
    for definition in ({"method": "ism_2018"}, {"method": "grassmann_trust_region", "variant": "published"}):
        with pytest.raises(InputError, match=r"PlainProblem cannot be evaluated as '.*'; make it with build_problem"):
            solve(build_solver(definition), plain, start, Monitor())
