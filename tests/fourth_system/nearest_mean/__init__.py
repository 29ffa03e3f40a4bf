"""A system of its own: shrunken class means as classifiers, on random halves of a data set."""

from nearest_mean.stage import NearestMeanStage

__all__ = ["NearestMeanStage"]
