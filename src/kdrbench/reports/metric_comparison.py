"""The printed numbers of the KPCA trick in the list of all published numbers beside ours."""

from __future__ import annotations

import pandas as pd

from kdrbench.bench.metric_batch import VARIANTS
from kdrbench.bench.metric_config import TABLES
from kdrbench.reports.comparison import NO_EXPERIMENT, UNEXPLAINED, Comparison
from kdrbench.reports.interval import interval_of
from kdrbench.reports.metric_summary import (
    METRIC,
    PAPER,
    PLAIN,
    SETTING,
    MetricCell,
    find_printed,
    metric_cells,
)
from kdrbench.reports.published import published_numbers
from kdrbench.reports.verdict import Verdict

# What stands in the list's column of experiments.
EXPERIMENT = "kpca"


def compare_metric(rows: pd.DataFrame) -> list[Comparison]:
    """Return every number of the paper's Tables 1 to 3, in print order, beside ours where there are rows of it."""
    cells = metric_cells(rows)
    return [
        _comparison(learner, axes, cells.get((axes["dataset"], learner, axes["kernel"] or PLAIN)))
        for learner, table in TABLES.items()
        for axes in published_numbers(paper=PAPER, table=table, setting=SETTING)
        if axes["metric"] == METRIC and (axes["kernel"] or PLAIN) in VARIANTS
    ]


def _comparison(learner: str, axes: dict[str, str], cell: MetricCell | None) -> Comparison:
    number = find_printed(axes["dataset"], learner, axes["kernel"] or PLAIN)
    ours = cell.ours if cell else None
    low, high = interval_of(METRIC, ours) if ours else (None, None)
    return Comparison(
        **axes,
        published=number.text if number else "",
        published_value=number.value if number else None,
        ours=ours.text if ours else "",
        mean=ours.mean if ours else None,
        std=ours.std if ours else None,
        low=low,
        high=high,
        runs=ours.folds if ours else 0,
        verdict=cell.verdict if cell else Verdict.NOT_RUN,
        why=_why(cell),
        experiment=EXPERIMENT if cell else "",
        first=True,
    )


def _why(cell: MetricCell | None) -> str:
    if cell is None:
        return NO_EXPERIMENT
    reasons = [cell.ours.note, cell.published.why if cell.published else ""]
    known = "; ".join(reason for reason in reasons if reason)
    return known or (UNEXPLAINED if cell.verdict is Verdict.DIFFERS else "")
