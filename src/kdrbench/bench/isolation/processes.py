"""What the supervisor asks of Linux: descendants, their memory, their death."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

MIB = 1024 * 1024
_MOST_KILLING_S = 10.0
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
    used_kib = _status_kib("VmData")
    limit = int(used_kib * 1024 + memory_mib * MIB)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def anonymous_memory() -> int:
    """Return the bytes of this process that a fork would share: all but the pages of files."""
    return _status_kib("RssAnon") * 1024


def private_memory(root: int) -> int:
    """Return the bytes that a process and its descendants hold each for itself, pages shared with others left out."""
    return sum(_private_dirty(process) for process in _tree(root))


def page_faults(root: int) -> int:
    """Return how many page faults a process and its descendants have had, those of threads included."""
    return sum(_faults(process) for process in _tree(root))


def descendants() -> list[psutil.Process]:
    """Return all descendants of this process, dead ones that have not been reaped included."""
    try:
        # Without a child there is no descendant, for orphans are adopted; to look for any reads all of /proc.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    return list(psutil.Process().children(recursive=True))


def kill_group(leader: int) -> None:
    """Kill a process, which the caller has not reaped, and its process group."""
    for kill in (os.kill, os.killpg):
        try:
            kill(leader, signal.SIGKILL)
        except ProcessLookupError:
            continue


def kill_descendants(but: set[int]) -> None:
    """Kill and reap every descendant but those numbered in ``but`` and theirs; ``RuntimeError`` if one does not die."""
    deadline = time.monotonic() + _MOST_KILLING_S
    while left := _others(descendants(), but):
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {[process.pid for process in left]} do not die")
        for process in left:
            try:
                process.kill()
                os.waitpid(process.pid, os.WNOHANG)
            except (psutil.NoSuchProcess, ChildProcessError):
                continue
        time.sleep(0.001)


def _others(family: list[psutil.Process], but: set[int]) -> list[psutil.Process]:
    """Return those of the family, parents before children, that are neither in ``but`` nor descend from there."""
    spared, others = set(but), []
    for process in family:
        # Of a process that has gone in the meantime psutil knows no parent; it is none of ours to spare or to kill.
        with suppress(psutil.NoSuchProcess):
            if process.pid in spared or process.ppid() in spared:
                spared.add(process.pid)
            else:
                others.append(process)
    return others


def _tree(root: int) -> list[int]:
    """Return a process and its descendants; the cost grows with these alone, not with all that runs on the machine."""
    tree = [root]
    for process in tree:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                tree.extend(int(number) for number in children.read_text(encoding="ascii").split())
            except OSError:  # the thread has gone
                continue
    return tree


def _private_dirty(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # the process has gone, or is a zombie
        return 0
    return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_Dirty"))


def _faults(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # the process has gone
        return 0
    # The name, in brackets, may hold anything; minor and major faults are fields 10 and 12.
    fields = text.rpartition(")")[2].split()
    return int(fields[7]) + int(fields[9])


def _status_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")
