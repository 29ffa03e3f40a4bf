"""Data on which approximations might lose what matters: offsets, extreme units, coinciding samples, failing threads."""

import time

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.low_rank import LowRankProblem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Pairing, RelativeGaussian
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma
from kdrbench.samples.passes import run_pass
from kdrbench.solvers import IterationMonitor, Status
from support.equal_oracles import assert_equal_oracles
from support.helpers import random_projection, solved


def classes(n_samples=2000, n_features=8):
    rng = np.random.default_rng(0)
    labels = np.arange(n_samples) % 3
    return rng.standard_normal((n_samples, n_features)) + rng.standard_normal((3, n_features))[labels], labels


@pytest.mark.parametrize("make", ["panels", "low_rank"])
def test_an_offset_costs_no_digits_in_single_precision(make):
    (features, labels), offset = classes(800), 1e4
    kernel = Gaussian(2.0)
    exact = DenseProblem(TraceObjective(features, kernel, supervised_gamma(labels)))
    objective = TraceObjective(features + offset, kernel, supervised_gamma(labels))
    problem = PanelProblem(objective, single_precision=True) if make == "panels" else LowRankProblem(objective, 2e-5)
    assert_equal_oracles(problem, exact, 3, rounding=1e-3)


@pytest.mark.parametrize(
    ("scale", "kernel"),
    [(1e-10, RelativeGaussian(np.full(2000, 2e-10))), (1e-14, Multiquadric(1e-14)), (1e25, Gaussian(2e25))],
)
def test_what_single_precision_cannot_hold_is_solved_in_double(scale, kernel):
    features, labels = classes()
    problem = build_problem(TraceObjective(features * scale, kernel, supervised_gamma(labels)))
    assert problem.approximation(2) is not None
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


def test_many_factors_of_gamma_are_no_case_for_low_rank():
    features, _ = classes(2400)
    gamma = FactoredGamma(np.random.default_rng(0).standard_normal((2400, 300)), np.ones(300))
    objective = TraceObjective(features, Gaussian(2.0), gamma)
    assert build_problem(objective, Evaluation(tolerance=1e-3)).explain(2).startswith("panels: 2400 samples")


@pytest.mark.parametrize(
    ("n_samples", "n_features", "kernel", "said"),
    [
        (700, 400, Linear(), "in the row space, factored"),
        (2100, 300, Gaussian(20.0), "panels: 2100 samples; the kernel has no exact factors; approached through low"),
    ],
)
def test_what_is_said_of_the_evaluation_is_what_was_done(n_samples, n_features, kernel, said):
    features, labels = classes(n_samples, n_features)
    features[:, n_features // 4 :] *= kernel.pairing is Pairing.DIFFERENCE
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))
    assert solved(problem, 2, monitor=IterationMonitor(3)).evaluation.startswith(said)


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


def test_codes_that_leave_out_a_class_are_refused():
    with pytest.raises(InputError, match="codes must number the classes"):
        FactoredGamma(np.ones((3, 1)), np.ones(1), True, np.array([0, 0, 2]))
