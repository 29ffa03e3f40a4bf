"""Reading what a run has left: its process is the method's, which may have put anything in place of a file."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kdrbench.errors import KdrbenchError, text_of, visible
from kdrbench.suite.engine.record import no_number

MOST_LINE = 2**20
# An array of a run is d x q, or a number for each sample; a state is some of them.
MOST_ARRAY, MOST_STATE = 2**28, 2**30
# Of a message in a row; its rest is in the job's log.
MOST_MESSAGE = 1_000
_KINDS = "biufcUS"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What a run can do to a path; anything else that opening reports is a fault of the machine's.
_NOT_TO_BE_OPENED = {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.EISDIR}


class UnreadableError(KdrbenchError):
    """A file of a run that holds something else than the bench writes; the message says what."""


def opened(path: Path, most: int) -> BinaryIO | None:
    """Open a plain file of at most ``most`` bytes; ``None`` if there is none. Links are not followed.

    Raises ``UnreadableError`` for anything else that may lie there: a folder, a link, a pipe, a larger file.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise UnreadableError(f"{path.name} is no plain file")
        stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in _NOT_TO_BE_OPENED:
            raise UnreadableError(f"{path.name} cannot be opened: {error.strerror}") from error
        raise
    size = os.fstat(stream.fileno()).st_size
    if size > most:
        stream.close()
        raise UnreadableError(f"{path.name} holds {size} bytes; at most {most} are read")
    return stream


def content_of(path: Path, most: int) -> bytes | None:
    """Return the bytes of a plain file, as :func:`opened` finds it; ``None`` if there is none."""
    stream = opened(path, most)
    if stream is None:
        return None
    with stream:
        # No more than is there: read(most) would take that much memory first, of a run that may have less.
        return stream.read(os.fstat(stream.fileno()).st_size)


def lines_of(path: Path, most: int) -> Iterator[Any]:
    """Yield the values of a file of JSON lines of at most ``most`` bytes; an unfinished last line is left out.

    Raises ``UnreadableError`` for a line that is none, or longer than ``MOST_LINE``.
    """
    stream = opened(path, most)
    if stream is None:
        return
    with stream:
        number = 0
        while line := stream.readline(MOST_LINE):
            number += 1
            if line.endswith(b"\n"):
                yield _json(line, f"line {number} of {path.name}")
            elif len(line) == MOST_LINE:
                raise UnreadableError(f"line {number} of {path.name} is longer than {MOST_LINE} bytes")


def _json(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError):
        raise UnreadableError(f"{place} is not JSON: {line[:60]!r}") from None


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number that a float of 64 bits can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def array_in(path: Path) -> NDArray[Any] | None:
    """Read an array of numbers or words in NumPy's format, ``None`` if there is no file. Nothing is unpickled.

    Raises ``UnreadableError`` unless the file is plain and holds exactly what its header says.
    """
    content = content_of(path, MOST_ARRAY)
    return None if content is None else array_of(content, path.name)


def array_of(content: bytes, name: str) -> NDArray[Any]:
    """Return the array that the bytes of a file called ``name`` hold, as :func:`array_in` does."""
    stream = io.BytesIO(content)
    try:
        shape, in_columns, dtype = _HEADERS[npy.read_magic(stream)](stream)
        claimed = math.prod(shape) * dtype.itemsize
    except Exception:
        # Bytes of a stranger's: whatever reading their header raises, it is no header.
        raise UnreadableError(f"{name} is no array of NumPy's: it begins with {content[:16]!r}") from None
    if dtype.kind not in _KINDS or not dtype.isnative:
        raise UnreadableError(f"{name} holds {visible(str(dtype)[:60])}; only plain numbers and words are read")
    data = memoryview(content)[stream.tell() :]
    if min(shape, default=0) < 0 or len(data) != claimed:
        raise UnreadableError(f"{name} holds {len(data)} bytes of data; its header says {claimed}")
    if not data:
        return _empty(shape, dtype, name)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C").copy(order="K")


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError, OverflowError):
        raise UnreadableError(f"{name} has the impossible shape {shape}") from None


def arrays_in(
    path: Path, *, wanted: Collection[str] | None = None, packed: bool = False
) -> dict[str, NDArray[Any]] | None:
    """Read the arrays of an archive by name, of the ``wanted`` names if given; ``None`` if there is no file.

    Archives must be uncompressed unless ``packed``. Unfolded, what is read has at most ``MOST_STATE`` bytes.

    Raises ``UnreadableError`` as :func:`array_in` does, and where a checksum differs.
    """
    stream = opened(path, MOST_STATE)
    if stream is None:
        return None
    with stream:
        try:
            with ZipFile(stream) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                kept = {name: info for name, info in members.items() if wanted is None or name in wanted}
                _check_sizes(path.name, list(kept.values()), packed)
                return {
                    name: array_of(archive.read(info), f"{visible(name)} of {path.name}") for name, info in kept.items()
                }
        except UnreadableError:
            raise
        except Exception as error:
            raise UnreadableError(f"{path.name} is no archive of arrays: {text_of(error)}") from error


def _check_sizes(name: str, members: Sequence[ZipInfo], packed: bool) -> None:
    """Refuse what unfolds to more than may be read: compressed, or many members that share the same bytes."""
    if not packed and any(info.compress_type != ZIP_STORED for info in members):
        raise UnreadableError(f"{name} is compressed")
    # Reading a member gives no more bytes than its entry says.
    if (size := sum(info.file_size for info in members)) > MOST_STATE:
        raise UnreadableError(f"{name} unfolds to {size} bytes; at most {MOST_STATE} are read")


def claim_folder(path: Path) -> None:
    """Let this user into the folder at a path, and remove anything else that lies there, if there is anything."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        path.unlink()
    elif mode & stat.S_IRWXU != stat.S_IRWXU:
        path.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)


def remove(path: Path) -> None:
    """Remove whatever lies at a path, a folder with all it holds; links are not followed.

    A folder that cannot be removed is moved aside, so that another can be made in its place.
    """
    if not path.is_symlink() and path.is_dir():
        with suppress(OSError, RecursionError):
            _open_folders(path)
            shutil.rmtree(path)
        if path.exists():
            path.rename(path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}"))
    else:
        path.unlink(missing_ok=True)


def _open_folders(path: Path) -> None:
    """Let this user into a folder and all below it; links are not followed."""
    claim_folder(path)
    for folder, below, _ in os.walk(path):
        for one in (Path(folder, name) for name in below):
            if not one.is_symlink():
                claim_folder(one)
