"""One check in a process of its own: a plug-in that hangs, dies or changes the process spoils nothing else."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.isolation.supervisor import Exit, supervise
from kdrbench.conformance.findings import Check, Fault, Finding
from kdrbench.errors import KdrbenchError

_MEMORY_MIB = 4096.0
_OWN = Path(__file__).resolve().parents[1]


def ask_apart(check: Check, time_limit_s: float) -> Finding:
    """Return what the check finds; not to end within the limit is a fault as well."""
    with tempfile.TemporaryDirectory(prefix="kdrbench-check-") as folder:
        answer = Path(folder) / "answer.json"
        ending = supervise(lambda: _ask(check, answer), Limits(time_limit_s, _MEMORY_MIB))
        if answer.exists():
            return Finding(check.name, *json.loads(answer.read_text(encoding="utf-8")))
    words = {
        Exit.TIME_LIMIT: f"it did not end within {time_limit_s:g} s",
        Exit.MEMORY_LIMIT: f"it took more than {_MEMORY_MIB:g} MiB",
        Exit.SIGNALLED: f"it ended the process by signal {ending.code}",
        Exit.EXITED: f"it ended the process with exit code {ending.code}",
    }
    return Finding(check.name, words[ending.end], check.mend)


def _ask(check: Check, answer: Path) -> None:
    try:
        check.ask()
    except Fault as fault:
        said = (fault.what, fault.mend)
    except KdrbenchError as error:
        said = (str(error), check.mend)
    except Exception as error:
        said = (f"it raised {type(error).__name__}: {error}{_place_of(error)}", check.mend)
    else:
        said = ("", "")
    answer.write_text(json.dumps(said), encoding="utf-8")
    sys.stdout.flush()


def _place_of(error: Exception) -> str:
    """Return the line of the plug-in's own file, which is the last one that is not a library's."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(("<", str(_OWN))) and "site-packages" not in name:
            place = f" (line {trace.tb_lineno} of {Path(name).name})"
        trace = trace.tb_next
    return place
