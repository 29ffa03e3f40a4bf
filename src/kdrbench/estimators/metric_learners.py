"""NCA, LMNN and DNE as scikit-learn transformers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench import metric_learning
from kdrbench.estimators.common import LabelledTransformer, LinearMap
from kdrbench.estimators.definitions import Count
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, NOT_NEGATIVE


@dataclass(repr=False, eq=False)
class NCA(LinearMap, LabelledTransformer):
    """Neighbourhood components analysis: classify rightly by a random near neighbour.

    Maximises sum_i p_i, p_i the chance that sample i is classified rightly by a neighbour drawn with probability
    proportional to exp(-|A'x_i - A'x_j|^2), by L-BFGS from the identity on features scaled to mean squared distance one
    (:class:`kdrbench.metric_learning.NCA`). ``KPCATrick(NCA())`` is its kernel version.

    Parameters
    ----------
    n_components : int or None
        Columns d of A; ``None``: as many as there are features. Fewer are found directly, from principal axes.
    max_iter : int
        Iterations of L-BFGS. Stopping early is a part of the method as it is used here: reaching ``max_iter`` is no
        failure.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        A'; distances of transformed samples are the learned ones.
    n_iter_ : int
        Iterations taken.
    classes_, n_features_in_, feature_names_in_ : the labels seen, and as in scikit-learn.

    References
    ----------
    Goldberger, Roweis, Hinton, Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    n_components: Count = None
    _: KW_ONLY
    max_iter: Annotated[int, COUNT] = 50

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        learner = metric_learning.NCA(self.max_iter, self.n_components)
        projection, self.n_iter_ = learner.descend(features, labels)
        self.components_ = np.ascontiguousarray(projection.T)


@dataclass(repr=False, eq=False)
class LMNN(LinearMap, LabelledTransformer):
    """Large margin nearest neighbours: near samples of one class nearer, by a margin, than samples of others.

    Minimises the sum of squared distances to ``n_neighbors`` target neighbours and ``push`` times the hinge of every
    sample of another class within their margin, on features scaled to mean squared distance one
    (:class:`kdrbench.metric_learning.LMNN`). ``KPCATrick(LMNN())`` is its kernel version.

    Parameters
    ----------
    n_components : int or None
        Columns d of A; ``None``: as many as there are features. Fewer are found directly, from principal axes.
    n_neighbors : int
        Target neighbours of each sample: its nearest of the same class in the given features.
    push : float
        Weight of the hinges, > 0.
    regularization : float
        Weight of the squared Frobenius norm of A, >= 0.
    max_iter : int
        Iterations of L-BFGS. Stopping early is a part of the method: more steps fit training samples and classify
        others worse.

    Attributes are those of :class:`NCA`.

    References
    ----------
    Weinberger, Saul, "Distance metric learning for large margin nearest neighbor classification", JMLR 10, 2009.
    """

    n_components: Count = None
    _: KW_ONLY
    n_neighbors: Annotated[int, COUNT] = 3
    push: Annotated[float, NOT_NEGATIVE] = 1.0
    regularization: Annotated[float, NOT_NEGATIVE] = 0.0
    max_iter: Annotated[int, COUNT] = 20

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        options = (self.push, self.regularization, self.max_iter, self.n_components)
        projection, self.n_iter_ = metric_learning.LMNN(self.n_neighbors, *options).descend(features, labels)
        self.components_ = np.ascontiguousarray(projection.T)


@dataclass(repr=False, eq=False)
class DNE(LinearMap, LabelledTransformer):
    """Discriminant neighbourhood embedding: near samples of one class together, near ones of others apart.

    Solves min tr A'X'(D - W)XA over A'A = I, W the signed graph of near neighbours, by one eigendecomposition
    (:class:`kdrbench.metric_learning.DNE`). ``KPCATrick(DNE())`` is its kernel version.

    Parameters
    ----------
    n_components : int or None
        Columns d of A; ``None``: as many as there are negative eigenvalues, each of which lowers the trace.
    n_neighbors : int
        Neighbours within the class, and as many outside it.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        A', with orthonormal rows.
    classes_, n_features_in_, feature_names_in_ : the labels seen, and as in scikit-learn.

    References
    ----------
    Zhang, Xue, Lu, Guo, "Discriminant neighborhood embedding for classification", Pattern Recognition 39, 2006.
    """

    n_components: Count = None
    _: KW_ONLY
    n_neighbors: Annotated[int, COUNT] = 3

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        learner = metric_learning.DNE(self.n_neighbors, self.n_components)
        projection = metric_learning.learn_map(learner, features, labels)
        self.components_ = np.ascontiguousarray(projection.T)
