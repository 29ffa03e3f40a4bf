"""What each variant of trust regions asks of pymanopt, without a run of it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.solvers import build_solver
from kdrbench.solvers import grassmann as module


@pytest.fixture
def asked(monkeypatch):
    """Run a variant in whose place pymanopt and autograd only note what they are asked for."""
    noted = SimpleNamespace()

    def run_on_grassmann(optimizer, most, problem, start, monitor, rule):
        noted.most, noted.problem, noted.rule = most, problem, rule
        noted.longest_s, noted.own_rule, noted.own_most = (
            getattr(optimizer, f"_{name}") for name in ("max_time", "min_gradient_norm", "max_iterations")
        )

    monkeypatch.setattr(module, "run_on_grassmann", run_on_grassmann)
    monkeypatch.setattr(module, "evaluated_as", lambda evaluator, problem: f"{problem} as {evaluator}")
    monkeypatch.setattr(module, "gradient_below", lambda norm: ("gradient", norm))
    monkeypatch.setattr(module, "stationary_to", lambda tolerance: ("stationarity", tolerance))

    def run(**options):
        build_solver({"method": "grassmann_trust_region"} | options).run("it", np.eye(4, 2), None)
        return noted

    return run


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"variant": "published", "max_iterations": 5000}, 1000),
        ({"variant": "published", "max_iterations": 7}, 7),
        ({"variant": "converged", "max_iterations": 5000}, 5000),
        ({"variant": "converged", "max_iterations": 7}, 7),
    ],
)
def test_the_published_variant_ends_after_a_thousand_iterations(asked, options, most):
    noted = asked(**options)
    assert (noted.most, noted.own_most) == (most, most)
    # The bench's clock and rule end it, not pymanopt's.
    assert (noted.longest_s, noted.own_rule) == (math.inf, 0.0)


@pytest.mark.parametrize(
    ("options", "problem", "rule"),
    [
        ({"variant": "published"}, "it as autograd", ("gradient", 1e-6)),
        ({"variant": "converged"}, "it", ("stationarity", 1e-6)),
        ({"variant": "converged", "tolerance": 1e-3}, "it", ("stationarity", 1e-3)),
        ({"variant": "converged", "derivatives": "autograd"}, "it as autograd", ("stationarity", 1e-6)),
    ],
)
def test_each_variant_has_its_derivatives_and_its_rule(asked, options, problem, rule):
    noted = asked(**options)
    assert (noted.problem, noted.rule) == (problem, rule)
