"""What estimators share: classes as labels, and what their parameters say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import (
    Declarations,
    check_parameters,
)
from kdrbench.samples import ArraySamples, Codes, Samples, coded_labels, is_streamed, samples_of

# Kernels whose sums need no pairs of samples.
_STREAMED = ("linear", "squared", "polynomial", "gaussian")


def labelled_samples(estimator: Any, X: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, NDArray[np.generic]]:
    """Return features and labels as arrays, and set the estimator's ``classes_`` and what scikit-learn keeps of X.

    Raises ``ValueError`` in scikit-learn's words for NaN, sparse or too few samples, and labels that are no classes.
    """
    features, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(labels)
    estimator.classes_ = np.unique(labels)
    return features, labels


def known_samples(
    estimator: Any, X: Any, y: Any, paradigm: str, *, continuous: bool
) -> tuple[FloatArray | Samples, Any]:
    """Return features and what is known of the samples, checked as the paradigm wants it; sets ``classes_``."""
    if is_streamed(X):
        return streamed_samples(estimator, X, y)
    options = {"dtype": np.float64, "order": "C", "ensure_min_samples": 2}
    if paradigm == "unsupervised" or (y is None and paradigm in ("semi_supervised", "alternative")):
        return validate_data(estimator, X, **options), None
    if paradigm == "semi_supervised":
        # NaN means no score, so scores are checked where they are used.
        return validate_data(estimator, X, **options), y
    features, known = validate_data(
        estimator, X, y, multi_output=np.asarray(y).ndim == 2, y_numeric=continuous, **options
    )
    if not continuous:
        check_classification_targets(known)
        if known.ndim == 1:
            estimator.classes_ = np.unique(known)
    return features, known


def streamed_samples(estimator: Any, X: Any, y: Any) -> tuple[Samples, Codes]:
    """Return samples that are read in passes, checked in one, and the codes of their labels; sets ``classes_``.

    Raises ``InputError`` for what can only be learned from samples in memory, NaN or labels that are no classes.
    """
    if estimator.paradigm != "supervised" or (estimator.paradigm_params or {}).get("target_kernel") is not None:
        raise InputError(
            "samples that are streamed can be learned from with class labels only: paradigm='supervised' without "
            "target_kernel; give them as an array for the others"
        )
    if isinstance(estimator.kernel, str) and estimator.kernel not in _STREAMED:
        raise InputError(
            f"samples that are streamed need one of the kernels {', '.join(_STREAMED)}, which are sums over samples; "
            f"got {estimator.kernel!r}: choose one of those, or give the samples as an array"
        )
    samples = samples_of(X)
    if samples.labels is not None and y is not None:
        raise InputError("labels were given twice: as y, and in pairs (X, y) of the chunks; leave out one of them")
    labels = samples.labels if y is None else y
    if labels is None:
        raise InputError("paradigm 'supervised' requires y to be passed, or chunks that are pairs (X, y)")
    labels = labels if hasattr(labels, "shape") else np.asarray(labels)
    if tuple(labels.shape) != (len(samples),):
        raise InputError(f"samples that are streamed need one label each, {len(samples)}; got shape {labels.shape}")
    samples.check_finite()
    classes, codes = coded_labels(labels)
    check_classification_targets(classes)
    estimator.classes_, estimator.n_features_in_ = classes, samples.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return samples, codes


def transformed(estimator: Any, X: Any, components: FloatArray) -> Any:
    """Return X W for samples that are read in passes: a Dask array for one, a generator for chunks, else an array."""
    name, n_features = type(estimator).__name__, components.shape[1]

    def projected(chunk: Any) -> FloatArray:
        rows = np.asarray(chunk, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise InputError(f"X has rows of shape {rows.shape[1:]}, but {name} is expecting {n_features} features")
        if len(rows):
            ArraySamples(rows).check_finite()
        return np.asarray(rows @ components.T)

    if hasattr(X, "map_blocks"):
        chunks = (X.chunks[0], (len(components),))
        return X.rechunk({1: -1}).map_blocks(projected, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
    if isinstance(X, Samples | np.memmap) or hasattr(X, "shape"):
        samples = samples_of(X)
        result = np.empty((len(samples), len(components)))
        for rows, values in samples.blocks(slice(0, len(samples))):
            result[rows] = projected(values)
        return result
    return (projected(chunk[0] if isinstance(chunk, tuple) else chunk) for chunk in (X() if callable(X) else X))


class LabelledTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A transformer that learns from class labels: ``fit`` and ``transform`` around what a subclass does."""

    # What parameters must be; checked by ``fit``.
    _constraints: ClassVar[Declarations] = {}

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from X (n_samples x n_features) and class labels y.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, fewer than two classes, or samples from which
        the method cannot learn.
        """
        check_parameters(self)
        features, labels = labelled_samples(self, X, y)
        self._learn(features, labels)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return what the class says of each sample, one row a sample."""
        check_is_fitted(self)
        return self._mapped(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    @abstractmethod
    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _mapped(self, features: FloatArray) -> FloatArray:
        """Return the values of checked samples."""

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """Columns of the values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def kernel_of(kernel: object, options: Mapping[str, Any] | None) -> object:
    """Return the definition of a kernel family with its options, or a kernel object; ``InputError`` for both."""
    if isinstance(kernel, str):
        return {"family": kernel, **(options or {})}
    if options:
        raise InputError("kernel_params belong to a kernel family; a kernel object has its own")
    return kernel
