"""Traces and arrays that runs leave on disk while they work."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.files import write_bytes


class TraceLine(NamedTuple):
    """What the referee writes of an iterate; ``calls`` of oracles up to it, ``None`` where they are not counted."""

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
