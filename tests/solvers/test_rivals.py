"""The rivals' two variants: written-out references of the published ones, what their theory promises, their steps."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pymanopt
import pytest

from kdrbench.evaluation import build_problem
from kdrbench.kernels import Gaussian
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import Monitor, Status, build_solver, make_start, solve
from kdrbench.solvers.dimension_growth import PUBLISHED_END, Growth
from kdrbench.solvers.geometry.stiefel import feasibility_error, outside, relative_stationarity, subspace_turn
from support import helpers
from support.helpers import random_projection, random_samples, small_problem, solved
from support.quadratics import Noted, Quadratic

KERNELS = ["gaussian", "polynomial", "linear", "squared", "multiquadric"]


class Recorder(Monitor):
    """Keeps every iterate from which a solver went on."""

    def __init__(self):
        super().__init__()
        self.iterates = []

    def keep_going(self, iterate):
        self.iterates.append(np.array(iterate() if callable(iterate) else iterate))
        return super().keep_going(iterate)


def recorded(problem, seed=4, n_components=2, **definition):
    """Solve from a random start; return the result and all iterates, the last one too."""
    recorder = Recorder()
    start = make_start("random", problem, n_components, np.random.default_rng(seed))
    result = solve(build_solver(definition), problem, start, recorder)
    return result, [*recorder.iterates, result.projection]


def tangent(problem, point):
    gradient = -problem.gradient(point)
    return gradient - point @ gradient.T @ point


# SM


def optm_steps(problem, point, count):
    """The published curvilinear search with d x d matrices, as far as ``count`` steps."""
    d = len(point)
    tau, reference, memory, iterates = 1e-3, -problem.value(point), 1.0, [point]
    for step in range(1, count + 1):
        gradient = -problem.gradient(point)
        skew = gradient @ point.T - point @ gradient.T
        slope = np.linalg.norm(skew @ point) ** 2
        for trial in range(1, 6):
            candidate = np.linalg.solve(np.eye(d) + tau / 2 * skew, (np.eye(d) - tau / 2 * skew) @ point)
            cost = -problem.value(candidate)
            if cost <= reference - 1e-4 * tau * slope or trial == 5:
                break
            tau /= 10
        moved, turned = candidate - point, tangent(problem, candidate) - tangent(problem, point)
        inner = abs(np.vdot(moved, turned))
        tau = np.vdot(moved, moved) / inner if step % 2 == 0 else inner / np.vdot(turned, turned)
        reference = (0.85 * memory * reference + cost) / (0.85 * memory + 1)
        memory = 0.85 * memory + 1
        point = candidate
        iterates.append(point)
    return iterates


@pytest.mark.parametrize("kernel", KERNELS)
def test_published_sm_is_the_authors_search(kernel, permutation):
    for seed in range(4):
        problem = small_problem(kernel)
        result, iterates = recorded(problem, seed, method="stiefel_cayley", variant="published")
        assert result.status is Status.CONVERGED
        # Nonmonotone searches amplify rounding; it has had no time to grow within so many steps.
        expected = optm_steps(problem, iterates[0], min(12, len(iterates) - 1))
        for mine, reference in zip(iterates, expected, strict=False):
            np.testing.assert_allclose(mine, reference, atol=1e-7)


def optm_ends(problem, iterates, share):
    """Which of the published criteria hold after the last of these iterates, with ``share`` of each threshold.

    Costs round at 1e-15 of themselves, a thousandth of the smallest threshold.
    """
    costs = [-problem.value(point) for point in iterates]
    sizes = [np.linalg.norm(b - a) / np.sqrt(len(a)) for a, b in pairwise(iterates)]
    gains = [abs(b - a) / (abs(a) + 1) for a, b in pairwise(costs)]
    slope = np.linalg.norm(tangent(problem, iterates[-1]))
    ends = {"the gradient's norm is below 1e-06"} if slope < share * 1e-6 else set()
    if sizes and sizes[-1] < share * 1e-6 and gains[-1] < share * 1e-12:
        ends.add("W and its cost settled")
    if sizes and np.mean(sizes[-5:]) < share * 1e-5 and np.mean(gains[-5:]) < share * 1e-11:
        ends.add("W and its cost settled in the mean of 5 steps")
    return ends


def test_published_sm_stops_by_the_authors_criteria():
    seen = set()
    for kernel in KERNELS:
        for scale in (1.0, 0.03):
            features, labels = random_samples(n_features=8)
            problem = supervised_problem(scale * features, labels, helpers.KERNELS[kernel])
            for seed in range(2):
                result, iterates = recorded(problem, seed, method="stiefel_cayley", variant="published")
                assert result.status is Status.CONVERGED
                met, reached = result.message.split("; stationarity is ")
                assert met in optm_ends(problem, iterates, 1.01)
                gradient = problem.gradient(result.projection)
                # Of the gradient before rounding: a norm of 1e-6 is near it.
                found = relative_stationarity(result.projection, gradient)
                assert float(reached) == pytest.approx(found, rel=0.06, abs=1e-12)
                for last in range(1, len(iterates)):
                    assert not optm_ends(problem, iterates[:last], 0.99)
                seen.add(met)
    # Hardly a run ends by the mean of 5 steps: the next test is of each threshold.
    assert len(seen) >= 2


def test_published_sm_takes_its_fifth_trial_whatever_it_gives():
    features, labels = random_samples()
    # Steps of 1e-3 to 1e-7 are far too long for gradients of this size.
    problem = supervised_problem(10.0 * features, labels, helpers.KERNELS["polynomial"])
    result, iterates = recorded(problem, method="stiefel_cayley", variant="published", max_iterations=1)
    assert (result.status, result.counters["value_gradient"]) == (Status.MAX_ITERATIONS, 1 + 5)
    np.testing.assert_allclose(iterates[-1], optm_steps(problem, iterates[0], 1)[-1], atol=1e-6)
    assert problem.value(iterates[-1]) < problem.value(iterates[0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_iterates_of_sm_are_feasible_and_keep_to_the_bound(kernel):
    problem = small_problem(kernel, n_features=30)
    _, iterates = recorded(problem, n_components=5, method="stiefel_cayley", variant="published")
    assert max(map(feasibility_error, iterates)) <= 1e-12
    _, iterates = recorded(problem, n_components=5, method="stiefel_cayley")
    assert max(map(feasibility_error, iterates)) <= 1e-12
    # Zhang and Hager's bound on the costs of the converged variant.
    first, *costs = (-problem.value(point) for point in iterates)
    reference, memory = first, 1.0
    for cost in costs:
        assert cost <= reference
        reference, memory = (0.85 * memory * reference + cost) / (0.85 * memory + 1), 0.85 * memory + 1
    assert len(costs) > 9


# DG


def published_growth(problem, start):
    """Dimension Growth as its papers and the OPC library have it."""
    found, d = np.zeros((len(start), 0)), len(start)
    for r in range(start.shape[1]):
        column = start[:, r] - found @ (found.T @ start[:, r])
        column /= np.linalg.norm(column)
        while True:
            grown = np.column_stack([found, column])
            value, gradient = problem.value(grown), problem.gradient(grown)[:, -1]
            across = (np.eye(d) - grown @ grown.T) @ gradient
            direction, gamma = across / np.linalg.norm(across), 1.0
            for _ in range(20):
                trial = np.column_stack([found, np.sqrt(1 - gamma**2) * column + gamma * direction])
                if problem.value(trial) >= value + 1e-4 * gamma * (gradient @ direction):
                    break
                gamma /= 2
            else:
                break
            column = trial[:, -1]
            if problem.value(trial) - value <= 1e-4 * abs(problem.value(trial)):
                break
        found = np.column_stack([found, column])
    return found


@pytest.mark.parametrize("kernel", [*KERNELS, "narrow gaussian"])
def test_published_dg_is_the_papers_growth(kernel, permutation):
    for seed in range(4):
        problem = small_problem(kernel if kernel in KERNELS else "gaussian", n_features=8)
        if kernel == "narrow gaussian":
            # F has many maxima along a circle: a step that was cut short says nothing of the next one.
            problem = build_problem(replace(problem.objective, kernel=Gaussian(0.3)))
        result, _ = recorded(problem, seed, n_components=3, method="dimension_growth", variant="published")
        start = make_start("random", problem, 3, np.random.default_rng(seed))
        # Near a maximum along a circle rounding of F, at 1e-15 of itself, hides what squares of steps change: 3e-8 of
        # a unit column where the curvature is F, and 1e-6 where it is less by a factor of a thousand.
        np.testing.assert_allclose(result.projection, published_growth(problem, start), rtol=0, atol=1e-6)


def test_growth_ends_as_the_column_that_settled_least():
    problem, start = small_problem(), random_projection(n_components=3)
    converged, stalled, most = Status.CONVERGED, Status.STALLED, Status.MAX_ITERATIONS
    for columns, end in (([stalled, converged], stalled), ([most, stalled], most), ([stalled, most], most)):
        growth = Growth(problem, start, None, None)
        for status in columns:
            growth.end_column(status)
        assert growth.status is end


# GM and conjugate gradients


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "multiquadric"])
def test_published_gm_is_pymanopts_own_run_with_autograd(kernel):
    problem = small_problem(kernel)
    result, iterates = recorded(problem, method="grassmann_trust_region", variant="published")
    assert result.status is Status.CONVERGED
    assert re.fullmatch(r"the gradient's norm is below 1e-06; stationarity is \d\.\de-\d\d", result.message)
    assert result.evaluation == "autograd: asked for"
    norms = [np.linalg.norm(outside(point, problem.gradient(point))) for point in iterates]
    assert norms[-1] < 1e-6 <= min(norms[:-2])
    manifold = pymanopt.manifolds.Grassmann(6, 2)
    stock = problem.fresh().evaluated("autograd").evaluator(iterates[0])._objective_at

    @pymanopt.function.autograd(manifold)
    def cost(point):
        return -stock(point)

    optimizer = pymanopt.optimizers.TrustRegions(verbosity=0)
    expected = optimizer.run(pymanopt.Problem(manifold, cost), initial_point=iterates[0])
    np.testing.assert_allclose(result.projection, expected.point, atol=1e-8)
    # The first iterate is the start, and the last one was seen as it was accepted.
    assert expected.iterations >= len(iterates) - 2


class StopsInside(Recorder):
    """Says no within a step, after a number of questions."""

    stop_status, stop_message = Status.TIME_LIMIT, "stopped at the time limit"

    def __init__(self, questions):
        super().__init__()
        self.questions = questions

    def progress(self, share):
        self.questions -= 1
        return self.questions >= 0


@pytest.mark.parametrize(
    "name",
    [
        *("grassmann_trust_region", "grassmann_trust_region published", "grassmann_conjugate_gradient"),
        *("scipy_lbfgs", "ism_2018"),
    ],
)
def test_limits_work_between_iterates(name):
    definition = dict(zip(("method", "variant"), name.split(), strict=False))
    for questions in [0, 7, 30]:
        problem = small_problem()
        monitor = StopsInside(questions)
        start = make_start("random", problem, 2, np.random.default_rng(4))
        result = solve(build_solver({**definition, "tolerance": 1e-12}), problem, start, monitor)
        assert result.status is Status.TIME_LIMIT
        assert monitor.questions == -1
        np.testing.assert_array_equal(result.projection, monitor.iterates[-1] if monitor.iterates else start)


# ISM of 2018


@pytest.mark.parametrize("kernel", KERNELS)
def test_ism_of_2018_has_isms_iterates(kernel):
    problem = small_problem(kernel)
    result, iterates = recorded(problem, method="ism_2018")
    expected, others = recorded(small_problem(kernel), method="ism")
    # No change of eigenvalues is so near to the rule's .01 that rounding would decide the number of iterations.
    leading = np.array([np.linalg.eigvalsh(problem.fresh().surrogate(point))[-2:] for point in others[:-1]])
    changes = np.linalg.norm(np.diff(leading, axis=0), axis=1) / np.linalg.norm(leading[:-1], axis=1)
    assert np.abs(changes / 0.01 - 1).min() > 1e-6
    for name in ("status", "iterations", "message", "counters"):
        assert getattr(result, name) == getattr(expected, name), name
    assert len(iterates) == len(others)
    assert max(subspace_turn(*pair) for pair in zip(iterates, others, strict=True)) < 1e-10
    assert result.evaluation == "pairwise_sum: asked for"


# Options


@pytest.mark.parametrize(
    "method", ["grassmann_conjugate_gradient", "grassmann_trust_region", "riemannian_lbfgs", "scipy_lbfgs"]
)
def test_rivals_end_by_relative_stationarity(method):
    for factor in [1e-9, 1e9]:
        problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
        result = solved(problem, method=method, start=random_projection())
        assert result.status is Status.CONVERGED
        assert relative_stationarity(result.projection, problem.gradient(result.projection)) <= 1e-6
        assert subspace_turn(np.eye(6, 2), result.projection) <= 1e-5


@pytest.mark.parametrize("variant", ["published", "converged"])
def test_what_is_said_of_columns_along_which_no_step_gains(variant):
    class Sinking(Quadratic):
        """Less and less, however one turns."""

        def value(self, point):
            self.counters.value += 1
            return float(1000 - self.counters.value)

    monitor, definition = Noted(), {"method": "dimension_growth", "variant": variant}
    solver = build_solver(definition if variant == "published" else definition | {"polish": False})
    result = solve(solver, Sinking(4, 3, 2, 1), random_projection(n_features=4), monitor)
    stalled = "no step increases F along column 1; no step increases F along column 2; stationarity of all columns"
    status, message = (Status.CONVERGED, PUBLISHED_END) if variant == "published" else (Status.STALLED, stalled)
    assert result.status is status
    assert result.message.startswith(message)
    # A search without gain ends its column, from which no one need go on.
    assert len(monitor.states) == 2
    np.testing.assert_allclose(result.projection, random_projection(n_features=4), atol=1e-14)


@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_a_column_goes_on_from_its_state(tolerance):
    problem, start = Quadratic(9, 5, 3, 2, 1, 0.5), random_projection(n_components=3)
    growing = Growth(problem, start, tolerance)
    for _ in range(3):
        growing.settled()
        growing.step()
    again = Growth(problem, start, tolerance, growing.state())
    for growth in (growing, again):
        assert not growth.settled()
        assert growth.step()
    np.testing.assert_array_equal(again.grown(), growing.grown())
    for name, value in growing.state().items():
        np.testing.assert_array_equal(again.state()[name], value)
