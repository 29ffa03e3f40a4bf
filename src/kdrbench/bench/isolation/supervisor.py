"""One run in a process that cannot outlive its limits, nor its scheduler.

Three processes: the batch, which has done all imports; a guardian forked from it; the run forked from the
guardian, leader of a session of its own. The guardian watches clock and memory, and adopts every process that
the run leaves behind. However the run ends, the guardian kills all that is left of it; if the batch dies, the
guardian does the same and goes; if the guardian dies, the run dies with it and the batch clears the rest.
Linux only.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import FrameType

import psutil

from kdrbench.bench.isolation import processes
from kdrbench.bench.isolation.limits import Limits, Pauses
from kdrbench.errors import KdrbenchError

# Jobs end when the Snakemake process that this names is gone, so that a killed one leaves no runs behind.
SCHEDULER_VARIABLE = "KDRBENCH_SCHEDULER_PID"
# A run that watches its own clock ends at the limit by itself; this long after it, it is killed.
GRACE_S = 0.25
_POLL_S = 0.25
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The exit code by which a run says that the bench, not the method, is at fault (EX_SOFTWARE of sysexits.h).
BENCH_FAULT = 70
# Pauses are short by design; a run that is paused far beyond its limit hangs, and must not hold its core for ever.
_LONGEST_FACTOR, _LONGEST_EXTRA_S = 3.0, 600.0


class Exit(StrEnum):
    """How the run ended, seen from outside."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"


class SupervisionError(KdrbenchError):
    """The run could not be watched to its end: it leaves no row and is to be run again."""


@dataclass(frozen=True)
class ProcessExit:
    """``code``: exit code, or number of the signal; ``memory_mib``: peak beyond the memory at the start.

    Pages of libraries that the run is the first to touch count as well, some tens of MiB.
    """

    end: Exit
    code: int
    wall_s: float
    memory_mib: float
    involuntary_switches: int


def supervise(
    target: Callable[[], None],
    limits: Limits,
    pauses: Pauses | None = None,
    scheduler: int | None = None,
) -> ProcessExit:
    """Run ``target`` in a process of its own within ``limits``; return when it and all its descendants are gone.

    The time limit counts from ``pauses``' first end (from the fork if there are none) and is paused during
    pauses. The run is also ended when the process numbered ``scheduler`` disappears.

    Raises ``SupervisionError`` when the scheduler is gone or the guardian was killed.
    """
    processes.adopt_orphans()
    before = {process.pid for process in processes.descendants()}
    # Frozen objects are not touched by the run's collector, so their pages stay shared.
    gc.freeze()
    parent, (reading, writing) = os.getpid(), os.pipe()
    guardian = os.fork()
    if guardian == 0:
        os.close(reading)
        _in_child(lambda: _guard(target, limits, pauses, scheduler, parent, writing))
    gc.unfreeze()
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="ascii") as report:
            text = report.read()
    finally:
        # After a whole report this finds the guardian gone; else an exception is passing through.
        os.kill(guardian, signal.SIGTERM)
        os.waitpid(guardian, 0)
        processes.kill_descendants(before)
    if not text:
        raise SupervisionError("the guardian of a run was killed, or the scheduler is gone; start the workflow again")
    values = json.loads(text)
    return ProcessExit(**{**values, "end": Exit(values["end"])})


def _guard(
    target: Callable[[], None],
    limits: Limits,
    pauses: Pauses | None,
    scheduler: int | None,
    parent: int,
    writing: int,
) -> None:
    """Fork the run, watch it, clear up after it, and report."""
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, _leave)
    # A terminal's Ctrl-C goes to the batch, which tells the guardian.
    os.setsid()
    processes.follow_parent_in_death(parent, signal.SIGTERM)
    processes.adopt_orphans()
    baseline = processes.anonymous_memory()
    began, me = time.monotonic(), os.getpid()
    # A signal that arrives before the run has reset the handlers of its guardian waits, then ends the run.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    run = os.fork()
    if run == 0:
        _in_child(lambda: _become_run(target, limits, me))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    try:
        end, tree_memory = _watch(run, began, limits, pauses, scheduler)
    finally:
        processes.kill_group(run)
        _, status, usage = os.wait4(run, 0)
        processes.kill_descendants(set())
    if end is Exit.EXITED and os.WIFSIGNALED(status):
        end = Exit.SIGNALLED
    peak = max(usage.ru_maxrss * 1024 - baseline, tree_memory, 0)
    ending = ProcessExit(
        end=end,
        code=os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
        wall_s=time.monotonic() - began,
        memory_mib=peak / processes.MIB,
        involuntary_switches=usage.ru_nivcsw,
    )
    os.write(writing, json.dumps(asdict(ending)).encode())


def _watch(run: int, began: float, limits: Limits, pauses: Pauses | None, scheduler: int | None) -> tuple[Exit, int]:
    """Wait until the run has ended or exceeds a limit; return that and the most memory seen."""
    handle, most = os.pidfd_open(run), 0
    while True:
        paused = pauses.total_s() if pauses else 0.0
        left = began + paused + limits.time_s + GRACE_S - time.monotonic()
        if select.select([handle], [], [], max(0.0, min(_POLL_S, left)))[0]:
            return Exit.EXITED, most
        # A pause may have begun while we waited, so the time left is counted again.
        paused = pauses.total_s() if pauses else 0.0
        now = time.monotonic()
        if now >= began + paused + limits.time_s + GRACE_S or now >= began + _longest_s(limits):
            return Exit.TIME_LIMIT, most
        most = max(most, processes.private_memory(run))
        if most > limits.memory_mib * processes.MIB:
            return Exit.MEMORY_LIMIT, most
        if scheduler is not None and not psutil.pid_exists(scheduler):
            sys.exit(1)


def _longest_s(limits: Limits) -> float:
    return _LONGEST_FACTOR * limits.time_s + _LONGEST_EXTRA_S


def _become_run(target: Callable[[], None], limits: Limits, guardian: int) -> None:
    """Set the run's process up and run the target."""
    os.setsid()
    processes.follow_parent_in_death(guardian, signal.SIGKILL)
    for name in _STOPS:
        signal.signal(name, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    # Locks, pipes and files of the batch are none of the run's business, nor of what it starts.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    try:
        processes.limit_memory(limits.memory_mib)
    except (OSError, ValueError, OverflowError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)
    target()


def _in_child(work: Callable[[], None]) -> None:
    """Do the work and leave; nothing may return into the parent's code, nor run its exit handlers."""
    code = 1
    try:
        work()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
