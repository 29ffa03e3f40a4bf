"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Cluster, DeviceSamples, Samples, aligned, evenly_drawn, power_sums
from kdrbench.samples.passes import Engine, PartialSums, Report, Sums, ThreadEngine, TreeSum, parts_of
from kdrbench.samples.sources import (
    Codes,
    SparseSamples,
    class_sizes,
    coded_labels,
    is_streamed,
    samples_of,
    small_type,
)

__all__ = [
    "ArraySamples",
    "Cluster",
    "Codes",
    "DeviceSamples",
    "Engine",
    "PartialSums",
    "Report",
    "Samples",
    "SparseSamples",
    "Sums",
    "ThreadEngine",
    "TreeSum",
    "aligned",
    "class_sizes",
    "coded_labels",
    "evenly_drawn",
    "is_streamed",
    "parts_of",
    "power_sums",
    "samples_of",
    "small_type",
]
