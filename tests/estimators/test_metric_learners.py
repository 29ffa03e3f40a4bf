import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from kdrbench import metric_learning
from kdrbench.errors import InputError
from kdrbench.estimators import DNE, LMNN, NCA

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]


@pytest.mark.parametrize(
    ("estimator", "learner"),
    [
        (NCA(max_iter=7), metric_learning.NCA(7)),
        (NCA(2), metric_learning.NCA(n_components=2)),
        (LMNN(n_neighbors=2, push=3.0, regularization=0.1, max_iter=9), metric_learning.LMNN(2, 3.0, 0.1, 9)),
        (LMNN(2), metric_learning.LMNN(n_components=2)),
        (DNE(3, n_neighbors=5), metric_learning.DNE(5, 3)),
    ],
)
def test_they_are_the_librarys_learners(estimator, learner):
    model = estimator.fit(X, Y)
    np.testing.assert_allclose(model.components_, learner.fit(X, Y).T, rtol=0, atol=0)
    np.testing.assert_allclose(model.transform(X[:4]), X[:4] @ model.components_.T)
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("learner", [NCA(2, max_iter=200), LMNN(2, max_iter=200)])
def test_fewer_components_are_learned_from_principal_axes_and_mapped_back(learner):
    model = learner.fit(X, Y)
    assert model.components_.shape == (2, 4)
    values = model.transform(X)
    np.testing.assert_allclose(model.transform(model.inverse_transform(values)), values, atol=1e-9)
    start = metric_learning.descent.leading_axes(X - X.mean(axis=0), 2)
    assert KNeighborsClassifier(3).fit(values, Y).score(values, Y) > 0.96
    np.testing.assert_allclose(np.abs(start.T @ PCA(2).fit(X).components_.T), np.eye(2), atol=1e-12)
    with pytest.raises(InputError, match="n_components must be an integer between 1 and the 4 features, got 5"):
        clone(learner).set_params(n_components=5).fit(X, Y)
