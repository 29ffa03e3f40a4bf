"""What is asked of a batch beside its results: whether its times are to count, and the budget it is part of.

Neither changes a result, so a change reruns only what it makes worth running: rows that were not timed and are now to
be, and rows that were left out for want of a budget that is now another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kdrbench.bench.record import RunRecord
from kdrbench.solvers.status import Status


@dataclass(frozen=True)
class Terms:
    """``timed`` runs own their cores; ``budget_s`` are the seconds of all runs of the grid together, if limited."""

    timed: bool = True
    budget_s: float | None = None

    def to_json(self) -> str:
        """Return the terms as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """Read what :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    def met_by(self, rows: Sequence[RunRecord]) -> bool:
        """Return whether there is nothing to gain from making these rows of a batch again."""
        return all((row.timed or not self.timed) and row.status != Status.SKIPPED for row in rows)


TIMED = Terms()
