"""One run in a child process that cannot outlive its limits.

The child is forked from a parent that has done all imports, leads its own session, and dies with its parent.
At the end of the run, however it came, every descendant is killed: processes that left the group are found
because the parent is the subreaper of its descendants. Linux only.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import psutil

from kdrbench.bench.limits import Limits

# A run that watches its own clock ends at the limit by itself; this long after it, it is killed.
GRACE_S = 0.25
_MEMORY_POLL_S = 0.25
_MOST_KILLING_S = 10.0
_MIB = 1024 * 1024
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class End(Enum):
    """How the child ended, seen from outside."""

    EXITED = auto()
    SIGNALLED = auto()
    TIME_LIMIT = auto()
    MEMORY_LIMIT = auto()


@dataclass(frozen=True)
class Ending:
    """``code``: exit code, or number of the signal; ``memory_mib``: peak resident memory beyond that at the start.

    Pages of libraries that the run is the first to touch count as well, some tens of MiB.
    """

    end: End
    code: int
    wall_s: float
    memory_mib: float
    involuntary_switches: int


def supervise(target: Callable[[], None], limits: Limits) -> Ending:
    """Run ``target`` in a child process within ``limits``; return when it and all its descendants are gone."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    before = {process.pid for process in _descendants()}
    # A fork shares the parent's anonymous pages; those of files are mapped when they are touched.
    baseline = _anonymous_memory(psutil.Process())
    # Frozen objects are not touched by the child's collector, so their pages stay shared.
    gc.freeze()
    began = time.monotonic()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        _live_as_child(target, parent, limits)
    gc.unfreeze()
    end = End.EXITED
    usage = None
    try:
        end = _watch(child, began + limits.time_s + GRACE_S, limits.memory_mib * _MIB, baseline)
    finally:
        _kill_group(child)
        _, status, usage = os.wait4(child, 0)
        _kill_descendants(before)
    if end is End.EXITED and os.WIFSIGNALED(status):
        end = End.SIGNALLED
    return Ending(
        end=end,
        code=os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
        wall_s=time.monotonic() - began,
        memory_mib=max(0.0, usage.ru_maxrss * 1024 - baseline) / _MIB,
        involuntary_switches=usage.ru_nivcsw,
    )


def _watch(child: int, deadline: float, memory: float, baseline: int) -> End:
    """Wait until the child has ended or exceeds a limit."""
    handle = os.pidfd_open(child)
    try:
        while True:
            patience = max(0.0, min(_MEMORY_POLL_S, deadline - time.monotonic()))
            if select.select([handle], [], [], patience)[0]:
                return End.EXITED
            if time.monotonic() >= deadline:
                return End.TIME_LIMIT
            if _tree_memory(child, baseline) > memory:
                return End.MEMORY_LIMIT
    finally:
        os.close(handle)


def _tree_memory(child: int, baseline: int) -> float:
    """Return the anonymous memory of the child and its descendants beyond what each began with."""
    total = 0
    try:
        tree = [psutil.Process(child), *psutil.Process(child).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    for process in tree:
        try:
            total += max(0, _anonymous_memory(process) - baseline)
        except psutil.NoSuchProcess:
            continue
    return float(total)


def _anonymous_memory(process: psutil.Process) -> int:
    memory = process.memory_info()
    return int(memory.rss - memory.shared)


def _kill_group(child: int) -> None:
    for kill in (os.kill, os.killpg):
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _kill_descendants(before: set[int]) -> None:
    """Kill and reap every descendant that was not there before the run."""
    deadline = time.monotonic() + _MOST_KILLING_S
    while left := [process for process in _descendants() if process.pid not in before]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {[process.pid for process in left]} do not die")
        for process in left:
            try:
                process.kill()
                os.waitpid(process.pid, os.WNOHANG)
            except (psutil.NoSuchProcess, ChildProcessError):
                continue
        time.sleep(0.001)


def _descendants() -> list[psutil.Process]:
    return list(psutil.Process().children(recursive=True))


def _live_as_child(target: Callable[[], None], parent: int, limits: Limits) -> None:
    """Set the child up, run the target, and leave without the parent's exit handlers."""
    code = 1
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        _limit_memory(limits.memory_mib)
        target()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _limit_memory(memory_mib: float) -> None:
    """Let allocations beyond the limit fail at once; private memory only, so that shared pages are free."""
    with open("/proc/self/status", encoding="ascii") as stream:  # noqa: PTH123 - procfs
        used_kib = next(int(line.split()[1]) for line in stream if line.startswith("VmData"))
    limit = int(used_kib * 1024 + memory_mib * _MIB)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")
