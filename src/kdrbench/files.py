"""Files that appear whole: written beside their place, flushed to disk, then renamed; and what is done with others.

A disk, a power cut or another program may damage what was written whole. A sealed line shows it, and what cannot be
read is set aside.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kdrbench.errors import InputError

Version = tuple[int, int, int]


@contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """Give a stream whose content becomes ``path`` when the block ends, and is thrown away when it raises.

    ``durable=False`` leaves out the flush to disk: the file then survives a killed process, not a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
            # mkstemp makes files private; results are as readable as the user's other files.
            os.fchmod(stream.fileno(), 0o666 & ~present_umask())
        if path.is_dir():
            set_aside(path, "is no file")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        flush(path.parent)


@contextmanager
def replacing_folder(path: Path, mark: str) -> Iterator[Path]:
    """Give an empty folder that becomes ``path`` when the block ends, and is removed when it raises.

    The folder gets an empty file called ``mark``: by it a later writer knows that the folder may be replaced. Writers
    of the same folder wait for one another, and remove what one that was killed has left.

    Raises ``InputError``, before anything is written and again before it is replaced, where ``path`` is there, and
    neither empty nor marked so.
    """
    _check_replaceable(path, mark)
    with locked(path.with_name(f".{path.name}.lock")):
        place = path.with_name(f".{path.name}.making")
        made, replaced = place / "made", place / "replaced"
        _clear_of_killed(place, made, replaced, path)
        try:
            made.mkdir(parents=True)
            yield made
            (made / mark).touch()
            # Another may have come there meanwhile.
            _check_replaceable(path, mark)
            _exchange(made, path, replaced)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _exchange(made: Path, path: Path, replaced: Path) -> None:
    """Put a folder in its place, and what was there aside; where the system refuses, back again."""
    if path.exists():
        path.replace(replaced)
    try:
        made.replace(path)
    except OSError:
        if replaced.exists():
            replaced.replace(path)
        raise


def _clear_of_killed(place: Path, made: Path, replaced: Path, path: Path) -> None:
    """Remove what a writer that was killed has left; the folder that it was about to replace goes back to its place.

    Raises ``InputError`` where something else lies there.
    """
    if not os.path.lexists(place):
        return
    if place.is_symlink() or not place.is_dir() or {*place.iterdir()} - {made, replaced}:
        raise InputError(f"{place}, where {path.name} is made, was not left by this command; move it away")
    if replaced.exists() and not os.path.lexists(path):
        replaced.replace(path)
    shutil.rmtree(place)


def _check_replaceable(path: Path, mark: str) -> None:
    if not os.path.lexists(path):
        return
    is_folder = path.is_dir() and not path.is_symlink()
    if not (is_folder and ((path / mark).is_file() or not any(path.iterdir()))):
        raise InputError(
            f"{path} is there and was not made by this command (it lacks {mark}); name another folder, or remove it"
        )


def flush(path: Path) -> None:
    """Write a file, or the names in a folder, to disk before returning."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write ``content`` to ``path``, making its folder; a reader sees the old file or the whole new one.

    ``durable`` as in :func:`replacing`.
    """
    with replacing(path, durable=durable) as stream:
        stream.write(content)


def version_of(path: Path) -> Version:
    """Return what tells a file from the one that replaces it: its inode, size in bytes and time in nanoseconds."""
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns


def drop_unfinished(path: Path) -> None:
    """Remove what writers of ``path`` have left that were killed; no other process may be writing it."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*"):
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str, *, durable: bool = True) -> None:
    """Write ``content`` in UTF-8; see :func:`write_bytes`."""
    write_bytes(path, content.encode("utf-8"), durable=durable)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for a lock file, hold it, and remove it; the system takes the lock back from a process that is killed."""
    try:
        import fcntl
    except ModuleNotFoundError:
        # Windows has no such lock: two processes may then download the same file, and its hash decides.
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        set_aside(path, "is no file")
    while True:
        with path.open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if not _is_still_at(path, stream):
                # Who held it has removed it: others would lock another file.
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_still_at(path: Path, stream: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def sealed(line: str) -> str:
    """Return a line without tabs with its check, the CRC-32 of its bytes."""
    return f"{line}\t{zlib.crc32(line.encode()):08x}"


def unsealed(line: str) -> str:
    """Return a line without its check, if it has one; ``ValueError`` where they do not belong together."""
    text, tab, check = line.partition("\t")
    if tab and sealed(text) != line:
        raise ValueError(f"its check is {check[:20]!r} and should be {sealed(text)[-8:]!r}")
    return text


def set_aside(path: Path, why: str, place: Path | None = None) -> None:
    """Move what is damaged to ``place``, over what is there, and say in one sentence on standard error what was done.

    The place is beside the path if none is given. What is not there is only spoken of.
    """
    place, kept = place or path.with_name(f"{path.name}.damaged"), ""
    if os.path.lexists(path):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
        kept = f"it is kept as {place}, and "
    print(f"kdrbench: {path} {why}; {kept}what depended on it is made again", file=sys.stderr)


def present_umask() -> int:
    """Return the mask of permissions that new files lack."""
    # Reading the umask means setting it: the old value goes back at once.
    mask = os.umask(0)
    os.umask(mask)
    return mask
