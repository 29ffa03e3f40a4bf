"""A timed batch owns its cores: one advisory lock a core, in a folder of the user's on this machine.

A lock ends with the batch that holds it, however it ends; runs do not inherit it. The work of other users is kept off
the cores by nothing here; rows say where it disturbed a run.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from kdrbench.errors import InputError, counted

_RETRY_S = 0.05
_TRIES_BEFORE_MESSAGE = 100
_STOPS = (signal.SIGTERM, signal.SIGHUP)


def prepare_process(threads: int) -> None:
    """Set the threads of BLAS, which numpy reads once, when it is loaded; let TERM and HUP end runs as well."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    leave_when_told()


def leave_when_told() -> None:
    """Let TERM and HUP end this process as an exception does, so that it clears up.

    HUP stays ignored in a process that was started so, as by nohup.
    """
    for number in _STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt what the first makes this process clear up.
    for other in _STOPS:
        signal.signal(other, signal.SIG_IGN)
    # SystemExit unwinds through the supervisor, which kills the run before this process ends.
    sys.exit(128 + number)


@contextmanager
def owned_cores(count: int, folder: Path | None = None) -> Iterator[tuple[int, ...]]:
    """Wait for ``count`` free cores of this process's affinity mask, run on them alone, and yield their numbers.

    Raises ``InputError`` when the mask holds fewer cores than asked for.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if count > len(allowed):
        raise InputError(
            f"a run asks for {counted(count, 'thread')}, this machine lends {counted(len(allowed), 'core')}; "
            "lower timing.threads"
        )
    folder = folder or Path(tempfile.gettempdir()) / f"kdrbench-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    tries = 0
    while len(held := _try_lock(allowed, count, folder)) < count:
        tries += 1
        if tries == _TRIES_BEFORE_MESSAGE:
            print(
                f"waiting for {counted(count, 'core')}: other timed batches hold the locks in {folder}", file=sys.stderr
            )
        # Holding some while waiting for others could lock two batches out for ever.
        _release(held)
        time.sleep(_RETRY_S)
    cores = tuple(sorted(held))
    os.sched_setaffinity(0, cores)
    try:
        yield cores
    finally:
        os.sched_setaffinity(0, allowed)
        _release(held)


def _try_lock(cores: list[int], count: int, folder: Path) -> dict[int, int]:
    """Return file descriptors of the locks taken, by core; at most ``count``."""
    held: dict[int, int] = {}
    for core in cores:
        if len(held) == count:
            break
        lock = os.open(folder / f"core-{core}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held[core] = lock
        except BlockingIOError:
            os.close(lock)
    return held


def _release(held: dict[int, int]) -> None:
    for lock in held.values():
        os.close(lock)
