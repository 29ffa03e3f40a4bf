"""Baseline methods: what scikit-learn offers for the same task, to be printed beside the solvers."""

from kdrbench.baselines.contract import BASELINES, Baseline, BaselineTask, build_baseline

__all__ = ["BASELINES", "Baseline", "BaselineTask", "build_baseline"]
