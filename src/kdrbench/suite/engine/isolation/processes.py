"""Descendants of a process and their death, and the limits of memory that a process sets itself."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path

MIB = 1024 * 1024
_MOST_KILLING_S, _MOST_STOPPING_S = 10.0, 1.0
_TRACKER, _TRACKER_S = b"resource_tracker", 0.5
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def adopt_orphans(*, wanted: bool = True) -> None:
    """Become the parent of descendants whose own parent dies, so that none can hide; or leave them to others."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(wanted))


def follow_parent_in_death(parent: int, number: signal.Signals) -> None:
    """Be sent the signal when the parent dies; leave at once if it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def limit_memory(memory_mib: float) -> None:
    """Let allocations beyond what is held now plus the limit fail at once (private memory only)."""
    used_kib = status_kib("VmData")
    limit = int(used_kib * 1024 + memory_mib * MIB)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _is_at_work(pid: int) -> bool:
    return any(
        (fields := stat_fields(path)) and fields[0] not in "TtZX" for path in Path(f"/proc/{pid}/task").glob("*/stat")
    )


def descendants() -> list[int]:
    """Return all descendants of this process, parents first, dead ones that have not been reaped included."""
    return tree(os.getpid())[1:]


def end_unless(process: int) -> None:
    """End this process where it is another: a child that a method has forked would do all that follows once more."""
    if os.getpid() != process:
        os._exit(1)


def forks_left() -> int:
    """Return how many descendants of this process are copies of it, or have ended and were not waited for."""
    texts = []
    for pid in (os.getpid(), *descendants()):
        with suppress(OSError):
            texts.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return sum(text in (b"", texts[0]) for text in texts[1:])


def stop(root: int) -> None:
    """Stop all descendants of a process, whatever they start meanwhile, until :func:`resume`.

    Where one thread takes the signal, others of its process work on until that one has been given a core. So it is
    waited, for a second at most, until all have stopped.
    """
    stopped: set[int] = set()
    while left := [pid for pid in tree(root)[1:] if pid not in stopped]:
        for pid in left:
            _send(pid, signal.SIGSTOP)
        stopped.update(left)
    deadline = time.monotonic() + _MOST_STOPPING_S
    while any(_is_at_work(pid) for pid in stopped) and time.monotonic() < deadline:
        time.sleep(0.0005)


def resume(root: int) -> None:
    """Let all descendants of a process go on."""
    for pid in tree(root)[1:]:
        _send(pid, signal.SIGCONT)


def end_run(run: int) -> None:
    """Kill a process, which the caller has not reaped, and its group, or where it has a tracker all but that.

    A resource tracker of :mod:`multiprocessing` is given half a second, to remove what the others have left.
    """
    family = descendants()
    trackers = [pid for pid in family if _is_tracker(pid)]
    if not trackers:
        for kill in (os.kill, os.killpg):
            with suppress(ProcessLookupError):
                kill(run, signal.SIGKILL)
        return
    # A tracker goes to work when no process is left that could use what it tracks.
    for pid in family:
        if pid not in trackers:
            _send(pid, signal.SIGKILL)
    deadline = time.monotonic() + _TRACKER_S
    while any(_is_tracker(pid) for pid in trackers) and time.monotonic() < deadline:
        time.sleep(0.005)


def kill_descendants(but: set[int]) -> None:
    """Kill and reap every descendant but those numbered in ``but`` and theirs; ``RuntimeError`` if one does not die."""
    deadline = time.monotonic() + _MOST_KILLING_S
    while left := sorted({*descendants()} - {other for pid in but for other in tree(pid)}):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(left)} processes do not die, {left[0]} among them")
        for pid in left:
            _send(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_tracker(pid: int) -> bool:
    """Return whether a process that lives is a resource tracker."""
    with suppress(OSError):
        return _TRACKER in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def tree(root: int) -> list[int]:
    """Return a process and its descendants; the cost grows with these alone, not with all that runs on the machine."""
    tree = [root]
    for process in tree:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                tree.extend(int(number) for number in children.read_text(encoding="ascii").split())
            except OSError:  # the thread has gone
                continue
    return tree


def stat_fields(stat: Path) -> list[str]:
    """Return what Linux says of a process or thread from field 3 on, its state; nothing if it has gone."""
    try:
        text = stat.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name, in brackets, may hold anything.
    return text.rpartition(")")[2].split()


def status_kib(name: str) -> int:
    """Return a number of ``/proc/self/status``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")
