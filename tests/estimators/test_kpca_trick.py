"""The KPCA trick and the aligned kernel as estimators."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from kdrbench import estimators
from kdrbench.estimators import AlignedKernel, KPCATrick
from kdrbench.kernels import Combination, Polynomial, Term
from kdrbench.metric_learning import DNE, LMNN, NCA, SamplePairs, aligned_kernel, gaussian_grid
from kdrbench.metric_learning import KPCATrick as Trick
from kdrbench.metric_learning import scaled_gaussian as scaled

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]


@pytest.mark.parametrize(("name", "learner"), [("nca", NCA()), ("lmnn", LMNN()), ("dne", DNE())])
def test_it_is_the_kpca_trick(name, learner):
    expected = Trick(scaled(0.7, 4), learner).fit(X, Y).transform(X[:9])
    model = KPCATrick(name, kernel_params={"sigma": 0.7}, selection=None).fit(X, Y)
    np.testing.assert_array_equal(model.transform(X[:9]), expected)
    assert model.selection_ is None
    own = KPCATrick(learner, kernel=scaled(0.7, 4), selection=None).fit(X, Y)
    np.testing.assert_array_equal(own.transform(X[:9]), expected)

    def function(left, right):
        return SamplePairs(left, right).gram(scaled(0.7, 4), up_to_constant=True)

    own = KPCATrick(learner, kernel=function, selection=None).fit(X, Y)
    np.testing.assert_array_equal(own.transform(X[:9]), expected)
    gram = function(X, X)
    given = KPCATrick(name, kernel="precomputed", selection=None).fit(gram, Y)
    np.testing.assert_array_equal(given.transform(gram[:9]), expected)
    assert given.kernel_ is None


def test_learners_of_other_packages_are_kernelised():
    discriminant = KPCATrick(LinearDiscriminantAnalysis(), kernel_params={"sigma": 1.0}, selection=None, n_components=9)
    coordinates = discriminant.fit(X, Y).map_.coordinates.transform(SamplePairs(X, X).gram(scaled(1.0, 4)))
    expected = LinearDiscriminantAnalysis().fit(coordinates, Y).transform(coordinates)
    # LDA centres; distances are the same.
    np.testing.assert_allclose(pdist(discriminant.transform(X)), pdist(expected), rtol=1e-8)
    pipeline = make_pipeline(KPCATrick(estimators.LMNN(), selection=None), KNeighborsClassifier(1))
    grid = {"kpcatrick__learner__n_neighbors": [1, 3], "kpcatrick__learner": [estimators.LMNN(push=2.0)]}
    assert GridSearchCV(pipeline, grid, cv=3).fit(X, Y).best_score_ > 0.85


def test_alignment_is_the_librarys():
    model = KPCATrick("dne", selection="alignment").fit(X, Y)
    kernel, found = aligned_kernel(gaussian_grid(4), SamplePairs(X, X), Y)
    assert model.kernel_ == kernel
    assert model.selection_.alignment == found.alignment
    centred = KPCATrick("dne").fit(X, Y)
    assert centred.kernel_ == aligned_kernel(gaussian_grid(4), SamplePairs(X, X), Y, centred=True)[0] != kernel
    few = KPCATrick("dne", candidates=[scaled(1.0, 4), Polynomial(2)]).fit(X, Y)
    assert len(few.selection_.weights) == 2


def test_cross_validation_selects_among_candidates_and_is_seeded():
    options = {"selection": "cross_validation", "candidates": [scaled(1e-3, 4), scaled(1.0, 4)]}
    model = KPCATrick("dne", random_state=0, **options).fit(X, Y)
    # At 1e-3 all samples are as far from each other.
    assert model.kernel_ == scaled(1.0, 4)
    assert model.selection_.shape == (2, 5)
    again = KPCATrick("dne", random_state=0, **options).fit(X, Y)
    np.testing.assert_array_equal(again.selection_, model.selection_)
    degrees = KPCATrick("dne", kernel="polynomial", selection="cross_validation", n_folds=3).fit(X, Y)
    assert degrees.selection_.shape == (5, 3)


def test_folds_split_the_columns_of_a_kernel_with_its_rows():
    model = make_pipeline(KPCATrick("dne", kernel="precomputed", selection=None), KNeighborsClassifier(1))
    assert GridSearchCV(model, {"kpcatrick__n_components": [1, 3]}, cv=3).fit(X @ X.T, Y).best_score_ > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "lnnm"}, "unknown learner method 'lnnm'. Did you mean 'lmnn'"),
        ({"learner": LMNN}, r"a learner must be an object or a name, and LMNN is a class; write LMNN\(\)"),
        ({"learner": KNeighborsClassifier()}, "KNeighborsClassifier does not transform samples; .* comes after KPCA"),
        # One that is linear to single precision alone.
        ({"learner": FunctionTransformer(lambda X: X + 3e-5 * X**2)}, "FunctionTransformer is no linear map of its"),
        ({"learner": estimators.LMNN(), "learner_params": {"n_neighbours": 3}}, "an estimator has its own"),
        ({"learner_params": {"k": 3}}, "unknown option of learner method 'lmnn': 'k'; allowed: max_iterations"),
        ({"learner": DNE(), "learner_params": {"n_neighbours": 3}}, "a learner object has its own"),
        ({"selection": "align"}, "unknown selection 'align'. Did you mean 'alignment'.*Also allowed: None"),
        ({"kernel_params": {"sigma": 1}}, "kernel_params are those of one kernel, and selection"),
        ({"kernel": Polynomial(2)}, "selection needs candidates where the kernel is Polynomial"),
        ({"candidates": [Polynomial(2)], "selection": None}, "candidates are for a selection; selection is None"),
        ({"kernel": "precomputed"}, "a precomputed kernel leaves nothing to select: set selection=None"),
        ({"selection": "cross_validation", "n_folds": 1}, "n_folds must be an integer >= 2, got 1"),
    ],
)
def test_what_is_not_allowed_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        KPCATrick(**options).fit(X, Y)


def test_data_that_cannot_be_learned_from_are_refused():
    for options, samples, known, message in (
        ({}, X, np.zeros(50, dtype=int), r"at least 2 classes; got 1: \[0\]"),
        ({}, X, X[:, 0], "Unknown label type: continuous"),
        ({"kernel": "precomputed", "selection": None}, -X @ X.T, Y, "most negative eigenvalue is"),
    ):
        with pytest.raises(ValueError, match=message):
            KPCATrick(**options).fit(samples, known)


@pytest.mark.parametrize("centred", [True, False])
def test_it_is_the_librarys_alignment(centred):
    kernel, found = aligned_kernel(gaussian_grid(4), SamplePairs(X, X), Y, centred=centred)
    model = AlignedKernel(centred=centred).fit(X, Y)
    assert [term.kernel for term in model.kernel_.terms] == [term.kernel for term in kernel.terms]
    assert model.alignment_.alignment == found.alignment
    gram, expected = model.transform(X), SamplePairs(X, X).gram(kernel)
    apart = np.diagonal(gram)[:, None] + np.diagonal(gram) - 2 * gram
    assert apart.mean() == pytest.approx(2.0)
    np.testing.assert_allclose(gram, expected * (gram[0, 0] / expected[0, 0]), rtol=1e-12)
    np.testing.assert_array_equal(model.transform(X[:5]), SamplePairs(X[:5], X).gram(model.kernel_))


def test_its_matrix_is_what_others_take_as_precomputed():
    svm = make_pipeline(AlignedKernel(), SVC(kernel="precomputed", C=10.0))
    search = GridSearchCV(svm, {"alignedkernel__candidates": ["gaussian", "polynomial"]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    trick = make_pipeline(AlignedKernel(), KPCATrick("dne", kernel="precomputed", selection=None))
    # The KPCA trick that chooses by alignment itself is the same, up to the scale.
    apart, expected = pdist(trick.fit(X, Y).transform(X)), pdist(KPCATrick("dne").fit(X, Y).transform(X))
    np.testing.assert_allclose(apart / apart.mean(), expected / expected.mean(), atol=1e-6)
    assert make_pipeline(trick, KNeighborsClassifier(1)).fit(X, Y).score(X, Y) == 1.0


def test_bad_candidates_are_named():
    for candidates, message in (
        ("gausian", "unknown candidates 'gausian'. Did you mean 'gaussian'.*Also allowed: a list of kernels"),
        ([], "alignment needs at least one kernel"),
        ([np.dot], "alignment combines single kernels"),
        ([Combination((Term(1.0, Polynomial(2)),))], "alignment combines single kernels"),
    ):
        with pytest.raises(ValueError, match=message):
            AlignedKernel(candidates).fit(X, Y)
