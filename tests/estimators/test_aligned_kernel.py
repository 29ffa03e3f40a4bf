import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kdrbench.estimators import AlignedKernel, KPCATrick
from kdrbench.kernels import Combination, Polynomial, Term
from kdrbench.metric_learning import SamplePairs, aligned_kernel, gaussian_grid

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]


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


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("gausian", "unknown candidates 'gausian'. Did you mean 'gaussian'.*Also allowed: a list of kernels"),
        ([], "alignment needs at least one kernel"),
        ([np.dot], "alignment combines single kernels"),
        ([Combination((Term(1.0, Polynomial(2)),))], "alignment combines single kernels"),
    ],
)
def test_bad_candidates_are_named(candidates, message):
    with pytest.raises(ValueError, match=message):
        AlignedKernel(candidates).fit(X, Y)
