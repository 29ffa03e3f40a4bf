"""Saddles that rivals leave when asked to, and the polish of Dimension Growth: what ``converged`` means of them."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.solvers import Monitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from support.helpers import problem_on, solved

COMPONENTS = {"wine": 4, "wdbc": 2}
RIVALS = ["stiefel_cayley", "grassmann_trust_region", "grassmann_conjugate_gradient", "dimension_growth"]
RIVALS += ["riemannian_lbfgs", "scipy_lbfgs"]


@cache
def problem_and_start(dataset="wdbc", kernel="polynomial"):
    problem = problem_on(dataset, COMPONENTS[dataset], kernel)
    return problem, make_start("surrogate", problem, COMPONENTS[dataset], np.random.default_rng(0))


def solved_on(method, dataset="wdbc", kernel="polynomial", start=None, **options):
    problem, usual = problem_and_start(dataset, kernel)
    return solved(problem.fresh(), method=method, start=usual if start is None else start, **options)


@cache
def saddle():
    """Where SM ends on all rows of WDBC with the polynomial kernel."""
    return solved_on("stiefel_cayley").projection


@cache
def best():
    return problem_and_start()[0].fresh().value(solved_on("ism_safeguarded").projection)


@pytest.mark.parametrize("method", RIVALS)
def test_each_rival_leaves_a_saddle_at_which_it_starts(method):
    problem, options = problem_and_start()[0].fresh(), {}
    assert problem.value(saddle()) < 0.9 * best()
    if method == "dimension_growth":
        # Whose columns leave it anyhow: each is a maximum. So the polish begins there.
        assert problem.value(solved_on(method, start=saddle()).projection) == pytest.approx(best(), rel=1e-6)
        options = {"max_iterations": 300, "tolerance": 1e-5}
    else:
        np.testing.assert_allclose(solved_on(method, start=saddle()).projection, saddle(), atol=1e-6)
    left = solved_on(method, start=saddle(), escape=True, **options)
    assert left.status is Status.CONVERGED
    assert problem.value(left.projection) == pytest.approx(best(), rel=1e-6)
    if method == "stiefel_cayley":
        said = "relative stationarity at most 1e-06, no direction of ascent found, 1 saddle left"
        # Hessians at the saddle and at the end.
        assert (left.message, left.counters["hessian"]) == (said, 2)


@pytest.mark.parametrize("method", RIVALS)
def test_without_a_saddle_the_result_is_the_same_to_the_last_bit(method):
    plain = solved_on(method, "wine", "gaussian")
    looked = solved_on(method, "wine", "gaussian", escape=True)
    np.testing.assert_array_equal(looked.projection, plain.projection)
    assert looked.message == plain.message + ", no direction of ascent found"
    assert (looked.counters["hessian"], plain.counters["hessian"]) == (1, 0)


@pytest.mark.parametrize(("dataset", "kernel"), [("wine", "gaussian"), ("wdbc", "polynomial")])
def test_dg_is_converged_only_where_all_columns_are_stationary(dataset, kernel):
    problem = problem_and_start(dataset, kernel)[0].fresh()
    greedy = solved_on("dimension_growth", dataset, kernel, polish=False)
    polished = solved_on("dimension_growth", dataset, kernel)
    reached = [relative_stationarity(one.projection, problem.gradient(one.projection)) for one in (greedy, polished)]
    assert reached[0] > 1e-4
    assert greedy.status is not Status.CONVERGED
    said = f"; stationarity of all columns together is {reached[0]:.1e}: growth does not return to a column"
    assert greedy.message.endswith(said)
    assert polished.status is Status.CONVERGED
    assert reached[1] <= 1e-6
    assert polished.message.endswith("; all columns together: relative stationarity at most 1e-06")
    assert problem.value(polished.projection) > problem.value(greedy.projection)


def test_published_variants_neither_escape_nor_polish():
    published = {"variant": "published", "escape": True}
    refused = [("escape", {"method": method, **published}) for method in (*RIVALS[:2], "dimension_growth")]
    refused += [("escape", {"method": "dimension_growth", "polish": False, "escape": True})]
    refused += [("polish", {"method": "dimension_growth", "variant": "published", "polish": True})]
    for option, definition in refused:
        with pytest.raises(InputError, match=rf"option {option} .*belongs to the converged variant"):
            build_solver(definition)


@dataclasses.dataclass
class StopsAtSaddle(Monitor):
    """Stops when a stationary point is shown: at the iterate, or in the work that follows."""

    at_iterate: bool
    stop_status, stop_message = Status.TIME_LIMIT, "stopped at the time limit"

    def __post_init__(self):
        super().__init__()
        self.seen = False

    def keep_going(self, iterate):
        super().keep_going(iterate)
        problem = problem_and_start()[0].fresh()
        self.seen = relative_stationarity(iterate, problem.gradient(iterate)) <= 1e-6
        return not (self.seen and self.at_iterate)

    def progress(self, share):
        return not self.seen


@pytest.mark.parametrize("at_iterate", [True, False])
def test_a_limit_ends_the_search_at_the_saddle(at_iterate):
    problem, start = problem_and_start()
    solver = build_solver({"method": "stiefel_cayley", "escape": True})
    result = solve(solver, problem.fresh(), start, StopsAtSaddle(at_iterate))
    assert (result.status, result.message) == (Status.TIME_LIMIT, "stopped at the time limit")
    np.testing.assert_array_equal(result.projection, saddle())
