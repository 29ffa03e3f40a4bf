"""The solvers of the first author's code: their rules in plain numpy, and printed costs of Wine that they give."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from kdrbench.kernels import build_kernel
from kdrbench.paradigms import Alternation, ClusteringTask, cluster_rows, supervised_problem
from kdrbench.problems import supervised_gamma
from kdrbench.solvers import Monitor, make_start, solve
from kdrbench.solvers.authors import AuthorsDG, AuthorsGM, AuthorsISM, AuthorsSM
from support.helpers import scaled_wine

Q = 4
POLYNOMIAL = {"family": "polynomial", "degree": 3, "offset": 1, "scale": "1/q"}
GAUSSIAN = {"family": "gaussian", "sigma": "median"}
wine = cache(scaled_wine)


def problem_of(kernel, labels=None):
    features, classes = wine()
    return supervised_problem(features, classes if labels is None else labels, build_kernel(kernel, features, Q))


def solved(solver, problem, start="surrogate", iterations=None):
    monitor = Monitor() if iterations is None else Monitor(iterations)
    return solve(solver, problem, make_start(start, problem, Q, np.random.default_rng(0)), monitor)


def with_diagonal(projected, features, scale):
    """Return Phi of the authors' code, but for its sign and factor: X'(Gamma * (s z'z + 1)^2)X with the diagonal."""
    _, labels = wine()
    gamma = replace(supervised_gamma(labels), zero_diagonal=False).dense()
    return features.T @ (gamma * (scale * projected @ projected.T + 1) ** 2) @ features


def span(projection):
    return projection @ projection.T


def test_dg_gives_the_printed_cost_and_uses_no_label():
    # ISM+, Table 5: -1491.2.
    result = solved(AuthorsDG(), problem := problem_of(GAUSSIAN))
    assert problem.value(result.projection) == pytest.approx(1491.2, abs=0.05)
    others = problem_of(POLYNOMIAL, np.random.default_rng(1).permutation(wine()[1]))
    start = make_start("surrogate", problem, Q, np.random.default_rng(0))
    again = solve(AuthorsDG(), others, start, Monitor())
    np.testing.assert_allclose(again.projection, result.projection, atol=1e-12)


def test_gm_begins_later_rounds_at_random():
    problem = problem_of(GAUSSIAN)
    first = solved(AuthorsGM(steps=1), problem).projection
    later = solved(AuthorsGM(steps=1).continued, problem).projection
    assert np.linalg.norm(span(first) - span(later)) > 0.1
    np.testing.assert_array_equal(later, solved(AuthorsGM(steps=1).continued, problem).projection)


@pytest.mark.parametrize(("version", "scale"), [(1, 1 / 13), (2, 1 / Q)])
def test_ism_keeps_the_diagonal_of_a_polynomial_kernel(version, scale):
    features, _ = wine()
    problem = problem_of(POLYNOMIAL)
    start = make_start("surrogate", problem, Q, np.random.default_rng(0))
    found = solved(AuthorsISM(version=version), problem, iterations=1 if version == 2 else None).projection
    surrogate = with_diagonal(features if version == 1 else features @ start, features, scale)
    np.testing.assert_allclose(span(found), span(np.linalg.eigh(surrogate)[1][:, -Q:]), atol=1e-8)


@pytest.mark.parametrize("kernel", [GAUSSIAN, POLYNOMIAL])
def test_sm_takes_the_first_cayley_step_that_lowers_the_cost(kernel):
    features, _ = wine()
    problem = problem_of(kernel)
    start = make_start("random", problem, Q, np.random.default_rng(0))
    gradient = -problem.gradient(start)
    if kernel is POLYNOMIAL:
        gradient = -6 * with_diagonal(features @ start, features, 1 / Q) @ start
    skew, identity, step = gradient @ start.T - start @ gradient.T, np.eye(13), 2.0
    while problem.value(np.linalg.solve(identity + step * skew, start - step * skew @ start)) <= problem.value(start):
        step *= 0.2
    expected = np.linalg.solve(identity + step * skew, start - step * skew @ start)
    found = solve(AuthorsSM(), problem, start, Monitor(1)).projection
    np.testing.assert_allclose(span(found), span(expected), atol=1e-9)


def test_a_completed_start_keeps_the_rank_of_the_surrogate_and_draws_the_others():
    problem = problem_of(GAUSSIAN)
    given, *drawn = (
        make_start(name, problem, Q, np.random.default_rng(seed))
        for name, seed in (("surrogate", 0), ("completed", 0), ("completed", 1))
    )
    for start in drawn:
        np.testing.assert_allclose(start.T @ start, np.eye(Q), atol=1e-12)
        # Three classes determine two directions.
        np.testing.assert_allclose(span(start[:, :2]), span(given[:, :2]), atol=1e-9)
    assert np.linalg.norm(span(drawn[0]) - span(drawn[1])) > 0.1


@pytest.mark.parametrize(("solver", "cost", "nmi"), [(AuthorsDG(), 38.07, 0.835), (AuthorsISM(), 39.1, 0.88)])
def test_clusterings_give_the_printed_costs(solver, cost, nmi):
    # ISM+, Table 6: DG multiplies the kernels of all rounds.
    features, labels = wine()
    kernel = build_kernel(GAUSSIAN, features, Q)
    task = ClusteringTask(features, Alternation(n_clusters=3, degrees="embedding", centred=True))
    start = make_start("surrogate", task.first_problem(kernel), Q, np.random.default_rng(0))
    learned = task.learn(kernel, solver, start, Monitor)
    assert learned.objective == pytest.approx(cost, abs=0.05)
    clusters = cluster_rows(learned.clustering.embedding)
    assert normalized_mutual_info_score(labels, clusters, average_method="geometric") == pytest.approx(nmi, abs=5e-3)
