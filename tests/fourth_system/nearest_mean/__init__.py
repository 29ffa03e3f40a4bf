"""A system of its own: shrunken class means as classifiers, on random halves of a data set."""

from nearest_mean.system import NearestMeanSystem

__all__ = ["NearestMeanSystem"]
