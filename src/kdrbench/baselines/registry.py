"""Baselines by name; a baseline's module is imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from kdrbench.baselines.contract import BaselineTask, Classification, Clustering
from kdrbench.errors import InputError
from kdrbench.methods import build_method

_CLASSIFICATION = "kdrbench.baselines.classification"
_CLUSTERING = "kdrbench.baselines.clustering"
BASELINES: dict[str, str] = {
    "kernel_pca_svm": f"{_CLASSIFICATION}:KernelComponentsSVM",
    "lda": f"{_CLASSIFICATION}:LinearDiscriminant",
    "lda_svm": f"{_CLASSIFICATION}:DiscriminantSVM",
    "nca_svm": f"{_CLASSIFICATION}:NeighbourhoodComponentsSVM",
    "pca_spectral_clustering": f"{_CLUSTERING}:PrincipalComponentsSpectralClustering",
    "pca_svm": f"{_CLASSIFICATION}:PrincipalComponentsSVM",
    "spectral_clustering": f"{_CLUSTERING}:SpectralClustering",
    "svm": f"{_CLASSIFICATION}:SupportVectorMachine",
}
# What a baseline's class must have, besides the method of its task.
CONTRACT = ("task", "imports")
_WORK: dict[str, str] = {BaselineTask.CLASSIFICATION: "fit", BaselineTask.CLUSTERING: "cluster"}


def build_baseline(definition: Mapping[str, Any]) -> Classification | Clustering:
    """Return the baseline that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, a file, ``module:Class`` or an entry point's name (:mod:`kdrbench.plugins`).

    Raises ``InputError`` for an unknown method or option, a value of the wrong type, or a class that does not keep
    the contract of its task.
    """
    baseline = build_method("baseline", definition, BASELINES, CONTRACT)
    task = str(baseline.task)
    if task not in _WORK or not callable(getattr(baseline, _WORK[task], None)):
        raise InputError(
            f"baseline method {definition['method']!r} has task {task!r}; it must be classification, with a method "
            "fit, or clustering, with a method cluster"
        )
    return cast("Classification | Clustering", baseline)
