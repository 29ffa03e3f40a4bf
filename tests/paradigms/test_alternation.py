"""Clustering paradigms on data whose answer is known or published."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from kdrbench.datasets import Standardiser, load_dataset, synthetic
from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import DenseGram, gram_operator
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Polynomial, Squared, median_distance
from kdrbench.paradigms import (
    Alternation,
    ClusteringTask,
    degree_scaling,
    expert_scores,
    given_labellings,
    spectral_embedding,
)
from kdrbench.paradigms.embedding import largest_eigenpairs
from kdrbench.solvers import Monitor, Status, build_solver, make_start
from support.helpers import KERNELS, random_samples, traced_memory


def independent_labellings(n_samples, rng, separations=(9.0, 8.0, 7.0), spread=1.0):
    """Independent two-class labellings (n x m): the i-th pair of columns has two groups, ``separations[i]`` apart."""
    n_labellings = len(separations)
    codes = rng.permutation(np.arange(n_samples) % 2**n_labellings)
    labels = (codes[:, None] >> np.arange(n_labellings)) & 1
    centres = (labels - 0.5) * np.array(separations) / np.sqrt(2.0)
    return np.repeat(centres, 2, axis=1) + spread * rng.standard_normal((n_samples, 2 * n_labellings)), labels


def standardised(features):
    return Standardiser.fit(features).transform(features)


def agreement(first, second):
    # The papers' Appendix L: the geometric mean of the entropies.
    return normalized_mutual_info_score(first, second, average_method="geometric")


def clustered(features, kernel, n_clusters, q, guidance=(), method="ism", evaluation=None, steps=None, **settings):
    task = ClusteringTask(features, Alternation(n_clusters, **settings), tuple(guidance), evaluation or Evaluation())
    start = make_start("surrogate", task.first_problem(kernel), q, np.random.default_rng(0))
    solver = build_solver({"method": method, **({} if steps is None else {"max_iterations": steps})})
    return task.learn(kernel, solver, start, Monitor).clustering


def kernel_on(features, name):
    return KERNELS[name] if name != "gaussian" else Gaussian(median_distance(features))


@pytest.mark.parametrize(
    ("kernel", "given", "expected"),
    [
        ("gaussian", [0], 1),
        ("gaussian", [0, 1], 2),
        ("gaussian", [0, 2], 1),
        ("gaussian", [1, 2], 0),
        ("polynomial", [0, 1], 2),
        ("squared", [0, 2], 1),
        ("multiquadric", [1, 2], 0),
    ],
)
def test_clusters_differ_from_each_of_several_given_labellings(kernel, given, expected):
    features, labels = independent_labellings(240, np.random.default_rng(0))
    features = features - features.mean(axis=0)
    found = clustered(features, kernel_on(features, kernel), 2, 2, [given_labellings(labels[:, given])])
    overlaps = [agreement(found.labels, column) for column in labels.T]
    assert np.argmax(overlaps) == expected
    assert overlaps[expected] > 0.9
    assert max(overlap for place, overlap in enumerate(overlaps) if place != expected) < 0.05


@pytest.mark.parametrize(
    ("name", "n_clusters", "q", "cost", "nmi"),
    [
        ("wine", 3, 4, -39.082, 0.878),
        pytest.param("cancer-137", 2, 2, -33.299, 0.862, marks=pytest.mark.needs("mirror")),
        pytest.param("face", 20, 20, -171.018, 0.952, marks=pytest.mark.needs("mirror")),
    ],
)
def test_unsupervised_costs_of_ism_plus_table_6(name, n_clusters, q, cost, nmi):
    dataset = load_dataset(name)
    features, labels = standardised(dataset.features), dataset.labels
    found = clustered(features, Gaussian(median_distance(features)), n_clusters, q, degrees="embedding")
    assert found.status is Status.CONVERGED
    assert -found.objective == pytest.approx(cost, abs=0.0006)
    assert agreement(found.labels, labels) == pytest.approx(nmi, abs=0.0006)


def three_groups(seed=0):
    features, labels = synthetic.four_gaussians(90, np.random.default_rng(seed), spread=0.4)
    return standardised(features), labels


def test_the_objective_never_falls_without_degrees():
    features, _ = three_groups()
    settings = {"method": "ism_safeguarded", "degrees": "none", "tolerance": 1e-12, "max_rounds": 15}
    found = clustered(features, Gaussian(0.7 * median_distance(features)), 3, 2, **settings)
    objectives = [round_.objective for round_ in found.rounds]
    assert len(objectives) > 3
    assert np.diff(objectives).min() >= -1e-12 * objectives[-1]
    # Degrees that do not exist are given up, which is said.
    assert degree_scaling(DenseGram(np.array([[0.0, -1.0], [-1.0, 0.0]]))) is None
    assert not clustered(features, Squared(), 3, 2).uses_degrees
    assert clustered(features, Gaussian(1.0), 3, 2).uses_degrees
    assert not clustered(features, Gaussian(1.0), 3, 2, degrees="none").uses_degrees


def test_a_cycle_of_degrees_is_damped():
    dataset = load_dataset("wine")
    features, given = standardised(dataset.features), given_labellings(dataset.labels % 2)
    kernel = Polynomial(degree=3, offset=1.0, scale=0.5)
    options = {"guidance": [given], "method": "ism_safeguarded", "max_rounds": 20}
    cycling = clustered(features, kernel, 2, 2, damp_after=20, **options)
    assert cycling.status is Status.MAX_ITERATIONS
    damped = clustered(features, kernel, 2, 2, **options)
    assert damped.status is Status.CONVERGED
    assert damped.uses_degrees
    # Until damping begins nothing differs.
    assert [r.objective for r in damped.rounds[:10]] == [r.objective for r in cycling.rounds[:10]]


def test_the_history_is_that_of_the_definition():
    features, _ = three_groups()
    kernel, settings = Gaussian(median_distance(features)), {"degrees": "embedding", "tolerance": 1e-12}
    for rounds in (1, 2, 3):
        found = clustered(features, kernel, 3, 2, max_rounds=rounds, **settings)
        projected = features @ found.projection
        gram = np.exp(-((projected[:, None] - projected[None]) ** 2).sum(axis=2) / (2 * kernel.sigma**2))
        np.fill_diagonal(gram, 0.0)
        centred = found.embedding - found.embedding.mean(axis=0)
        assert found.objective == pytest.approx(np.trace(centred.T @ gram @ centred), rel=1e-10)
        assert len(found.rounds) == rounds
        assert found.status is Status.MAX_ITERATIONS
        assert found.message == f"eigenvalues had not settled after {rounds} rounds"
        # The longer history continues the shorter one.
        longer = clustered(features, kernel, 3, 2, max_rounds=3, **settings)
        assert longer.rounds[rounds - 1].objective == found.objective


def test_spectral_embedding_by_its_definition():
    rng = np.random.default_rng(0)
    gram = np.exp(-rng.uniform(0, 2, (12, 12)))
    gram = gram + gram.T
    degrees, centring = np.diag(gram.sum(axis=1) ** -0.5), np.eye(12) - 1 / 12
    operator = DenseGram(gram)
    values, vectors = spectral_embedding(operator, 3, scaling=degree_scaling(operator), centred=True)
    affinity = centring @ degrees @ gram @ degrees @ centring
    np.testing.assert_allclose(affinity @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(affinity)[::-1][:3], atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "evaluation", "degrees", "agreed"),
    [
        # Panels, exact factors, and factors to a tolerance, in problem and embedding alike.
        ("gaussian", Evaluation(memory_mib=2.0), "both", 1e-6),
        ("gaussian", Evaluation(evaluator="panels", threads=2), "embedding", 1e-6),
        ("polynomial", Evaluation(memory_mib=2.0), "both", 1e-6),
        ("multiquadric", Evaluation(memory_mib=2.0), "both", 1e-6),
        ("gaussian", Evaluation(evaluator="low_rank", tolerance=1e-4), "both", 1e-3),
    ],
)
def test_operators_alternate_as_arrays_do(kernel, evaluation, degrees, agreed):
    features, _ = synthetic.four_gaussians(600, np.random.default_rng(0), spread=0.4)
    features = standardised(features)
    expected, found = (
        clustered(features, kernel_on(features, kernel), 4, 2, degrees=degrees, max_rounds=3, steps=3, evaluation=one)
        for one in (Evaluation(evaluator="dense"), evaluation)
    )
    assert found.objective == pytest.approx(expected.objective, rel=agreed)
    assert len(found.rounds) == len(expected.rounds)
    for mine, theirs in zip(found.rounds, expected.rounds, strict=True):
        np.testing.assert_allclose(mine.eigenvalues, theirs.eigenvalues, rtol=agreed)
    assert agreement(found.labels, expected.labels) > 1 - 20 * agreed
    assert found.uses_degrees == expected.uses_degrees


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_many_samples_never_make_an_array_of_all_pairs(kernel):
    features, _ = synthetic.four_gaussians(8000, np.random.default_rng(0), spread=0.4)
    features = standardised(features)
    settings = {"degrees": "embedding", "max_rounds": 2, "steps": 3, "evaluation": Evaluation(tolerance=1e-3)}
    with traced_memory() as traced:
        found = clustered(features, kernel_on(features, kernel), 4, 2, **settings)
    assert len(found.rounds) == 2
    # The array would be of 512 MB; the Krylov space is of 8 MB, k-means and a factor of rank 50 each of 4.
    assert traced.peak < 60e6


def test_expert_scores_move_the_clusters():
    # Two labellings; alone the wider one is found, with scores about the other one that.
    features, labels = independent_labellings(120, np.random.default_rng(1), separations=(5.0, 4.5), spread=0.5)
    features = features - features.mean(axis=0)
    kernel = Gaussian(median_distance(features))
    scores = np.where(np.random.default_rng(2).uniform(size=120) < 0.5, labels[:, 1], np.nan)
    alone = clustered(features, kernel, 2, 1)
    told = clustered(features, kernel, 2, 1, [expert_scores(scores, mu=2.0)])
    assert agreement(alone.labels, labels[:, 0]) > 0.9
    assert agreement(told.labels, labels[:, 1]) > 0.9


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: Alternation(2, degrees="all"), "unknown degrees 'all'; allowed: both, embedding"),
        (lambda: Alternation("3"), "n_clusters must be an integer >= 1, got '3'"),
        (lambda: Alternation(2, max_rounds=2.5), "max_rounds must be None or an integer >= 1, got 2.5"),
        (lambda: clustered(np.eye(4), Gaussian(1.0), 5, 1), "n_clusters must be at most n_samples = 4, got 5"),
        (lambda: expert_scores(["good", "bad"]), "expert scores must be numbers"),
        (lambda: expert_scores([1.0, np.inf]), "finite numbers or NaN"),
        (lambda: expert_scores([[1.0, 2.0], [1.0, 3.0]]), "column 0 of the expert scores has no two different"),
        (lambda: expert_scores([[1.0, np.nan], [2.0, np.nan]]), "column 1 of the expert scores has no two"),
        (lambda: expert_scores([1.0, 2.0], mu=-1), "mu must be a finite number > 0, got -1"),
        (lambda: given_labellings([0, 1], mu=0.0), "mu must be a finite number > 0, got 0.0"),
        (lambda: given_labellings([1, 1]), "at least 2 classes"),
    ],
)  # fmt: skip
def test_bad_settings_are_named(action, message):
    with pytest.raises(InputError, match=message):
        action()


def diagonal(entries, counts=None):
    def applied(columns):
        if counts is not None:
            counts.append(columns.shape[1])
        return entries[:, None] * columns

    return applied


def test_starts_save_products_and_few_rows_are_solved_exactly():
    entries = 1.0 / np.arange(1.0, 401.0)
    cold, warm, wrong = [], [], []
    values, vectors = largest_eigenpairs(diagonal(entries, cold), 400, 4, tolerance=1e-8)
    np.testing.assert_allclose(values, entries[:4], atol=1e-12)
    largest_eigenpairs(diagonal(entries, warm), 400, 4, tolerance=1e-8, start=vectors)
    assert sum(warm) < 0.6 * sum(cold)
    # Exact eigenvectors, but not the largest ones.
    start = np.eye(400)[:, 4:8]
    values, vectors = largest_eigenpairs(diagonal(entries, wrong), 400, 4, tolerance=1e-8, start=start)
    np.testing.assert_allclose(values, entries[:4], atol=1e-12)
    np.testing.assert_allclose(np.abs(vectors[:4]), np.eye(4), atol=1e-6)
    for n_rows in (3, 4, 9, 10, 11, 17, 30):
        rng = np.random.default_rng(n_rows)
        matrix = rng.standard_normal((n_rows, n_rows))
        matrix = matrix + matrix.T
        values, vectors = largest_eigenpairs(matrix.__matmul__, n_rows, 3, tolerance=1e-10)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:3], atol=1e-9)
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8 * np.abs(matrix).sum())


@pytest.mark.parametrize(
    "entries",
    [
        np.zeros(200),
        np.ones(200),
        np.r_[np.ones(100), np.zeros(100)],
        -np.arange(200.0),
        np.r_[5.0, -np.ones(199)],
        1e-100 * np.arange(200.0),
        # Nothing tells the wanted eigenvalues from the next ones.
        1.0 + 1e-9 * np.arange(200.0),
    ],
    ids=["zero", "identity", "half", "negative", "one and a tie", "tiny", "continuum"],
)
def test_ties_and_continua_give_the_largest_eigenvalues(entries):
    values, vectors = largest_eigenpairs(diagonal(entries), 200, 4, tolerance=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(values, np.sort(entries)[::-1][:4], atol=1e-7 * np.abs(entries).max())


@pytest.mark.parametrize(
    ("kernel", "scale", "evaluator"),
    [
        *((Polynomial(degree=3), 1e120, Evaluation(evaluator=name)) for name in ("dense", "panels", "factored")),
        *((Multiquadric(), scale, Evaluation(evaluator="low_rank", tolerance=1e-3)) for scale in (1e154, 1e170)),
    ],
)
def test_a_kernel_that_is_not_finite_is_refused(kernel, scale, evaluator):
    # Threads have error states of their own.
    with warnings.catch_warnings(action="ignore"):
        operator = gram_operator(kernel, scale * random_samples(n_samples=200)[0], evaluator)
        with pytest.raises(InputError, match="not finite on these samples"):
            spectral_embedding(operator, 3, scaling=None, centred=True)
        if scale == 1e120:
            with pytest.raises(InputError, match="not finite on these samples"):
                degree_scaling(operator)


def test_a_relative_first_embedding_is_of_49_neighbours():
    features, _ = random_samples(0, 60)
    distances = np.sort(np.linalg.norm(features[:, None] - features, axis=2), axis=1)[:, 1:50]
    widths = np.sqrt(np.average(distances**2, axis=1, weights=1 / distances))
    affinity = np.exp(-0.5 * np.linalg.norm(features[:, None] - features, axis=2) ** 2 / np.outer(widths, widths))
    np.fill_diagonal(affinity, 0.0)
    centring = np.eye(60) - 1 / 60
    expected = np.linalg.eigh(centring @ affinity @ centring)[1][:, -3:]
    task = ClusteringTask(features, Alternation(3, degrees="none", first="relative"))
    found = task.first_step(Linear()).embedding
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)
    task = ClusteringTask(
        np.repeat(random_samples(0, 49)[0], 2, axis=0), Alternation(3, degrees="none", first="relative")
    )
    with pytest.raises(InputError, match="49 nearest neighbours need more distinct samples than that, got 49"):
        task.first_step(Linear())


def test_clusters_of_the_kernel_are_those_of_its_leading_eigenvectors():
    features, _ = random_samples(0, 60)
    clustering = clustered(features, Gaussian(2.0), 3, 2, degrees="none", clusters="kernel")
    projected = features @ clustering.projection
    affinity = np.exp(-(np.linalg.norm(projected[:, None] - projected, axis=2) ** 2) / 8)
    np.fill_diagonal(affinity, 0.0)
    expected = np.linalg.eigh(affinity)[1][:, -3:]
    np.testing.assert_allclose(clustering.embedding @ clustering.embedding.T, expected @ expected.T, atol=1e-9)
