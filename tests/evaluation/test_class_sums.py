"""Class sums of a Gaussian: their oracles and their proved error against dense arrays, bits, memory, and the choice."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, basis_choice, build_problem, cost_model, plan
from kdrbench.evaluation.bases import Landmarks, Monomials
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.gaussian_sums import ClassSumsProblem
from kdrbench.kernels import Gaussian, Polynomial
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma
from kdrbench.samples import TreeSum
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import objective_of
from support.helpers import random_projection, solved, traced_memory

BASES = {
    "no degree": lambda q: Monomials(q, 0),
    "monomials": lambda q: Monomials(q, 5),
    "landmarks": lambda q: Landmarks(np.random.default_rng(1).standard_normal((12, q))),
}


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("name", BASES)
def test_a_basis_keeps_its_contract(name, q):
    rng, basis = np.random.default_rng(0), BASES[name](q)
    samples, step = rng.standard_normal((q, 7)), 1e-5
    features = basis.features(samples)
    approximate = features.T @ basis.inverted(features.T).T
    white = basis.whitened(features.T)
    np.testing.assert_allclose(white @ white.T, approximate, atol=1e-8)
    # What is left is positive semi-definite.
    kernel = np.exp(-0.5 * ((samples[:, :, None] - samples[:, None]) ** 2).sum(axis=0))
    assert np.linalg.eigvalsh(kernel - approximate)[0] >= -1e-8
    rest, slope = basis.left_out(samples)
    np.testing.assert_allclose(rest, 1 - (white**2).sum(axis=1), atol=1e-8)
    np.testing.assert_allclose(basis.rest(samples), rest, atol=1e-8)
    coefficients, weights = rng.standard_normal((3, basis.size)), rng.standard_normal((7, 3))
    for a in range(q):
        move, shifted = step * np.eye(q)[:, [a]], basis.shifted(features.T, a)
        numerical = (basis.features(samples + move) - basis.features(samples - move)) / (2 * step)
        np.testing.assert_allclose(shifted.T - samples[a] * features, numerical, atol=1e-8)
        np.testing.assert_allclose(basis.pulled(coefficients, a) @ features, coefficients @ shifted.T, atol=1e-10)
    turned = [basis.shifted(features.T, a) - samples[a][:, None] * features.T for a in range(q)]
    expected = q - sum((basis.whitened(part) ** 2).sum(axis=1) for part in turned)
    np.testing.assert_allclose(slope, expected, atol=1e-7)
    tables = basis.tables(coefficients, 2)
    own = np.einsum("gtm,mc,cg->tc", tables, features, weights)
    np.testing.assert_allclose(basis.mixed(features, tables, weights), own, atol=1e-10)


def random_objective(seed, n_samples=150):
    """Return an objective, a W and a request; of all sizes, units, bandwidths and kinds of Gamma."""
    rng = np.random.default_rng(seed)
    d, q = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    d = max(d, q) if seed % 7 else 2 * n_samples
    features = rng.standard_normal((n_samples, d)) * rng.uniform(0.2, 2.0, d)
    labels = rng.integers(0, int(rng.integers(2, 6)), n_samples)
    features[:, 0] += labels
    if seed % 3 == 0:
        factor = rng.standard_normal((n_samples, 3))
        gamma = FactoredGamma(factor - factor.mean(axis=0), np.array([1.0, -2.0, 0.5]), seed % 2 == 0)
    elif seed % 3 == 1:
        gamma = supervised_gamma(np.column_stack([labels, rng.integers(0, 2, n_samples)]), zero_diagonal=seed % 2 == 0)
    else:
        gamma = supervised_gamma(np.sort(labels))
    unit = 10.0 ** rng.integers(-6, 7)
    sigma = unit * np.sqrt(2.0 * (features**2).sum(axis=1).mean()) * rng.uniform(0.4, 1.5)
    offset = unit * rng.uniform(-10.0, 10.0, d)
    objective = TraceObjective(unit * features + offset, Gaussian(float(sigma)), gamma)
    return objective, random_projection(seed=seed, n_features=d, n_components=q), 10.0 ** -rng.uniform(1.0, 6.0)


def test_the_bound_is_never_below_the_error():
    for seed in range(84):
        objective, projection, accuracy = random_objective(seed)
        problem, exact = ClassSumsProblem(objective, accuracy=accuracy), DenseProblem(objective)
        bound = problem.error_bound(projection)
        gradient, expected = problem.gradient(projection), exact.gradient(projection)
        off_value = abs(problem.value(projection) - exact.value(projection))
        off_gradient = np.linalg.norm(gradient - expected)
        # Rounding: of sums of n^2 weights for F, and of landmarks' coefficients, which are inverses of up to 1e7.
        weights = np.abs(objective.gamma.dense()).sum()
        assert off_value <= bound.value + 1e-9 * weights, seed
        largest = np.linalg.norm(objective.features - objective.features.mean(axis=0), 2) / objective.kernel.sigma
        assert off_gradient <= bound.gradient + 1e-9 * largest * weights / np.sqrt(len(objective.features)), seed
        assert bound.relative_gradient == pytest.approx(bound.gradient / np.linalg.norm(gradient))


@pytest.mark.parametrize("seed", range(8))
def test_all_oracles_are_those_of_dense_arrays(seed):
    objective, projection, _ = random_objective(seed, n_samples=90)
    problem = ClassSumsProblem(objective, accuracy=1e-9)
    assert_equal_oracles(problem, DenseProblem(objective), projection.shape[1], rounding=1e-6)


@pytest.mark.parametrize("classes", [True, False])
def test_gradients_by_values_are_near_with_fewer_functions(classes):
    objective, projection = large(900), random_projection(n_features=8, n_components=3)
    if not classes:
        objective = replace(objective, gamma=FactoredGamma(objective.gamma.factor, objective.gamma.weights))
    expected = DenseProblem(objective).gradient(projection)
    sizes = {}
    for accuracy in (1e-2, 1e-4, 1e-6):
        problems = [ClassSumsProblem(objective, accuracy=accuracy, proved=False) for _ in range(2)]
        problems[1]._by_values = False
        for problem in problems:
            error = np.linalg.norm(problem.gradient(projection) - expected)
            # The choice sees some of the samples.
            assert error <= 3.0 * accuracy * np.linalg.norm(expected)
        sizes[accuracy] = [problem._chosen_at(projection).basis.size for problem in problems]
    assert all(few <= many for few, many in sizes.values())
    assert sizes[1e-6][0] < sizes[1e-6][1]


def test_the_basis_is_kept_nearby_and_turned_with_the_projection():
    objective, _, _ = random_objective(4)
    projection = random_projection(seed=0, n_features=objective.features.shape[1], n_components=3)
    problem, exact = ClassSumsProblem(objective, accuracy=1e-6), DenseProblem(objective)
    basis = problem._chosen_at(projection).basis
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    nearby = np.linalg.qr(projection + 1e-3)[0] @ turn
    assert problem._chosen_at(nearby).basis is basis
    size = np.linalg.norm(exact.gradient(nearby))
    assert np.linalg.norm(problem.gradient(nearby) - exact.gradient(nearby)) <= 1e-5 * size
    assert problem.fresh()._chosen is None


def test_more_samples_are_worth_more_monomials(monkeypatch):
    monkeypatch.setattr(basis_choice, "_MOST_LANDMARKS", 5)
    monkeypatch.setattr(basis_choice, "_MOST_MONOMIALS", 20)
    projection = random_projection(n_features=8, n_components=3)
    few, many = (ClassSumsProblem(large(n), accuracy=1e-4) for n in (400, 4000))
    assert not few.suffices_at(projection)
    assert many.suffices_at(projection)
    assert 20 < many._chosen_at(projection).basis.size <= 200


def test_a_basis_whose_bound_is_too_large_is_made_finer():
    objective, projection, _ = random_objective(4)
    problem = ClassSumsProblem(objective, accuracy=1e-6)
    problem._demand = 0.1
    coarse = problem._chosen_at(projection).basis.size
    assert problem.refined_at(projection)
    assert problem._chosen_at(projection).basis.size > coarse
    assert not problem.refined_at(projection)
    assert problem.error_bound(projection).relative_gradient <= 1e-6
    assert "proved to" in problem.explain_last()
    assert not ClassSumsProblem(objective, accuracy=0.5, proved=False).refined_at(projection)


def large(n_samples, n_features=8):
    return objective_of(n_samples, Gaussian(4.0), n_features)


def test_threads_change_no_bit():
    objective, projection = large(20_000), random_projection(n_features=8, n_components=2)
    one, three = (ClassSumsProblem(objective, accuracy=1e-4, threads=threads) for threads in (1, 3))
    for oracle in ("value", "gradient", "surrogate"):
        np.testing.assert_array_equal(getattr(one, oracle)(projection), getattr(three, oracle)(projection))
    assert str(one.error_bound(projection)) == str(three.error_bound(projection))


def test_the_tree_adds_in_one_way_whatever_comes_first():
    for n_parts in (1, 2, 3, 5):
        parts = [np.array([10.0**part, 1.0 / 3.0]) for part in range(n_parts)]
        found = set()
        for order in permutations(range(n_parts)):
            tree = TreeSum()
            for place in order:
                tree.add(place, (parts[place].copy(),))
            found.add(tree.total()[0].tobytes())
        assert len(found) == 1
        np.testing.assert_allclose(np.frombuffer(found.pop()), np.sum(parts, axis=0))


def test_no_array_of_samples_by_samples_or_by_functions_is_made():
    objective, projection = large(60_000), random_projection(n_features=8, n_components=3)
    problem = build_problem(objective)
    size = problem.evaluator(projection)._chosen_at(projection).basis.size
    with traced_memory() as traced:
        problem.value_and_gradient(projection)
        problem.surrogate(projection)
        problem.hessian_vector(projection, projection)
        problem.hessian(projection, np.eye(8)[:, :5])
        assert not problem.refined_at(projection)
    # A fifth of n x m; n x n would be 29 GB.
    assert traced.peak < 0.2 * 8 * 60_000 * size


def test_the_plan_takes_class_sums_for_many_samples(monkeypatch):
    assert plan(large(19_000), 2).evaluator == "panels"
    assert plan(large(20_000), 2).evaluator == "class_sums"
    assert [plan(large(20_000), q).evaluator for q in (6, 7)] == ["class_sums", "panels"]
    assert plan(large(100_000), 7).evaluator == "class_sums"
    for n_samples, evaluator in ((19_000, "low_rank"), (20_000, "class_sums")):
        assert plan(large(n_samples), 7, Evaluation(tolerance=1e-3)).evaluator == evaluator
    monkeypatch.setattr(cost_model, "SUMS_SAMPLES", 1000)
    objective = large(1200)
    narrow = build_problem(TraceObjective(objective.features, Gaussian(0.05), objective.gamma))
    narrow.value(random_projection(n_features=8, n_components=3))
    assert narrow.explain(3).startswith("panels: a factor, a basis or a grid to the tolerance would be too large")
    assert narrow.accuracy(3) == 0.0
    with pytest.raises(InputError, match="class sums are for Gaussian kernels, not for Polynomial"):
        build_problem(TraceObjective(objective.features, Polynomial(), objective.gamma), Evaluation("class_sums"))


@pytest.mark.parametrize("n_features", [8, 150])
def test_a_solution_is_stationary_as_proved(monkeypatch, n_features):
    monkeypatch.setattr(cost_model, "SUMS_SAMPLES", 1000)
    objective = large(2100, n_features)
    objective = TraceObjective(objective.features, Gaussian(float(np.sqrt(2.0 * n_features))), objective.gamma)
    problem = build_problem(objective)
    result = solved(problem, 3)
    assert result.status == "converged"
    assert result.evaluation.startswith("class_sums: 2100 samples of a Gaussian kernel; ")
    assert "proved to" in result.evaluation
    exact = build_problem(objective, Evaluation("panels"))
    assert relative_stationarity(result.projection, exact.gradient(result.projection)) <= 1e-6
