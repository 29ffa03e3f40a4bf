"""Solvers and a benchmark suite for learning projections and kernels."""

__version__ = "0.1.0"
