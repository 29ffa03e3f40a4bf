"""What an estimator has learned, as pictures: scikit-learn's Display classes, which need matplotlib to plot."""

from kdrbench.displays.embedding import EmbeddingDisplay
from kdrbench.displays.loadings import LoadingsDisplay

__all__ = ["EmbeddingDisplay", "LoadingsDisplay"]
