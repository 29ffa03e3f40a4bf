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
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DamagedError, in_words
from kdrbench.suite.archive.folder import ARRAYS, PackedFolder, Writer
from kdrbench.suite.engine.recomputed import NOT_STORED
from kdrbench.suite.engine.run_files import array_of
from kdrbench.suite.systems.league.system import COMPARED_MAPS

Arrays = dict[str, NDArray[Any]]
# Of each cell's projections, in bytes of float32, what is stored at most beside those of the first run.
MOST_OF_A_CELL = 14 * 1024
_COLUMNS = ("job", "name", "type", "stored", "shape", "begin", "of")
# By type and values of an array: the experiment in whose file they are, and where they begin.
Places = dict[tuple[str, bytes], tuple[str, int]]
_PROJECTION = re.compile(r"(?P<cell>.*/)(?P<kind>projection(?:_[0-9]+)?)_(?P<run>[0-9]+)")
_PLACEHOLDER = re.compile(rf"(?P<cell>.*/){NOT_STORED}_(?P<run>[0-9]+)")


@dataclass
class ArrayWriter:
    """The arrays of one experiment beside those in ``places``."""

    experiment: str
    places: Places
    n_left_out: int = 0
    _lines: list[tuple[Any, ...]] = field(default_factory=list)
    _values: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    _sizes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _of_cells: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, job: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays of a job; those of a cell come in the order of its runs."""
        for name, array in arrays.items():
            projection, placeholder = _PROJECTION.fullmatch(name), _PLACEHOLDER.fullmatch(name)
            if projection and array.dtype == np.float64:
                array = array.astype(np.float32)
            left_out = [name] if projection and self._is_too_much(projection, array) else []
            if placeholder:
                left_out = [f"{placeholder['cell']}{kind}_{placeholder['run']}" for kind in array.ravel()]
            self.n_left_out += len(left_out)
            self._lines += [(job, absent, *[""] * 5) for absent in left_out]
            if not left_out:
                self._lines.append((job, name, type_name(array.dtype), *self._store(array)))

    def _is_too_much(self, name: re.Match[str], array: NDArray[Any]) -> bool:
        """Return whether a projection is too much for its cell, whose runs come in their order."""
        sizes = self._of_cells[name["cell"] + name["kind"]]
        sizes.append(array.nbytes)
        fewest = 1 if name["kind"] == "projection" else COMPARED_MAPS
        return len(sizes) > fewest and sum(sizes) > MOST_OF_A_CELL

    def _store(self, array: NDArray[Any]) -> tuple[str, str, int, str]:
        """Return the type of the values, their shape, and where they begin in the file of another, if not in ours."""
        flat = _smallest(array.ravel())
        kind = type_name(flat.dtype)
        key = kind, flat.tobytes()
        if key not in self.places:
            self.places[key] = self.experiment, self._sizes[kind]
            self._sizes[kind] += flat.size
            self._values[kind].append(flat)
        of, begin = self.places[key]
        return kind, "x".join(map(str, array.shape)), begin, "" if of == self.experiment else of

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
    files: dict[str, NDArray[Any]] = {}
    for number, line in enumerate(packed.rows(f"{ARRAYS}/{experiment}.csv"), 2):
        try:
            name, array = _array(packed, experiment, line, files)
            if f"/{NOT_STORED}_" in name and name in jobs[line["job"]]:
                array = np.concatenate([jobs[line["job"]][name], array])
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(
                f"{packed.place}: line {number} of {ARRAYS}/{experiment}.csv names no array ({in_words(error)})"
            ) from error
        jobs[line["job"]][name] = array
    return jobs


def _array(
    packed: PackedFolder, experiment: str, line: Mapping[str, str], files: dict[str, NDArray[Any]]
) -> tuple[str, NDArray[Any]]:
    """Return the name of an array and the array; ``files`` are those that were read before."""
    if not line["stored"]:
        if not (name := _PROJECTION.fullmatch(line["name"])):
            raise ValueError(f"{line['name'][:100]} is not stored")
        return f"{name['cell']}{NOT_STORED}_{name['run']}", np.array([name["kind"]])
    file = f"{ARRAYS}/{line['of'] or experiment}.{line['stored']}.npy"
    if file not in files:
        files[file] = array_of(packed.content(file), file)
    sizes, begin = line["shape"].rstrip("F"), int(line["begin"])
    shape = tuple(map(int, sizes.split("x"))) if sizes else ()
    flat = files[file][begin : begin + math.prod(shape)].astype(np.dtype(line["type"]), casting="safe")
    return line["name"], flat.reshape(shape, order="F" if line["shape"].endswith("F") else "C")


def type_name(dtype: np.dtype[Any]) -> str:
    """Return how files name a type: f4, f8, i1, U12."""
    return dtype.str.lstrip("<>|=")


def _smallest(flat: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest signed type that holds them; anything else as it is."""
    if flat.dtype.kind != "i" or not flat.size:
        return flat
    # A negative number needs a signed type, and ~most as many bits as most.
    return flat.astype(np.min_scalar_type(min(flat.min(), ~flat.max())))
