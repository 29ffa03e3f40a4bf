"""What :class:`.InterpretableKDR` takes: arrays, samples that are read in passes, tensors on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kdrbench.arrays import Device, checked_features, is_device_array, to_host
from kdrbench.errors import InputError
from kdrbench.evaluation import STREAMED_FAMILIES
from kdrbench.kernels.family import FloatArray
from kdrbench.samples import ArraySamples, Codes, Samples, coded_labels, is_streamed, samples_of


def known_samples(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return features and what is known of the samples, checked as the paradigm wants it; sets ``classes_``.

    Features are an array, samples that are read in passes, or a tensor where it was.
    """
    paradigm, continuous = estimator.paradigm, (estimator.paradigm_params or {}).get("target_kernel") is not None
    if is_streamed(X):
        return _streamed(estimator, X, y, continuous=continuous)
    if is_device_array(X):
        return _known_on_device(estimator, X, y, paradigm, continuous=continuous)
    if is_device_array(y):
        y = to_host(y)
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


def _streamed(estimator: Any, X: Any, y: Any, *, continuous: bool) -> tuple[Samples, Codes]:
    """Return samples that are read in passes, checked in one, and the codes of their labels; sets ``classes_``.

    Raises ``InputError`` for what can only be learned from samples in memory, NaN or labels that are no classes.
    """
    if estimator.paradigm != "supervised" or continuous:
        raise InputError(
            "samples that are streamed can be learned from with class labels only: paradigm='supervised' without "
            "target_kernel; give them as an array for the others"
        )
    if isinstance(estimator.kernel, str) and estimator.kernel not in STREAMED_FAMILIES:
        raise InputError(
            f"samples that are streamed need one of the kernels {', '.join(STREAMED_FAMILIES)}, which are sums over "
            f"samples; got {estimator.kernel!r}: choose one of those, or give the samples as an array"
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


def _projected_chunks(estimator: Any, X: Any, components: FloatArray) -> Any:
    """Return X W for samples that are read in passes: a Dask array for one, a generator for chunks, else an array."""
    name, n_features = type(estimator).__name__, components.shape[1]

    def rows_of(chunk: Any) -> FloatArray:
        rows = np.asarray(chunk, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise InputError(f"X has rows of shape {rows.shape[1:]}, but {name} is expecting {n_features} features")
        if len(rows):
            ArraySamples(rows).check_finite()
        return np.asarray(rows @ components.T)

    if hasattr(X, "map_blocks"):
        chunks = (X.chunks[0], (len(components),))
        return X.rechunk({1: -1}).map_blocks(rows_of, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
    if isinstance(X, Samples | np.memmap) or hasattr(X, "shape"):
        samples = samples_of(X)
        result = np.empty((len(samples), len(components)))
        for rows, values in samples.blocks(slice(0, len(samples))):
            result[rows] = rows_of(values)
        return result
    return (rows_of(chunk[0] if isinstance(chunk, tuple) else chunk) for chunk in (X() if callable(X) else X))


def _known_on_device(
    estimator: Any, X: Any, y: ArrayLike | None, paradigm: str, *, continuous: bool
) -> tuple[Any, NDArray[Any]]:
    """Return features where they are, and y in numpy; sets ``classes_`` and what scikit-learn keeps of X."""
    if paradigm != "supervised":
        raise InputError(f"paradigm {paradigm!r} is for arrays of numpy, got {type(X).__name__}; pass X.cpu().numpy()")
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    features = checked_features(X)
    given = to_host(y) if is_device_array(y) else np.asarray(y)
    known = validate_data(estimator, y=given, multi_output=given.ndim == 2, y_numeric=continuous)
    if len(known) != features.shape[0] or len(known) < 2:
        raise InputError(f"X has {features.shape[0]} samples and y {len(known)}; both need the same number, at least 2")
    estimator.n_features_in_ = int(features.shape[1])
    if not continuous:
        check_classification_targets(known)
        if known.ndim == 1:
            estimator.classes_ = np.unique(known)
    return features, known


def projected(estimator: Any, X: Any, components: FloatArray) -> Any:
    """Return X W for samples of a fitted estimator and W' = ``components``.

    Of a Dask array it is a lazy one, of an iterable of chunks a generator, of a tensor one on its device, of its type.
    Raises ``ValueError`` for samples of another number of features.
    """
    if is_streamed(X):
        return _projected_chunks(estimator, X, components)
    if not is_device_array(X):
        return validate_data(estimator, X, dtype=np.float64, reset=False) @ components.T
    features, n_features = checked_features(X), components.shape[1]
    if features.shape[1] != n_features:
        raise InputError(
            f"X has {features.shape[1]} features, but {type(estimator).__name__} is expecting {n_features} features"
        )
    device = Device.of(features)
    return features @ device.xp.astype(device.up(components.T), features.dtype)
