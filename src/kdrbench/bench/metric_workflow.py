"""What rules/metric.smk asks of the package."""

from __future__ import annotations

from collections.abc import Sequence

from kdrbench.bench.metric_config import table_name
from kdrbench.bench.metric_grid import MetricGrid
from kdrbench.bench.workflow import FIGURE_KINDS, data_to_await

RECORDS, ROWS = "results/kpca", "results/kpca.csv"
# What tables are written as.
TABLE_KINDS = ("tex", "html", "csv", "json")
_SIDE_TABLES = ("kpca_tests", "kpca_times")
_FIGURES = ("2", "3", "4", "5")


def metric_data_of(grid: MetricGrid, dataset: str, splits: str) -> list[str]:
    """Return the prepared data file that a batch has to wait for."""
    return data_to_await(grid.batch(dataset, splits), RECORDS)


def metric_records_of(grid: MetricGrid) -> list[str]:
    """Return the files of records of all batches."""
    return [f"{RECORDS}/{batch.path}.jsonl" for batch in grid.batches()]


def metric_tables_of(grid: MetricGrid, kinds: Sequence[str] = TABLE_KINDS) -> list[str]:
    """Return the files of all tables that are of these kinds."""
    names = [*map(table_name, grid.learners), *_SIDE_TABLES]
    return [f"reports/{name}.{kind}" for name in names for kind in kinds]


def metric_figure_data(grid: MetricGrid, number: str) -> list[str]:
    """Return the prepared data sets that a figure is made of; Figure 2 makes its own."""
    sets = {"2": [], "3": grid.figures[:1]}.get(number, grid.figures)
    return [f"results/data/{dataset}.npz" for dataset in sets]


def metric_reports_of(grid: MetricGrid, target: str = "") -> list[str]:
    """Return tables and figures of the section ``kpca``; none where it names no data set.

    With a ``target`` that was asked for by name, lets Snakemake end with one sentence instead.
    """
    from snakemake.exceptions import WorkflowError

    if not grid.datasets:
        if target:
            raise WorkflowError(f"{target}: kpca.datasets names no data set, so there is nothing to run")
        return []
    numbers = [number for number in _FIGURES if number == "2" or grid.figures]
    figures = [f"reports/figures/kpca_figure{number}.{kind}" for number in numbers for kind in FIGURE_KINDS]
    return metric_tables_of(grid) + figures


def metric_rows_of(grid: MetricGrid) -> list[str]:
    """Return the merged table, if there is one."""
    return [ROWS] if grid.datasets else []


def metric_option(grid: MetricGrid) -> str:
    """Return the option by which a command of all reports is told the merged table."""
    return f"--kpca {ROWS}" if grid.datasets else ""
