"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Cluster, Samples, aligned
from kdrbench.samples.dask_engine import PATIENCE_S, DaskEngine, checked_address, dask_engine
from kdrbench.samples.passes import Engine, PartialSums, PassStoppedError, Report, Sums, TreeSum, added, parts_of

__all__ = [
    "PATIENCE_S",
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
    "aligned",
    "checked_address",
    "dask_engine",
    "parts_of",
]
