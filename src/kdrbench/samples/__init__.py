"""Samples that need not fit in memory, and passes over them."""

from kdrbench.samples.base import ArraySamples, Samples
from kdrbench.samples.passes import Engine, PartialSums, Report, Sums, TreeSum, added, parts_of

__all__ = ["ArraySamples", "Engine", "PartialSums", "Report", "Samples", "Sums", "TreeSum", "added", "parts_of"]
