"""The arrays that runs leave, packed: each value once, projections in float32, of large ones the first runs alone.

An experiment has a table that names each of its arrays, and a file for each type of numbers, in which values follow
each other. Those that an earlier experiment has are in its file alone, and the line names it. What is not stored has a
line without a place: whoever reads the record can say so.
"""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DamagedError, in_words, visible
from kdrbench.suite.archive.folder import ARRAYS, PackedFolder, Writer
from kdrbench.suite.engine.run_files import UnreadableError, array_of

Arrays = dict[str, NDArray[Any]]
# What of each cell is stored at most, in bytes of float32, beside the projection of its first run.
MOST_OF_A_CELL = 28 * 1024
# The kind of the array that takes the place of one that is not stored, and holds its kind.
NOT_STORED = "not_stored"
_COLUMNS = ("job", "name", "type", "stored", "shape", "begin", "of")
# By type and values of an array: the experiment in whose file they are, and where they begin.
Places = dict[tuple[str, bytes], tuple[str, int]]
_PROJECTION = re.compile(r"(?P<cell>.*/)(?P<kind>projection(?:_[0-9]+)?)_(?P<run>[0-9]+)")
_SAID_NOT_STORED = re.compile(rf"(?P<cell>.*/){NOT_STORED}_(?P<run>[0-9]+)")
_SMALL_INTEGERS = [np.dtype(f"i{size}") for size in (1, 2, 4, 8)]


@dataclass
class ArrayWriter:
    """The arrays of one experiment beside those in ``places``; ``whole`` keeps all of them as they are."""

    experiment: str
    places: Places
    whole: bool = False
    most_of_a_cell: int = MOST_OF_A_CELL
    n_left_out: int = 0
    _lines: list[tuple[Any, ...]] = field(default_factory=list)
    _values: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    _sizes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _of_cells: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, job: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays of a job; those of a cell come in the order of its runs."""
        for name, array in arrays.items():
            if said := _SAID_NOT_STORED.fullmatch(name):
                self._leave_out(job, f"{said['cell']}{array.item()}_{said['run']}")
                continue
            is_projection = _PROJECTION.fullmatch(name)
            if is_projection and array.dtype == np.float64 and not self.whole:
                array = array.astype(np.float32) if is_projection["kind"] == "projection" else _for_angles(array)
            if is_projection and self._is_too_much(is_projection, array):
                self._leave_out(job, name)
            else:
                shape = "x".join(map(str, array.shape)) + ("F" if _in_columns(array) else "")
                self._lines.append((job, name, type_name(array.dtype), *self._store(array, shape)))

    def _leave_out(self, job: str, name: str) -> None:
        self.n_left_out += 1
        self._lines.append((job, name, *[""] * 5))

    def _is_too_much(self, named: re.Match[str], array: NDArray[Any]) -> bool:
        """Return whether a projection of IKDR is too much for its cell; tables of a league are made of its others."""
        if self.whole or named["kind"] != "projection":
            return False
        before = self._of_cells[named["cell"]]
        self._of_cells[named["cell"]] += array.nbytes
        return before > 0 and before + array.nbytes > self.most_of_a_cell

    def _store(self, array: NDArray[Any], shape: str) -> tuple[str, str, int, str]:
        """Return the type of the values, their shape, and where they begin in the file of another, if not in ours."""
        flat = _smallest(array.ravel(order="F" if _in_columns(array) else "C"))
        kind = type_name(flat.dtype)
        key = kind, flat.tobytes()
        if key not in self.places:
            self.places[key] = self.experiment, self._sizes[kind]
            self._sizes[kind] += flat.size
            self._values[kind].append(flat)
        of, begin = self.places[key]
        return kind, shape, begin, "" if of == self.experiment else of

    def write(self, writer: Writer) -> None:
        """Write the table and the values."""
        if not self._lines:
            return
        writer.table(f"{ARRAYS}/{self.experiment}.csv", _COLUMNS, self._lines)
        for kind, values in sorted(self._values.items()):
            buffer = io.BytesIO()
            np.save(buffer, np.concatenate(values), allow_pickle=False)
            writer.add(f"{ARRAYS}/{self.experiment}.{kind}.npy", buffer.getvalue())


def read_arrays(packed: PackedFolder, experiment: str) -> dict[str, Arrays]:
    """Return by job the arrays of an experiment; one that is not stored has another in its place that says so.

    Raises ``DamagedError`` for a line that names no array of the record.
    """
    if f"{experiment}.csv" not in packed.names(ARRAYS):
        return {}
    jobs: dict[str, Arrays] = defaultdict(dict)
    stored = _Stored(packed, experiment)
    for number, line in enumerate(packed.rows(f"{ARRAYS}/{experiment}.csv"), 2):
        with _naming(packed, experiment, number):
            name, array = stored.array(line)
            if name in jobs[line["job"]]:
                raise ValueError(f"{name} is there already")
            jobs[line["job"]][name] = array
    return jobs


@contextmanager
def _naming(packed: PackedFolder, experiment: str, number: int) -> Iterator[None]:
    """Raise what goes wrong at a line of an experiment's table of arrays as ``DamagedError``."""
    try:
        yield
    except (KeyError, ValueError, TypeError) as error:
        raise DamagedError(
            f"{packed.place}: line {number} of {ARRAYS}/{experiment}.csv names no array ({in_words(error)})"
        ) from error


