"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Cluster, Samples, aligned, power_sums
from kdrbench.samples.passes import (
    Engine,
    PartialSums,
    PassStoppedError,
    Report,
    Sums,
    ThreadEngine,
    TreeSum,
    added,
    parts_of,
    run_pass,
)
from kdrbench.samples.sources import (
    Codes,
    SparseSamples,
    class_sizes,
    coded_labels,
    is_streamed,
    read,
    samples_of,
    small_type,
)

__all__ = [
    "ArraySamples",
    "Cluster",
    "Codes",
    "Engine",
    "PartialSums",
    "PassStoppedError",
    "Report",
    "Samples",
    "SparseSamples",
    "Sums",
    "ThreadEngine",
    "TreeSum",
    "added",
    "aligned",
    "class_sizes",
    "coded_labels",
    "is_streamed",
    "parts_of",
    "power_sums",
    "read",
    "run_pass",
    "samples_of",
    "small_type",
]
