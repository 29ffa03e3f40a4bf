"""Work in a process of its own that has to report: what hangs, dies or ends its process is a sentence here."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kdrbench.errors import KdrbenchError
from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import supervise


class NoReportError(KdrbenchError):
    """The work did not come to its end; the message says what it did instead, as the end of "it ...".

    ``end`` is how its process ended.
    """

    def __init__(self, what: str, end: Exit) -> None:
        super().__init__(what)
        self.end = end


def report_of(work: Callable[[], Any], limits: Limits, *, quiet: bool = False) -> Any:
    """Return what the work returns, as JSON holds it, from a process of its own within ``limits``.

    ``quiet`` throws away what it prints. Raises ``NoReportError`` when the process ends before the work does, whatever
    its exit code.
    """
    with tempfile.TemporaryDirectory(prefix="kdrbench-apart-") as folder:
        answer = Path(folder) / "answer.json"
        try:
            ending = supervise(lambda: _report(work, answer, quiet=quiet), limits)
        finally:
            processes.adopt_orphans(wanted=False)
        if answer.exists():
            return json.loads(answer.read_text(encoding="utf-8"))
    raise NoReportError(
        {
            Exit.TIME_LIMIT: f"did not end within {limits.time_s:g} s",
            Exit.MEMORY_LIMIT: f"took more than {limits.memory_mib:g} MiB",
            Exit.SIGNALLED: f"ended the process by signal {ending.code}",
            Exit.EXITED: f"ended the process with exit code {ending.code}",
        }[ending.end],
        ending.end,
    )


def _report(work: Callable[[], Any], answer: Path, *, quiet: bool) -> None:
    if quiet:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    process = os.getpid()
    text = json.dumps(work())
    if os.getpid() != process:
        # A fork that the work has left: the process that was asked has ended.
        os._exit(1)
    # Under another name first: a process that is killed while it writes has not reported.
    draft = answer.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(answer)