@dataclass(frozen=True)
class _Stored:
    packed: PackedFolder
    experiment: str
    _read: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)

    def array(self, line: Mapping[str, str]) -> tuple[str, NDArray[Any]]:
        """Return the name of an array and the array."""
        name = line["name"]
        if not line["stored"]:
            return _said_not_stored(name)
        in_columns, shape = line["shape"].endswith("F"), _shape(line)
        begin, size = int(line["begin"]), math.prod(shape)
        values = self._values(line["of"] or self.experiment, line["stored"])
        if begin + size > len(values):
            raise ValueError(f"its values {begin} to {begin + size} of {len(values)} have the shape {line['shape']}")
        flat = values[begin : begin + size].astype(np.dtype(line["type"]), casting="safe")
        return name, flat.reshape(shape, order="F" if in_columns else "C")

    def _values(self, experiment: str, kind: str) -> NDArray[Any]:
        if (experiment, kind) not in self._read:
            name = f"{ARRAYS}/{experiment}.{kind}.npy"
            try:
                values = array_of(self.packed.content(name), name)
            except UnreadableError as error:
                raise DamagedError(str(error)) from error
            if values.ndim != 1 or type_name(values.dtype) != kind:
                raise DamagedError(f"{name} holds {values.dtype} of shape {values.shape}")
            self._read[experiment, kind] = values
        return self._read[experiment, kind]


def type_name(dtype: np.dtype[Any]) -> str:
    """Return how files name a type: f4, f8, i1, U12."""
    return dtype.str.lstrip("<>|=")


def _shape(line: Mapping[str, str]) -> tuple[int, ...]:
    sizes = line["shape"].rstrip("F")
    return tuple(map(int, sizes.split("x"))) if sizes else ()


def _for_angles(projection: NDArray[Any]) -> NDArray[Any]:
    """Return a projection of a league in float32 with 16 significant bits, of which xz needs two thirds of the room.

    Tables compare folds by angles in whole degrees, which this moves by less than 1e-3.
    """
    near = projection.astype(np.float32)
    rounded = ((near.view(np.uint32) + np.uint32(0x80)) & np.uint32(0xFFFFFF00)).view(np.float32)
    # What is not finite, or would no longer be so, stays as it was.
    np.copyto(rounded, near, where=~np.isfinite(rounded))
    return rounded


def _said_not_stored(name: str) -> tuple[str, NDArray[Any]]:
    named = _PROJECTION.fullmatch(name)
    if not named:
        raise ValueError(f"{visible(name[:100])} is not stored")
    return f"{named['cell']}{NOT_STORED}_{named['run']}", np.array([named["kind"]])


def _in_columns(array: NDArray[Any]) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _smallest(flat: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest type that holds them; anything else as it is."""
    if flat.dtype.kind != "i" or not flat.size:
        return flat
    least, most = int(flat.min()), int(flat.max())
    kind = next(kind for kind in _SMALL_INTEGERS if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
    return flat.astype(kind)
