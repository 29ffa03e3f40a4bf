"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Cluster, Samples, aligned, power_sums
from kdrbench.samples.dask_engine import PATIENCE_S, DaskEngine, checked_address, dask_engine
from kdrbench.samples.labels import Codes, class_sizes, coded_labels, small_type
from kdrbench.samples.passes import Engine, PartialSums, Report, Sums, TreeSum, added, parts_of
from kdrbench.samples.sources import SparseSamples, is_streamed, read, samples_of

__all__ = [
    "PATIENCE_S",
    "ArraySamples",
    "Cluster",
    "Codes",
    "DaskEngine",
    "Engine",
    "PartialSums",
    "Report",
    "Samples",
    "SparseSamples",
    "Sums",
    "TreeSum",
    "added",
    "aligned",
    "checked_address",
    "class_sizes",
    "coded_labels",
    "dask_engine",
    "is_streamed",
    "parts_of",
    "power_sums",
    "read",
    "samples_of",
    "small_type",
]
