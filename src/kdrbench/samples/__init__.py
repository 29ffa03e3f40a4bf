"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Samples, power_sums
from kdrbench.samples.labels import Codes, class_sizes, coded_labels, small_type
from kdrbench.samples.passes import Engine, PartialSums, Report, Sums, TreeSum, added, parts_of
from kdrbench.samples.sources import is_streamed, read, samples_of

__all__ = [
    "ArraySamples",
    "Codes",
    "Engine",
    "PartialSums",
    "Report",
    "Samples",
    "Sums",
    "TreeSum",
    "added",
    "class_sizes",
    "coded_labels",
    "is_streamed",
    "parts_of",
    "power_sums",
    "read",
    "samples_of",
    "small_type",
]
