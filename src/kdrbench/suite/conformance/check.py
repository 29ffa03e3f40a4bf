"""All checks of one plug-in, one after the other.

One check in a process of its own: a plug-in that hangs, dies or changes the process spoils nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from traceback import walk_tb

from kdrbench.errors import KdrbenchError, in_words
from kdrbench.suite.conformance.common import Check, Contract, Fault, Finding
from kdrbench.suite.conformance.subject import KINDS, Subject
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import NoReportError, report_of

_MEMORY_MIB = 4096.0
# What to do about how a check's process ended, and about an exception of the plug-in's own lines, whatever was asked.
_ADVICE = {
    Exit.TIME_LIMIT: "let it end: bound its loops, and let a solver ask monitor.keep_going in each; if it is only "
    "slow, give more seconds with --time-limit",
    Exit.MEMORY_LIMIT: "let it keep less: a check gives it some tens of samples",
    Exit.SIGNALLED: "look at compiled code that it calls, and at what kills processes: the check did not",
    Exit.EXITED: "raise an exception where something is wrong, and leave the process to go on",
}
_RAISED = "correct that line: what the check gave it is sound"
_OWN = Path(__file__).resolve().parents[2]


def ask_apart(check: Check, time_limit_s: float) -> Finding:
    """Return what the check finds; not to end within the limit is a fault as well."""
    try:
        return Finding(check.name, *report_of(lambda: _ask(check), Limits(time_limit_s, _MEMORY_MIB)))
    except NoReportError as ending:
        return Finding(check.name, f"it {ending}", _ADVICE[ending.end])


def _ask(check: Check) -> tuple[str, str]:
    try:
        check.ask()
    except Fault as fault:
        return fault.what, fault.advice
    except KdrbenchError as error:
        return str(error), check.advice
    except BaseException as error:
        place = _place_of(error)
        return f"it raised {in_words(error)}{place}", _RAISED if place else check.advice
    finally:
        sys.stdout.flush()
    return "", ""


def _place_of(error: BaseException) -> str:
    """Return the line of the plug-in's own file, which is the last one that is not a library's."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(("<", str(_OWN))) and "site-packages" not in name:
            place = f" (line {line} of {Path(name).name})"
    return place


def check(subject: Subject, time_limit_s: float = 60.0) -> Iterator[Finding]:
    """Yield what each check of the subject finds, each in a process of its own and within ``time_limit_s``.

    The second check lets the plug-in work for the first time. Where it or the API is at fault, the others would only
    say so again and are left out.
    """
    for module in _contract(subject).late:
        import_module(module)
    for number, one in enumerate(all_checks(subject)):
        finding = ask_apart(one, time_limit_s)
        yield finding
        if finding.fault and number < 2:
            return


def all_checks(subject: Subject) -> list[Check]:
    """Return the checks of the subject's kind, none of which has been asked yet."""
    return _contract(subject).all_checks()


def _contract(subject: Subject) -> Contract:
    module, name = KINDS[subject.kind].contract.split(":")
    contract: type[Contract] = getattr(import_module(f"kdrbench.suite.conformance.{module}"), name)
    return contract(subject.place, subject.options)
