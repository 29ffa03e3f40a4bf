"""What rules/metric.smk asks of the package."""

from __future__ import annotations

from kdrbench.bench.metric_grid import MetricGrid

# Where records and their table lie.
METRIC_RECORDS, METRIC_TABLE = "results/kpca", "results/kpca.csv"


def metric_records_of(grid: MetricGrid) -> list[str]:
    """Return the files of records of all batches."""
    return [f"{METRIC_RECORDS}/{batch.path}.jsonl" for batch in grid.batches()]
