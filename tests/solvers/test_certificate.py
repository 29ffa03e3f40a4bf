"""The certificate in closed form, from what a solver has found, and computed on demand."""

import copy
import pickle

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR, fitting, on_demand
from kdrbench.evaluation import build_problem
from kdrbench.kernels import Combination, Gaussian, Linear, Polynomial, Squared, Term
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import make_start
from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import Tangents, largest_outside
from support.helpers import KERNELS, random_projection, random_samples, solved
from support.quadratics import PlainProblem

CONSTANT = {
    "linear": Linear(),
    "squared": Squared(),
    "degree one": Polynomial(degree=1, offset=0.5, scale=2.0),
    "both": Combination((Term(0.5, Linear()), Term(2.0, Squared()))),
}
# The tangent space has 420 dimensions: more than are formed.
WIDE = {"n_samples": 120, "n_features": 52}


@pytest.mark.parametrize("kernel", CONSTANT)
def test_in_closed_form_it_is_that_of_the_formed_hessian(kernel):
    for seed in range(5):
        features, labels = random_samples(seed=seed, n_features=9)
        problem = supervised_problem(features, labels, CONSTANT[kernel])
        point = random_projection(seed=seed, n_features=9, n_components=3)
        closed, formed = certify(problem, point), certify(PlainProblem(problem.fresh()), point)
        # Rounding of sums over 40 samples and of eigenvalues, relative to the largest of the spectrum.
        spectrum = np.abs(np.linalg.eigvalsh(problem.surrogate(point))).max()
        rounding = 1e-12 * spectrum / np.abs(np.linalg.eigvalsh(point.T @ problem.surrogate(point) @ point)).max()
        for name in ("feasibility", "stationarity", "curvature", "curvature_error", "eigengap", "eigengap_needed"):
            assert getattr(closed, name) == pytest.approx(getattr(formed, name), abs=rounding), name
        assert problem.counters.hessian == 0
        assert closed.eigengap_needed == 0.0


