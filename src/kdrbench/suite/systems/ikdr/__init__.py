"""Interpretable kernel dimension reduction: solvers and baselines on folds, subsets or all rows of a data set."""
