"""The files of one run: its trace, arrays and results, and the checkpoint that an interrupted run goes on from."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.untrusted import UnreadableError, array_in, arrays_in, claim_folder, is_number, lines_of, remove
from kdrbench.files import write_bytes

if TYPE_CHECKING:
    from kdrbench.solvers.monitor import State

_CLOCK = "clock"
# Bytes of some three million iterates; a run notes no more than that.
MOST_TRACE = 2**28


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

    @property
    def missing_module(self) -> Path:
        """The name of the module that the run could not import."""
        return self.folder / "missing_module.txt"

    def array(self, name: str) -> Path:
        """Return the place of an array that the run leaves, for instance its projection."""
        return self.folder / f"{name}.npy"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays that the run has left, by name."""
        arrays = {path.stem: read_array(path) for path in sorted(self.folder.glob("*.npy"))}
        return {name: array for name, array in arrays.items() if array is not None}

    def clear(self) -> None:
        """Make room for a run: one that has a checkpoint keeps that, its trace and its last iterate."""
        claim_folder(self.folder)
        if kept_checkpoint(self.checkpoint) is None:
            remove(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (self.results, self.missing_module):
            remove(path)


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
    """Read what :func:`save_array` wrote, or ``None`` if nothing was; ``UnreadableError`` for anything else."""
    return array_in(path)


def read_trace(path: Path) -> list[TraceLine]:
    """Read the whole lines of a trace; raises ``UnreadableError`` for anything else."""
    return list(trace_lines(path))


def trace_lines(path: Path) -> Iterator[TraceLine]:
    """Yield the whole lines of a trace, one at a time; see :func:`read_trace`."""
    for number, values in enumerate(lines_of(path, MOST_TRACE), 1):
        if not _is_trace_line(values):
            raise UnreadableError(f"line {number} of {path.name} is none of a trace: {str(values)[:60]}")
        yield TraceLine(*values)


def _is_trace_line(values: object) -> bool:
    """Return whether these are three numbers and, if counted, the calls."""
    if not isinstance(values, list) or not 3 <= len(values) <= 4 or not all(map(is_number, values[:3])):
        return False
    calls = values[3] if len(values) == 4 else None
    return values[0] >= 0 and (calls is None or (is_number(calls) and isinstance(calls, int)))


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
    """Read what :func:`write_checkpoint` wrote, or ``None`` if nothing was; ``UnreadableError`` for anything else."""
    arrays = arrays_in(path)
    if arrays is None:
        return None
    clock = arrays.pop(_CLOCK, None)
    if clock is None or clock.shape != (3,) or clock.dtype != float or not (clock >= 0).all():
        raise UnreadableError(f"{path.name} has no clock")
    wall_s, cpu_s, iterations = clock.tolist()
    if not all(map(is_number, (wall_s, cpu_s, iterations))):
        raise UnreadableError(f"{path.name} has a clock of {wall_s}, {cpu_s} s and {iterations} iterations")
    return Checkpoint(wall_s, cpu_s, int(iterations), arrays)


def kept_checkpoint(path: Path) -> Checkpoint | None:
    """Read a checkpoint as :func:`read_checkpoint` does, and remove one that cannot be read: the run begins again."""
    try:
        return read_checkpoint(path)
    except UnreadableError:
        remove(path)
        return None
