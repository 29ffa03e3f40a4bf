"""The guardian of one run: forks the run, watches its clock and memory, clears up after it, and reports.

It adopts every process that the run leaves behind. If the batch dies, the guardian ends the run and goes; if the
guardian dies, the run dies with it and the batch clears the rest. Linux only.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from multiprocessing import resource_tracker
from types import FrameType

import psutil

from kdrbench.errors import visible
from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.limits import Limits, Pauses, Turn

# A run that watches its own clock ends at the limit by itself; this long after it, it is killed.
GRACE_S = 0.25
_POLL_S = 0.25
# The log of the batch: stderr, whatever has been put in the place of its stream.
_LOG = 2
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The exit code by which a run says that the bench, not the method, is at fault (EX_SOFTWARE of sysexits.h).
BENCH_FAULT = 70
# The one by which it says that its limits could not be set, or that a package is missing (EX_OSERR).
SETUP_FAULT = 71
# Pauses are short by design; a run that is paused far beyond its limit hangs, and must not hold its core for ever.
_LONGEST_FACTOR, _LONGEST_EXTRA_S = 3.0, 600.0
# Of what a run prints, kept for the log of its batch: a run that prints without end fills no disk.
MOST_BYTES = 2**20
_PREFIX = "  | "


class Exit(StrEnum):
    """How the run ended, seen from outside."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"


@dataclass(frozen=True)
class ProcessExit:
    """``code``: exit code, or number of the signal; ``memory_mib``: peak beyond the memory at the start.

    Pages of libraries that the run is the first to touch count as well, some tens of MiB. ``wall_s`` are the seconds of
    the process without those in which it waited for its turn, ``cpu_s`` the CPU seconds of it and its descendants.
    """

    end: Exit
    code: int
    wall_s: float
    memory_mib: float
    involuntary_switches: int
    cpu_s: float = 0.0


class Output:
    """The pipe that takes both streams of a run, and the last :data:`MOST_BYTES` that came through it."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._tail, self._total = b"", 0

    def become(self) -> None:
        """Make the calling process, which is the run, write here."""
        for stream in (1, 2):
            os.dup2(self._writing, stream)

    def leave_to_run(self) -> None:
        """Close the run's end in the guardian."""
        os.close(self._writing)

    def fileno(self) -> int:
        """Return the descriptor that is readable when the run has printed."""
        return self._reading

    def read(self) -> bool:
        """Take what is there; return whether more may come."""
        try:
            chunk = os.read(self._reading, MOST_BYTES)
        except BlockingIOError:
            return True
        self._total += len(chunk)
        self._tail = (self._tail + chunk)[-MOST_BYTES:]
        return bool(chunk)

    def write_to(self, descriptor: int) -> None:
        """Write the tail to a log, when all processes of the run are gone."""
        before = -1
        while before != self._total:
            before = self._total
            self.read()
        text = self.text()
        with suppress(OSError):
            while text:
                text = text[os.write(descriptor, text) :]

    def text(self) -> bytes:
        """Return the tail as lines that are marked as a run's, without control characters."""
        if not self._tail:
            return b""
        lines = self._tail.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")
        if self._total > len(self._tail):
            # The first line may be the end of one.
            lines[0] = f"({self._total - len(self._tail)} bytes of output left out) {lines[0]}"
        shown = (visible(line, also="\t") for line in lines)
        return "".join(f"{_PREFIX}{line}\n" for line in shown).encode()


@dataclass(frozen=True)
class Watched:
    """The work of a run, and what its guardian is to know of it; see :meth:`.Supervisor.start`."""

    target: Callable[[], None]
    limits: Limits
    pauses: Pauses | None = None
    turn: Turn | None = None
    scheduler: int | None = None

    def limit_at(self, began: float) -> float:
        """Return the moment at which the run is beyond its time, if its clock runs from now on."""
        paused = self.pauses.total_s() if self.pauses else 0.0
        return began + paused + self.limits.time_s + GRACE_S

    def hangs_at(self, began: float) -> float:
        """Return the moment at which the run is taken to hang with its clock paused; a turn may be long to come."""
        return began + self.waited_s() + _LONGEST_FACTOR * self.limits.time_s + _LONGEST_EXTRA_S

    def waited_s(self) -> float:
        """Return the seconds that the run has waited for its turn up to now."""
        return self.turn.waited_s() if self.turn else 0.0


