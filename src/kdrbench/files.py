"""Files that appear whole: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


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
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write ``content`` to ``path``, making its folder; a reader sees the old file or the whole new one.

    ``durable`` as in :func:`replacing`.
    """
    with replacing(path, durable=durable) as stream:
        stream.write(content)


def drop_unfinished(path: Path) -> None:
    """Remove what writers of ``path`` have left that were killed; no other process may be writing it."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*"):
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str, *, durable: bool = True) -> None:
    """Write ``content`` in UTF-8; see :func:`write_bytes`."""
    write_bytes(path, content.encode("utf-8"), durable=durable)


def present_umask() -> int:
    """Return the mask of permissions that new files lack."""
    # Reading the umask means setting it: the old value goes back at once.
    mask = os.umask(0)
    os.umask(mask)
    return mask
