"""Methods of scikit-learn, and learners of metrics, as transformers to a number of components.

Each takes ``n_components`` as the most there may be, where the method itself has a limit of its own.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from kdrbench.kernels import median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FLAG, POSITIVE, Declarations
from kdrbench.reduction.common import COMPONENTS, SHRINKAGE, LinearReducer, Reducer, Response


class LDA(LinearReducer):
    """Linear discriminant analysis to at most ``n_components`` directions; k classes have k - 1.

    Maximises the scatter between classes over that within them: S_b w = lambda S_w w, by scikit-learn's
    ``LinearDiscriminantAnalysis``, which refuses more than k - 1 components.

    Parameters
    ----------
    n_components : int or None
        The most components; ``None``: k - 1.
    shrinkage : "auto", float or None
        Of the covariance within classes, scikit-learn's: ``None`` is none by a singular value decomposition, ``auto``
        that of Ledoit and Wolf, a number s between 0 and 1 gives (1 - s) S + s tr(S) / d I.

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        Rows w', q = min(n_components, k - 1, n_features), or fewer where class means span less.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7, 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.reduction import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA(4).fit_transform(X, y).shape
    (150, 2)
    """

    _continuous = False
    _constraints: ClassVar[Declarations] = {
        "n_components": COMPONENTS,
        "shrinkage": SHRINKAGE,
    }

    def __init__(self, n_components: int | None = None, *, shrinkage: Any = None) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        solver = "svd" if self.shrinkage is None else "eigen"
        model = LinearDiscriminantAnalysis(solver=solver, shrinkage=self.shrinkage).fit(centred, response.values)
        most = min(n_components, response.n_classes - 1)
        rows: FloatArray = model.scalings_.T[:most]
        return rows


class PLSDA(LinearReducer):
    """Partial least squares on one-hot labels (PLS-DA), or on a continuous y.

    Component by component, the direction of X with the largest covariance with a direction of Y, both deflated
    (scikit-learn's ``PLSRegression``, NIPALS).

    Parameters
    ----------
    n_components : int or None
        The most components: at most the rank of X; ``None``: one less than the number of classes.
    scale : bool
        Whether features and Y are divided by their standard deviations first.

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        The rotations, so that scores are X @ components_.T up to a constant.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Barker, Rayens, "Partial least squares for discrimination", Journal of Chemometrics 17, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.reduction import PLSDA
    >>> X, y = load_iris(return_X_y=True)
    >>> PLSDA(2).fit_transform(X, y).shape
    (150, 2)
    """

    _constraints: ClassVar[Declarations] = {"n_components": COMPONENTS, "scale": FLAG}

    def __init__(self, n_components: int | None = None, *, scale: bool = True) -> None:
        self.n_components = n_components
        self.scale = scale

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        targets = response.indicators()
        rank = int(np.linalg.matrix_rank(centred))
        model = PLSRegression(min(n_components, rank), scale=self.scale).fit(centred, targets)
        # Rotations are of scaled features.
        rows: FloatArray = (model.x_rotations_ / model._x_std[:, None]).T
        return rows


class MedianKernelPCA(Reducer):
    """Kernel principal components of a Gaussian whose bandwidth is a share of the median distance; y is not used.

    k(x, z) = exp(-|x - z|^2 / (2 sigma^2)), sigma = ``bandwidth`` times the median distance of the samples. Takes n x n
    memory.

    Parameters
    ----------
    n_components : int or None
        Number of components; ``None``: one less than the number of classes.
    bandwidth : float
        Share of the median distance, > 0.

    Attributes
    ----------
    model_ : sklearn.decomposition.KernelPCA
        The fitted model.
    sigma_ : float
        The bandwidth.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation 10,
    1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.reduction import MedianKernelPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> MedianKernelPCA(2).fit_transform(X, y).shape
    (150, 2)
    """

    _constraints: ClassVar[Declarations] = {"n_components": COMPONENTS, "bandwidth": POSITIVE}

    def __init__(self, n_components: int | None = None, *, bandwidth: float = 1.0) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        self.sigma_ = self.bandwidth * median_distance(features)
        self.model_ = KernelPCA(n_components, kernel="rbf", gamma=0.5 / self.sigma_**2, random_state=0).fit(features)

    def _mapped(self, features: FloatArray) -> FloatArray:
        mapped: FloatArray = self.model_.transform(features)
        return mapped

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.eigenvalues_.shape[0])


class LeadingComponents(Reducer):
    """The principal components of what another transformer makes of the samples.

    A learner of a metric that maps to all dimensions, such as :class:`kdrbench.estimators.LMNN` or ``KPCATrick``, is
    reduced so: its distances are kept as well as q dimensions can (Eckart and Young).

    Parameters
    ----------
    estimator : transformer
        Fitted on X and y; its parameters are reached as ``estimator__...``.
    n_components : int or None
        The most components; ``None``: one less than the number of classes.

    Attributes
    ----------
    estimator_ : transformer
        The fitted one.
    pca_ : sklearn.decomposition.PCA
        The components of its values.
    components_ : ndarray of shape (q, n_features)
        The map, where the transformer's is linear: only with a transformer that has ``components_``.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.estimators import LMNN
    >>> from kdrbench.reduction import LeadingComponents
    >>> X, y = load_iris(return_X_y=True)
    >>> LeadingComponents(LMNN(), 2).fit(X, y).components_.shape
    (2, 4)
    """

    _constraints: ClassVar[Declarations] = {"n_components": COMPONENTS}

    def __init__(self, estimator: Any, n_components: int | None = None) -> None:
        self.estimator = estimator
        self.n_components = n_components

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        labels = response.values if response.classes is None else response.classes[response.values]
        self.estimator_ = clone(self.estimator).fit(features, labels)
        values = self.estimator_.transform(features)
        self.pca_ = PCA(min(n_components, *values.shape), svd_solver="full").fit(values)

    def _mapped(self, features: FloatArray) -> FloatArray:
        mapped: FloatArray = self.pca_.transform(self.estimator_.transform(features))
        return mapped

    @property
    def components_(self) -> FloatArray:
        """The map of a linear transformer; ``AttributeError`` where it is not linear."""
        rows: FloatArray = self.pca_.components_ @ self.estimator_.components_
        return rows

    @property
    def _n_features_out(self) -> int:
        return int(self.pca_.n_components_)
