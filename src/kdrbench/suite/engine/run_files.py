"""The files of one run: its trace, arrays and results, and the checkpoint that an interrupted run goes on from."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import zlib
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DamagedError, text_of
from kdrbench.files import flush, replacing, write_text
from kdrbench.suite.engine.record import no_number

if TYPE_CHECKING:
    from kdrbench.solvers.monitor import State

_CLOCK = "clock"
# Two costs of one projection differ by less, relatively.
_COST = 1e-9
# Bytes of some three million iterates; a run notes no more than that.
MOST_TRACE = 2**28


class UnreadableError(DamagedError):
    """A file of a run that is torn or malformed; the message says what it holds."""


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

    def clear(self) -> Checkpoint | None:
        """Make room for a run: one that has a checkpoint keeps that, its trace and its last iterate; return it."""
        kept = kept_checkpoint(self.checkpoint)
        if kept is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (self.results, self._evidence):
            path.unlink(missing_ok=True)
        return kept

    def seal(self) -> None:
        """Flush trace and arrays of a run that has ended to disk, and note their hashes: what its rows rest on."""
        hashes = self._hashes()
        for name in hashes:
            flush(self.folder / name)
        write_text(self._evidence, json.dumps(hashes))
        flush(self.folder.parent)

    def fault(self) -> str | None:
        """Return what is wrong with the trace and the arrays of a run that has rows, unless they are those sealed."""
        if not self.folder.is_dir():
            return "is missing"
        if not self._evidence.is_file():
            return "does not say which files its run left"
        try:
            sealed, found = json.loads(self._evidence.read_bytes()), self._hashes()
        except (OSError, ValueError):
            return "holds files that cannot be read"
        return None if sealed == found else "does not hold the files that its run left"

    def fault_of_checkpoint(self) -> str | None:
        """Return what keeps an unfinished run from going on from its checkpoint, if it has one."""
        if not self.checkpoint.exists():
            return None
        try:
            read_checkpoint(self.checkpoint)
            self.arrays()
        except (UnreadableError, OSError) as error:
            return f"holds no readable state of its unfinished run ({error})"
        return None

    @property
    def _evidence(self) -> Path:
        return self.folder / "evidence.json"

    def _hashes(self) -> dict[str, str]:
        paths = sorted([*self.folder.glob(self.trace.name), *self.folder.glob("*.npy")])
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}


class TraceLine(NamedTuple):
    """What the referee writes of an iterate; ``calls`` of oracles up to it, ``None`` where they are not counted."""

    time_s: float
    cost: float
    stationarity: float
    calls: int | None = None


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; a killed process leaves the old or the new one, whole."""
    with replacing(path, durable=False) as stream:
        np.save(stream, array, allow_pickle=False)


def read_array(path: Path) -> NDArray[Any] | None:
    """Read what :func:`save_array` wrote, or ``None`` if nothing was; ``UnreadableError`` for anything else."""
    return array_of(path.read_bytes(), path.name) if path.exists() else None


def take_array(path: Path) -> NDArray[Any] | None:
    """Read an array as :func:`read_array` does, and remove its file."""
    array = read_array(path)
    path.unlink(missing_ok=True)
    return array


def array_of(content: bytes, name: str) -> NDArray[Any]:
    """Return the array that the bytes of a file called ``name`` hold; nothing is unpickled."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:
        # Whatever NumPy raises for damaged bytes.
        raise UnreadableError(f"{name} is no array of NumPy's: {text_of(error)}") from None
    if not isinstance(array, np.ndarray):
        raise UnreadableError(f"{name} is no array of NumPy's")
    return array


def arrays_in(path: Path, *, wanted: Collection[str] | None = None) -> dict[str, NDArray[Any]] | None:
    """Read the arrays of an archive by name, of the ``wanted`` names if given; ``None`` if there is no file.

    Raises ``UnreadableError`` for a damaged archive or array.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if wanted is None or name in wanted}
    except Exception as error:
        # Whatever NumPy raises for damaged bytes.
        raise UnreadableError(f"{path.name} is no archive of arrays: {text_of(error)}") from error


def lines_of(path: Path) -> Iterator[Any]:
    """Yield the values of a file of JSON lines; an unfinished last line is left out.

    Raises ``UnreadableError`` for a line that is none.
    """
    if not path.exists():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line.decode("utf-8"), parse_constant=no_number)
            except (ValueError, RecursionError):
                raise UnreadableError(f"line {number} of {path.name} is not JSON: {line[:60]!r}") from None


def read_trace(path: Path) -> list[TraceLine]:
    """Read the whole lines of a trace; raises ``UnreadableError`` for one that is not JSON."""
    return list(trace_lines(path))


def trace_lines(path: Path) -> Iterator[TraceLine]:
    """Return the whole lines of a trace, to be read one at a time; see :func:`read_trace`."""
    return (TraceLine(*values) for values in lines_of(path))


def end_trace_at(path: Path, cost: float) -> None:
    """Drop the last line of a trace where the one before has the ``cost`` of the array that the run has left.

    A run that was killed between both files has noted an iterate and not kept it. Costs are compared to 1e-9.
    """
    ends = [math.isclose(line.cost, cost, rel_tol=_COST) for line in deque(trace_lines(path), maxlen=2)]
    if ends == [True, False]:
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        os.truncate(path, sum(map(len, whole[:-1])))


@dataclass(frozen=True)
class Checkpoint:
    """The solver's ``state``, its seconds and iterations up to there."""

    wall_s: float
    cpu_s: float
    iterations: int
    state: State


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, with the length and CRC-32 of the trace beside it.

    A killed process leaves the old or the new one, whole.
    """
    trace = _trace_beside(path)
    clock = np.array([checkpoint.wall_s, checkpoint.cpu_s, float(checkpoint.iterations), len(trace), zlib.crc32(trace)])
    with replacing(path) as stream:
        np.savez(stream, allow_pickle=False, **{_CLOCK: clock}, **checkpoint.state)


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Read what :func:`write_checkpoint` wrote, or ``None`` if nothing was.

    Raises ``UnreadableError`` for anything else, and where the trace beside it has lost the lines written before it.
    """
    arrays = arrays_in(path)
    if arrays is None:
        return None
    clock = arrays.pop(_CLOCK, None)
    if clock is None or clock.shape != (5,) or clock.dtype != float or not (np.isfinite(clock) & (clock >= 0)).all():
        raise UnreadableError(f"{path.name} has no clock")
    wall_s, cpu_s, iterations, length, check = clock.tolist()
    trace = _trace_beside(path)
    if len(trace) < length or zlib.crc32(trace[: int(length)]) != check:
        raise UnreadableError(f"the trace beside {path.name} is not the one that the checkpoint was written with")
    return Checkpoint(wall_s, cpu_s, int(iterations), arrays)


def _trace_beside(checkpoint: Path) -> bytes:
    trace = RunFiles(checkpoint.parent).trace
    return trace.read_bytes() if trace.exists() else b""


def kept_checkpoint(path: Path) -> Checkpoint | None:
    """Read a checkpoint as :func:`read_checkpoint` does, and remove one that cannot be read: the run begins again."""
    try:
        return read_checkpoint(path)
    except UnreadableError:
        path.unlink()
        return None
