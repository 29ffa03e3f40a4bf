"""Which evaluator answers where a factor grows too large, and blocks of samples far from the origin."""

import numpy as np
import pytest

from kdrbench.evaluation import Evaluation, build_problem, cost_model, low_rank
from kdrbench.evaluation.cost_model import Plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.dispatched import DispatchedProblem
from kdrbench.evaluation.low_rank import LowRankProblem
from kdrbench.evaluation.pairs import PairBlocks
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Gaussian
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers.geometry.certificate import certify
from support.evaluation_cases import objective_of
from support.helpers import random_projection, random_samples, solved


class Factor(LowRankProblem):
    """Keeps what it was made with; says that it suffices where it is told so."""

    suffices, made = True, []

    def __init__(self, objective, **options):
        super().__init__(objective, **options)
        self.made.append(options["max_rank"])

    def suffices_at(self, projection):
        return self.suffices


@pytest.fixture
def problem(monkeypatch):
    """Return a small problem of which the plan says that a factor is used, by how it was asked for."""
    monkeypatch.setattr(low_rank, "LowRankProblem", Factor)
    monkeypatch.setattr(Factor, "made", [])
    monkeypatch.setattr(DispatchedProblem, "plan", lambda self, n_components: Plan("low_rank", "by hand", False))
    objective = objective_of(40, Gaussian(2.0))
    return lambda asked, tolerance=1e-3: DispatchedProblem(objective, Evaluation(evaluator=asked, tolerance=tolerance))


@pytest.mark.parametrize(
    ("tolerance", "panels", "accuracy", "digits"),
    [(1e-3, "panels in single precision", 1e-4, 1e-5), (1e-6, "panels", 0.0, 1e-13)],
)
def test_a_factor_is_given_up_for_good_where_it_does_not_suffice(
    problem, monkeypatch, tolerance, panels, accuracy, digits
):
    one, point = problem("auto", tolerance), random_projection()
    assert type(one.evaluator(point)) is Factor
    assert one.accuracy(2) == pytest.approx(0.1 * tolerance)
    monkeypatch.setattr(Factor, "suffices", False)
    assert type(one.evaluator(point)) is PanelProblem
    assert one.explain(2).startswith(f"{panels}: a factor, a basis or a grid to the tolerance would be too large")
    assert one.accuracy(2) == accuracy
    assert one.value(point) == pytest.approx(DenseProblem(one.objective).value(point), rel=digits)
    monkeypatch.setattr(DispatchedProblem, "plan", lambda self, n_components: Plan("class_sums", "by hand", False))
    np.testing.assert_array_equal(one.rough_surrogate(point), one._own["low_rank"].surrogate(point))
    monkeypatch.setattr(Factor, "suffices", True)
    assert type(one.evaluator(point)) is PanelProblem


def test_a_factor_asked_for_by_name_is_kept_however_large(problem, monkeypatch):
    monkeypatch.setattr(Factor, "suffices", False)
    assert type(problem("low_rank").evaluator(random_projection())) is Factor
    # It may have any rank, and one that was chosen only such as the memory holds.
    assert Factor.made == [None]
    problem("auto").evaluator(random_projection())
    assert Factor.made[1] > 0


def test_distances_far_from_the_origin_keep_their_digits():
    samples = np.random.default_rng(0).standard_normal((20, 2))
    gamma = supervised_gamma(np.arange(20) % 3)
    sweep = PairBlocks(gamma, 7, order=None, single_precision=False).over(Gaussian(1.0), samples + 1e6)
    exact = ((samples[:, None] - samples[None]) ** 2).sum(axis=2)
    rows, blocks = sweep.row(0, sweep.memory())
    places = []
    for one in blocks:
        places.append((one.rows, one.columns))
        # Without an offset taken out, the squares of 1e12 would leave an error of 1e-4.
        np.testing.assert_allclose(-2.0 * one.argument, exact[one.rows, one.columns], atol=1e-8)
    assert rows == slice(0, places[0][0].stop)
    assert places[0] == (rows, rows)
    assert [columns.start for _, columns in places[1:]] == [columns.stop for _, columns in places[:-1]]
    assert places[-1][1].stop == 20


@pytest.mark.parametrize(
    ("few", "tolerance", "evaluator", "offers"),
    [
        (10, 0.0, "panels", True),
        (10_000, 0.0, "panels", False),
        (10, 1e-3, "panels", True),
        (10, 1e-3, "low_rank", True),
        (10, 1e-2, "low_rank", False),
        (10, 0.0, "dense", False),
    ],
)
def test_exact_panels_of_many_samples_offer_an_approximation(monkeypatch, few, tolerance, evaluator, offers):
    monkeypatch.setattr(cost_model, "_APPROXIMATION_SAMPLES", few)
    monkeypatch.setattr(DispatchedProblem, "plan", lambda self, n_components: Plan(evaluator, "by hand", False))
    problem = DispatchedProblem(objective_of(40, Gaussian(2.0)), Evaluation(tolerance=tolerance))
    assert (problem.approximation(np.eye(6)[:, :2]) is not None) is offers
    assert ("; approached through " in problem.explain(2)) is offers


@pytest.mark.parametrize("q", [2, 5])
@pytest.mark.parametrize("n_features", [20, 120])
def test_a_tolerance_takes_no_more_work_than_an_exact_solve(monkeypatch, n_features, q):
    """Counts pairs, and samples times the columns of a factor: a model of time that does not depend on the machine."""
    work = []

    def counted(name, passes):
        oracle = getattr(DispatchedProblem, name)

        def answered(self, projection, *others):
            answer, evaluator = oracle(self, projection, *others), self.evaluator(projection)
            n, times = self.objective.gamma.n_samples, passes(others)
            by_sample = n / 2
            if isinstance(evaluator, LowRankProblem):
                by_sample = evaluator._at(projection).factored.columns.shape[1] * 4.0 * q
            work.append(times * n * by_sample)
            return answer

        monkeypatch.setattr(DispatchedProblem, name, answered)

    for name in ("value", "gradient", "value_and_gradient", "surrogate"):
        counted(name, lambda _: 1)
    counted("hessian_vectors", lambda others: 4 * len(others[0]))
    counted("hessian", lambda others: 4 * others[0].shape[1])
    features, labels = random_samples(n_samples=2500, n_features=n_features, n_classes=4, seed=1)
    objective = TraceObjective(features, Gaussian(n_features**0.5), supervised_gamma(labels))
    totals = []
    for tolerance in (0.0, 1e-3):
        work.clear()
        problem = build_problem(objective, Evaluation(tolerance=tolerance))
        certify(problem, solved(problem, q).projection)
        totals.append(sum(work))
    assert totals[1] <= 1.1 * totals[0]
