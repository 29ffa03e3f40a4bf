"""Passes through the array API against numpy's: on arrays with nothing but that, and on those of other libraries."""

import importlib
import sys
from dataclasses import astuple, replace
from unittest.mock import Mock

import numpy as np
import pytest

from kdrbench import arrays
from kdrbench.arrays import Device, HostRows, checked_features, fingerprint_of, is_device_array, namespace_of
from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, basis_choice, build_problem, cost_model, streams
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.gaussian_sums import ClassSumsProblem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.evaluation.row_space import row_space_of, spanning
from kdrbench.extras import MissingPackageError
from kdrbench.kernels import EstimatedGaussian, Gaussian, Multiquadric, Polynomial, UserKernel
from kdrbench.problems import PassStoppedError, TraceObjective, supervised_gamma
from kdrbench.samples import ThreadEngine
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import FACTORED, GAMMAS, RATIONAL, each_once, kernels_of, objective_of
from support.helpers import random_projection, random_samples, traced_memory
from support.host_arrays import COMPAT, HostArray

N = 150
KERNELS = kernels_of(N) | {"estimated": EstimatedGaussian(2.0, 1e-4)}


@pytest.fixture(
    params=["host", *(pytest.param(name, marks=pytest.mark.needs(name)) for name in ("torch", "array_api_strict"))]
)
def up(request, monkeypatch):
    """What copies an array of numpy to the library's one device."""
    if request.param == "host":
        monkeypatch.setitem(sys.modules, "array_api_compat", COMPAT)
        return lambda array: HostArray(np.array(array, order="C"))
    library = importlib.import_module(request.param)
    return lambda array: library.asarray(np.array(array, order="C"))


def on_device(up, objective):
    return replace(objective, features=up(objective.features))


def rounded(up, objective):
    """An objective on a device in float32, and one of the same numbers in numpy."""
    single = objective.features.astype(np.float32)
    return [replace(objective, features=array) for array in (up(single), single.astype(float))]


# What is done with a kernel depends on Gamma only by whether it is made of classes or of factors.
@pytest.mark.parametrize(("kernel", "gamma"), each_once("gaussian", KERNELS, "large, small and single classes", GAMMAS))
def test_pairs_on_a_device_equal_dense_arrays(up, kernel, gamma):
    objective = objective_of(N, KERNELS[kernel], gamma=gamma)
    # Several blocks a row, and more than one row a class.
    assert_equal_oracles(PanelProblem(on_device(up, objective), panel=40), DenseProblem(objective), 2)


@pytest.mark.parametrize(("kernel", "gamma"), each_once("degree 3", FACTORED, "factors, diagonal kept", GAMMAS))
def test_factors_on_a_device_equal_dense_arrays(up, kernel, gamma):
    objective = objective_of(N, FACTORED[kernel], gamma=gamma)
    q = 4 if kernel == "degree 3" else 1
    assert_equal_oracles(FactoredProblem(on_device(up, objective)), DenseProblem(objective), q)


# Monomials of few and of more dimensions, and landmarks.
@pytest.mark.parametrize(("q", "sigma", "accuracy"), [(2, 4.0, 1e-7), (5, 12.0, 1e-2), (5, 4.0, 0.1)])
@pytest.mark.parametrize("gamma", ["large, small and single classes", "factors of both signs", "diagonal kept"])
def test_class_sums_on_a_device_equal_numpys(up, gamma, q, sigma, accuracy, monkeypatch):
    monkeypatch.setattr(streams, "_CPU_ENTRIES", 3000)
    objectives = rounded(up, objective_of(N, Gaussian(sigma), gamma=gamma))
    projection = random_projection(n_components=q)
    for options in ({"accuracy": min(accuracy, 9e-6), "proved": False}, {"accuracy": accuracy}):
        mine, host = (ClassSumsProblem(objective, **options) for objective in objectives)
        assert_equal_oracles(mine, host, q, rounding=1e-10)
        # Landmarks add up what is left from rounding.
        bounds = [astuple(problem.error_bound(projection)) for problem in (mine, host)]
        np.testing.assert_allclose(*bounds, rtol=1e-5)
        assert mine.refined_at(projection) is host.refined_at(projection)
    error = np.linalg.norm(mine.gradient(projection) - DenseProblem(objectives[1]).gradient(projection))
    assert error <= mine.error_bound(projection).gradient


