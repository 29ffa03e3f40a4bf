"""Passes over the data: threads, progress, interruption, single precision; data on which they might lose digits."""

import multiprocessing
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kdrbench import arrays
from kdrbench.blas import waiting_threads
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.low_rank import LowRankProblem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Combination, Gaussian, Linear, Multiquadric, Polynomial, RelativeGaussian, Term, family
from kdrbench.problems import PassStoppedError, TraceObjective, supervised_gamma
from kdrbench.samples.passes import run_pass
from kdrbench.solvers import Monitor, Status
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import objective_of
from support.helpers import KERNELS, random_projection, random_samples, solved


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_grows_and_a_pass_stops_when_told(threads):
    shares = []
    slow = threading.Event()

    def visit(total, part):
        slow.wait(0.005)

    def report(share):
        shares.append(share)
        return share < 0.5

    with pytest.raises(PassStoppedError):
        run_pass(range(60), threads, lambda: None, visit, report)
    assert shares == sorted(shares)
    assert 0.5 <= shares[-1] < 1.0
    assert all(share < 0.5 for share in shares[:-1])


def test_a_pass_does_not_wait_for_threads_that_have_not_begun():
    free, pool = threading.Event(), waiting_threads()
    # All threads of the pool are held: whoever asks for a pass does all of it.
    held = [pool.submit(free.wait) for _ in range(pool._max_workers)]
    try:
        visitors = run_pass(range(7), 3, list, lambda total, part: total.append((part, threading.get_ident())))
    finally:
        free.set()
    assert [[part for part, _ in total] for total in visitors] == [[0, 3, 6], [1, 4], [2, 5]]
    assert {who for total in visitors for _, who in total} == {threading.get_ident()}
    assert all(one.result() for one in held)


def test_what_a_helper_raises_ends_the_pass():
    begun = threading.Event()

    def visit(total, part):
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(20)
        else:
            begun.set()
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        run_pass(range(4), 2, list, visit)


def test_a_forked_process_has_threads_of_its_own():
    run_pass(range(4), 2, list, lambda total, part: total.append(part))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(waiting_threads().submit(lambda: 7).result(timeout=20)))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert queue.get(timeout=5) == 7


