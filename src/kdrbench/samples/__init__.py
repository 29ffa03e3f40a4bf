"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Cluster, Samples
from kdrbench.samples.dask_engine import DaskEngine
from kdrbench.samples.passes import Engine, PartialSums, PassStoppedError, Report, Sums, TreeSum, added, parts_of

__all__ = [
    "ArraySamples",
    "Cluster",
    "DaskEngine",
    "Engine",
    "PartialSums",
    "PassStoppedError",
    "Report",
    "Samples",
    "Sums",
    "TreeSum",
    "added",
    "parts_of",
]