@pytest.mark.parametrize(("kernel", "maker"), [("multiquadric", PanelProblem), ("polynomial", FactoredProblem)])
def test_float32_samples_have_sums_in_float64(up, kernel, maker):
    mine, host = rounded(up, objective_of(N, KERNELS[kernel]))
    assert_equal_oracles(maker(mine), DenseProblem(host), 2)


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric", "polynomial", "combination"])
def test_blocks_in_single_precision_are_as_near_as_numpys(up, kernel):
    objective = objective_of(N, KERNELS[kernel])
    single = PanelProblem(on_device(up, objective), single_precision=True)
    assert_equal_oracles(single, DenseProblem(objective), 2, rounding=1e-5)
    problem = build_problem(on_device(up, objective), Evaluation(evaluator="panels", tolerance=1e-4))
    assert "panels in single precision" in problem.explain(2)


def test_a_user_kernel_without_its_curvature(up):
    without = UserKernel(RATIONAL.function, RATIONAL.slope, RATIONAL.pairing)
    projection, direction = (random_projection(seed=seed) for seed in (1, 2))
    objective = objective_of(N, RATIONAL)
    found = PanelProblem(on_device(up, replace(objective, kernel=without)))
    expected, answer = (one.hessian_vector(projection, direction) for one in (DenseProblem(objective), found))
    # The error of differences, as the kernel's documentation says.
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_a_kernel_that_needs_numpy_is_named(up):
    class Numpy(Gaussian):
        def value(self, beta):
            return np.asarray([1.0])

    objective = objective_of(N, Numpy(1.0))
    with pytest.raises(InputError, match=r"Numpy does not work with arrays of this device .* with operators"):
        PanelProblem(on_device(up, objective)).value(random_projection())


# The basis that the narrow Gaussian needs is too large.
CHOSEN = {"class_sums": Gaussian(2.0), "panels": Gaussian(0.02), "factored": Polynomial(degree=3)}


@pytest.mark.parametrize("evaluator", CHOSEN)
def test_the_array_chooses_the_device(up, evaluator, monkeypatch):
    monkeypatch.setattr(cost_model, "SUMS_SAMPLES", 2000)
    monkeypatch.setattr(basis_choice, "_MOST_LANDMARKS", 50)
    objective, point = objective_of(2100, CHOSEN[evaluator]), random_projection()
    problem, reference = build_problem(on_device(up, objective)), build_problem(objective)
    assert ", on " in problem.explain(2)
    np.testing.assert_allclose(problem.gradient(point), reference.gradient(point), rtol=1e-9)
    assert problem.explain(2).startswith(f"{evaluator}: ")
    rough = build_problem(on_device(up, objective), Evaluation(tolerance=1e-6)).rough_surrogate(point)
    np.testing.assert_allclose(rough, reference.surrogate(point), atol=1e-4 * np.abs(rough).max())
    with pytest.raises(InputError, match="by an engine is for arrays of numpy"):
        build_problem(on_device(up, objective), Evaluation(engine=ThreadEngine())).value(point)
    for few in (type(problem).subsampled, type(problem).leading):
        smaller, expected = few(problem, 600), few(reference, 600)
        assert is_device_array(smaller.objective.features)
        assert smaller.value(point) == pytest.approx(expected.value(point), rel=1e-10)
    for name in ("dense", "low_rank", "autograd", "pairwise_sum"):
        with pytest.raises(InputError, match=f"evaluator '{name}' is for arrays of numpy; .* class_sums, factored and"):
            build_problem(on_device(up, objective), Evaluation(evaluator=name))


@pytest.mark.parametrize("kind", ["more features than samples", "unused features", "rank below the samples"])
def test_the_row_space_of_a_device(up, kind):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((40, 100))
    if kind == "unused features":
        features = np.hstack([np.zeros((200, 70)), rng.standard_normal((200, 50))])
    if kind == "rank below the samples":
        features[20:] = features[:20]
    mine, reference = row_space_of(up(features)), row_space_of(features)
    projection = random_projection(n_features=features.shape[1], n_components=3)
    spaces = spanning(mine, projection), spanning(reference, projection)
    for space, inside in zip(spaces, (HostRows(spaces[0].features)[:], spaces[1].features), strict=True):
        basis = space.basis
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        np.testing.assert_allclose(inside, features @ basis, atol=1e-12 * np.abs(features).sum())
        np.testing.assert_allclose(basis @ (basis.T @ projection), projection, atol=1e-12)
    assert spaces[0].basis.shape == spaces[1].basis.shape
    assert row_space_of(up(np.ones((200, 10)))) is None


