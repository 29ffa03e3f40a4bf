"""Where samples and labels may be: sparse matrices, mapped files, Zarr or Dask arrays, or chunks read in each pass."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError, counted
from kdrbench.samples.base import ArraySamples, Cluster, FloatArray, Samples, checked_shape

# Mapped files are read as arrays up to this size in double precision.
_HELD_BYTES = 2**30
# Labels at a time; more classes than this are no classes.
_LABELS, _MOST_CLASSES = 2**18, 2**15 - 1
Codes = NDArray[np.signedinteger[Any]]
_Chunk = tuple[NDArray[np.generic], NDArray[np.generic] | None]


class FileSamples(Samples):
    """The rows of a :class:`numpy.memmap` in C order, read from its file: what is read does not stay mapped.

    Raises ``InputError`` where the file is not what it was when these samples were made.
    """

    def __init__(self, mapped: np.memmap[Any, Any]) -> None:
        self.shape, self.dtype = checked_shape(mapped.shape, mapped.dtype), mapped.dtype
        root: Any = mapped
        while isinstance(root.base, np.ndarray):
            root = root.base
        # A part of a mapped array begins where its first byte is.
        self._offset = int(root.offset) + mapped.ctypes.data - root.ctypes.data
        self._name, self._state = str(mapped.filename), self._state_of(str(mapped.filename))

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        count, width = rows.stop - rows.start, self.shape[1]
        begin = self._offset + rows.start * width * self.dtype.itemsize
        if self._state_of(self._name) != self._state:
            raise InputError(
                f"{self._name} was changed while its samples were in use (from size {self._state[0]} to "
                f"{self._state_of(self._name)[0]} bytes); leave the file as it is until the fit has ended"
            )
        values = np.fromfile(self._name, self.dtype, count * width, offset=begin)
        return values.reshape(count, width).astype(np.float64, copy=False)

    @staticmethod
    def _state_of(name: str) -> tuple[int, int]:
        try:
            found = Path(name).stat()
        except OSError as error:
            raise InputError(f"the file of these samples cannot be read: {error}") from error
        return found.st_size, found.st_mtime_ns


class SparseSamples(Samples):
    """The rows of a sparse matrix or array of scipy, n x d, held in compressed rows."""

    def __init__(self, matrix: Any) -> None:
        self.shape, self.dtype = checked_shape(matrix.shape, matrix.dtype), matrix.dtype
        self._matrix = matrix.tocsr()

    def __sizeof__(self) -> int:
        held = (self._matrix.data, self._matrix.indices, self._matrix.indptr)
        return object.__sizeof__(self) + sum(int(array.nbytes) for array in held)

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows as a dense array."""
        return np.ascontiguousarray(self._matrix[rows].toarray(), dtype=np.float64)

    def part(self, rows: slice) -> SparseSamples:
        """Return some of the samples, of which a pickle holds these only."""
        return SparseSamples(self._matrix[rows])


