"""Limits of time that rows were made under, and that are not those of their configuration.

Where a limit changes, the workflow makes only those runs again that the old one stopped. A run that ended before both
limits is the same under either, so its row stays, with the limit that it had. A packed record states which these limits
are, and how many rows of each experiment have them: any other limit was edited.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kdrbench.errors import DamagedError, in_words
from kdrbench.status import BY_METHODS
from kdrbench.suite.engine.record import Record

# Beside the configuration of results that were unpacked.
OTHER_LIMITS = "other_limits.json"

# How many rows have each limit, in seconds.
Counts = dict[str, int]


def other_limits(rows: Iterable[Record], limit_s: float) -> Counts:
    """Return how many rows have each limit of time other than ``limit_s``, in seconds, and ended before both."""
    limits = ((row, row.provenance.time_limit_s) for row in rows)
    found = Counter(limit for row, limit in limits if ended_before(row.status, row.time_s, limit, limit_s))
    return {repr(float(other)): count for other, count in sorted(found.items()) if other != limit_s}


def ended_before(status: str, time_s: float | None, *limits_s: float) -> bool:
    """Return whether a run came to its method's own end before each of these limits, in seconds."""
    return status in BY_METHODS and time_s is not None and time_s < min(limits_s)


def stated(experiments: Mapping[str, Any]) -> dict[str, Counts]:
    """Return the other limits of each experiment that has any, of what a manifest says of experiments.

    Raises ``ValueError`` where that is no such thing.
    """
    found = {name: one.get("other_limits_s", {}) for name, one in experiments.items()}
    return _checked({name: counts for name, counts in found.items() if counts})


def read_other_limits(folder: Path) -> dict[str, Counts]:
    """Return the other limits of the experiments in a folder of results; ``DamagedError`` for a file of anything else.

    Results that were never packed state none.
    """
    path = folder / OTHER_LIMITS
    try:
        return _checked(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path} states no limits ({in_words(error)}); unpack the record again") from error


def _checked(limits: Any) -> dict[str, Counts]:
    if not isinstance(limits, dict) or not all(isinstance(counts, dict) for counts in limits.values()):
        raise ValueError("its limits are not counts by experiment")
    for counts in limits.values():
        for limit, count in counts.items():
            if not float(limit) > 0 or not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise ValueError(f"{str(count)[:20]} rows with a limit of {limit[:20]} s")
    return limits
