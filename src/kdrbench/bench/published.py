"""Of which run the lines and arrays in a job's published files are.

This stands apart from :mod:`kdrbench.bench.traces`, on which the results of runs depend.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# What says of which run a line of a published trace is.
TRACE_KEYS = ("kernel", "solver", "fold")


def read_points(path: Path) -> dict[tuple[str, str, int], list[dict[str, Any]]]:
    """Read a published trace: by kernel, solver and fold the points of each run, in their order."""
    points: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        kernel, solver, fold = (point.pop(key) for key in TRACE_KEYS)
        points.setdefault((kernel, solver, fold), []).append(point)
    return points


def findings_prefix(kernel: str, solver: str) -> str:
    """Return what the names of a cell's arrays begin with in the file of what a job's runs found."""
    return f"{kernel}/{solver}/"
