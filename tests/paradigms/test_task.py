"""Solvers that would draw starts of their own: they do for one start, not beside others, nor in rounds."""

from dataclasses import dataclass

import numpy as np
import pytest

from kdrbench.datasets import synthetic
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import Gaussian, Multiquadric, RelativeGaussian
from kdrbench.kernels.family import pairing_values
from kdrbench.paradigms import alternation, build_task, learn_from_all
from kdrbench.paradigms.embedding import Alternation, Guidance, gamma_of
from kdrbench.solvers import Monitor, Status, build_solver
from kdrbench.solvers.base import SolverOutcome
from support.helpers import random_projection


@dataclass
class Noting:
    """Returns its start; notes on how many samples and in which role it ran."""

    ran: list
    role: str = "itself"
    requires = frozenset()

    @property
    def continued(self):
        return Noting(self.ran, f"{self.role}, continued")

    @property
    def rough(self):
        return Noting(self.ran, "rough")

    @property
    def alone(self):
        return Noting(self.ran, f"{self.role.removesuffix(', alone')}, alone")

    def run(self, problem, start, monitor):
        self.ran.append((problem.objective.gamma.n_samples, self.role))
        return SolverOutcome(start, Status.CONVERGED, "the start")


@pytest.mark.parametrize(
    ("paradigm", "n_starts", "expected"),
    [("supervised", 1, "itself"), ("supervised", 3, "itself, alone"), ("unsupervised", 1, "itself, alone")],
)
def test_a_solver_draws_starts_only_where_it_has_one(paradigm, n_starts, expected):
    features = np.random.default_rng(0).standard_normal((30, 4))
    known = np.arange(30) % 2 if paradigm == "supervised" else None
    wanted = build_task(paradigm, {} if paradigm == "supervised" else {"n_clusters": 2}, features, known)
    solver = Noting([])
    starts = (random_projection(seed, n_features=4, n_components=2) for seed in range(n_starts))
    assert len(learn_from_all(wanted, Gaussian(1.0), solver, starts, Monitor)[1]) == n_starts
    assert {role.removesuffix(", continued") for _, role in solver.ran} == {expected}


@pytest.mark.parametrize("degrees", ["both", "none"])
@pytest.mark.parametrize("with_degrees", [True, False])
def test_half_of_doubled_samples_has_the_same_balance_of_terms(degrees, with_degrees):
    rng, form = np.random.default_rng(0), Alternation(2, degrees)
    features, embedding = rng.standard_normal((12, 3)), np.linalg.qr(rng.standard_normal((12, 2)))[0]
    term = Guidance(-0.7, np.tile(rng.standard_normal((12, 2)), (2, 1)), with_degrees)

    def balance(samples, basis, known):
        kernel = Gaussian(1.0).value(pairing_values(Gaussian.pairing, samples))
        scaling = form.held(kernel.sum(axis=1) ** -0.5 if degrees == "both" else None)
        gamma = gamma_of(basis, (known,), scaling)
        values = gamma.weights * np.einsum("ir,ij,jr->r", gamma.factor, kernel, gamma.factor)
        return values[2:].sum() / values[:2].sum()

    whole = balance(np.tile(features, (2, 1)), np.tile(embedding, (2, 1)) / np.sqrt(2.0), term)
    assert balance(features, embedding, form.of(term, np.arange(12))) == pytest.approx(whole, rel=1e-12)


def test_starts_compete_on_some_samples_and_the_best_takes_all(monkeypatch):
    monkeypatch.setattr(alternation, "_SOME_SAMPLES", 120)
    features, labels = synthetic.gaussians_on_a_rectangle(300, np.random.default_rng(0))
    starts = [random_projection(seed, n_features=3, n_components=2) for seed in range(3)]
    solver, kernel = build_solver({"method": "ism_safeguarded"}), Gaussian(4.0)
    outcomes = {}
    for tolerance in (0.0, 1e-4):
        evaluation = Evaluation(tolerance=tolerance)
        alternative = build_task("alternative", {}, features, labels[:, 0], evaluation=evaluation)
        on_some = tolerance > 0.0
        outcomes[tolerance] = learn_from_all(alternative, kernel, solver, starts, Monitor, on_some=on_some)
    for tolerance, n_compared in ((0.0, 300), (1e-4, 120)):
        best, compared = outcomes[tolerance]
        assert len(best.clustering.embedding) == 300
        assert {len(one.clustering.embedding) for one in compared} == {n_compared}
        assert [one.objective for one in compared] == sorted((one.objective for one in compared), reverse=True)
    # The settled eigenvalues of an alternation, whose rule is a change of 1 %.
    assert outcomes[1e-4][0].objective >= 0.99 * outcomes[0.0][0].objective
    # Rough solves make starts, and later rounds continue.
    solver = Noting([])
    learn_from_all(alternative, kernel, solver, starts, Monitor, on_some=True)
    of_some = [role for n_samples, role in solver.ran if n_samples == 120]
    of_all = [role for n_samples, role in solver.ran if n_samples == 300]
    assert (of_some.count("rough, alone"), set(of_some)) == (3, {"rough, alone", "rough, alone, continued"})
    assert {role.startswith("itself, alone, continued") for role in of_all} == {True}
    # They may compete so on all samples as well, and the better half goes on.
    solver = Noting([])
    _, compared = learn_from_all(alternative, kernel, solver, starts, Monitor, rough=True)
    roles = [role for n_samples, role in solver.ran if n_samples == 300]
    assert (roles.count("rough, alone"), len(compared)) == (3, 2)
    assert roles[-1].startswith("itself, alone, continued")


@pytest.mark.parametrize("kernel", [Gaussian(4.0), Multiquadric(1.0), RelativeGaussian(np.linspace(2.0, 6.0, 300))])
def test_some_samples_have_their_kernel_and_share_of_each_term(kernel, monkeypatch):
    monkeypatch.setattr(alternation, "_SOME_SAMPLES", 120)
    features, labels = synthetic.gaussians_on_a_rectangle(300, np.random.default_rng(0))
    scores, asked = labels[:, 1].astype(float), Evaluation(tolerance=1e-4)
    guided = build_task("semi_supervised", {"n_clusters": 2}, features, scores, evaluation=asked)
    some, theirs = guided.of_some_samples(kernel)
    # Without D, which a multiquadric kernel has not, terms of U grow as n and others as n^2; with it U's are bounded.
    assert some.guidance[0].weight == pytest.approx(300 / 120 if isinstance(kernel, Multiquadric) else (300 / 120) ** 2)
    start = random_projection(0, n_features=3, n_components=2)
    found = some.learn(theirs, build_solver({"method": "ism_safeguarded"}).rough, start, Monitor)
    assert len(found.clustering.embedding) == 120
    assert found.clustering.uses_degrees is not isinstance(kernel, Multiquadric)
