"""The same problem in coordinates of the row space."""

from dataclasses import replace

import numpy as np
import pytest

from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation import build_problem
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.row_space import row_space_of
from kdrbench.kernels import Gaussian, Polynomial
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers.geometry.certificate import certify
from support.helpers import KERNELS, random_projection, random_samples, solved

DATA = {"d > n": (30, 100), "d > n, rank 10": (30, 100), "unused columns": (200, 80)}


def wide(case, kernel):
    n_samples, n_features = DATA[case]
    features, labels = random_samples(n_samples=n_samples, n_features=n_features)
    if case == "d > n, rank 10":
        features = features[:, :10] @ np.random.default_rng(1).standard_normal((10, n_features)) / 3
    if case == "unused columns":
        features[:, 20:] = 0.0
    return build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))


@pytest.mark.parametrize(
    ("case", "kernel"), [*(("d > n", kernel) for kernel in KERNELS), *((case, "gaussian") for case in list(DATA)[1:])]
)
def test_values_gradients_and_products_are_the_same(case, kernel):
    problem = wide(case, KERNELS[kernel])
    reference = DenseProblem(problem.objective)
    projection = random_projection(n_features=problem.n_features, n_components=3)
    smaller, space = problem.in_row_space(projection)
    lowered = space.lower(projection)
    assert smaller.n_features == row_space_of(problem.objective.array).basis.shape[1] + 4 < problem.n_features
    np.testing.assert_allclose(space.lift(lowered), projection, atol=1e-13)
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(smaller.n_features), atol=1e-13)
    np.testing.assert_allclose(smaller.value(lowered), reference.value(projection), rtol=1e-11)
    value, gradient = smaller.value_and_gradient(lowered)
    assert (problem.counters.value, problem.counters.value_gradient, problem.counters.total) == (1, 1, 2)
    assert value == pytest.approx(reference.value(projection), rel=1e-11)
    scale = np.abs(reference.gradient(projection)).max()
    for found in (gradient, smaller.gradient(lowered)):
        np.testing.assert_allclose(space.lift(found), reference.gradient(projection), atol=1e-11 * scale)
    direction = np.random.default_rng(0).standard_normal(lowered.shape)
    turned = space.lift(smaller.hessian_vector(lowered, direction))
    surrogate = space.basis @ smaller.surrogate(lowered) @ space.basis.T
    for found, expected in (
        (turned, reference.hessian_vector(projection, space.lift(direction))),
        (surrogate, reference.surrogate(projection)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("kernel", "solver"), [(Gaussian(10.0), "ism_safeguarded"), (Polynomial(degree=3, scale=0.02), "ism")]
)
@pytest.mark.parametrize("case", DATA)
def test_solutions_are_those_in_all_coordinates(case, kernel, solver, monkeypatch, permutation):
    problem = wide(case, kernel)
    found = solved(problem.fresh(), 2, solver)
    monkeypatch.setattr(type(problem), "in_row_space", lambda self, projection: None)
    plain = solved(problem.fresh(), 2, solver)
    assert found.counters["surrogate"] > 0
    assert problem.value(found.projection) == pytest.approx(problem.value(plain.projection), rel=1e-9)
    assert found.projection.shape == (problem.n_features, 2)


def test_null_directions_may_beat_negative_eigenvalues():
    # Gamma against the classes: every direction of the row space is worse than none.
    objective = wide("d > n", Polynomial(degree=1, offset=0.0)).objective
    against = replace(objective.gamma, weights=-objective.gamma.weights)
    problem = build_problem(replace(objective, gamma=against))
    found = solved(problem, 2, "ism").projection
    # Phi is the same at every W.
    reference = np.linalg.eigvalsh(DenseProblem(problem.objective).surrogate(found))[-2:].sum()
    assert problem.value(found) == pytest.approx(reference, abs=1e-9 * abs(reference) + 1e-9)


@pytest.mark.parametrize("case", DATA)
def test_certificates_are_those_in_all_coordinates(case, monkeypatch):
    problem = wide(case, Gaussian(12.0))
    found = solved(problem, 2).projection
    short = certify(problem.fresh(), found)
    monkeypatch.setattr(type(problem), "in_row_space", lambda self, projection: None)
    whole = certify(problem.fresh(), found)
    for name, error in (("curvature", 1e-6), ("eigengap", 1e-9), ("eigengap_needed", 1e-3), ("stationarity", 1e-9)):
        assert getattr(short, name) == pytest.approx(getattr(whole, name), abs=error), name


def test_features_may_be_more_than_a_square_of_them_can_hold():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    features = rng.standard_normal((60, 20_000)) + rng.standard_normal((3, 20_000))[labels]
    model = InterpretableKDR(2).fit(features, labels)
    assert model.components_.shape == (2, 20_000)
    assert model.certificate_.stationarity <= 1e-6
    assert model.certificate_.feasibility <= 1e-10
