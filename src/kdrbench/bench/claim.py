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
from kdrbench.files import drop_unfinished, write_text


@contextmanager
def claimed_folder(state: Path, key: Sequence[Any], results: Sequence[Path]) -> Iterator[None]:
    """Hold the folder ``state`` for this process alone, empty unless the work in it is for the same ``key``.

    What killed writers of the ``results`` have left is removed.

    Raises ``SupervisionError`` when another process works on the folder.
    """
    state.parent.mkdir(parents=True, exist_ok=True)
    with state.with_name(f"{state.name}.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SupervisionError(
                f"another process works on {state}; wait until it has ended, or end it, and start again"
            ) from None
        marker, wanted = _marker(state), json.dumps(key)
        if not marker.exists() or marker.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(state, ignore_errors=True)
            write_text(marker, wanted)
        for path in results:
            drop_unfinished(path)
        yield


def drop_folder(state: Path) -> None:
    """Remove a claimed folder, whose work is published."""
    # Without its key the state is worth nothing: a removal that is cut short leaves no half of it in use.
    _marker(state).unlink()
    shutil.rmtree(state)


def _marker(state: Path) -> Path:
    return state / "key.json"
