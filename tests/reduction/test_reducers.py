"""What holds of all methods: scikit-learn's checks, invariances, planted subspaces, bad input, and their names."""

import pickle
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import check_estimator

from kdrbench import memory
from kdrbench.errors import InputError
from kdrbench.estimators import DNE, AlignedKernel, KPCATrick
from kdrbench.extras import MissingPackageError
from kdrbench.kernels import Pairing, UserKernel
from kdrbench.reduction import (
    LDA,
    LFDA,
    METHODS,
    PLSDA,
    SAVE,
    SIR,
    DirectionalRegression,
    GradientKDR,
    KernelDiscriminantAnalysis,
    LeadingComponents,
    MedianKernelPCA,
    RandomAxes,
    ShuffledLabels,
    SupervisedPCA,
    SupervisedUMAP,
    build_reducer,
)

X, Y = load_iris(return_X_y=True)
X, Y = X[::3] + 0.01 * np.random.default_rng(0).standard_normal((50, 4)), Y[::3]
HERE = [name for name, entry in METHODS.items() if not entry.package]
WAVES = UserKernel(np.cos, lambda beta: -np.sin(beta), Pairing.DIFFERENCE)
NEGATIVE = UserKernel(np.negative, lambda beta: -np.ones_like(beta), Pairing.DOT)
OURS = [
    LDA(2),
    PLSDA(2, scale=False),
    MedianKernelPCA(2),
    LeadingComponents(DNE(n_components=3), 2),
    SIR(2),
    SAVE(2),
    DirectionalRegression(2),
    GradientKDR(2),
    SupervisedPCA(2),
    LFDA(2),
    KernelDiscriminantAnalysis(2),
]
ids = [type(one).__name__ for one in OURS]


# Some checks have one feature alone, which is not enough for two components.
CHECKED = [clone(one).set_params(n_components=None) for one in OURS if not isinstance(one, LeadingComponents)]


@pytest.mark.parametrize(
    "estimator",
    [*CHECKED, LeadingComponents(DNE()), RandomAxes(), ShuffledLabels(SIR())],
    ids=lambda one: str(one)[:20],
)
def test_scikit_learns_own_checks(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize(
    "estimator", [KernelDiscriminantAnalysis(2), AlignedKernel(), KPCATrick("dne"), MedianKernelPCA()]
)
def test_a_fitted_model_owns_its_samples(estimator):
    changed = X.copy()
    model = clone(estimator).fit(changed, Y)
    before = model.transform(X)
    changed[:] = 0.0
    np.testing.assert_array_equal(model.transform(X), before)


def outputs(estimator, samples, labels):
    """Columns scaled to length one, with the sign of the first sample: what a method says but for signs and units."""
    values = clone(estimator).fit(samples, labels).transform(samples)
    values = values - values.mean(axis=0)
    return values / np.linalg.norm(values, axis=0) * np.sign(values[0])


@pytest.mark.parametrize("estimator", OURS, ids=ids)
def test_rotations_units_names_and_order_change_nothing(estimator):
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    first = outputs(estimator, X, Y)
    # Partial least squares iterate until squared steps are below 1e-6; all others are direct.
    close = {"rtol": 0, "atol": 1e-3 if isinstance(estimator, PLSDA) else 1e-7}
    np.testing.assert_allclose(outputs(estimator, X @ rotation, Y), first, **close)
    np.testing.assert_allclose(outputs(estimator, 1000.0 * X + 7.0, Y), first, **close)
    np.testing.assert_allclose(outputs(estimator, X, np.array(["c", "a", "b"])[Y]), first, **close)
    order = np.roll(np.arange(50), 17)
    moved = outputs(estimator, X[order], Y[order])
    np.testing.assert_allclose(np.abs(moved), np.abs(first[order]), **close)


@pytest.mark.parametrize("estimator", OURS, ids=ids)
def test_many_features_and_repeated_samples_are_learned_from(estimator):
    few = np.random.default_rng(2).standard_normal((6, 12))
    values = clone(estimator).set_params(n_components=8).fit(few, np.arange(6) % 2).transform(few)
    assert np.isfinite(values).all()
    assert 1 <= values.shape[1] <= 8
    twice = np.repeat(X, 2, axis=0)
    assert np.isfinite(clone(estimator).fit(twice, np.repeat(Y, 2)).transform(twice)).all()


SHRINKING = [LDA(2, shrinkage="auto"), SIR(2, shrinkage="auto"), SAVE(2, shrinkage=0.1), LFDA(2, shrinkage="auto")]


@pytest.mark.parametrize("estimator", [*OURS, *SHRINKING], ids=str)
@pytest.mark.parametrize("value", [0.0, 0.1, 5.0])
def test_a_constant_feature_changes_nothing(estimator, value):
    first = outputs(estimator, X, Y)
    np.testing.assert_allclose(outputs(estimator, np.insert(X, 2, value, axis=1), Y), first, rtol=0, atol=1e-9)
    wide = np.random.default_rng(3).standard_normal((12, 20))
    padded = np.insert(wide, 4, value, axis=1)
    first, again = (outputs(estimator, samples, np.arange(12) % 3) for samples in (wide, padded))
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-6)


