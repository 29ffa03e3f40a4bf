"""What runs leave on disk while they work: traces, and the last iterate or clusters."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.files import write_bytes

# What says of which run a line of a published trace is.
TRACE_KEYS = ("kernel", "solver", "fold")


class TraceLine(NamedTuple):
    """What the referee writes of an iterate; ``calls`` of oracles up to it, ``None`` where nobody counts them."""

    time_s: float
    cost: float
    stationarity: float
    calls: int | None = None


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; a killed process leaves the old or the new one, whole."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_bytes(path, buffer.getvalue(), durable=False)


def read_array(path: Path) -> NDArray[Any] | None:
    """Read what :func:`save_array` wrote, or ``None`` if nothing was."""
    if not path.exists():
        return None
    array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


def read_trace(path: Path) -> list[TraceLine]:
    """Read the whole lines of a trace."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [TraceLine(*json.loads(line)) for line in lines]


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
