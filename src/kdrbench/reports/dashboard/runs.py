"""What the page knows of each run: its row, in the order in which a reader asks, and its trace, thinned."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.reports.dashboard.cells import run_labels
from kdrbench.reports.records import IKDR, KPCA_TRICK, NO_KERNEL, read_traces
from kdrbench.reports.tables.labels import METRIC_TITLES, learner_name
from kdrbench.reports.tables.numbers import rounded

# A small plot cannot show more points of a trace than this.
POINTS_OF_A_TRACE = 50
# Columns by what they are about, in the order in which the details show them; all that no group names is provenance.
_GROUPS = {
    "Result": (
        "cost",
        "mean_cost",
        "quality",
        "train_accuracy",
        "feasibility",
        "stationarity",
        "curvature",
        "optimality",
    ),
    "Work": (
        "iterations",
        "n_starts",
        "rounds",
        "value_calls",
        "gradient_calls",
        "value_gradient_calls",
        "hessian_vector_calls",
        "hessian_calls",
        "surrogate_calls",
        "evaluation",
        "uses_degrees",
    ),
    "Time and memory": (
        "time_s",
        "cpu_s",
        "warm_s",
        "warm_cpu_s",
        "warm_iqr_s",
        "repeats",
        "wall_s",
        "memory_mib",
        "time_limit_s",
        "memory_limit_mib",
        "memory_meter",
        "unclocked_s",
        "evaluation_s",
        "unaccounted",
        "contaminated",
        "drift",
        "drifted",
        "load",
        "cores",
        "involuntary_switches",
    ),
    "Problem": (
        "paradigm",
        "split",
        "partition",
        "kernel_weights",
        "n_train",
        "n_test",
        "n_features",
        "n_constant_features",
        "n_components",
        "seed",
    ),
}
_PROVENANCE = "Provenance"
# A column of more values is no property of the environment.
_FEW = 20
# What the details show apart, in their heading.
_RESULTS = {"cost", "quality", "time_s"}
_HEADING = {"system", "experiment", "dataset", "kernel", "method", "run", "status", "message", "quality_metric"}


def all_runs(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the runs of all systems in one table, with the column ``system``.

    A system lacks the others' columns. Those that name a run, and its cost and quality, are always there.
    """
    runs = pd.concat([runs.assign(system=system) for system, runs in tables.items()], ignore_index=True)
    return runs.assign(**{column: None for column in sorted(_HEADING | _RESULTS) if column not in runs})


def run_data(runs: pd.DataFrame, traces: Path) -> dict[str, Any]:
    """Return columns, rows, groups of columns and traces, as the page's script reads them.

    ``names`` of a row are its labels: data set, kernel, method. ``traces`` of a run are lists of
    seconds, costs and stationarities of equal length, or ``None``.
    """
    columns = [str(name) for name in runs.columns]
    named = {name for group in _GROUPS.values() for name in group} | _HEADING
    groups = {title: [name for name in group if name in columns] for title, group in _GROUPS.items()}
    return {
        "columns": columns,
        "groups": groups | {_PROVENANCE: [name for name in columns if name not in named]},
        "rows": [[_plain(value) for value in row] for row in runs.itertuples(index=False, name=None)],
        "names": [list(_labels(row)) for row in runs.to_dict("records")],
        "metrics": METRIC_TITLES,
        "traces": _thin_traces(runs, traces),
    }


def environment_of(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Return where and with what runs were made: by column of their provenance the values that occur."""
    named = {name for group in _GROUPS.values() for name in group} | _HEADING | {"trace_file", "started_at", "drift"}
    columns = [str(name) for name in runs.columns if name not in named]
    return {name: sorted(set(map(str, runs[name].dropna()))) for name in columns if runs[name].nunique() <= _FEW}


def run_name(row: Mapping[Hashable, Any]) -> str:
    """Return the name that lists give to the run of a row of the table."""
    dataset, kernel, method = _labels(row)
    of_kernel = "" if row["system"] != IKDR or row["kernel"] == NO_KERNEL else f", {kernel} kernel"
    return f"{method}, {dataset}{of_kernel}, run {row['run']}"


def _labels(row: Mapping[Hashable, Any]) -> tuple[str, str, str]:
    """Return data set, kernel and method of a run as tables print them."""
    named = learner_name(row["learner"], row["variant"]) if row["system"] == KPCA_TRICK else row["method"]
    kernel, method = (word if isinstance(word, str) else "" for word in (row["kernel"], named))
    return run_labels(row["system"], row["dataset"], kernel, method)


def _thin_traces(runs: pd.DataFrame, folder: Path) -> list[list[list[float | None]] | None]:
    """Return each run's trace, but for those of redrawn partitions, which are many; files are read once each."""
    traces: list[list[list[float | None]] | None] = [None] * len(runs)
    redrawn = runs["partition"].to_numpy(dtype=float) > 0 if "partition" in runs else np.zeros(len(runs), dtype=bool)
    shown = np.flatnonzero(~redrawn)
    for place, points in read_traces(runs.iloc[shown], folder):
        lines = [(point["time_s"], point["cost"], point["stationarity"]) for point in points]
        traces[shown[place]] = _thin(np.array(lines, dtype=float))
    return traces


def _thin(points: np.ndarray) -> list[list[float | None]]:
    """Return the columns of at most :data:`POINTS_OF_A_TRACE` lines, evenly over log time, with first and last."""
    if len(points) > POINTS_OF_A_TRACE:
        # Times are in order; the first may be zero.
        logarithms = np.log(np.maximum(points[:, 0], points[1, 0] / 2 or 1e-9))
        places = np.linspace(logarithms[0], logarithms[-1], POINTS_OF_A_TRACE)
        points = points[np.unique(np.searchsorted(logarithms, places).clip(max=len(points) - 1))]
    digits = (4, 8, 4)
    return [
        [rounded(value, digit) for value in column] for column, digit in zip(points.T.tolist(), digits, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value of the table as JSON has it: whole numbers without a point, ``None`` for what is not there."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return int(number) if number.is_integer() and abs(number) < 1e15 else rounded(number, 8)
    return value.item() if isinstance(value, np.generic) else value
