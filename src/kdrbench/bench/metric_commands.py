"""The commands that run the KPCA trick's splits and merge their rows. Each imports what it needs."""

from __future__ import annotations

from pathlib import Path

import click

from kdrbench.bench.parts_commands import batch_options, merge_batches, merge_options, on_one_core, say_rows


@click.command()
@batch_options(row="method and split", part="split")
def kpca_batch(spec: str, data: Path, out: Path, state: Path, time_limit_s: float, memory_limit_mib: float) -> None:
    """Run splits of a data set for the tables of the KPCA trick, each supervised in a process of its own."""
    with on_one_core(time_limit_s, memory_limit_mib) as around:
        from kdrbench.bench.metric_batch import MetricBatch
        from kdrbench.bench.metric_job import run_metric_batch
        from kdrbench.bench.parts import PartFiles
        from kdrbench.datasets import load_prepared

        batch = MetricBatch.from_json(spec)
        records = run_metric_batch(batch, load_prepared(data), around, PartFiles(out, state))
    say_rows(records)


@click.command()
@merge_options
def kpca_merge(config: Path, records: Path, out: Path) -> None:
    """Merge the rows that CONFIG expects below the folder RECORDS; a missing row is an error."""
    import json

    from kdrbench.bench.metric_grid import MetricGrid
    from kdrbench.bench.metric_record import MetricRecord

    grid = MetricGrid(json.loads(config.read_text(encoding="utf-8")))
    merge_batches(grid.batches(), records, MetricRecord, out)
