"""The files of one run: its trace, arrays and results, and the checkpoint that an interrupted run goes on from."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.files import write_bytes

if TYPE_CHECKING:
    from kdrbench.solvers.monitor import State

_CLOCK = "clock"


@dataclass(frozen=True)
class RunFiles:
    """The files of one run: all that is left of it when its process is killed."""

    folder: Path

    @property
    def trace(self) -> Path:
        """Lines of seconds, cost, relative stationarity and calls of oracles."""
        return self.folder / "trace.jsonl"

    @property
    def results(self) -> Path:
        """A line for each result that the run has handed over; the last one of a key counts."""
        return self.folder / "results.jsonl"

    @property
    def checkpoint(self) -> Path:
        """The state from which an interrupted run goes on."""
        return self.folder / "checkpoint.npz"

    def array(self, name: str) -> Path:
        """Return the place of an array that the run leaves, for instance its projection."""
        return self.folder / f"{name}.npy"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that the run has left, by name."""
        arrays = {path.stem: read_array(path) for path in sorted(self.folder.glob("*.npy"))}
        return {name: array for name, array in arrays.items() if array is not None}

    def clear(self) -> None:
        """Make room for a run: one that has a checkpoint keeps that, its trace and its last iterate."""
        if not self.checkpoint.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results.unlink(missing_ok=True)


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
