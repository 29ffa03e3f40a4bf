"""Methods of scikit-learn and umap-learn, learners of metrics, and controls, as transformers to a number of components.

Each takes ``n_components`` as the most there may be, where the method itself has a limit of its own. Controls learn
nothing from y, so that every other method must beat them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.estimators.common import LabelledTransformer, LinearMap
from kdrbench.extras import needed_for
from kdrbench.kernels import median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, Interval, check_parameters, check_value, whole
from kdrbench.reduction.common import Components, LinearReducer, Reducer, Response, Shrinkage, Target


@dataclass(repr=False, eq=False)
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

    References
    ----------
    Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7, 1936.
    """

    n_components: Components = None
    _: KW_ONLY
    shrinkage: Shrinkage = None

    _continuous = False

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        solver = "svd" if self.shrinkage is None else "eigen"
        model = LinearDiscriminantAnalysis(solver=solver, shrinkage=self.shrinkage).fit(centred, response.values)
        most = min(n_components, response.n_classes - 1)
        return np.asarray(model.scalings_.T[:most])


@dataclass(repr=False, eq=False)
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

    References
    ----------
    Barker, Rayens, "Partial least squares for discrimination", Journal of Chemometrics 17, 2003.
    """

    n_components: Components = None
    _: KW_ONLY
    scale: Annotated[bool, FLAG] = True
    target: Target = "auto"

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        targets = response.indicators()
        rank = int(np.linalg.matrix_rank(centred))
        model = PLSRegression(min(n_components, rank), scale=self.scale).fit(centred, targets)
        # Rotations are of scaled features.
        return np.asarray((model.x_rotations_ / model._x_std[:, None]).T)


@dataclass(repr=False, eq=False)
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

    References
    ----------
    Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation 10,
    1998.
    """

    n_components: Components = None
    _: KW_ONLY
    bandwidth: Annotated[float, POSITIVE] = 1.0

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        self.sigma_ = self.bandwidth * median_distance(features)
        self.model_ = KernelPCA(n_components, kernel="rbf", gamma=0.5 / self.sigma_**2, random_state=0).fit(features)
        self._n_features_out = len(self.model_.eigenvalues_)

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.model_.transform(features))


@dataclass(repr=False, eq=False)
class LeadingComponents(Reducer):
    """The principal components of what another transformer makes of the samples.

    A learner of a metric that maps to all dimensions, such as ``LMNN`` or ``KPCATrick``, is
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
    """

    estimator: Any
    n_components: Components = None

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        labels = response.values if response.classes is None else response.classes[response.values]
        self.estimator_ = clone(self.estimator).fit(features, labels)
        values = self.estimator_.transform(features)
        self.pca_ = PCA(min(n_components, *values.shape), svd_solver="full").fit(values)
        self._n_features_out = self.pca_.n_components_

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.pca_.transform(self.estimator_.transform(features)))

    @property
    def components_(self) -> FloatArray:
        """The map of a linear transformer; ``AttributeError`` where it is not linear."""
        return np.asarray(self.pca_.components_ @ self.estimator_.components_)


@dataclass(repr=False, eq=False)
class RandomAxes(LinearMap, BaseEstimator):  # type: ignore[misc]
    """Project on orthonormal axes drawn at random, uniformly among all; neither X nor y play a part.

    scikit-learn's ``GaussianRandomProjection`` has axes that are neither orthogonal nor of one length.

    Parameters
    ----------
    n_components : int
        Number of axes, between 1 and n_features.
    random_state : int, RandomState or None
        What draws them.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows.

    References
    ----------
    Stewart, "The efficient generation of random orthogonal matrices", SIAM Journal on Numerical Analysis 17, 1980.
    """

    n_components: Annotated[int, COUNT] = 1
    _: KW_ONLY
    random_state: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Draw axes for as many features as X has; ``ValueError`` for NaN, or more components than features."""
        check_parameters(self)
        n_features = validate_data(self, X, dtype=np.float64).shape[1]
        check_value("n_components", self.n_components, whole(1, n_features, f"the {n_features} features"))
        draws = check_random_state(self.random_state).standard_normal((n_features, self.n_components))
        axes, triangle = np.linalg.qr(draws)
        # With a positive diagonal of R the axes are uniform, and a function of the draws alone.
        self.components_: FloatArray = np.ascontiguousarray((axes * np.sign(np.diagonal(triangle))).T)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return X @ components_.T."""
        check_is_fitted(self)
        return self._mapped(validate_data(self, X, dtype=np.float64, reset=False))


@dataclass(repr=False, eq=False)
class ShuffledLabels(MetaEstimatorMixin, LabelledTransformer):  # type: ignore[misc]
    """Another transformer, fitted on y in a random order: what it finds where there is nothing to find.

    Parameters
    ----------
    estimator : transformer
        The one that is fitted; its parameters are reached as ``estimator__...``.
    random_state : int, RandomState or None
        What shuffles y.

    Attributes
    ----------
    estimator_ : transformer
        The fitted one.
    components_ : ndarray of shape (n_components, n_features)
        Its components, where it has any.
    """

    estimator: Any
    _: KW_ONLY
    random_state: Any = None

    _continuous = True

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        shuffled = check_random_state(self.random_state).permutation(labels)
        self.estimator_ = clone(self.estimator).fit(features, shuffled)

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.estimator_.transform(features))

    @property
    def components_(self) -> FloatArray:
        """The components of the fitted transformer; ``AttributeError`` where it has none."""
        return np.asarray(self.estimator_.components_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names that the fitted transformer gives its columns."""
        check_is_fitted(self)
        names: NDArray[np.object_] = self.estimator_.get_feature_names_out()
        return names


@dataclass(repr=False, eq=False)
class SupervisedUMAP(Reducer):
    """Uniform manifold approximation and projection with labels: a layout of a graph of near neighbours.

    Edges between samples of different classes, or far apart in a continuous y, are weakened before the layout. It is no
    linear map, and new samples are laid out among the training samples. Needs the package umap-learn
    (``pip install 'kdrbench[umap]'``).

    Parameters
    ----------
    n_components : int or None
        Columns of the layout. ``None``: one less than the number of classes, or 1.
    n_neighbors : int
        Neighbours in the graph, >= 2; one less than the number of samples where these are fewer.
    target_weight : float
        Between 0 (y plays hardly a part) and 1 (y alone).
    random_state : int, RandomState or None
        Seed of the layout.

    Attributes
    ----------
    model_ : umap.UMAP
        The fitted model.

    References
    ----------
    McInnes, Healy, Melville, "UMAP: uniform manifold approximation and projection for dimension reduction", 2018
    (arXiv 1802.03426); the package's documentation for labels.
    """

    n_components: Components = None
    _: KW_ONLY
    n_neighbors: Annotated[int, whole(2)] = 15
    target_weight: Annotated[float, Interval(0.0, 1.0)] = 0.5
    random_state: Any = None
    target: Target = "auto"

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        with needed_for("SupervisedUMAP"):
            from umap import UMAP
        self.model_ = UMAP(
            n_components=n_components,
            n_neighbors=min(self.n_neighbors, len(features) - 1),
            min_dist=0.1,
            target_weight=self.target_weight,
            target_metric="l2" if response.classes is None else "categorical",
            random_state=check_random_state(self.random_state).randint(2**31 - 1),
            # One thread: several would lay out the same samples differently in each run.
            n_jobs=1,
        ).fit(features, response.values)
        self._n_features_out = self.model_.embedding_.shape[1]

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.model_.transform(features), dtype=np.float64)
