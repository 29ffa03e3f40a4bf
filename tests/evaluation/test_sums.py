"""Sums with Gamma, kernel matrices by factors and panels, and the cost model, against loops and by what they say."""

from itertools import product

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kdrbench.evaluation import build_problem
from kdrbench.evaluation.base import curvature_form
from kdrbench.evaluation.cost_model import Evaluation, largest_rank, plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.evaluation.weights import weighted_gram
from kdrbench.kernels import Pairing, Polynomial, RelativeGaussian, build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.samples.passes import run_pass
from support.helpers import KERNELS, blas_threads, random_projection, random_samples, small_problem, traced_memory

SAMPLES = np.random.default_rng(0).standard_normal((30, 3))


def test_a_weighted_gram_has_every_sign():
    for weights in (np.linspace(-1, 2, 30), np.linspace(1, 2, 30), -np.ones(30), np.zeros(30)):
        np.testing.assert_allclose(weighted_gram(SAMPLES, weights), SAMPLES.T * weights @ SAMPLES, atol=1e-12)
    assert np.isnan(weighted_gram(np.ones((4, 2)), np.array([1.0, np.nan, 1.0, 1.0]))).all()


@pytest.mark.parametrize(
    ("pairing", "offset"), [(Pairing.DOT, 5.0), (Pairing.DIFFERENCE, 5.0), (Pairing.DIFFERENCE, 1e6)]
)
def test_the_curvature_form_by_pairs(pairing, offset):
    rng = np.random.default_rng(0)
    moved, samples = rng.standard_normal((8, 3)) + offset, rng.standard_normal((8, 2)) + offset
    weights = rng.standard_normal((8, 8))
    weights = weights + weights.T
    expected = np.zeros((3, 2, 3, 2))
    for i, j in product(range(8), repeat=2):
        if pairing is Pairing.DOT:
            change = np.outer(moved[i], samples[j]) + np.outer(moved[j], samples[i])
        else:
            change = 2 * np.outer(moved[i] - moved[j], samples[i] - samples[j])
        expected += weights[i, j] * change[:, :, None, None] * change
    got = curvature_form(pairing, lambda columns: weights @ columns, moved, samples)
    # Centred, an offset costs its own rounding only.
    np.testing.assert_allclose(got, expected, atol=1e-12 * max(10.0, offset) * np.abs(expected).max())


def test_memory_bounds_the_rank_and_the_plan():
    # A factor is not made where all pairs take less time.
    assert [largest_rank(n_samples) for n_samples in (1000, 4000, 10**4, 10**6)] == [200, 200, 400, 4000]
    assert largest_rank(10**6, memory_mib=1e-3) == 1
    assert largest_rank(10**5) >= largest_rank(10**5, memory_mib=100.0) >= 1
    # Two arrays of n x rank in double precision fit; one column more would not.
    rank = largest_rank(10**6, memory_mib=1000.0)
    assert 16 * 10**6 * rank <= 1000 * 2**20 < 16 * 10**6 * (rank + 1)
    objective = small_problem("gaussian").objective
    assert plan(objective, 2, Evaluation("panels", tolerance=0.5)).single_precision
    assert not plan(objective, 2, Evaluation("dense", tolerance=0.5)).single_precision
    assert not plan(objective, 2, Evaluation("panels")).single_precision
    linear = small_problem("linear", n_samples=4000, n_features=5).objective
    assert plan(linear, 2).evaluator == "factored"
    assert "times less work" in plan(linear, 2).reason
    assert not plan(linear, 2, Evaluation(tolerance=0.5)).single_precision
    assert "would take" in plan(linear, 2, Evaluation(memory_mib=1e-4)).reason


@pytest.mark.parametrize(
    ("kernel", "n_samples", "evaluator"), [("gaussian", 300, "dense"), ("polynomial", 1000, "factored")]
)
def test_the_plan_holds_no_more_than_the_memory_that_is_given(kernel, n_samples, evaluator):
    """A plan's arrays, counted by hand, fit into the least memory with which it is chosen."""
    n_features, q, classes = 12, 2, 3
    objective = small_problem(kernel, n_samples=n_samples, n_features=n_features).objective
    monomials = 6  # Of degree at most 2 in two variables: what the slope of a cubic is made of.
    samples_and_square = n_samples * (2 * q + 2) + n_features**2 + n_samples * q
    # Six n x n arrays side by side, or sums of monomials.
    held = {"dense": 6 * n_samples**2, "factored": samples_and_square + classes * monomials * n_features}
    mib = 8 * held[evaluator] / 2**20
    above, below = (plan(objective, q, Evaluation(memory_mib=factor * mib)) for factor in (1.001, 0.999))
    assert above.evaluator == evaluator != below.evaluator


