"""Reference methods: what scikit-learn offers for the same task, to be printed beside the solvers."""

from kdrbench.references.contract import Classification, Classifier, Clustering, Reference, ReferenceTask
from kdrbench.references.registry import REFERENCES, build_reference

__all__ = [
    "REFERENCES",
    "Classification",
    "Classifier",
    "Clustering",
    "Reference",
    "ReferenceTask",
    "build_reference",
]
