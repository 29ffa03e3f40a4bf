"""The samples of a run."""

from kdrbench.bench.fold import Fold, Split, make_fold, make_subset, whole

__all__ = ["Fold", "Split", "make_fold", "make_subset", "whole"]
