"""The commands that learn low-rank kernels and merge their rows. Each imports what it needs."""

from __future__ import annotations

from pathlib import Path

import click

from kdrbench.bench.parts_commands import batch_options, merge_batches, merge_options, on_one_core, say_rows


@click.command()
@batch_options(row="kernel learned", part="run")
def lowrank_batch(spec: str, data: Path, out: Path, state: Path, time_limit_s: float, memory_limit_mib: float) -> None:
    """Learn kernels by one method on one task, each run supervised in a process of its own."""
    with on_one_core(time_limit_s, memory_limit_mib) as around:
        from kdrbench.bench.lowrank_batch import LowrankBatch
        from kdrbench.bench.lowrank_job import run_lowrank_batch
        from kdrbench.bench.parts import PartFiles
        from kdrbench.datasets import load_prepared

        batch = LowrankBatch.from_json(spec)
        records = run_lowrank_batch(batch, load_prepared(data), around, PartFiles(out, state))
    say_rows(records)


@click.command()
@merge_options
def lowrank_merge(config: Path, records: Path, out: Path) -> None:
    """Merge the rows that CONFIG expects below the folder RECORDS; a missing row is an error."""
    import json

    from kdrbench.bench.lowrank_grid import LowrankGrid
    from kdrbench.bench.lowrank_record import LowrankRecord

    grid = LowrankGrid(json.loads(config.read_text(encoding="utf-8")))
    merge_batches(grid.batches(), records, LowrankRecord, out)
