"""Whether two merged tables of runs hold the same results: statuses equal, numbers to a relative difference of 1e-10.

    python benchmarks/compare_records.py before/ikdr.csv results/ikdr.csv --rename fold=run solver=method

Rows are matched by the columns that name a run. Times, memory and provenance are left out, since they differ between
machines and days. So are runs that a time limit ended. Exit code 1 if a row differs or is missing.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd

AXES = (
    "experiment", "dataset", "kernel", "method", "run", "learner", "variant", "task", "n_constraints", "varied",
    "value", "series",
)  # fmt: skip
# What decides whether two rows are the same result.
COMPARED = (
    "status", "cost", "quality", "feasibility", "stationarity", "curvature", "nmi_given", "iterations", "rounds",
    "accuracy", "n_coordinates", "nmi_one_start", "nmi_ten_starts", "sweeps", "changes", "kkt_residual", "divergence",
    "largest_violation", "disagreement", "condition", "n_components", "surrogate_calls", "gradient_calls",
)  # fmt: skip
# Differences from zero that rounding decides.
FLOOR = {
    "feasibility": 1e-13,
    "stationarity": 1e-9,
    "curvature": 1e-9,
    "kkt_residual": 1e-12,
    "largest_violation": 1e-12,
}
TOLERANCE = 1e-10


def differences(old: pd.DataFrame, new: pd.DataFrame) -> tuple[list[str], int]:
    """Return a line for each row that is missing and each column in which two rows differ, and the rows left out.

    Left out are runs that a time limit ended in one table or both: it falls where the clock says.
    """
    keys = [name for name in AXES if name in old and name in new]
    both = old.merge(new, on=keys, how="outer", suffixes=("", "_new"), indicator=True)
    lines = []
    for _, row in both[both["_merge"] != "both"].iterrows():
        lines.append(f"only in {'the first' if row['_merge'] == 'left_only' else 'the second'}: {_name(row, keys)}")
    pairs = both[both["_merge"] == "both"]
    limited = (pairs["status"] == "time_limit") | (pairs["status_new"] == "time_limit")
    pairs = pairs[~limited]
    for name in COMPARED:
        if name in keys or name not in old or name not in new:
            continue
        unequal = _unequal(pairs[name], pairs[f"{name}_new"], FLOOR.get(name, 0.0))
        for _, row in pairs[unequal].iterrows():
            lines.append(f"{name}: {row[name]} against {row[f'{name}_new']} in {_name(row, keys)}")
    return lines, int(limited.sum())


def _name(row: pd.Series, keys: list[str]) -> str:
    return "/".join(str(row[key]) for key in keys)


def _unequal(old: pd.Series, new: pd.Series, floor: float) -> np.ndarray:
    if old.dtype.kind in "fiub" and new.dtype.kind in "fiub":
        first, second = old.to_numpy(float), new.to_numpy(float)
        return ~np.isclose(second, first, rtol=TOLERANCE, atol=floor, equal_nan=True)
    return (old.fillna("").astype(str) != new.fillna("").astype(str)).to_numpy()


def main() -> int:
    """Compare the tables named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rename", nargs="*", default=[], help="Columns of the first table, as old=new.")
    parser.add_argument("--drop", nargs="*", default=[], help="Columns of either table to leave out.")
    arguments = parser.parse_args()
    renamed = dict(word.split("=") for word in arguments.rename)
    tables = (pd.read_csv(arguments.old).rename(columns=renamed), pd.read_csv(arguments.new))
    old, new = (table.drop(columns=arguments.drop, errors="ignore") for table in tables)
    lines, limited = differences(old, new)
    summary = f"{len(old)} rows against {len(new)}, {limited} at a time limit left out: {len(lines)} difference(s)"
    print("\n".join([*lines, summary]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
