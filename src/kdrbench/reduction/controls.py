"""Controls: methods that learn nothing from y, which every other method must beat."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, Declarations, check_parameters, check_value, whole


class RandomAxes(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Stewart, "The efficient generation of random orthogonal matrices", SIAM Journal on Numerical Analysis 17, 1980.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.reduction import RandomAxes
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomAxes(2, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _constraints: ClassVar[Declarations] = {"n_components": COUNT}

    def __init__(self, n_components: int = 1, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

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
        projected: FloatArray = validate_data(self, X, dtype=np.float64, reset=False) @ self.components_.T
        return projected

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


class ShuffledLabels(MetaEstimatorMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kdrbench.reduction import SIR, ShuffledLabels
    >>> X, y = load_iris(return_X_y=True)
    >>> ShuffledLabels(SIR(2), random_state=0).fit_transform(X, y).shape
    (150, 2)
    """

    def __init__(self, estimator: Any, *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a clone of ``estimator`` on X and y in a random order; raises what that raises."""
        features, labels = validate_data(self, X, y, dtype=np.float64)
        shuffled = check_random_state(self.random_state).permutation(labels)
        self.estimator_ = clone(self.estimator).fit(features, shuffled)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return what the fitted transformer makes of X."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.transform(validate_data(self, X, dtype=np.float64, reset=False)))

    @property
    def components_(self) -> FloatArray:
        """The components of the fitted transformer; ``AttributeError`` where it has none."""
        components: FloatArray = self.estimator_.components_
        return components

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names that the fitted transformer gives its columns."""
        check_is_fitted(self)
        names: NDArray[np.object_] = self.estimator_.get_feature_names_out()
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