@pytest.mark.parametrize("estimator", [LDA(2), SIR(2), SAVE(2), DirectionalRegression(2)], ids=str)
def test_features_that_depend_on_others_turn_no_shrinkage_on(estimator):
    first = outputs(estimator, X, Y)
    for dependent in (X[:, :1], X.sum(axis=1, keepdims=True)):
        np.testing.assert_allclose(outputs(estimator, np.c_[X, dependent], Y), first, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", [SIR, SAVE, DirectionalRegression])
def test_repeated_samples_of_many_features_are_shrunk(method):
    wide = np.random.default_rng(3).standard_normal((12, 20))[np.arange(24) // 2]
    labels = np.arange(24) // 2 % 3
    default, automatic = (method(2, shrinkage=share).fit(wide, labels) for share in (None, "auto"))
    np.testing.assert_allclose(default.components_, automatic.components_)


@pytest.mark.parametrize("estimator", OURS, ids=ids)
def test_what_cannot_be_learned_from_is_refused(estimator):
    def fails(match, samples=X, labels=Y, **parameters):
        with pytest.raises(ValueError, match=match):
            clone(estimator).set_params(**parameters).fit(samples, labels)

    fails("n_components must be None or an integer between 1 and the 4 features, got 5", n_components=5)
    fails("n_components must be None or an integer >= 1, got 0", n_components=0)
    fails("labels must name at least 2 classes, got 1 class", labels=np.zeros(50, dtype=int))
    fails("all 50 samples coincide", samples=np.ones((50, 4)))
    fails("differ by .*e-160 at most, so their squares underflow", samples=1e-160 * X)
    fails("their squared distances overflow", samples=1e160 * X)
    fails("Input X contains NaN", samples=np.where(X[3, 1] == X, np.nan, X))
    fails("inconsistent numbers of samples", labels=Y[:49])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SIR(n_slices=1), "n_slices must be an integer >= 2, got 1"),
        (SIR(shrinkage=1.5), "shrinkage must be None, one of auto, or a number >= 0 and <= 1, got 1.5"),
        (SAVE(shrinkage="strong"), "shrinkage"),
        (GradientKDR(regularization=0.0), "regularization must be a finite number > 0, got 0.0"),
        (KernelDiscriminantAnalysis(kernel="rbf_relative"), "no combination and no rbf_relative"),
        (KernelDiscriminantAnalysis(kernel=WAVES, regularization=1e-6), "kernel is not positive semidefinite on"),
        (KernelDiscriminantAnalysis(kernel=NEGATIVE), "constant or not positive semidefinite"),
        (
            KernelDiscriminantAnalysis(kernel=WAVES, kernel_params={"sigma": 1.0}),
            "a kernel object has options of its own",
        ),
        (KernelDiscriminantAnalysis(kernel="gausian"), "Did you mean 'gaussian'"),
        (RandomAxes(5), "n_components must be an integer between 1 and the 4 features, got 5"),
    ],
)
def test_bad_parameters_are_named(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


def test_discriminants_want_classes():
    for estimator in (LDA(), LFDA(), KernelDiscriminantAnalysis()):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            estimator.fit(X, X[:, 0])


def test_what_lfda_and_regressions_cannot_do_without():
    with pytest.raises(InputError, match="the samples of each class coincide"):
        LFDA().fit(np.eye(4)[Y], Y)
    with pytest.raises(InputError, match=r"y has the one value 0\.5"):
        SIR().fit(X, np.full(50, 0.5))
    # One of the slices is of the value that nearly all have.
    lonely = np.where(np.arange(50) == 0, 0.25, 0.5)
    assert SIR().fit(X, lonely).components_.shape == (1, 4)


def test_kernels_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    for estimator in (GradientKDR(), KernelDiscriminantAnalysis(), LFDA()):
        with pytest.raises(InputError, match=r"samples takes about .* GiB are free; learn from fewer samples"):
            estimator.fit(X, Y)


def test_random_axes_are_uniform_and_seeded():
    axes = [RandomAxes(2, random_state=seed).fit(X).components_ for seed in range(400)]
    np.testing.assert_allclose([one @ one.T for one in axes], np.broadcast_to(np.eye(2), (400, 2, 2)), atol=1e-12)
    np.testing.assert_array_equal(RandomAxes(2, random_state=3).fit(X[:9]).components_, axes[3])
    # Each squared entry of a uniform unit vector in 4 dimensions has mean 1/4 and variance 3/24 - 1/16 = 1/16.
    mean = np.mean([one[0] ** 2 for one in axes], axis=0)
    assert np.abs(mean - 0.25).max() < 5 * 0.25 / np.sqrt(400)
    assert np.abs(np.mean([one[0] for one in axes], axis=0)).max() < 5 * 0.5 / np.sqrt(400)


def test_shuffled_labels_fit_a_method_on_permuted_labels():
    model = ShuffledLabels(SIR(2), random_state=5).fit(X, Y)
    by_hand = SIR(2).fit(X, np.random.RandomState(5).permutation(Y))
    np.testing.assert_array_equal(model.components_, by_hand.components_)
    assert model.get_feature_names_out().tolist() == ["sir0", "sir1"]
    assert not hasattr(ShuffledLabels(MedianKernelPCA(), random_state=0).fit(X, Y), "components_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", HERE)
def test_every_method_is_built_by_name_and_grid(name):
    entry, model = METHODS[name], build_reducer(name, 2, 0)
    assert entry.title
    fitted = clone(model).fit(X, Y)
    values = fitted.transform(X)
    np.testing.assert_array_equal(build_reducer(name, 2, 0).fit(X, Y).transform(X), values)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), values)
    assert values.shape[1] == len(fitted.get_feature_names_out()) == 2
    for parameters in ParameterGrid({one: [grid[0], grid[-1]] for one, grid in entry.grid.items()}):
        assert clone(model).set_params(**parameters).fit(X[::2], Y[::2]).transform(X).shape == (50, 2)
    # Labels play a part just where the entry says so.
    other = build_reducer(name, 2, 0).fit(X, np.roll(Y, 7)).transform(X)
    assert np.allclose(np.abs(other), np.abs(values), atol=1e-6) != entry.supervised


