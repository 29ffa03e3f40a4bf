"""How a row says that its run ended, and how far its times can be trusted: each follows from other columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kdrbench.status import Status
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.record import Row

# Wall seconds over CPU seconds above which a run shared its core.
_CONTAMINATED = 1.1
_CALIBRATIONS = ("calibration_before_s", "calibration_after_s")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Columns that a run hands over with its result.
_OF_RESULTS = ("cpu_s", "iterations")
_WITHOUT_RESULT = (Status.FAILED, Status.MEMORY_LIMIT, Status.SKIPPED)
# What the engine says of a run that claimed to be at its limit before: its result is kept.
_SAID_EARLY = "said time_limit after "
# What it says of an array for which there was no room, however little was used up to then.
_NO_ROOM = "out of memory"
# Memory is sampled: a run that is killed for it was last seen below its limit.
_NEAR = 0.9
_SHARE = 1e-9
# A column of the system each of whose runs leaves one row, with its seconds or the limit.
_ROWS_OF_THEIR_OWN = "quality_metric"


def of_ending(place: str, row: Row, definition: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what of a row contradicts its status; ``definition`` is that of its batch."""
    status, message = row["status"], row["message"]
    if status != Status.CONVERGED and not message:
        yield Finding(place, "message", "", f"why the run is {status}")
    if status == Status.TIME_LIMIT:
        yield from _at_time_limit(place, row)
    if status == Status.MEMORY_LIMIT and not message.startswith(_NO_ROOM):
        used, limit = to_number(row["memory_mib"]) or 0.0, to_number(row["memory_limit_mib"]) or 0.0
        if used < _NEAR * limit:
            yield Finding(place, "status", status, f"another, of a run with {used:.0f} of {limit:.0f} MiB")
    if status in _WITHOUT_RESULT and not message.startswith(_SAID_EARLY):
        for column in _OF_RESULTS:
            if row.get(column):
                yield Finding(place, "status", status, f"that of a run with a result, which has {column}")
    if status == Status.SKIPPED and (row["time_s"] or row.get("cost")):
        yield Finding(place, "status", status, "that of a run that was made, which has a time or a cost")
    if status == Status.MAX_ITERATIONS:
        yield from _at_most_iterations(place, row, definition)


def _at_time_limit(place: str, row: Row) -> Iterator[Finding]:
    """Yield a run that is not at its limit. Of several rows of a run the seconds are those of each alone."""
    limit = to_number(row["time_limit_s"]) or 0.0
    seconds = to_number(row["time_s"]) or 0.0
    if _ROWS_OF_THEIR_OWN not in row:
        seconds = max(seconds, to_number(row["wall_s"]) or 0.0)
    if seconds < limit * (1.0 - _SHARE):
        yield Finding(place, "status", row["status"], f"another, of a run with {seconds} of {limit} s")


def _at_most_iterations(place: str, row: Row, definition: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a run that is said to have made all iterations that its definition allows, and counts fewer."""
    method = definition.get("method")
    most = method.get("max_iterations") if isinstance(method, Mapping) else None
    count = to_number(row.get("iterations", ""))
    if isinstance(most, int) and count is not None and count < most:
        yield Finding(place, "status", row["status"], f"another, of a run with {count:.0f} of {most} iterations")


def of_marks(place: str, row: Row, grid: Grid) -> Iterator[Finding]:
    """Yield the marks of a row that are not what its experiment and its other columns make them."""
    # A timed run stays where its experiment is timed no more.
    if row["timed"] != "True" and grid.timed(row["experiment"]):
        yield Finding(place, "timed", row["timed"], "True, as the configuration says")
    calibrations = [column for column in _CALIBRATIONS if row[column]]
    if row["timed"] == "True" and not calibrations:
        yield Finding(place, _CALIBRATIONS[0], "", "a time, as a timed row has two of them")
    if not calibrations and (row["drift"] or row["drifted"]):
        yield Finding(place, "drift", row["drift"] or row["drifted"], "empty, as without calibrations")
    if row["contaminated"] != (contaminated := _contaminated(row)):
        yield Finding(place, "contaminated", row["contaminated"], contaminated or "empty")
    if bool(row["unaccounted"]) is not bool(row["evaluation_s"]):
        yield Finding(place, "unaccounted", row["unaccounted"], "known where evaluation_s is, and there alone")
    yield from _of_commit(place, row)


def _contaminated(row: Row) -> str:
    """Return the mark of a run that waited for its core; empty where that is not known."""
    seconds, cpu_s = to_number(row["time_s"]), to_number(row["cpu_s"])
    if seconds is None or cpu_s is None or row["timed"] != "True" or "," in row["cores"]:
        return ""
    return str(seconds > _CONTAMINATED * cpu_s)


def _of_commit(place: str, row: Row) -> Iterator[Finding]:
    commit, dirty = row["git_commit"], row["git_dirty"]
    if commit and not _COMMIT.fullmatch(commit):
        yield Finding(place, "git_commit", commit, "a hash of git, or empty")
    if bool(commit) is not bool(dirty):
        yield Finding(place, "git_dirty", dirty, "known where the commit is, and there alone")