@pytest.mark.parametrize(
    ("make", "n_samples", "kernel", "gamma"),
    [
        (PanelProblem, 1500, Gaussian(2.0), None),
        (partial(PanelProblem, single_precision=True), 1500, Multiquadric(1.0), None),
        (FactoredProblem, 5000, Polynomial(degree=3), None),
        (FactoredProblem, 5000, Polynomial(degree=3), "factors of both signs"),
        (partial(LowRankProblem, tolerance=1e-7), 5000, Gaussian(5.0), None),
    ],
)
def test_results_do_not_depend_on_the_number_of_threads(make, n_samples, kernel, gamma):
    objective = objective_of(n_samples, kernel, n_features=8, gamma=gamma)
    one, three = (make(objective, threads=threads) for threads in (1, 3))
    assert_equal_oracles(three, one, 3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_is_near_enough(kernel):
    objective = objective_of(700, KERNELS[kernel], n_features=8)
    exact, single = DenseProblem(objective), PanelProblem(objective, single_precision=True)
    assert_equal_oracles(single, exact, 3, rounding=1e-5)
    projection = random_projection(n_features=8, n_components=3)
    # Ties of Phi_0, which rounding would decide, are kept: it is always in double precision.
    initial = exact.initial_surrogate()
    np.testing.assert_allclose(single.initial_surrogate(), initial, atol=1e-13 * np.abs(initial).max() * 10)
    # The rest is in single precision.
    assert np.abs(single.surrogate(projection) - exact.surrogate(projection)).max() > 0


@pytest.mark.parametrize(("evaluator", "combined"), [("dense", True), ("panels", False), ("panels", True)])
def test_the_kernel_is_computed_once_for_value_and_gradient(evaluator, combined, monkeypatch):
    computed = []
    monkeypatch.setattr(family, "applied", lambda *given: computed.append(given[1].size) or arrays.applied(*given))
    kernel = Gaussian(2.0)
    if combined:
        kernel = Combination((Term(2.0, kernel), Term(1.0, Polynomial(degree=2))))
    problem = build_problem(objective_of(600, kernel, n_features=8), Evaluation(evaluator=evaluator))
    projection = random_projection(n_features=8, n_components=3)
    problem.value_and_gradient(projection)
    together = sum(computed)
    computed.clear()
    if evaluator == "dense":
        # They are held at one W.
        problem.gradient(projection)
        problem.surrogate(projection)
        assert not computed
    problem.fresh().value(projection)
    assert together == sum(computed) > 600**2 // 2


class StopsInside(Monitor):
    """Stops in the middle of the third pass or later."""

    stop_status = Status.TIME_LIMIT

    def __init__(self):
        super().__init__()
        self.passes, self.last = 0, 1.0

    def progress(self, share):
        self.passes += share < self.last
        self.last = share
        return self.passes < 4


@pytest.mark.parametrize("solver", ["ism", "ism_safeguarded", "stiefel_cayley"])
def test_a_solver_stopped_inside_a_pass_returns_its_last_iterate(solver):
    problem = build_problem(objective_of(1200, Gaussian(1.0), n_features=8), Evaluation(evaluator="panels"))
    result = solved(problem, 2, solver, start="random", monitor=StopsInside())
    assert result.status is Status.TIME_LIMIT
    assert result.projection.shape == (8, 2)
    # Nothing may stop later calls.
    assert np.isfinite(problem.value(result.projection))
    assert result.evaluation.startswith("panels")


@pytest.mark.parametrize("make", ["panels", "low_rank"])
def test_an_offset_costs_no_digits_in_single_precision(make):
    near = objective_of(800, Gaussian(2.0), n_features=8)
    far = replace(near, features=near.array + 1e4)
    problem = PanelProblem(far, single_precision=True) if make == "panels" else LowRankProblem(far, 2e-5)
    assert_equal_oracles(problem, DenseProblem(near), 3, rounding=1e-3)


@pytest.mark.parametrize(
    ("scale", "kernel"),
    [(1e-10, RelativeGaussian(np.full(2000, 2e-10))), (1e-14, Multiquadric(1e-14)), (1e25, Gaussian(2e25))],
)
def test_what_single_precision_cannot_hold_is_solved_in_double(scale, kernel):
    features, labels = random_samples(n_samples=2000, n_features=8)
    problem = build_problem(TraceObjective(features * scale, kernel, supervised_gamma(labels)))
    assert problem.approximation(np.eye(features.shape[1])[:, :2]) is not None
    with np.errstate(all="ignore"):
        assert solved(problem, 2).status is Status.CONVERGED


def test_frozen_factors_take_up_samples_that_have_come_apart():
    features = np.random.default_rng(0).integers(0, 14, (2000, 12)).astype(float)
    objective = TraceObjective(features, Gaussian(0.3), supervised_gamma(np.arange(2000) % 3))
    problem = LowRankProblem(objective, 1e-3, max_rank=200)
    axes = np.eye(12, 2)
    frozen = problem.linearised_at(axes)
    projection = random_projection(n_features=12, n_components=2)
    assert np.isfinite(frozen.value(projection))
    assert frozen.value(axes) == pytest.approx(problem.value(axes), rel=1e-6)


@pytest.mark.parametrize(
    ("n_samples", "n_features", "kernel", "said"),
    [
        # Three quarters of the features are unused.
        (700, 400, Linear(), "in the row space, factored"),
        (2100, 300, Gaussian(20.0), "panels: 2100 samples; the kernel has no exact factors; approached through low"),
    ],
)
def test_what_is_said_of_the_evaluation_is_what_was_done(n_samples, n_features, kernel, said):
    features, labels = random_samples(n_samples=n_samples, n_features=n_features)
    features[:, n_features // 4 :] *= isinstance(kernel, Gaussian)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))
    assert solved(problem, 2, monitor=Monitor(3)).evaluation.startswith(said)


def test_a_failing_thread_stops_the_others():
    seen = []

    def visit(total, part):
        if part == 0:
            raise ZeroDivisionError
        time.sleep(0.02)
        seen.append(part)

    with pytest.raises(ZeroDivisionError):
        run_pass(range(40), 2, lambda: None, visit)
    assert len(seen) < 10
