"""Every way of evaluating a problem against the dense arrays."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem, plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.low_rank import LowRankProblem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Polynomial, Squared, compiled
from kdrbench.kernels.bounded_factor import pivoted_cholesky
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import FACTORED, GAMMAS, each_once, kernels_of, objective_of
from support.helpers import KERNELS, random_projection, random_samples, traced_memory

N = 50


@pytest.mark.parametrize(("kernel", "gamma"), each_once("gaussian", kernels_of(N), "two label columns", GAMMAS))
def test_panels_equal_dense_arrays(kernel, gamma):
    objective = objective_of(N, kernels_of(N)[kernel], gamma=gamma)
    for panel, threads, by_numba in ((7, 1, False), (64, 1, True), (16, 3, False), (16, 3, True)):
        found = PanelProblem(objective, panel=panel, threads=threads, compiled=by_numba)
        assert_equal_oracles(found, DenseProblem(objective), q=2)


def unbalanced(rng, sizes):
    """Labels of classes of given sizes, in any order."""
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize(
    ("kernel", "sizes", "d", "q"),
    [
        *((kernel, (230, 140, 70, 64, 63, 12, 1, 1), 6, 2) for kernel in kernels_of(1)),
        *(("gaussian", sizes, 6, 2) for sizes in ((150, 100), (60,) * 8, (511, 1))),
        # All features are components, and more features than samples.
        *(("gaussian", (150, 100), *shape) for shape in ((4, 4), (300, 3))),
    ],
)
def test_rows_of_one_class_equal_dense_arrays(kernel, sizes, d, q):
    rng = np.random.default_rng(len(sizes))
    labels = unbalanced(rng, sizes)
    features = rng.standard_normal((len(labels), d)) + 0.5 * rng.standard_normal((8, d))[labels]
    objective = TraceObjective(features, kernels_of(len(labels))[kernel], supervised_gamma(labels))
    assert objective.gamma.class_order is not None
    # Of the order of rounding times the number of samples in a sum.
    for problem in (PanelProblem(objective), PanelProblem(objective, threads=3)):
        assert_equal_oracles(problem, DenseProblem(objective), q, rounding=1e-11)


@pytest.mark.parametrize(("scale", "single"), [(1e-8, False), (1e8, True)])
@pytest.mark.parametrize("by_numba", [False, True])
@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric"])
def test_rows_of_one_class_agree_in_any_unit(kernel, by_numba, scale, single):
    rng = np.random.default_rng(3)
    labels = unbalanced(rng, (200, 100, 30))
    features = rng.standard_normal((330, 5))
    features[7] = features[9]
    make = Gaussian if kernel == "gaussian" else Multiquadric
    gamma = supervised_gamma(labels, zero_diagonal=False)
    in_units = [TraceObjective(unit * features, make(2.0 * unit), gamma) for unit in (1.0, scale)]
    projection = random_projection(n_features=5, n_components=2)
    expected = DenseProblem(in_units[0])
    found = PanelProblem(in_units[1], single_precision=single, compiled=by_numba)
    value, gradient = found.value_and_gradient(projection)
    # F has the unit of the kernel, the gradient with respect to W as well.
    unit, rounding = (1.0 if kernel == "gaussian" else scale), (1e-5 if single else 1e-12)
    reference = expected.gradient(projection)
    assert value == pytest.approx(unit * expected.value(projection), rel=10 * rounding)
    np.testing.assert_allclose(gradient / unit, reference, rtol=0, atol=rounding * np.abs(reference).max())


@pytest.mark.parametrize("by_numba", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1e-3), Multiquadric(1e-9)])
def test_coinciding_samples_have_no_distance_below_zero(kernel, by_numba):
    # The squares' rounding, about 1e-4, is far above the kernels' own scale.
    places = 1e6 * np.random.default_rng(0).standard_normal((90, 3))
    features = np.repeat(places, 2, axis=0)
    objective = TraceObjective(features, kernel, supervised_gamma(np.arange(180) % 2, zero_diagonal=False))
    value, gradient = PanelProblem(objective, compiled=by_numba).value_and_gradient(np.eye(3)[:, :2])
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    if isinstance(kernel, Gaussian):
        # No entry of K is above one.
        assert value <= np.abs(objective.gamma.dense()).sum()


@pytest.mark.parametrize(("dtype", "least"), [(np.float64, -708.0), (np.float32, -87.0)])
def test_functions_in_machine_code(dtype, least):
    arguments = np.r_[np.linspace(least, 0.0, 10_001), 1.0, 2 * least, -np.inf, np.nan].astype(dtype)
    found = arguments.copy()
    compiled.exponential(found)
    expected = np.exp(np.minimum(arguments, 0.0).astype(float)) * ~(arguments < least)
    np.testing.assert_allclose(found, expected, rtol=1e-14 if dtype is np.float64 else 1e-7)
    compiled.clip(arguments, 0.5 * least, np.inf)
    np.testing.assert_array_equal(arguments[-4:], [1.0, 0.5 * least, 0.5 * least, np.nan])


@pytest.mark.parametrize(("kernel", "gamma"), each_once("degree 3", FACTORED, "factors of both signs", GAMMAS))
def test_factors_equal_dense_arrays(kernel, gamma):
    objective = objective_of(N, FACTORED[kernel], gamma=gamma)
    for q in (1, 3, 6):
        assert_equal_oracles(FactoredProblem(objective), DenseProblem(objective), q)


def hard_features(name):
    rng = np.random.default_rng(0)
    features, _ = random_samples(n_samples=N)
    return {
        "more features than samples": rng.standard_normal((N, 70)),
        "constant and repeated columns": np.hstack([features, features[:, :2], np.ones((N, 1))]),
        "repeated rows": np.repeat(features[:10], 5, axis=0),
        "far from the origin": features + 1e3,
        "tiny": 1e-8 * features,
        "huge": 1e8 * features,
    }[name]


@pytest.mark.parametrize("data", ["more features than samples", "constant and repeated columns", "repeated rows"])
def test_all_evaluators_agree_on_degenerate_features(data):
    for kernel in KERNELS.values():
        objective = TraceObjective(hard_features(data), kernel, supervised_gamma(np.arange(N) % 3))
        assert_equal_oracles(PanelProblem(objective, panel=16), DenseProblem(objective), q=2)
        if isinstance(kernel, Polynomial | Squared | Linear):
            assert_equal_oracles(FactoredProblem(objective), DenseProblem(objective), q=2)


@pytest.mark.parametrize("kernel", ["linear", "squared", "no offset"])
def test_factors_agree_in_any_unit(kernel):
    # Far from the origin the terms of the sum are larger than the sum, in either form.
    for data, rounding in (("tiny", 1e-12), ("huge", 1e-12), ("far from the origin", 1e-7)):
        objective = TraceObjective(hard_features(data), FACTORED[kernel], supervised_gamma(np.arange(N) % 3))
        assert_equal_oracles(FactoredProblem(objective), DenseProblem(objective), 2, rounding)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_a_pivoted_factor_keeps_its_promise(tolerance):
    samples = np.random.default_rng(0).standard_normal((300, 3))
    kernel = Gaussian(sigma=1.5)
    matrix = kernel.value(((samples[:, None] - samples[None]) ** 2).sum(axis=2))
    factor, trace, _ = pivoted_cholesky(lambda pivots: matrix[pivots], np.ones(300), tolerance, 300)
    # At 1e-8 it has grown beyond what is set aside at first.
    assert factor.shape[1] > 100 or tolerance > 1e-8
    error = matrix - factor @ factor.T
    assert np.trace(error) == pytest.approx(trace, abs=1e-12 * 300)
    assert trace <= tolerance * 300
    assert np.linalg.eigvalsh(error)[0] >= -1e-12 * 300
    # A block of columns less would not do.
    assert 300 - np.sum(factor[:, :-32] ** 2) > tolerance * 300


@pytest.mark.parametrize("gamma", GAMMAS)
def test_low_rank_factors_are_as_near_as_asked(gamma):
    objective = objective_of(N, Gaussian(sigma=2.0), gamma=gamma)
    for tolerance, rounding in ((1e-4, 5e-3), (1e-8, 1e-6), (1e-15, 1e-10)):
        assert_equal_oracles(LowRankProblem(objective, tolerance), DenseProblem(objective), 2, rounding)


@pytest.mark.parametrize("evaluator", ["dense", "panels", "factored", "low_rank", "auto"])
def test_answers_do_not_depend_on_what_was_asked_before(evaluator):
    kernel, tolerance = (Gaussian(2.0), 1e-9) if evaluator == "low_rank" else (Polynomial(degree=3), 0.0)
    objective = objective_of(500, kernel, n_features=10)

    def fresh_answer(projection):
        return build_problem(objective, Evaluation(evaluator=evaluator, tolerance=tolerance)).gradient(projection)

    here, there = (random_projection(seed=seed, n_features=10) for seed in (1, 2))
    problem = build_problem(objective, Evaluation(evaluator=evaluator, tolerance=tolerance))
    moved = here.copy()
    np.testing.assert_array_equal(problem.gradient(moved), fresh_answer(here))
    # The caller may use the array again.
    moved[:] = there
    np.testing.assert_array_equal(problem.gradient(moved), fresh_answer(there))
    twin = problem.fresh()
    assert (twin.counters.gradient, problem.counters.gradient) == (0, 2)
    np.testing.assert_array_equal(twin.gradient(here), fresh_answer(here))


def test_twins_share_what_was_made_of_the_data():
    problem = build_problem(objective_of(700, Squared(), n_features=10))
    twins = [problem.fresh(), problem.fresh()]
    projection = random_projection(n_features=10)
    evaluators = [twin.evaluator(projection) for twin in (*twins, problem)]
    assert evaluators[0]._features is evaluators[1]._features is evaluators[2]._features
    assert evaluators[0]._sums is evaluators[1]._sums
    # What is held of a point is not shared.
    twins[0].gradient(projection)
    assert evaluators[1]._held is None
    pickle.loads(pickle.dumps(problem)).value(random_projection(n_features=10))


def test_many_classes_and_many_factors_are_no_savings():
    features, _ = random_samples(n_samples=2500, n_features=20)
    many = TraceObjective(features, Polynomial(), supervised_gamma(np.arange(2500) // 2))
    assert plan(many, 5).evaluator != "factored"
    targets = FactoredGamma(np.eye(600), np.ones(600))
    assert plan(TraceObjective(features[:600], Gaussian(1.0), targets), 2).evaluator == "dense"
    factors = FactoredGamma(np.random.default_rng(0).standard_normal((2500, 300)), np.ones(300))
    assert plan(TraceObjective(features, Gaussian(2.0), factors), 2, Evaluation(tolerance=1e-3)).evaluator == "panels"


def test_bad_options_of_evaluation_are_named():
    objective = objective_of(50, Gaussian(1.0))
    for kernel, options, message in (
        (Gaussian(1.0), {"threads": 0}, "threads must be an integer >= 1"),
        (Gaussian(1.0), {"tolerance": 5.0}, "tolerance must be a number >= 0"),
        (Gaussian(1.0), {"compiled": "no"}, "compiled must be True or False"),
        (Gaussian(1.0), {"evaluator": "autogard"}, r"unknown evaluator 'autogard'. Did you mean 'autograd'"),
        (Polynomial(), {"evaluator": "low_rank", "tolerance": 0.5}, "low-rank factors are for Gaussian kernels, not"),
    ):
        with pytest.raises(InputError, match=message):
            build_problem(replace(objective, kernel=kernel), Evaluation(**options))
    for tolerance in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="must be a number > 0 and < 1"):
            LowRankProblem(objective, tolerance)
    with pytest.raises(InputError, match="exact factors exist for linear, squared and polynomial kernels"):
        FactoredProblem(objective)
    with pytest.raises(InputError, match="codes must number the classes"):
        FactoredGamma(np.ones((3, 1)), np.ones(1), True, np.array([0, 0, 2]))


@pytest.mark.parametrize(
    ("n_samples", "kernel", "q", "evaluator"),
    [
        (100, Gaussian(1.0), 2, "dense"),
        (2000, Gaussian(1.0), 2, "panels"),
        (100, Polynomial(), 2, "dense"),
        (2000, Polynomial(), 2, "factored"),
        (2000, Squared(), 5, "factored"),
        (2000, Polynomial(degree=6), 10, "panels"),
    ],
)
def test_the_plan_follows_size_and_kernel(n_samples, kernel, q, evaluator):
    objective = objective_of(n_samples, kernel, n_features=10)
    assert plan(objective, q).evaluator == evaluator
    assert str(plan(objective, q)).startswith(f"{evaluator}: ")


def test_one_problem_switches_with_the_number_of_components():
    # Of degree 6, one component has 6 features, ten have 3003.
    objective = objective_of(700, Polynomial(degree=6, scale=0.1), n_features=10)
    problem, reference = build_problem(objective), DenseProblem(objective)
    for q, evaluator in ((1, FactoredProblem), (10, PanelProblem)):
        projection = random_projection(n_features=10, n_components=q)
        assert isinstance(problem.evaluator(projection), evaluator)
        assert problem.value(projection) == pytest.approx(reference.value(projection), rel=1e-12)
    assert problem.counters.value == 2
    twin = problem.fresh()
    twin.value(random_projection(n_features=10, n_components=1))
    assert (problem.counters.value, twin.counters.value) == (2, 1)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(degree=3, scale=0.5), Squared()])
def test_no_array_of_all_pairs_is_made(kernel):
    objective, projection = objective_of(8000, kernel, n_features=5), random_projection(n_features=5)
    with traced_memory() as traced:
        problem = build_problem(objective)
        problem.value(projection)
        problem.gradient(projection)
        problem.surrogate(projection)
        problem.hessian_vector(projection, projection)
        problem.initial_surrogate()
    # All pairs take 512 MB, one row of blocks 16 MB.
    assert traced.peak < 25e6
