"""Portfolio starts: what is chosen, what it costs, and what is said of it."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import Monitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.safeguarded import explore
from support.helpers import Watcher, problem_on, solved


def many_optima(n_features=30, n_samples=120, **kernel):
    """Random labels and a cubic kernel on thirty features: each start finds another optimum."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_samples, n_features))
    built = build_kernel(kernel or {"family": "polynomial"}, features, 3)
    return supervised_problem(features, rng.integers(0, 3, n_samples), built)


def test_the_best_of_many_starts_is_mostly_better_than_one():
    problem = many_optima()
    alone = problem.value(solved(problem.fresh(), 3).projection)
    gains = []
    for seed in range(6):
        watcher = Watcher(problem)
        result = solved(problem.fresh(), 3, monitor=watcher, portfolio=12, seed=seed)
        # While a start is chosen F never falls.
        assert np.diff(watcher.values).min() >= -1e3 * np.spacing(np.abs(watcher.values).max())
        assert result.status is Status.CONVERGED
        assert result.message.endswith("; the best of 12 starts")
        gains.append(problem.value(result.projection) / alone - 1.0)
        certificate = certify(problem.fresh(), result.projection)
        assert certificate.stationarity <= 1e-6
        assert certificate.curvature >= -1e-6
    # The finish of the start itself is no worse than its rung, and the choice not worse than that rung.
    assert min(gains) >= -1e-2
    assert np.median(gains) > 1e-2


@pytest.mark.parametrize(("dataset", "q"), [("wine", 4), pytest.param("digits", 9, marks=pytest.mark.needs("mirror"))])
def test_where_eight_starts_agree_no_more_are_drawn(dataset, q):
    problem = problem_on(dataset, q, "gaussian")
    one, many = solved(problem.fresh(), q), solved(problem.fresh(), q, portfolio=100)
    assert many.message == f"{one.message}; 8 starts lead to one optimum"
    assert problem.value(many.projection) == pytest.approx(problem.value(one.projection), rel=1e-9)


@pytest.mark.parametrize(
    ("kernel", "n_features", "tried"),
    [
        ({"family": "polynomial"}, 60, True),
        ({"family": "polynomial"}, 30, False),
        ({"family": "gaussian", "sigma": "0.3 median"}, 60, False),
        ({"family": "multiquadric", "offset": 0.1}, 60, False),
    ],
)
def test_there_are_many_starts_for_powers_in_many_features(kernel, n_features, tried):
    problem = many_optima(n_features, **kernel)
    start = make_start("surrogate", problem, 3, np.random.default_rng(0))
    assert explore(problem.fresh(), start, Monitor(), tolerance=0.01, max_steps=200).drift > 5e-3
    result = solved(problem.fresh(), 3)
    assert result.message.endswith("; the best of 24 starts") == tried
    assert ("starts" in result.message) == tried
    # Where others make the starts there is one.
    solver = build_solver({"method": "ism_safeguarded"}).alone
    assert "starts" not in solve(solver, problem, start, Monitor()).message
    assert build_solver({"method": "ism_safeguarded", "portfolio": 5}).alone.portfolio == 5


@pytest.mark.parametrize("kernel", [{"family": "polynomial"}, {"family": "gaussian", "sigma": 5.0}])
def test_random_starts_begin_on_few_of_the_samples(kernel):
    problem = many_optima(40, 4000, **kernel)
    alone, result = (solved(problem.fresh(), 3, portfolio=count) for count in (1, 20))
    # Of the finalists there are two.
    assert result.counters["surrogate"] <= alone.counters["surrogate"] + 3
    assert problem.value(result.projection) >= problem.value(alone.projection) * (1 - 1e-9)
    assert result.status is Status.CONVERGED


def test_equal_seeds_draw_equal_starts_and_one_start_none():
    problem = many_optima()
    one, same, other = (solved(problem.fresh(), 3, portfolio=6, seed=seed).projection for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    plain = solved(problem.fresh(), 3, seed=4)
    np.testing.assert_array_equal(plain.projection, solved(problem.fresh(), 3).projection)
    assert "starts" not in plain.message
    for wrong in ({"portfolio": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=f"solver option {next(iter(wrong))} must be"):
            build_solver({"method": "ism_safeguarded", **wrong})


def test_a_limit_leaves_the_best_candidate_so_far():
    for most in [3, 12, 15]:
        problem = many_optima()
        watcher = Watcher(problem)
        watcher.max_iterations = most
        result = solved(problem.fresh(), 3, monitor=watcher, portfolio=20)
        assert (result.status, result.message) == (Status.MAX_ITERATIONS, f"stopped after {most} iterations")
        assert problem.value(result.projection) == pytest.approx(max(watcher.values[:most]), rel=1e-12)
