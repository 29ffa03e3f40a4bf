"""The ledger as CSV, for machines."""

from __future__ import annotations

import csv
import io

from kdrbench.reports.ledger import LedgerRow

_AXES = ("dataset", "kernel", "solver", "metric")
_COLUMNS = (*_AXES, "paper", "ours", "verdict", "why", "mean", "std", "folds", "counted", "best")


def render_csv(ledger: list[LedgerRow]) -> str:
    """Return one line a cell: the axes, paper, ours, verdict, why, and our numbers in full precision."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in ledger:
        cell = row.ours
        words = (row.dataset, row.kernel, row.solver, row.metric, row.paper, cell.text, row.verdict, row.why)
        writer.writerow((*words, cell.mean, cell.std, cell.folds, cell.counted, row.best))
    return buffer.getvalue()
