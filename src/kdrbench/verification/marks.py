"""Marks of a row that say how far its times can be trusted: each follows from other columns, or from the experiment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdrbench.bench.grid import Grid
from kdrbench.verification.bookkeeping import Finding, to_number
from kdrbench.verification.record import Row

# Wall seconds over CPU seconds above which a run shared its core.
_CONTAMINATED = 1.1
_CALIBRATIONS = ("calibration_before_s", "calibration_after_s")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


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