def test_some_of_the_samples_have_all_classes_in_their_shares():
    labels = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], [100, 60, 40]))
    features = np.random.default_rng(0).standard_normal((200, 4)) + 2.0 * labels[:, None]
    whole = build_problem(supervised_problem(features, labels, KERNELS["gaussian"]).objective)
    some = whole.subsampled(50)
    places = places_of(some, features)
    assert len(set(places)) == 50
    assert sorted(np.bincount(labels[places])) == pytest.approx([10, 15, 25], abs=1)
    np.testing.assert_array_equal(some.objective.gamma.codes, labels[places])
    projection = random_projection(n_features=4)
    assert some.value(projection) / whole.value(projection) == pytest.approx(1 / 16, rel=0.5)
    some.value(projection)
    assert (some.counters.value, whole.counters.value) == (2, 1)
    assert whole.subsampled(200) is None
    assert len(whole.subsampled(199).objective.features) == 199
    # Codes are numbered without a gap where a class is left out.
    rare = np.r_[np.repeat([0, 1], 99), 2, 2]
    left_out = build_problem(supervised_problem(features, rare, KERNELS["gaussian"]).objective).subsampled(3)
    codes = left_out.objective.gamma.codes
    assert set(codes) == set(range(codes.max() + 1))


def places_of(problem, features):
    """Where the samples of a smaller problem are among all features."""
    return [int(np.flatnonzero((features == row).all(axis=1))[0]) for row in problem.objective.features]


@pytest.mark.parametrize("family", ["polynomial", "linear", "gaussian", "combination"])
def test_the_longest_samples_lead_where_products_are_raised(family):
    members = {"combination": {"members": [{"family": "gaussian"}, {"family": "polynomial"}]}}
    features = np.random.default_rng(0).standard_normal((200, 4)) * np.linspace(1.0, 3.0, 200)[:, None]
    kernel = build_kernel({"family": family, **members.get(family, {})}, features, 2)
    problem = build_problem(supervised_problem(features, np.arange(200) % 3, kernel).objective)
    assert problem.few_outweigh == (family in ("polynomial", "combination"))
    leading = sorted(places_of(problem.leading(100), features))
    expected = sorted(np.argsort(-np.linalg.norm(features, axis=1))[:100]) if problem.few_outweigh else None
    assert leading == (expected or sorted(places_of(problem.subsampled(100), features)))
    assert problem.leading(101) is None


def test_a_pass_reports_its_share_and_holds_blas_to_one_thread():
    said, threads = [], []

    def visit(total, part):
        threads.extend(blas_threads())
        total.append(part)

    with threadpool_limits(2, user_api="blas"):
        assert run_pass(range(4), 1, list, visit, lambda share: said.append(share) or True) == [[0, 1, 2, 3]]
        assert said == [0.25, 0.5, 0.75, 1.0]
        assert set(threads) == {1}
        # Afterwards, and for a single part, BLAS has what it had.
        del threads[:]
        run_pass(range(1), 1, list, visit)
        assert set(threads) == {2}
        assert sorted(number for part in run_pass(range(9), 3, list, visit) for number in part) == list(range(9))


def test_passes_side_by_side_give_blas_back_after_the_last():
    inside, outside_first = [], []

    def inner(total, part):
        inside.append(blas_threads())

    def outer(total, part):
        run_pass(range(2), 1, list, inner)
        # The inner pass has ended, the outer one has not.
        outside_first.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        run_pass(range(2), 1, list, outer)
        assert inside == [{1}] * 4
        assert outside_first == [{1}] * 2
        assert blas_threads() == {2}


def test_a_formed_hessian_holds_no_array_of_n_by_directions():
    n_samples, n_features, n_components = 40_000, 20, 4
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((n_samples, n_features)), rng.integers(0, 3, n_samples)
    objective = TraceObjective(features, Polynomial(3), supervised_gamma(labels))
    problem = FactoredProblem(objective)
    basis = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    projection, complement = basis[:, :n_components], basis[:, n_components:]
    problem.gradient(projection)
    with traced_memory() as traced:
        problem.hessian(projection, complement)
    # XB, which has no copy of n rows, would be as large; products of its columns with those of XW four times that.
    assert traced.peak < n_samples * complement.shape[1] * 8


def test_bandwidths_of_samples_need_no_call_of_the_kernel(monkeypatch):
    features, labels = random_samples(n_samples=300, n_features=6)
    kernel = RelativeGaussian(np.random.default_rng(0).uniform(0.5, 3.0, 300))
    objective, projection = TraceObjective(features, kernel, supervised_gamma(labels)), np.eye(6, 2)
    expected = DenseProblem(objective).value(projection)

    def refuse(*_):
        raise AssertionError

    for name in ("value", "derivative", "at", "second_derivative"):
        monkeypatch.setattr(RelativeGaussian, name, refuse)
    assert PanelProblem(objective).value(projection) == pytest.approx(expected, rel=1e-13)