def guard(watched: Watched, parent: int, writing: int) -> None:
    """Fork the run, watch it, clear up after it, and report to the batch, whose process is ``parent``."""
    for name in _STOPS:
        signal.signal(name, _leave)
    # A terminal's Ctrl-C goes to the batch, which tells the guardian.
    os.setsid()
    processes.follow_parent_in_death(parent, signal.SIGTERM)
    processes.adopt_orphans()
    output = Output()
    # What a fork shares: all but the pages of files.
    baseline = processes.status_kib("RssAnon") * 1024
    began, me = time.monotonic(), os.getpid()
    # A signal that arrives before the run has reset the handlers of its guardian waits, then ends the run.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    run = os.fork()
    if run == 0:
        in_child(lambda: _become_run(watched, me, output))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    output.leave_to_run()
    try:
        end, tree_memory = _watch(run, began, watched, output)
    finally:
        processes.end_run(run)
        _, status, usage = os.wait4(run, 0)
        processes.kill_descendants(set())
        output.write_to(_LOG)
    if end is Exit.EXITED and os.WIFSIGNALED(status):
        end = Exit.SIGNALLED
    peak = max(usage.ru_maxrss * 1024 - baseline, tree_memory, 0)
    everybody = resource.getrusage(resource.RUSAGE_CHILDREN)
    ending = ProcessExit(
        end=end,
        code=os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
        wall_s=time.monotonic() - began - watched.waited_s(),
        memory_mib=peak / processes.MIB,
        involuntary_switches=usage.ru_nivcsw,
        cpu_s=everybody.ru_utime + everybody.ru_stime,
    )
    os.write(writing, json.dumps(asdict(ending)).encode())


def _watch(run: int, began: float, watched: Watched, output: Output) -> tuple[Exit, int]:
    handle, prints, look_at = os.pidfd_open(run), True, began + _POLL_S
    meter, most = processes.Meter(), 0
    while True:
        now = time.monotonic()
        wait_s = max(0.0, min(look_at, watched.limit_at(began)) - now)
        ready, _, _ = select.select([handle, *([output.fileno()] if prints else [])], [], [], wait_s)
        if handle in ready:
            return Exit.EXITED, most
        # A run that prints without end must not keep its guardian from looking at the clock.
        prints = output.read() if ready else prints
        # A pause may have begun while we waited, so the time left is counted again.
        now = time.monotonic()
        if now >= watched.limit_at(began) or now >= watched.hangs_at(began):
            return Exit.TIME_LIMIT, most
        if now < look_at:
            continue
        look_at, most = now + _POLL_S, max(most, meter.most(processes.descendants()))
        if most > watched.limits.memory_mib * processes.MIB:
            return Exit.MEMORY_LIMIT, most
        if watched.scheduler is not None and not psutil.pid_exists(watched.scheduler):
            sys.exit(1)


def _become_run(watched: Watched, guardian: int, output: Output) -> None:
    os.setsid()
    processes.follow_parent_in_death(guardian, signal.SIGKILL)
    for name in _STOPS:
        signal.signal(name, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    output.become()
    # Locks, pipes and files of the batch are none of the run's business, nor of what it starts.
    kept = [2, *([watched.turn.run_end] if watched.turn else []), os.sysconf("SC_OPEN_MAX")]
    for below, above in pairwise(kept):
        os.closerange(below + 1, above)
    # A tracker of named memory that the batch has started is reached by one of these; the run starts its own.
    tracker = vars(resource_tracker)["_resource_tracker"]
    tracker._fd = tracker._pid = None
    # Lines of stderr are not lost in a buffer when the run is killed.
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", 1, closefd=False)
    try:
        processes.limit_memory(watched.limits.memory_mib)
    except (OSError, ValueError, OverflowError):
        traceback.print_exc()
        sys.exit(SETUP_FAULT)
    watched.target()


def in_child(work: Callable[[], None]) -> None:
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
