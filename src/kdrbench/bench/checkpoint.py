"""What an interrupted run goes on from: its solver's state and the clock that it is charged by."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kdrbench.files import write_bytes

if TYPE_CHECKING:
    from kdrbench.solvers.monitor import State

_CLOCK = "clock"


@dataclass(frozen=True)
class Checkpoint:
    """The solver's ``state``, its seconds and iterations up to there."""

    wall_s: float
    cpu_s: float
    iterations: int
    state: State


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a killed process leaves the old or the new one, whole."""
    clock = np.array([checkpoint.wall_s, checkpoint.cpu_s, float(checkpoint.iterations)])
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_CLOCK: clock}, **checkpoint.state)
    write_bytes(path, buffer.getvalue())


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Read what :func:`write_checkpoint` wrote, or ``None`` if nothing was."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    wall_s, cpu_s, iterations = arrays.pop(_CLOCK)
    return Checkpoint(float(wall_s), float(cpu_s), int(iterations), arrays)
