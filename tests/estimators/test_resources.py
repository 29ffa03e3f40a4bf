"""Threads, memory and approximations of the estimators."""

import warnings
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kdrbench import memory
from kdrbench.estimators import (
    DNE,
    LMNN,
    NCA,
    AlignedKernel,
    InterpretableKDR,
    KPCATrick,
    LowRankKernelLearner,
    fitting,
    on_demand,
)
from kdrbench.estimators.fitting import evaluation_of
from kdrbench.evaluation import Evaluation, build_problem, cost_model
from kdrbench.kernels import Gaussian, Pairing, UserKernel
from kdrbench.metric_learning import descent, dne
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import safeguarded
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.newton import NewtonSearch
from support.helpers import blas_threads, random_samples, traced_memory


def test_threads_are_scikit_learns_n_jobs():
    assert evaluation_of(None, None) == Evaluation()
    assert evaluation_of({"tolerance": 1e-3}, 3) == Evaluation(tolerance=1e-3, threads=3)
    assert evaluation_of({}, -1).threads >= 1


def test_fits_of_many_samples_use_machine_code_where_it_can_be_had(monkeypatch):
    assert [evaluation_of(one, None, is_large=True).compiled for one in (None, {"compiled": False})] == [True, False]
    monkeypatch.setattr(fitting, "find_spec", lambda name: None)
    assert not evaluation_of(None, None, is_large=True).compiled


@pytest.mark.parametrize("paradigm", ["supervised", "unsupervised"])
def test_the_result_says_how_the_problem_was_evaluated(paradigm):
    features, labels = random_samples(n_samples=300)
    model = InterpretableKDR(2, paradigm=paradigm, n_clusters=3, evaluation={"evaluator": "panels"})
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(features, labels) for n_jobs in (None, 2))
    assert one.result_.evaluation == "panels: asked for"
    assert InterpretableKDR(2).fit(features, labels).result_.evaluation.startswith("dense: 300 samples")
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-9)


def test_blas_has_one_thread_during_a_fit(monkeypatch):
    seen = {"start": [], "kernel": [], "certificate": [], "descent": [], "dne": []}

    def noted(place, function):
        def called(*arguments, **options):
            seen[place].append(blas_threads())
            return function(*arguments, **options)

        return called

    # So few samples that no pass of the evaluation holds BLAS itself.
    features, labels = random_samples(n_samples=120, n_features=52)
    rational = UserKernel(
        noted("kernel", lambda b: 1 / (1 + b / 99)), lambda b: -1 / 99 / (1 + b / 99) ** 2, Pairing.DIFFERENCE
    )
    seen["kernel"].clear()
    monkeypatch.setattr(fitting, "make_start", noted("start", fitting.make_start))
    monkeypatch.setattr(on_demand, "certify", noted("certificate", on_demand.certify))
    monkeypatch.setattr(descent, "descend", noted("descent", descent.descend))
    monkeypatch.setattr(dne, "eigh", noted("dne", dne.eigh))
    with threadpool_limits(2, user_api="blas"):
        for learner in (NCA(), LMNN(), DNE()):
            learner.fit(features, labels)
        model = InterpretableKDR(10, kernel=rational).fit(features, labels)
        assert blas_threads() == {2}
        assert model.certificate_.stationarity <= 1e-6
        assert blas_threads() == {2}
        # After an error too.
        with pytest.raises(ValueError, match="kernel"):
            InterpretableKDR(2, kernel="unknown").fit(features, labels)
        assert blas_threads() == {2}
    assert all(set.union(*threads) == {1} for threads in seen.values())


def many_samples():
    rng = np.random.default_rng(0)
    labels = np.arange(2500) % 4
    return rng.standard_normal((2500, 20)) + 2 * rng.standard_normal((4, 20))[labels], labels


def test_with_a_tolerance_the_certificate_is_exact():
    features, labels = many_samples()
    model = InterpretableKDR(3, kernel_params={"sigma": 5.0}, evaluation={"tolerance": 0.05}).fit(features, labels)
    assert model.result_.evaluation.startswith("low_rank")
    objective = TraceObjective(features, Gaussian(5.0), supervised_gamma(labels))
    projection = model.components_.T
    exact, near = build_problem(objective), build_problem(objective, Evaluation(tolerance=0.05))
    value = exact.value(projection)
    assert abs(near.value(projection) / value - 1) > 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    stationarity = [relative_stationarity(projection, one.gradient(projection)) for one in (exact, near)]
    # Otherwise the next line could not tell them apart.
    assert stationarity[1] != pytest.approx(stationarity[0], rel=1e-4)
    assert model.certificate_.stationarity == pytest.approx(stationarity[0], rel=1e-6)


