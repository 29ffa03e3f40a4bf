"""What the quality of a run is."""

from kdrbench.bench.quality import Metric

__all__ = ["Metric"]
