"""References by name; a reference's module is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from kdrbench.errors import InputError
from kdrbench.methods import build_method
from kdrbench.references.contract import Classification, Clustering, ReferenceTask

_CLASSIFICATION = "kdrbench.references.classification"
_CLUSTERING = "kdrbench.references.clustering"
REFERENCES: dict[str, str] = {
    "kernel_pca_svm": f"{_CLASSIFICATION}:KernelComponentsSVM",
    "lda": f"{_CLASSIFICATION}:LinearDiscriminant",
    "lda_svm": f"{_CLASSIFICATION}:DiscriminantSVM",
    "nca_svm": f"{_CLASSIFICATION}:NeighbourhoodComponentsSVM",
    "pca_spectral_clustering": f"{_CLUSTERING}:PrincipalComponentsSpectralClustering",
    "pca_svm": f"{_CLASSIFICATION}:PrincipalComponentsSVM",
    "spectral_clustering": f"{_CLUSTERING}:SpectralClustering",
    "svm": f"{_CLASSIFICATION}:SupportVectorMachine",
}
# What a reference's class must have, besides the method of its task.
CONTRACT = ("task", "version", "imports")
_WORK: dict[str, str] = {ReferenceTask.CLASSIFICATION: "fit", ReferenceTask.CLUSTERING: "cluster"}


def build_reference(definition: Mapping[str, Any]) -> Classification | Clustering:
    """Return the reference that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, a file, ``module:Class`` or an entry point's name (:mod:`kdrbench.plugins`).

    Raises ``InputError`` for an unknown method or option, a value of the wrong type, or a class that does not keep
    the contract of its task.
    """
    reference = build_method("reference", definition, REFERENCES, CONTRACT)
    task = str(reference.task)
    if task not in _WORK or not callable(getattr(reference, _WORK[task], None)):
        raise InputError(
            f"reference method {definition['method']!r} has task {task!r}; it must be classification, with a method "
            "fit, or clustering, with a method cluster"
        )
    return cast("Classification | Clustering", reference)
