"""A job's folder of unfinished work: a lock against a second process, and a key that says what the work is for."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kdrbench.bench.supervisor import SupervisionError
from kdrbench.files import write_text


def lock_of(state: Path) -> Path:
    """Return the file that the process which works on the folder holds."""
    return state.with_name(f"{state.name}.lock")


@contextmanager
def held(lock: Path, state: Path) -> Iterator[None]:
    """Hold ``lock``, and with it the folder ``state``, for this process alone.

    Raises ``SupervisionError`` when another process holds it.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w", encoding="ascii") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SupervisionError(
                f"another process works on {state}; wait until it has ended, or end it, and start again"
            ) from None
        yield


def keep_if_for(state: Path, key: Sequence[Any]) -> None:
    """Empty the folder unless the work in it is for the same ``key``, and write the key down."""
    marker, wanted = _marker(state), json.dumps(key)
    if not marker.exists() or marker.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(state, ignore_errors=True)
        write_text(marker, wanted)


def drop(state: Path) -> None:
    """Remove the folder, if there is one: its work is published."""
    # Without its key the state is worth nothing: a removal that is cut short leaves no half of it in use.
    _marker(state).unlink(missing_ok=True)
    shutil.rmtree(state, ignore_errors=True)


def _marker(state: Path) -> Path:
    return state / "key.json"
