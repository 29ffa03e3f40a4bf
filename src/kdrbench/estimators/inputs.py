"""What :class:`.InterpretableKDR` takes: arrays, samples that are read in passes, tensors on a device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from kdrbench.arrays import Device, checked_features, is_device_array, to_host
from kdrbench.errors import InputError
from kdrbench.estimators.common import check_spread
from kdrbench.estimators.definitions import KERNEL_ALIASES, Definitions
from kdrbench.estimators.targets import (
    CLASSES,
    CONTINUOUS,
    check_labels,
    is_continuous,
    labels_with_unknown,
    present_values,
    varying_targets,
)
from kdrbench.evaluation import STREAMED_FAMILIES
from kdrbench.kernels import Gaussian, Linear, Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.samples import (
    ArraySamples,
    Codes,
    SparseSamples,
    class_sizes,
    coded_labels,
    is_streamed,
    samples_of,
)

# Sparse samples that are made dense for a Gaussian.
_DENSE_BYTES = 2**26
# What makes y continuous.
_CONTINUOUS = "target='continuous'"


class Known(NamedTuple):
    """Features (n x d), what is known of the samples, their weights > 0 if any, and the type of what is learned.

    Features are a float64 array, samples that are read in passes, or a tensor where it was.
    """

    features: Any
    of_samples: Any
    weights: FloatArray | None = None
    dtype: type[np.floating[Any]] = np.float64


def known_samples(estimator: Any, asked: Definitions, X: Any, y: Any, sample_weight: Any = None) -> Known:
    """Return what is known of samples, checked as the paradigm wants it; sets ``classes_`` and ``target_type_``.

    Samples of weight 0 are left out. Raises ``InputError`` for what the paradigm or the kernel does not allow.
    """
    if sample_weight is not None and asked.paradigm != "supervised":
        raise InputError(
            "sample_weight is for supervised learning, where each sample has its share of Gamma; paradigm "
            f"{asked.paradigm!r} finds clusters of all samples alike: leave it out"
        )
    if is_streamed(X):
        return _streamed(estimator, asked, X, y, sample_weight)
    if is_device_array(X):
        return _on_device(estimator, asked, X, y, sample_weight)
    if issparse(X):
        _check_summed(asked, "sparse samples", f"give X.toarray(), of {8 * math.prod(X.shape) / 2**20:.3g} MiB")
    if is_device_array(y):
        y = to_host(y)
    return _in_memory(estimator, asked, X, y, sample_weight)


def _in_memory(estimator: Any, asked: Definitions, X: Any, y: Any, sample_weight: Any) -> Known:
    options = {"dtype": (np.float64, np.float32), "order": "C", "ensure_min_samples": 2, "accept_sparse": "csr"}
    paradigm = asked.paradigm
    if paradigm == "unsupervised" or (y is None and paradigm in ("semi_supervised", "alternative")):
        features, known = validate_data(estimator, X, **options), None
    elif paradigm == "semi_supervised":
        features = validate_data(estimator, X, **options)
        known, classes = labels_with_unknown(y, estimator.target)
        estimator.target_type_ = CONTINUOUS if classes is None else CLASSES
        if classes is not None:
            estimator.classes_ = classes
    else:
        given = y if y is None else _present(estimator, y)
        features, known = validate_data(
            estimator, X, given, multi_output=given is not None and given.ndim == 2, **options
        )
        known = _as_target(estimator, asked, known)
    weights, dtype = checked_weights(sample_weight, features.shape[0], may_vanish=True), features.dtype.type
    if weights is not None and not weights.all():
        kept = weights > 0.0
        features, known, weights = features[kept], np.asarray(known)[kept], weights[kept]
    weights = _times_class_weights(estimator, known, None, weights)
    if issparse(features) and asked.is_gaussian and 8 * math.prod(features.shape) <= _DENSE_BYTES:
        # A narrow Gaussian needs pairs of samples.
        features = features.toarray()
    if issparse(features):
        if estimator.target_type_ == CONTINUOUS:
            raise InputError("sparse samples can be learned from with class labels only; give X.toarray()")
        return Known(SparseSamples(features), known, weights, dtype)
    features = features.astype(np.float64, copy=False)
    check_spread(features)
    return Known(features, known, weights, dtype)


def _present(estimator: Any, y: Any) -> NDArray[Any]:
    """Return y; ``InputError`` for missing values, which may be unknown labels where classes are learned from."""
    return present_values(y, may_be_unknown=estimator.paradigm == "supervised" and estimator.target != CONTINUOUS)


def _as_target(estimator: Any, asked: Definitions, known: NDArray[Any]) -> NDArray[Any]:
    """Return y, a continuous target as float64; sets ``target_type_``, and ``classes_`` of one column of labels."""
    target = estimator.target
    if target == CONTINUOUS and asked.paradigm != "supervised":
        raise InputError(f"target='continuous' is for supervised learning; {asked.paradigm!r} takes labellings")
    if target == CLASSES and asked.is_continuous:
        raise InputError("target_kernel is for continuous targets, and target='classes'; leave out one of them")
    target = CONTINUOUS if asked.is_continuous else target
    target = CLASSES if asked.paradigm == "alternative" else target
    estimator.target_type_ = CONTINUOUS if is_continuous(known, target) else CLASSES
    if estimator.target_type_ == CONTINUOUS:
        return varying_targets(known)
    check_labels(known, _CONTINUOUS if asked.paradigm == "supervised" else "")
    if known.ndim == 1:
        estimator.classes_ = np.unique(known)
    return known


def accepts_sparse(estimator: Any) -> bool:
    """Return whether a fit takes sparse samples: class labels, and a kernel that is sums over samples."""
    continuous = estimator.target == CONTINUOUS or "target_kernel" in (estimator.paradigm_params or {})
    families = (*STREAMED_FAMILIES, *KERNEL_ALIASES)
    return bool(estimator.paradigm == "supervised" and estimator.kernel in families and not continuous)


def _check_summed(asked: Definitions, samples: str, way_out: str) -> None:
    """Raise ``InputError`` unless there are class labels and a kernel whose objective is sums over ``samples``."""
    summed = asked.family in STREAMED_FAMILIES or isinstance(asked.kernel, Gaussian | Linear | Polynomial | Squared)
    if asked.paradigm != "supervised" or asked.is_continuous or not summed:
        raise InputError(
            f"{samples} can be learned from with class labels and one of the kernels {', '.join(STREAMED_FAMILIES)}, "
            f"which are sums over samples; got paradigm {asked.paradigm!r} and kernel {asked.family or asked.kernel!r}"
            f"{' with continuous targets' if asked.is_continuous else ''}: choose one of those, or {way_out}"
        )


def checked_weights(given: Any, n_samples: int, *, may_vanish: bool = False) -> FloatArray | None:
    """Return sample weights; ``InputError`` unless there are n of them, finite, >= 0 and not all 0."""
    if given is None:
        return None
    weights = np.asarray(given)
    if weights.shape != (n_samples,) or weights.dtype.kind not in "fiub":
        raise InputError(
            f"sample_weight must be {n_samples} numbers, one for each sample; got {weights.dtype} of shape "
            f"{weights.shape}"
        )
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size or not weights.any():
        what = f"{weights[bad[0]]:g} for sample {bad[0]}" if bad.size else "zeros alone"
        raise InputError(f"sample_weight must be finite and not negative, and not all of them zero; got {what}")
    if not may_vanish and not weights.all():
        raise InputError("samples that are streamed or on a device need weights > 0; leave out those of weight zero")
    return weights


def _times_class_weights(
    estimator: Any, known: Any, codes: Codes | None, weights: FloatArray | None
) -> FloatArray | None:
    """Return sample weights times the weights of their classes by ``class_weight``: ``balanced``, or a dict."""
    if (given := estimator.class_weight) is None:
        return weights
    if estimator.paradigm != "supervised" or not hasattr(estimator, "classes_"):
        raise InputError("class_weight is for supervised learning from one column of class labels; leave it out")
    classes = estimator.classes_
    codes = np.searchsorted(classes, known) if codes is None else codes
    if isinstance(given, str):
        sizes = class_sizes(codes, len(classes))
        of_classes = len(codes) / (len(classes) * np.maximum(sizes, 1))
    else:
        if absent := [name for name in given if name not in classes.tolist()]:
            raise InputError(f"class_weight names {absent[0]!r}, but the classes are {classes.tolist()}")
        of_classes = np.array([given.get(name, 1.0) for name in classes.tolist()], dtype=np.float64)
        if not (np.isfinite(of_classes) & (of_classes > 0.0)).all():
            raise InputError(f"class_weight must hold finite numbers > 0, got {dict(given)!r}")
    return of_classes[codes] * (1.0 if weights is None else weights)


def _streamed(estimator: Any, asked: Definitions, X: Any, y: Any, sample_weight: Any) -> Known:
    """Return samples that are read in passes, checked in one, and the codes of their labels; sets ``classes_``."""
    _check_summed(asked, "samples that are streamed", "give the samples as an array")
    if estimator.target == CONTINUOUS:
        raise InputError("samples that are streamed have class labels only; give an array for target='continuous'")
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
    check_labels(classes, n_samples=len(samples))
    estimator.classes_, estimator.n_features_in_ = classes, samples.shape[1]
    estimator.target_type_ = CLASSES
    estimator.__dict__.pop("feature_names_in_", None)
    weights = checked_weights(sample_weight, len(samples))
    return Known(samples, codes, _times_class_weights(estimator, codes, codes, weights))


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
    if hasattr(X, "shape"):
        samples = samples_of(X)
        result = np.empty((len(samples), len(components)))
        for rows, values in samples.blocks(slice(0, len(samples))):
            result[rows] = rows_of(values)
        return result
    return (rows_of(chunk[0] if isinstance(chunk, tuple) else chunk) for chunk in (X() if callable(X) else X))


def _on_device(estimator: Any, asked: Definitions, X: Any, y: ArrayLike | None, sample_weight: Any) -> Known:
    """Return features where they are, and y in numpy; sets what scikit-learn keeps of both."""
    if asked.paradigm != "supervised":
        raise InputError(
            f"paradigm {asked.paradigm!r} is for arrays of numpy, got {type(X).__name__}; pass X.cpu().numpy()"
        )
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    features = checked_features(X)
    given = _present(estimator, to_host(y) if is_device_array(y) else y)
    known = validate_data(estimator, y=given, multi_output=given.ndim == 2)
    if len(known) != features.shape[0] or len(known) < 2:
        raise InputError(f"X has {features.shape[0]} samples and y {len(known)}; both need the same number, at least 2")
    estimator.n_features_in_ = int(features.shape[1])
    known = _as_target(estimator, asked, known)
    weights = _times_class_weights(estimator, known, None, checked_weights(sample_weight, len(known)))
    return Known(features, known, weights)


def projected(estimator: Any, X: Any, components: FloatArray) -> Any:
    """Return X W for samples of a fitted estimator and W' = ``components``; ``ValueError`` for other features.

    Of a Dask array it is a lazy one, of an iterable of chunks a generator, of a tensor one on its device, of its type.
    """
    if is_streamed(X):
        return _projected_chunks(estimator, X, components)
    if not is_device_array(X):
        checked = validate_data(estimator, X, dtype=(np.float64, np.float32), accept_sparse=True, reset=False)
        return np.asarray(checked @ components.T)
    features, n_features = checked_features(X), components.shape[1]
    if features.shape[1] != n_features:
        raise InputError(
            f"X has {features.shape[1]} features, but {type(estimator).__name__} is expecting {n_features} features"
        )
    device = Device.of(features)
    return features @ device.xp.astype(device.up(components.T), features.dtype)
