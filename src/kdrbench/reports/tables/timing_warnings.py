"""How far the times of runs can be trusted: whether they owned their cores, and whether those kept their speed."""

from __future__ import annotations

import pandas as pd

UNTIMED = "times of runs that shared their cores, not comparable"


def is_untimed(runs: pd.DataFrame) -> bool:
    """Return whether the times of these runs do not count, because some did not own their cores."""
    return n_untimed(runs) > 0


def n_untimed(runs: pd.DataFrame) -> int:
    """Return how many runs did not own their cores."""
    return int((runs["timed"].astype(str) == "False").sum())


def n_drifted(runs: pd.DataFrame) -> int:
    """Return how many runs were made on cores whose speed drifted."""
    return int((runs["drifted"].astype(str) == "True").sum())


def warning_of(runs: pd.DataFrame) -> str:
    """Return why the times of these runs need care; empty if there is no reason."""
    if is_untimed(runs):
        return UNTIMED
    if not (drifted := n_drifted(runs)):
        return ""
    largest = runs["drift"].astype(float).abs().max()
    return f"the speed of the cores drifted in {drifted} of {len(runs)} run(s), by up to {largest:.0%}"
