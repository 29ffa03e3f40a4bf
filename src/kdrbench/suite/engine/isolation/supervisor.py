"""Runs in processes that cannot outlive their limits, nor their scheduler.

Three processes a run: the batch, which has done all imports; a guardian forked from it; the run forked from the
guardian, leader of a session of its own. One run works at a time; others may wait for their turn beside it. However a
run ends, its guardian kills all that is left of it, and so does the batch where a guardian was killed. Linux only.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from kdrbench.errors import KdrbenchError
from kdrbench.extras import check_system
from kdrbench.files import write_text
from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.guardian import Exit, ProcessExit, Watched, guard, in_child
from kdrbench.suite.engine.isolation.limits import Limits, Pauses, Turn

# Jobs end when the Snakemake process that this names is gone, so that a killed one leaves no runs behind.
SCHEDULER_VARIABLE = "KDRBENCH_SCHEDULER_PID"


class SupervisionError(KdrbenchError):
    """The run could not be watched to its end: it leaves no row and is to be run again."""


class Supervisor:
    """Starts the runs of a process, and knows which of its children are their guardians.

    Runs are ended when the process numbered ``scheduler`` disappears.
    """

    def __init__(self, scheduler: int | None = None) -> None:
        self._scheduler = scheduler
        self._guardians: set[int] = set()
        self._bystanders: set[int] = set()

    def start(
        self, target: Callable[[], None], limits: Limits, pauses: Pauses | None = None, turn: Turn | None = None
    ) -> Supervised:
        """Begin ``target`` in a process of its own within ``limits``; the caller closes what is returned.

        The time limit counts from ``pauses``' first end (from the fork if there are none) and is paused during
        pauses. A run that repeats its work waits for its ``turn``.
        """
        check_system("a supervised run")
        processes.adopt_orphans()
        if not self._guardians:
            self._bystanders = set(processes.descendants())
        watched = Watched(target, limits, pauses, turn, self._scheduler)
        parent, (reading, writing) = os.getpid(), os.pipe()
        # Frozen objects are not touched by the run's collector, so their pages stay shared.
        gc.freeze()
        guardian = os.fork()
        if guardian == 0:
            os.close(reading)
            in_child(lambda: guard(watched, parent, writing))
        self._guardians.add(guardian)
        gc.unfreeze()
        os.close(writing)
        if turn:
            turn.close_run_end()
        return Supervised(self, guardian, reading, turn)

    def end(self, guardian: int, *, reported: bool) -> None:
        """Let a guardian end its run and go; clear up after one that has not ``reported`` to have done so."""
        os.kill(guardian, signal.SIGTERM)
        os.waitpid(guardian, 0)
        self._guardians.discard(guardian)
        if not reported:
            processes.kill_descendants(self._bystanders | self._guardians)


class Supervised:
    """One run: at work, waiting for its turn, or ended."""

    def __init__(self, supervisor: Supervisor, guardian: int, reading: int, turn: Turn | None) -> None:
        self._supervisor, self._guardian, self._turn = supervisor, guardian, turn
        self._report = os.fdopen(reading, encoding="ascii")
        self._text = ""

    def wait(self) -> ProcessExit | None:
        """Wait until the run asks for its turn, or until it and all its descendants are gone; return how it ended.

        Raises ``SupervisionError`` when the scheduler is gone, or the guardian was killed.
        """
        report = self._report.fileno()
        ready, _, _ = select.select([report, *([self._turn.fileno()] if self._turn else [])], [], [])
        if self._turn and report not in ready:
            # What it left at work would slow the others, while its own clock is stopped.
            processes.stop(self._guardian)
            self._turn.begin_wait()
            return None
        self._text = self._report.read()
        self.close()
        if not self._text:
            raise SupervisionError(
                "the guardian of a run was killed or has failed, as the log says, or the scheduler is gone; start the "
                "workflow again"
            )
        values = json.loads(self._text)
        return ProcessExit(**{**values, "end": Exit(values["end"])})

    def until_end(self) -> Generator[None, None, ProcessExit]:
        """Yield whenever the run waits for its turn, and then grant it; return how the run ended."""
        with closing(self):
            while (ending := self.wait()) is None:
                yield
                self.grant_turn()
        return ending

    def grant_turn(self) -> None:
        """Let a run that waits go on."""
        if self._turn:
            self._turn.grant()
            processes.resume(self._guardian)

    def close(self) -> None:
        """End the run if it has not ended."""
        if self._report.closed:
            return
        self._report.close()
        if self._turn:
            self._turn.close()
        self._supervisor.end(self._guardian, reported=bool(self._text))


def supervise(
    target: Callable[[], None],
    limits: Limits,
    pauses: Pauses | None = None,
    scheduler: int | None = None,
) -> ProcessExit:
    """Run ``target`` in a process of its own within ``limits``; return when it and all its descendants are gone.

    Raises ``SupervisionError`` when the scheduler is gone or the guardian was killed.
    """
    with closing(Supervisor(scheduler).start(target, limits, pauses)) as run:
        while (ending := run.wait()) is None:
            run.grant_turn()
    return ending


def report_of(work: Callable[[], Any], limits: Limits) -> tuple[ProcessExit, Any]:
    """Do the work in a process of its own within ``limits``; return how that ended, and what the work has returned.

    That is as JSON holds it, and ``None`` where the process has ended before the work, whatever its exit code.
    """
    with tempfile.TemporaryDirectory(prefix="kdrbench-apart-") as folder:
        answer = Path(folder) / "answer.json"
        try:
            # Written whole or not at all: a process that is killed meanwhile has not reported.
            ending = supervise(lambda: write_text(answer, json.dumps(work()), durable=False), limits)
        finally:
            processes.adopt_orphans(wanted=False)
        return ending, json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else None