def test_an_unknown_method_is_named():
    with pytest.raises(InputError, match=r"unknown reduction method 'sirr'. Did you mean 'sir'"):
        build_reducer("sirr", 2)
    assert [name for name, entry in METHODS.items() if entry.control] == ["random_axes", "shuffled_lda", "shuffled_kdr"]


class RecordingUMAP:
    """In the place of umap.UMAP: keeps what it is given, and lays samples out as their first features."""

    def __init__(self, **options):
        self.options = options

    def fit(self, samples, targets):
        self.targets, self.embedding_ = targets, samples[:, : self.options["n_components"]]
        return self

    def transform(self, samples):
        return samples[:, : self.options["n_components"]].astype(np.float32)


def test_umap_is_given_classes_or_numbers(monkeypatch):
    package = ModuleType("umap")
    package.UMAP = RecordingUMAP
    monkeypatch.setitem(sys.modules, "umap", package)
    model = SupervisedUMAP(2, n_neighbors=80, random_state=0).fit(X, np.array(["c", "a", "b"])[Y])
    assert model.model_.options["target_metric"] == "categorical"
    assert model.model_.options["n_neighbors"] == 49
    assert np.unique(model.model_.targets).tolist() == [0, 1, 2]
    assert model.transform(X).dtype == np.float64
    assert model.get_feature_names_out().tolist() == ["supervisedumap0", "supervisedumap1"]
    numbers = SupervisedUMAP(2, random_state=0).fit(X, X[:, 0])
    assert numbers.model_.options["target_metric"] == "l2"
    assert numbers.model_.options["random_state"] == model.model_.options["random_state"]
    np.testing.assert_array_equal(numbers.model_.targets, X[:, 0])


def test_supervised_umap_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingPackageError, match=r"SupervisedUMAP needs the package umap.*'kdrbench\[umap\]'"):
        build_reducer("supervised_umap", 2).fit(X, Y)


# Numba's threads stay after a fit and slow torch down, which takes the same OpenMP library: a process of its own.
SEPARATED = """
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from kdrbench.reduction import build_reducer
import numpy as np
X, Y = load_iris(return_X_y=True)
X, Y = X[::3] + 0.01 * np.random.default_rng(0).standard_normal((50, 4)), Y[::3]
first, second = (build_reducer("supervised_umap", 2, 0).fit(X, Y).transform(X) for _ in range(2))
print(KNeighborsClassifier(5).fit(first, Y).score(first, Y), np.array_equal(first, second))
"""


# Half a minute goes into compiling.
@pytest.mark.whole
def test_umap_separates_classes_and_is_seeded():
    done = subprocess.run([sys.executable, "-c", SEPARATED], capture_output=True, text=True, check=True)
    score, same = done.stdout.split()
    assert float(score) > 0.95
    assert same == "True"