class LazySamples(Samples):
    """A Zarr or Dask array, of which some rows are read or computed when they are asked for."""

    def __init__(self, array: Any) -> None:
        if any(size != size for size in array.shape):
            raise InputError("the Dask array does not know its shape; call its compute_chunk_sizes() first")
        self.shape, self.dtype, self._array = checked_shape(array.shape, array.dtype), array.dtype, array

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return np.asarray(read(self._array, rows), dtype=np.float64)

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks; those of a Dask array are computed once, and held by the workers."""
        if not hasattr(self._array, "dask"):
            return super().place(blocks, cluster)
        return cluster.make(ArraySamples, cluster.compute([self._array[block] for block in blocks]))


class ChunkSamples(Samples):
    """Chunks of rows, X or pairs (X, y), that ``source()`` yields in the same order and with the same bits each time.

    One chunk is held. Where rows are asked for again, the source is asked to begin again. The first pass counts the
    rows, and later ones must find the same: chunks are compared by a checksum.

    Raises ``InputError`` for chunks that are no tables of one width, and for a source that changes.
    """

    in_order = True
    _held: NDArray[Any]

    def __init__(self, source: Callable[[], Iterable[Any]]) -> None:
        self._source, self._lock = source, Lock()
        widths, kinds, self._sums, labels = set[int](), set[np.dtype](), list[tuple[int, int]](), list[Any]()
        for number, (chunk, of_chunk) in enumerate(_pairs(source)):
            widths = widths or {chunk.shape[1]}
            if chunk.shape[1] not in widths:
                raise InputError(
                    f"chunk {number} has {chunk.shape[1]} columns, those before have {widths.pop()}; all chunks must "
                    "have the same features"
                )
            if number and (of_chunk is None) != (not labels):
                raise InputError(f"chunk {number} differs from those before in whether it is a pair (X, y) with labels")
            if of_chunk is not None:
                labels.append(np.array(of_chunk))
            kinds.add(chunk.dtype)
            self._sums.append((len(chunk), zlib.crc32(np.ascontiguousarray(chunk).data)))
        rows = [size for size, _ in self._sums]
        dtype = np.result_type(*kinds) if kinds else np.dtype(np.float64)
        self.shape, self.dtype = checked_shape((sum(rows), *widths) if widths else (0, 0), dtype), dtype
        self.labels: NDArray[np.generic] | None = np.concatenate(labels) if labels else None
        self._restart()

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows, going on from those before or beginning again."""
        with self._lock:
            if rows.start < self._begin:
                self._restart()
            found: list[NDArray[Any]] = []
            while True:
                found.append(self._held[max(0, rows.start - self._begin) : max(0, rows.stop - self._begin)])
                if self._begin + len(self._held) >= rows.stop:
                    break
                self._begin += len(self._held)
                self._held = next(self._chunks)
            if rows.stop == len(self):
                # No chunk may follow.
                next(self._chunks, None)
        parts = [np.asarray(part, dtype=np.float64) for part in found if len(part)]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _restart(self) -> None:
        self._chunks, self._begin = self._checked(), 0
        self._held = np.empty((0, self.shape[1]))

    def _checked(self) -> Iterator[NDArray[np.generic]]:
        """Yield the chunks of one pass, each compared with that of the first pass."""
        for number, (known, pair) in enumerate(zip_longest(self._sums, _pairs(self._source))):
            if known is None or pair is None or known != (len(pair[0]), zlib.crc32(np.ascontiguousarray(pair[0]).data)):
                raise InputError(
                    f"chunk {number} is not what it was in the first pass; the source must yield the same chunks in "
                    "the same order each time it is passed over: fix its seed, do not shuffle, or write it to a file"
                )
            yield pair[0]

    def __getstate__(self) -> dict[str, Any]:
        raise InputError(
            "an iterable of chunks is read by the process that made it; write it to a Zarr array or a file for other "
            "processes to read"
        )


def is_streamed(given: Any) -> bool:
    """Return whether samples are to be read in passes and not held: all but arrays, and mapped files from 1 GiB on.

    Smaller mapped files are arrays like others, as joblib makes them for its workers.
    """
    if isinstance(given, np.memmap):
        return given.size * 8 >= _HELD_BYTES
    return isinstance(given, Samples) or _is_lazy(given) or callable(given) or _is_chunks(given)


def samples_of(given: Any) -> Samples:
    """Return the samples in an array, dense or sparse, a :class:`numpy.memmap`, a Zarr or Dask array, or chunks.

    Chunks are a list of tables, any iterable that can be passed over again, or a function without arguments that
    returns an iterator. Tables may come as pairs (X, y) with their labels.

    Raises ``InputError`` for an iterator, which can be passed over once only.
    """
    if isinstance(given, Samples):
        return given
    if isinstance(given, np.memmap) and given.flags.c_contiguous and given.mode != "c" and given.filename:
        return FileSamples(given)
    if _is_lazy(given):
        return LazySamples(given)
    if callable(given):
        return ChunkSamples(given)
    if _is_chunks(given):
        if iter(given) is given:
            raise InputError(
                "an iterator can be passed over once, and a fit takes many passes; give a function that returns a new "
                "iterator each time, such as lambda: chunks_of(path), or a list of chunks"
            )
        return ChunkSamples(lambda: given)
    return SparseSamples(given) if hasattr(given, "tocsr") else ArraySamples(np.asarray(given))


def _is_lazy(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] in ("zarr", "dask") and hasattr(given, "chunks")