def test_only_small_arrays_cross(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", COMPAT)
    crossed = []

    def noted(method):
        def wrapped(self, *given, **named):
            result = method(self, *given, **named)
            crossed.append(int(np.prod(result.shape)))
            return result

        return wrapped

    # Nothing is read but through ``__array__``, nor written but through ``up``: arrays of numpy do not mix with these.
    monkeypatch.setattr(Device, "up", noted(Device.up))
    monkeypatch.setattr(HostArray, "__array__", noted(HostArray.__array__))
    for kernel in (Gaussian(2.0), Multiquadric(1.0), Polynomial()):
        maker = FactoredProblem if isinstance(kernel, Polynomial) else PanelProblem
        objective = objective_of(600, kernel, n_features=8)
        problem = maker(on_device(HostArray, objective))
        # Once: the order of the samples, their classes, and one number each.
        assert max(crossed) <= 600
        assert sum(crossed) <= 8 * 600
        crossed.clear()
        assert_equal_oracles(problem, DenseProblem(objective), 2)
        # The largest: Phi, d x d, and of Phi_0 no more than a number a sample.
        assert max(crossed) <= 600
        crossed.clear()
        problem.value_and_gradient(random_projection(n_features=8))
        # W and the gradient, and no array beside (but what the recipe of monomials holds).
        assert sum(crossed) <= 2 * 16 + 100
        crossed.clear()


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(degree=3, scale=0.5)])
def test_no_array_of_all_pairs_is_made(kernel, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", COMPAT)
    n_samples = 6000
    problem = build_problem(on_device(HostArray, objective_of(n_samples, kernel)))
    with traced_memory() as traced:
        problem.value_and_gradient(random_projection())
        problem.surrogate(random_projection())
    # Some arrays of the width of P or of monomials, and of blocks of 512 x 512; an n x n array has 288 MB.
    assert traced.peak < 60 * n_samples * 8 + 30 * 512**2 * 8


def test_a_pass_can_be_stopped(up):
    problem = PanelProblem(on_device(up, objective_of(N, Gaussian(1.0))), panel=16)
    shares = []
    problem.report = lambda share: shares.append(share) or len(shares) < 3
    with pytest.raises(PassStoppedError):
        problem.gradient(random_projection())
    assert 0.0 < shares[0] < shares[2] < 1.0


def test_features_that_a_device_cannot_have(up):
    bad, labels = random_samples()
    bad[3, 4] = np.nan
    for array, message in (
        (up(bad), "NaN or infinite values, the first at row 3, column 4"),
        (up(np.ones((40, 3), dtype=np.int64)), "must be float64 or float32, got .*int64; convert"),
        (up(np.ones(40)), "must be a non-empty n x d array"),
        (up(np.ones((40, 0))), "must be a non-empty n x d array"),
    ):
        with pytest.raises(InputError, match=message):
            TraceObjective(array, Gaussian(1.0), supervised_gamma(labels))


@pytest.mark.needs("torch")
def test_tensors_that_are_not_plain():
    import torch

    features = torch.ones((40, 3), dtype=torch.float64)
    with pytest.raises(InputError, match=r"dense tensor, got layout torch.sparse.*X.to_dense\(\)"):
        checked_features(features.to_sparse())
    assert not checked_features(features.clone().requires_grad_()).requires_grad

    class Own(torch.Tensor):
        pass

    assert is_device_array(features.as_subclass(Own))
    assert is_device_array(torch.nn.Parameter(features))
    for other in (np.ones(3), np.float64(1.0), [1.0], None, "torch"):
        assert not is_device_array(other)


def test_a_device_without_float64_is_refused(up, monkeypatch):
    monkeypatch.setattr(Device, "zeros", Mock(side_effect=TypeError("no float64 here")))
    with pytest.raises(InputError, match=r"float64, which this device does not have \(no float64 here\)"):
        checked_features(up(np.ones((3, 2), dtype=np.float32)))


def test_without_array_api_compat_the_error_says_what_to_install(up, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(MissingPackageError, match=r"pip install '.*\[gpu\]'"):
        checked_features(up(np.ones((3, 2))))
    assert namespace_of(np.ones(3)) is np


def test_a_fingerprint_sees_changes_and_no_order_of_sums(up, monkeypatch):
    features = np.random.default_rng(0).standard_normal((500, 4))
    found = fingerprint_of(up(features))
    monkeypatch.setattr(arrays, "_CHUNK", 64)
    np.testing.assert_array_equal(fingerprint_of(up(features)), found)
    changed, swapped = features.copy(), features.copy()
    changed[17, 2] += 1e-8
    swapped[[3, 4]] = swapped[[4, 3]]
    assert (fingerprint_of(up(changed)) != found).any()
    assert (fingerprint_of(up(swapped)) != found).any()


def test_rows_come_to_the_host_when_asked_for(up):
    features = np.random.default_rng(0).standard_normal((50, 4))
    rows = HostRows(up(features))
    assert (len(rows), rows.shape, rows.ndim, rows.dtype) == (50, (50, 4), 2, np.dtype(float))
    np.testing.assert_array_equal(rows[np.array([3, 1])], features[[3, 1]])
    np.testing.assert_array_equal(rows[2:7], features[2:7])
    np.testing.assert_array_equal(np.asarray(rows), features)