def solved_wide(kernel, **options):
    problem = supervised_problem(*random_samples(**{**WIDE, **options}), kernel)
    return problem, solved(problem, 10)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_the_solvers_lowest_direction_is_evaluated_not_sought(kernel):
    problem, result = solved_wide(KERNELS[kernel])
    handed, sought = problem.fresh(), problem.fresh()
    first, second = certify(handed, result.projection, result.lowest), certify(sought, result.projection)
    # Beside it there is what Theorem 1 needs.
    turn = problem.fresh()
    curvature.largest_turn(Tangents(turn, result.projection, turn.gradient(result.projection)))
    assert handed.counters.hessian_vector == turn.counters.hessian_vector + 1
    assert sought.counters.hessian_vector > handed.counters.hessian_vector
    assert handed.counters.surrogate == 1
    # Each lies within its error of an eigenvalue.
    assert abs(first.curvature - second.curvature) <= first.curvature_error + second.curvature_error
    assert first.curvature_error <= 1e-4
    for name in ("feasibility", "stationarity", "eigengap"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-9), name
    # Both end at a residual of 1e-4 of the scale, within which an eigenvalue lies.
    assert first.eigengap_needed == pytest.approx(second.eigengap_needed, abs=2e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric"])
@pytest.mark.parametrize("constant", [0, 5])
def test_products_find_the_eigengap_of_many_samples(kernel, constant):
    rng = np.random.default_rng(3)
    features, labels = random_samples(n_samples=2100, n_features=30)
    # Along constant features every Phi is null: there are eigenvectors that no iteration improves.
    features = np.hstack([features, np.zeros((len(features), constant))])
    problem = supervised_problem(features, labels, KERNELS[kernel])
    for point in (make_start("surrogate", problem, 4, rng), make_start("random", problem, 4, rng)):
        tangents = Tangents(problem, point, problem.gradient(point))
        before = problem.counters.gradient
        found = curvature.largest_outer(tangents)
        assert problem.counters.gradient > before
        scale = np.linalg.norm(point.T @ tangents.gradient, 2)
        expected = largest_outside(point, build_problem(problem.objective).surrogate(point), 1)[0][0]
        assert expected - 1e-5 * scale <= found <= expected + 1e-9 * scale


@pytest.mark.parametrize("false", ["no eigenvector", "no tangent", "not finite"])
def test_what_is_no_eigenvector_is_not_believed(false):
    problem, result = solved_wide(KERNELS["gaussian"])
    lowest = {
        "no eigenvector": np.linalg.qr(result.projection, mode="complete")[0][:, 10:20] / np.sqrt(10),
        "no tangent": result.projection / np.sqrt(10),
        "not finite": np.full_like(result.projection, np.nan),
    }[false]
    assert certify(problem.fresh(), result.projection, lowest) == certify(problem.fresh(), result.projection)


def test_in_the_row_space_it_is_lifted_with_the_projection():
    # 45 samples of 90 features: coordinates of 45 + 10 + 1 directions.
    problem, result = solved_wide(Gaussian(8.0), n_samples=45, n_features=90)
    assert "in the row space" in result.evaluation
    assert result.lowest.shape == result.projection.shape == (90, 10)
    assert np.linalg.norm(result.lowest) == pytest.approx(1.0)
    assert np.abs(result.projection.T @ result.lowest).max() <= 1e-12
    tangents = Tangents(problem, result.projection, problem.gradient(result.projection))
    found = np.vdot(result.lowest, tangents.hessian_vector(result.lowest))
    smallest = np.linalg.eigvalsh(tangents.hessian)[0]
    # The iteration ends at a residual of 1e-5 of the scale, which the Rayleigh quotient squares.
    assert found == pytest.approx(smallest, abs=1e-5 * np.linalg.norm(tangents.inner, 2))


def wide_fit():
    features, labels = random_samples(**WIDE)
    return InterpretableKDR(10, kernel_params={"sigma": 6.0}).fit(features, labels), features


def test_a_costly_one_is_computed_once_when_it_is_asked_for(monkeypatch):
    counted = []
    monkeypatch.setattr(on_demand, "certify", lambda *args: counted.append(args) or certify(*args))
    model, features = wide_fit()
    assert counted == []
    assert model.certificate_ is model.certificate_
    assert len(counted) == 1
    assert model.certificate_.stationarity <= 1e-6
    assert model.explained_objective_ratio_.sum() == pytest.approx(1.0)
    # The data are let go of.
    assert not any(features is held for held in vars(model._on_demand).values())
    assert model._on_demand._source is None


def test_what_takes_no_pairs_of_samples_is_there_after_the_fit():
    for kernel, is_held in (("linear", False), ("polynomial", False), ("gaussian", True)):
        model = InterpretableKDR(2, kernel=kernel).fit(*random_samples(n_samples=500))
        assert (model._on_demand._source is not None) == is_held


def test_many_features_that_have_changed_are_no_longer_certified(monkeypatch):
    model, features = wide_fit()
    features[3, 4] += 1.0
    # Of a few features the model has a copy.
    assert model.certificate_.stationarity <= 1e-6
    monkeypatch.setattr(fitting, "_COPIED", features.size - 1)
    model, features = wide_fit()
    features[3, 4] += 1e-9
    # Neither can its pickle, which works all the same.
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.components_, model.components_)
    for changed in (model, model, again):
        with pytest.raises(InputError, match="the features were changed in place after fit"):
            print(changed.certificate_)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_pickle_holds_the_certificate_and_no_data(duplicate):
    features, labels = random_samples(**{**WIDE, "n_samples": 2000})
    model = InterpretableKDR(10, solver="ism", tol=0.1, kernel="polynomial").fit(features, labels)
    again = duplicate(model)
    features[:] = 0.0
    assert again.certificate_ == model.certificate_
    assert len(pickle.dumps(again)) < 0.25 * features.nbytes