def test_many_samples_are_clustered_to_a_tolerance(monkeypatch):
    monkeypatch.setattr(fitting, "_ROUGH_CLUSTERS", 300)
    monkeypatch.setattr(cost_model, "_APPROXIMATION_SAMPLES", 300)
    assert evaluation_of({"tolerance": 0.0}, None, {"tolerance": 1e-3}) == Evaluation()
    features, labels = random_samples(n_samples=450)
    options = {"n_components": 2, "random_state": 0}
    for paradigm, params, how in (
        ("unsupervised", {"n_clusters": 2}, "low_rank"),
        ("unsupervised", {"n_clusters": 2, "rule": "joint", "max_rounds": 1}, "panels"),
        ("supervised", {}, "panels"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = InterpretableKDR(paradigm=paradigm, paradigm_params=params, **options).fit(features, labels)
        assert model.result_.evaluation.startswith(how), (paradigm, params)


def test_many_samples_are_learned_from_to_what_is_at_stake(monkeypatch):
    monkeypatch.setattr(fitting, "_ROUGH_SAMPLES", 2000)
    features, labels = many_samples()
    ways = ({}, {"evaluation": {"tolerance": 0.0}}, {"tol": 1e-6})
    quick, exact, also = (InterpretableKDR(3, sigma=5.0, **options).fit(features, labels) for options in ways)
    assert quick.result_.evaluation.startswith("low_rank")
    assert exact.result_.evaluation.startswith("panels")
    assert also.result_.evaluation.startswith("panels")
    assert quick.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert quick.certificate_.stationarity <= 1e-3
    # Where no step increases an approximate objective, it takes no Newton steps, and the search goes on exactly.
    monkeypatch.setattr(safeguarded, "DENSE_DIMENSION", 0)
    step, newton = QuasiNewtonSearch.step, NewtonSearch.step
    monkeypatch.setattr(QuasiNewtonSearch, "step", lambda self: self.problem.accuracy(3) == 0.0 and step(self))
    monkeypatch.setattr(NewtonSearch, "step", lambda self: newton(self) if self.problem.accuracy(3) == 0.0 else 1 / 0)
    gone_on = InterpretableKDR(3, sigma=5.0).fit(features, labels)
    assert gone_on.result_.evaluation.startswith("panels")
    assert gone_on.certificate_.stationarity <= 1e-6


MAKERS = {
    "kpca_trick": lambda: KPCATrick("dne", selection=None),
    "kpca_trick_all": lambda: KPCATrick("dne", selection=None, n_components=None),
    "low_rank": lambda: LowRankKernelLearner(10, kernel="gaussian", n_constraints=20),
    "dense": lambda: InterpretableKDR(2, evaluation={"evaluator": "dense"}, max_iter=3),
}


def quietly(make, features, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(features, labels)


def estimate_of(make, features, labels, monkeypatch):
    """Return what a fit is refused for where nothing is free."""
    asked = []
    with monkeypatch.context() as patched:
        patched.setattr(memory, "free_bytes", lambda: asked.append(0) or 0)
        message = rf"a fit of \w+ to {len(features)} samples takes about .* free; \w+"
        with pytest.raises(ValueError, match=message) as caught:
            make().fit(features, labels)
    assert asked
    return float(str(caught.value).split("takes about ")[1].split()[0]) * 2**30


def peak_of(make, features, labels):
    """Return the most bytes that a fit holds at once."""
    # What is imported or made when first used is no part of a fit.
    quietly(make, features[:60], labels[:60])
    with traced_memory() as traced:
        quietly(make, features, labels)
    return traced.peak


@pytest.mark.parametrize("name", MAKERS)
def test_the_estimate_is_within_a_factor_of_two_of_the_peak(name, monkeypatch):
    features, labels = random_samples(3, n_samples=1100, n_features=20)
    make = MAKERS[name]
    peak = peak_of(make, features, labels)
    # It is printed with two digits.
    assert peak / 2.1 <= estimate_of(make, features, labels, monkeypatch) <= 2.1 * peak


def test_what_sums_over_samples_take_is_estimated(monkeypatch):
    features, labels = random_samples(0, n_samples=6000, n_features=20)
    estimates = {}
    for kernel in ("squared", "polynomial"):
        make = partial(InterpretableKDR, 4, kernel=kernel, max_iter=5)
        estimates[kernel] = estimate_of(make, features, labels, monkeypatch)
        assert 1 / 2.1 <= peak_of(make, features, labels) / estimates[kernel] <= 2.1
    # Second derivatives hold no products of the columns of X and XW.
    assert estimates["squared"] < estimates["polynomial"] < 3.0 * estimates["squared"]


@pytest.mark.parametrize("make", [NCA, LMNN, DNE, AlignedKernel, LowRankKernelLearner, InterpretableKDR])
def test_without_all_pairs_the_estimate_grows_as_the_samples(make, monkeypatch):
    features, labels = random_samples(0, n_samples=8000, n_features=4)
    whole, half = (estimate_of(make, features[:n], labels[:n], monkeypatch) for n in (8000, 4000))
    assert whole <= 2.1 * half


def test_sums_over_classes_give_the_objective_and_certificate_of_many(monkeypatch):
    for module, name in ((fitting, "_ROUGH_SAMPLES"), (cost_model, "SUMS_SAMPLES")):
        monkeypatch.setattr(module, name, 2000)
    features, labels = many_samples()
    model = InterpretableKDR(2, sigma=2.0).fit(features, labels)
    assert model.result_.evaluation.startswith("class_sums")
    problem = build_problem(TraceObjective(features, Gaussian(2.0), supervised_gamma(labels)))
    exact = certify(problem, model.components_.T)
    assert model.objective_ == pytest.approx(problem.value(model.components_.T), rel=1e-6)
    # Not that of the search, which is rougher, and without pairs of samples.
    assert model._on_demand._source is None
    for name, value in asdict(exact).items():
        assert getattr(model.certificate_, name) == pytest.approx(value, rel=1e-3, abs=1e-6), name


def test_columns_that_cannot_matter_need_no_memory(monkeypatch):
    rng = np.random.default_rng(0)
    features = np.zeros((400, 1000))
    features[:, ::20] = rng.random((400, 50)) * (rng.random((400, 50)) < 0.3)
    labels = rng.integers(2, size=400)
    # Three arrays of 400 x 1000 take 9.2 MiB, and of 50 x 50 hardly anything.
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 * 2**20)
    model = InterpretableKDR(1, kernel="linear").fit(csr_array(features), labels)
    assert model.rank_ == 50
    features[:, 1:] += 1e-3 * rng.random((400, 999))
    with pytest.raises(ValueError, match=r"a fit to 1000 features that vary takes .* choose fewer features first"):
        InterpretableKDR(1, kernel="linear").fit(csr_array(features), labels)


def test_a_fit_of_many_samples_begins_with_some(monkeypatch):
    features, labels = random_samples(0, n_samples=300, n_features=12)
    plain = InterpretableKDR(2).fit(features, labels)
    monkeypatch.setattr(fitting, "_ROUGH_SAMPLES", 300)
    monkeypatch.setattr(fitting, "_FIRST_SAMPLES", 100)
    learn, sizes = fitting.learn_from_all, []

    def noted(task, *given, **options):
        sizes.append(len(task.features))
        return learn(task, *given, **options)

    monkeypatch.setattr(fitting, "learn_from_all", noted)
    assert InterpretableKDR(2).fit(features, labels).objective_ >= 0.99 * plain.objective_
    assert sizes == [100, 300]
    # Even one of a class is among them; so are targets of all sizes.
    InterpretableKDR(1).fit(features, np.arange(300) == 7)
    InterpretableKDR(1, target="continuous").fit(features, features[:, 0])
    assert sizes[2:] == [100, 300] * 2
    for options in ({"start": plain.components_}, {"tol": 1e-3}, {"kernel": "squared"}):
        InterpretableKDR(2, **options).fit(features, labels)
    InterpretableKDR(2).fit(features, labels, sample_weight=np.arange(1.0, 301.0))
    assert sizes[6:] == [300] * 4
    # From ever more of them, and with bandwidths of their own; the objective is that of all pairs in double precision.
    monkeypatch.setattr(fitting, "_FIRST_SAMPLES", 30)
    for kernel in ("multiquadric", "rbf_relative"):
        model = InterpretableKDR(2, kernel=kernel).fit(features, labels)
        exact = build_problem(TraceObjective(features, model.kernel_, supervised_gamma(labels)))
        assert model.objective_ == pytest.approx(exact.value(model.components_.T), rel=1e-12)
    assert sizes[10:] == [30, 150, 300] * 2