def _is_chunks(given: Any) -> bool:
    if isinstance(given, list | tuple):
        first = given[0] if given else None
        first = first[0] if isinstance(first, tuple) and len(first) == 2 else first
        return isinstance(first, np.ndarray) and first.ndim == 2
    arrays = ("__array__", "__array_interface__", "__dataframe__", "toarray")
    return (
        hasattr(given, "__iter__")
        and not isinstance(given, str | Mapping)
        and not any(map(partial(hasattr, given), arrays))
    )


def read(array: Any, rows: slice) -> NDArray[np.generic]:
    """Return some rows of an array in memory or not; those of a Dask array are computed by this thread.

    Those that a cluster holds are computed there, by the client that is in use.
    """
    part = array[rows]
    if not hasattr(part, "dask"):
        return np.asarray(part)
    distributed = sys.modules.get("distributed")
    persisted = distributed is not None and bool(distributed.futures_of(part))
    return np.asarray(part.compute() if persisted else part.compute(scheduler="synchronous"))


def _pairs(source: Callable[[], Iterable[Any]]) -> Iterator[_Chunk]:
    """Yield features and labels of each chunk that has rows."""
    for number, chunk in enumerate(source()):
        features, labels = chunk if isinstance(chunk, tuple) and len(chunk) == 2 else (chunk, None)
        features = np.asarray(features)
        if features.ndim != 2:
            raise InputError(f"chunk {number} must be a table of rows, or a pair of it and labels; got {chunk!r:.80}")
        if labels is not None and len(labels) != len(features):
            raise InputError(f"chunk {number} has {len(features)} rows but {len(labels)} labels")
        if len(features):
            checked_shape(features.shape, features.dtype)
            yield features, None if labels is None else np.asarray(labels)


def coded_labels(labels: Any) -> tuple[NDArray[np.generic], Codes]:
    """Return the sorted classes of n labels, and each label's place among them in the smallest signed type.

    ``labels`` is an array, in memory or not. Beyond it, n codes are held.

    Raises ``InputError`` for labels that are NaN or infinite, of types that cannot be sorted, of one class only, or of
    too many classes to be labels.
    """
    labels = labels if hasattr(labels, "shape") else np.asarray(labels)
    n_labels, classes = int(labels.shape[0]), np.empty(0)
    try:
        for begin, chunk in _label_chunks(labels):
            found = np.unique(chunk)
            classes = found if begin == 0 else np.unique(np.concatenate([classes, found]))
            if len(classes) > _MOST_CLASSES and len(classes) > 2 + n_labels // 2:
                raise InputError(
                    f"the first {begin + len(chunk)} labels are of {len(classes)} classes; labels must name classes, "
                    "and numbers are no labels unless target_kernel is given"
                )
    except TypeError as error:
        raise InputError(f"labels of one column must be of one type, none missing: {error}") from error
    if len(classes) < 2:
        count = counted(len(classes), "class", "classes")
        raise InputError(f"labels must name at least 2 classes, got {count}: {classes.tolist()}")
    codes = np.empty(n_labels, dtype=small_type(len(classes)))
    for begin, chunk in _label_chunks(labels):
        places = np.searchsorted(classes, chunk)
        if (classes.take(places, mode="clip") != chunk).any():
            raise InputError("labels must be the same in each pass and equal to themselves; is one of them missing?")
        codes[begin : begin + len(chunk)] = places
    return classes, codes


def class_sizes(codes: Codes, n_classes: int) -> NDArray[np.intp]:
    """Return how many samples there are of each class, counting some at a time, since counting makes longer codes."""
    sizes = np.zeros(n_classes, dtype=np.intp)
    for begin in range(0, len(codes), _LABELS):
        sizes += np.bincount(codes[begin : begin + _LABELS], minlength=n_classes)
    return sizes


def small_type(n_classes: int) -> np.dtype:
    """Return the smallest signed type of codes 0 to n_classes - 1, and of their differences."""
    return np.min_scalar_type(-n_classes)


def _label_chunks(labels: Any) -> Iterator[tuple[int, NDArray[np.generic]]]:
    for begin in range(0, int(labels.shape[0]), _LABELS):
        chunk = read(labels, slice(begin, begin + _LABELS))
        if chunk.dtype.kind == "f" and not np.isfinite(chunk).all():
            raise InputError("labels must not be NaN or infinite; remove those samples or give them a class")
        yield begin, chunk
