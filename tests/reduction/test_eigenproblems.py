"""Each method against its definition, written densely from the paper: loops, explicit inverses, all pairs."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.covariance import ledoit_wolf
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from kdrbench.estimators import LMNN
from kdrbench.kernels import median_distance
from kdrbench.reduction import (
    LDA,
    LFDA,
    PLSDA,
    SAVE,
    SIR,
    DirectionalRegression,
    GradientKDR,
    KernelDiscriminantAnalysis,
    LeadingComponents,
    MedianKernelPCA,
    SupervisedPCA,
)

RNG = np.random.default_rng(7)
LABELS = np.arange(60) % 3
X = RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)) * (1 + 0.5 * LABELS[:, None])
X[:, 1] += 2.0 * LABELS
VALUES = X[:, 0] ** 2 + 0.1 * RNG.standard_normal(60)
WIDE = RNG.standard_normal((24, 40)) + (np.arange(24) % 3)[:, None] * np.eye(40)[0]
# Eigenvectors of these small problems have gaps above 1e-3, and matrices condition numbers below 1e6.
CLOSE = 1e-8


def angle(rows, others):
    """The largest principal angle between the spans of two sets of rows."""
    assert rows.shape == others.shape
    return subspace_angles(rows.T, others.T).max()


def slices_of(y):
    """Classes, or ten parts of the ranks of y, which has no equal values and a number of samples divisible by ten."""
    if y.dtype.kind == "i":
        return y
    return np.argsort(np.argsort(y)) * 10 // len(y)


def whitened_by_inverse_root(samples):
    centred = samples - samples.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(samples))
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    return centred @ root, root


def moment_by_definition(name, samples, y):
    """M of the three inverse regressions, over slices and over pairs of slices."""
    white, root = whitened_by_inverse_root(samples)
    slices, d = slices_of(y), samples.shape[1]
    parts = [(np.mean(slices == s), white[slices == s]) for s in np.unique(slices)]
    moment = np.zeros((d, d))
    for share, rows in parts:
        if name == "sir":
            moment += share * np.outer(rows.mean(axis=0), rows.mean(axis=0))
        elif name == "save":
            moment += share * np.linalg.matrix_power(np.eye(d) - np.cov(rows.T, bias=True), 2)
        else:
            for other, others in parts:
                differences = (rows[:, None] - others[None]).reshape(-1, d)
                contrast = 2 * np.eye(d) - differences.T @ differences / len(differences)
                moment += share * other * contrast @ contrast
    return moment, root


@pytest.mark.parametrize("y", [LABELS, VALUES], ids=["classes", "continuous"])
@pytest.mark.parametrize(
    ("name", "model"), [("sir", SIR(2)), ("save", SAVE(2)), ("directional", DirectionalRegression(2))]
)
def test_inverse_regressions_are_those_of_their_definition(name, model, y):
    moment, root = moment_by_definition(name, X, y)
    values, vectors = np.linalg.eigh(moment)
    model.fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-10)
    for row, vector in zip(model.components_, vectors.T[::-1], strict=False):
        assert angle(row[None], (root @ vector)[None]) < CLOSE
    covariance = np.cov(X.T, bias=True)
    np.testing.assert_allclose(model.components_ @ covariance @ model.components_.T, np.eye(2), atol=1e-12)


def test_slices_keep_equal_values_together():
    rough = np.round(VALUES, 0) + 0.5
    first = SIR(1, n_slices=4).fit(X, rough)
    order = RNG.permutation(60)
    np.testing.assert_allclose(SIR(1, n_slices=4).fit(X[order], rough[order]).components_, first.components_, atol=1e-9)


def test_sir_of_classes_finds_the_directions_of_fisher():
    fisher = LinearDiscriminantAnalysis(solver="eigen").fit(X, LABELS).scalings_[:, :2].T
    assert angle(SIR(5).fit(X, LABELS).components_, fisher) < CLOSE
    assert angle(LDA(5).fit(X, LABELS).components_, fisher) < CLOSE


@pytest.mark.parametrize("shrinkage", [None, "auto", 0.3])
def test_shrinkage_is_that_of_the_whole_covariance(shrinkage):
    # The generalised eigenproblem in all 40 dimensions, where the covariance of 24 samples is singular.
    y = np.arange(24) % 3
    centred = WIDE - WIDE.mean(axis=0)
    covariance = centred.T @ centred / 24
    shrunk = ledoit_wolf(WIDE)[0]
    if shrinkage == 0.3:
        shrunk = 0.7 * covariance + 0.3 * np.trace(covariance) / 40 * np.eye(40)
    means = np.array([centred[y == c].mean(axis=0) for c in range(3)])
    values, vectors = eigh(means.T @ means / 3, shrunk)
    model = SIR(2, shrinkage=shrinkage).fit(WIDE, y)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-9)
    assert angle(model.components_, vectors[:, ::-1][:, :2].T) < CLOSE
    # SAVE and directional regression see nothing where there are no samples: rows are combinations of samples.
    for estimator in (SAVE(2, shrinkage=shrinkage), DirectionalRegression(2, shrinkage=shrinkage)):
        rows = estimator.fit(WIDE, y).components_
        in_span = np.linalg.lstsq(centred.T, rows.T, rcond=None)[0]
        np.testing.assert_allclose(centred.T @ in_span, rows.T, atol=1e-9)


def gradient_moment_by_loops(samples, target_gram, sigma, regularization):
    n, d = samples.shape
    gram = np.exp(-0.5 * ((samples[:, None] - samples[None]) ** 2).sum(axis=2) / sigma**2)
    inverse = np.linalg.inv(gram + n * regularization * np.eye(n))
    middle = inverse @ target_gram @ inverse
    moment = np.zeros((d, d))
    for i in range(n):
        gradients = gram[i][:, None] * (samples - samples[i]) / sigma**2
        moment += gradients.T @ middle @ gradients / n
    return moment


@pytest.mark.parametrize("kind", ["classes", "continuous", "wide"])
def test_gradient_kdr_is_the_mean_outer_product_of_gradients(kind):
    samples, y = {"classes": (X, LABELS), "continuous": (X, VALUES), "wide": (WIDE, np.arange(24) % 3)}[kind]
    target = (y[:, None] == y[None]).astype(float)
    if kind == "continuous":
        sigma_y = median_distance(y[:, None])
        target = np.exp(-0.5 * (y[:, None] - y[None]) ** 2 / sigma_y**2)
    model = GradientKDR(2, bandwidth=0.7, regularization=1e-3).fit(samples, y)
    assert model.sigma_ == pytest.approx(0.7 * median_distance(samples))
    values, vectors = np.linalg.eigh(gradient_moment_by_loops(samples, target, model.sigma_, 1e-3))
    # The kernel of continuous y is factored up to 1e-10 of its trace.
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-6)
    assert angle(model.components_, vectors[:, ::-1][:, :2].T) < 1e-6
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("kind", ["classes", "linear"])
def test_supervised_pca_maximises_hsic(kind):
    centring = np.eye(len(X)) - 1 / len(X)
    y, model = LABELS, SupervisedPCA(3)
    target = (LABELS[:, None] == LABELS[None]).astype(float)
    if kind == "linear":
        y, target = VALUES, np.outer(VALUES, VALUES)
    values, vectors = np.linalg.eigh(X.T @ centring @ target @ centring @ X)
    rank = {"classes": 2, "linear": 1}[kind]
    model.fit(X, y)
    assert model.components_.shape == (rank, 5)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:rank], rtol=1e-7)
    for row, vector in zip(model.components_, vectors.T[::-1], strict=False):
        assert angle(row[None], vector[None]) < 1e-6


def local_scatter_by_pairs(samples, y, n_neighbors):
    """S_w and S_b of the paper, a pair at a time."""
    n, d = samples.shape
    within, between = np.zeros((d, d)), np.zeros((d, d))
    distance = np.sqrt(((samples[:, None] - samples[None]) ** 2).sum(axis=2))
    scales = [np.sort(distance[i][y == y[i]])[min(n_neighbors, np.sum(y == y[i]) - 1)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            outer = np.outer(samples[i] - samples[j], samples[i] - samples[j]) / 2
            if y[i] != y[j]:
                between += outer / n
                continue
            size = np.sum(y == y[i])
            affinity = np.exp(-(distance[i, j] ** 2) / (scales[i] * scales[j]))
            within += affinity / size * outer
            between += affinity * (1 / n - 1 / size) * outer
    return within, between


def test_lfda_solves_the_pairwise_problem():
    y = np.where(np.arange(60) < 4, 2, LABELS % 2)  # a class of four has no seven neighbours
    within, between = local_scatter_by_pairs(X, y, 7)
    values, vectors = eigh(between, within)
    model = LFDA(3).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-8)
    assert angle(model.components_, vectors[:, ::-1][:, :3].T) < CLOSE
    product = model.components_ @ within @ model.components_.T
    np.testing.assert_allclose(product, np.diag(values[::-1][:3]), rtol=1e-8, atol=1e-8)


def test_lfda_shrinks_what_is_singular():
    y = np.arange(24) % 3
    within, between = local_scatter_by_pairs(WIDE, y, 7)
    share = 0.4
    shrunk = (1 - share) * within + share * np.trace(within) / 40 * np.eye(40)
    values, vectors = eigh(between, shrunk)
    model = LFDA(2, shrinkage=share).fit(WIDE, y)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-9)
    residuals = WIDE - np.array([WIDE[y == c].mean(axis=0) for c in range(3)])[y]
    default, found = LFDA(2).fit(WIDE, y), ledoit_wolf(residuals, assume_centered=True)[1]
    np.testing.assert_allclose(default.components_, LFDA(2, shrinkage=found).fit(WIDE, y).components_, rtol=1e-9)
    assert angle(model.components_, vectors[:, ::-1][:, :2].T) < CLOSE


def test_kernel_discriminants_are_linear_ones_of_monomials():
    # (x'z + 1)^2 has the features of all monomials, with weights sqrt(2) and 1.
    monomials = PolynomialFeatures(2)
    features = monomials.fit_transform(X)
    weights = [np.sqrt({0: 1, 1: 2, 2: 1 if max(p) == 2 else 2}[sum(p)]) for p in monomials.powers_]
    features = (features * weights - (features * weights).mean(axis=0)) / np.sqrt(len(X))
    means = np.array([features[c == LABELS].mean(axis=0) for c in range(3)])[LABELS]
    between, total = means.T @ means, features.T @ features
    ridge = 0.01 * np.trace(total)
    values, vectors = eigh(between, total + ridge * np.eye(len(total)))
    wanted = features @ vectors[:, ::-1][:, :2] * np.sqrt(len(X))
    model = KernelDiscriminantAnalysis(
        5, kernel="polynomial", kernel_params={"degree": 2, "scale": 1.0, "offset": 1.0}, regularization=0.01
    ).fit(X, LABELS)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-9)
    found = model.transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-6, atol=1e-7)
    assert np.all(found.var(axis=0) <= 1.0)


def test_adapters_are_scikit_learns_methods():
    samples, y = StandardScaler().fit_transform(load_wine().data), load_wine().target
    pls = PLSRegression(3).fit(samples, np.eye(3)[y])
    ours = PLSDA(3).fit(samples, y).transform(samples)
    np.testing.assert_allclose(np.abs(ours - ours.mean(axis=0)), np.abs(pls.transform(samples)), atol=1e-10)
    lmnn = LMNN().fit(samples, y)
    leading = LeadingComponents(LMNN(), 2).fit(samples, y)
    np.testing.assert_allclose(leading.transform(samples), PCA(2).fit_transform(lmnn.transform(samples)), atol=1e-8)
    np.testing.assert_allclose(
        leading.transform(samples), (samples - samples.mean(axis=0)) @ leading.components_.T, atol=1e-10
    )
    assert MedianKernelPCA(2, bandwidth=0.5).fit(samples, y).model_.gamma == pytest.approx(
        2.0 / median_distance(samples) ** 2
    )
