"""What a merged table may not hold: the same run twice, words in place of numbers, lists that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdrbench.errors import visible

if TYPE_CHECKING:
    import pandas as pd

# Columns that only rows of one system have all of, and what tells its rows apart. There are more marks than axes need,
# since a system of one's own may share axes and have others; rows with the marks of two systems have the axes of both.
_AXES = {
    ("paradigm", "split", "quality_metric"): ("experiment", "dataset", "kernel", "method", "partition", "run"),
    ("learner", "variant", "tuning_cpu_s", "learning_cpu_s"): ("experiment", "dataset", "learner", "variant", "run"),
    ("n_constraints", "sweeps"): ("experiment", "dataset", "method", "n_constraints", "run"),
    ("varied", "value", "series"): ("experiment", "dataset", "varied", "value", "series", "run"),
}
# What reports count with; a table need not have them all.
_NUMBERS = (
    *("run", "time_s", "cpu_s", "warm_s", "time_limit_s", "memory_limit_mib", "cost", "quality", "iterations"),
    *("train_accuracy", "stationarity", "curvature", "eigengap", "n_train", "n_test", "n_features", "n_components"),
    *("accuracy", "tuning_wall_s", "learning_wall_s", "value", "condition", "disagreement", "n_constraints", "sweeps"),
    *("projections", "n_samples", "rank", "learned_rank", "largest_violation", "nmi_ten_starts", "target_accuracy"),
)
_LISTS = "test_selected"


def fault_of(runs: pd.DataFrame) -> str:
    """Return what is wrong with the rows of a table, the first of its faults, or nothing."""
    return next(_faults(runs), "")


def _faults(runs: pd.DataFrame) -> Iterator[str]:
    import pandas as pd

    for name in (one for one in _NUMBERS if one in runs):
        if pd.api.types.is_numeric_dtype(runs[name]):
            continue
        known = runs[name].dropna()
        if len(words := known[pd.to_numeric(known, errors="coerce").isna()]):
            yield f"the column {name} holds {visible(str(words.iloc[0]))!r}, which is no number"
    yield from _doubled(runs)
    if _LISTS in runs:
        yield from (
            f"the column {_LISTS} holds {visible(text)[:40]!r}, which is no list of numbers"
            for text in runs[_LISTS].dropna().unique()
            if not _is_list_of_numbers(text)
        )


def _doubled(runs: pd.DataFrame) -> Iterator[str]:
    systems = [(marks, axes) for marks, axes in _AXES.items() if {*marks} <= {*runs}]
    names = list(dict.fromkeys(name for _, axes in systems for name in axes if name in runs))
    for marks, axes in systems:  # a run that a limit stopped has no measurements, but its axes
        rows = runs[runs[[name for name in marks if name in axes]].notna().all(axis=1)]
        if len(twice := rows[rows.duplicated(names)]):
            place = ", ".join(f"{name} {visible(str(twice.iloc[0][name]))}" for name in names)
            yield f"there are two rows of {place}"


def _is_list_of_numbers(text: str) -> bool:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, list) and bool(values) and all(type(one) in (int, float) for one in values)
