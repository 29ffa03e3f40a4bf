"""The contract of a baseline method, and baselines by name.

A baseline is a frozen dataclass of its options that learns from features alone. Features are taken as they are: whoever
calls scales them, with the statistics of the training samples. A baseline's module is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.methods import build_method
from kdrbench.parameters import check_value, whole
from kdrbench.problems.objective import check_features

BASELINES: dict[str, str] = {
    name: f"kdrbench.baselines.methods:{method}"
    for name, method in {
        "kernel_pca_svm": "KernelComponentsSVM",
        "label_spreading": "LabelSpreading",
        "lda": "LinearDiscriminant",
        "lda_svm": "DiscriminantSVM",
        "nca_svm": "NeighbourhoodComponentsSVM",
        "pca_spectral_clustering": "PrincipalComponentsSpectralClustering",
        "pca_svm": "PrincipalComponentsSVM",
        "spectral_clustering": "SpectralClustering",
        "svm": "SupportVectorMachine",
    }.items()
}
# What a baseline's class must have, besides the method of its task.
CONTRACT = ("task", "imports")


class BaselineTask(StrEnum):
    """What a baseline is for."""

    CLASSIFICATION = "classification"
    CLUSTERING = "clustering"
    COMPLETION = "completion"


class Baseline(Protocol):
    """What every baseline declares, beside the one method of its ``task``.

    ``imports`` names the modules that a baseline loads when it is first used. So loading can be kept off the clock.
    Features are n x d, ``n_components`` is q, for what reduces the dimension, and ``rng`` a generator. The methods are

    - classification: ``fit(features, labels, n_components, rng)``, which returns a model whose ``predict(features)``
      gives a label for each row;
    - clustering: ``cluster(features, n_clusters, n_components, rng)``, a cluster 0 ... k - 1 for each row;
    - completion: ``complete(features, labels, n_components, rng)``, a label for each row; ``labels`` has n codes, -1
      where they are unknown.
    """

    task: ClassVar[BaselineTask]
    imports: ClassVar[tuple[str, ...]]


def check_components(features: FloatArray, n_components: int) -> None:
    """Raise ``InputError`` unless ``features`` is a finite float64 n x d array and 1 <= q <= min(n, d)."""
    check_features(features)
    most, (n_samples, n_features) = min(features.shape), features.shape
    allowed = whole(1, most, f"{most}, with {n_samples} samples of {n_features} features")
    check_value("n_components", n_components, allowed)


def check_labels(features: FloatArray, labels: NDArray[Any]) -> None:
    """Raise ``InputError`` unless there is one label a sample, and two different ones."""
    if labels.shape != (features.shape[0],):
        raise InputError(f"expected one label for each of {features.shape[0]} samples, got shape {labels.shape}")
    if len(np.unique(labels)) < 2:
        raise InputError(f"all {len(labels)} samples have the label {labels[0]}; a classifier needs at least 2")


def check_clusters(features: FloatArray, n_clusters: int) -> None:
    """Raise ``InputError`` unless k is an integer and 2 <= k <= n."""
    check_value("n_clusters", n_clusters, whole(2, len(features), f"the {len(features)} samples"))


def random_state(rng: np.random.Generator) -> int:
    """Return what scikit-learn takes for a seed, drawn from ``rng``."""
    return int(rng.integers(2**31))


# The method of each task.
WORK: dict[str, str] = {
    BaselineTask.CLASSIFICATION: "fit",
    BaselineTask.CLUSTERING: "cluster",
    BaselineTask.COMPLETION: "complete",
}


def build_baseline(definition: Mapping[str, Any]) -> Any:
    """Return the :class:`Baseline` that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, a file, ``module:Class`` or an entry point's name (:mod:`kdrbench.plugins`).

    Raises ``InputError`` for an unknown method or option, a value of the wrong type, or a class that does not keep
    the contract of its task.
    """
    baseline = build_method("baseline", definition, BASELINES, CONTRACT)
    task = str(baseline.task)
    if task not in WORK or not callable(getattr(baseline, WORK[task], None)):
        raise InputError(
            f"baseline method {definition['method']!r} has task {task!r}; it must be classification, with a method "
            "fit, clustering, with a method cluster, or completion, with a method complete"
        )
    return baseline
