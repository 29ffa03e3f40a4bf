"""The commands that learn low-rank kernels and merge their rows. Each imports what it needs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--spec", required=True, help="The batch as JSON, as the workflow's grid gives it.")
@click.option("--data", type=_FILE, required=True, help="The prepared data set.")
@click.option("--out", type=_FILE, required=True, help="Records to write, one JSON line a kernel learned.")
@click.option("--state", type=_FILE, required=True, help="Folder of unfinished work.")
@click.option("--time-limit-s", type=float, required=True, help="Limit of one run, on the wall clock.")
@click.option("--memory-limit-mib", type=float, required=True, help="Memory limit of one run.")
def lowrank_batch(spec: str, data: Path, out: Path, state: Path, time_limit_s: float, memory_limit_mib: float) -> None:
    """Learn kernels by one method on one task, each run supervised in a process of its own."""
    from kdrbench.bench.lane import owned_cores
    from kdrbench.bench.limits import Limits

    limits = Limits(time_limit_s, memory_limit_mib)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    # The heavy imports wait until a core is free and the threads are set.
    with owned_cores(1) as cores:
        from kdrbench.bench.lowrank_batch import LowrankBatch
        from kdrbench.bench.lowrank_job import LowrankFiles, LowrankSurroundings, run_lowrank_batch
        from kdrbench.bench.supervisor import SCHEDULER_VARIABLE
        from kdrbench.datasets import load_prepared

        scheduler = os.environ.get(SCHEDULER_VARIABLE)
        around = LowrankSurroundings(limits, cores, int(scheduler) if scheduler else None)
        batch = LowrankBatch.from_json(spec)
        records = run_lowrank_batch(batch, load_prepared(data), around, LowrankFiles(out, state))
    for record in records:
        click.echo(f"{'/'.join(map(str, record.axes))}: {record.status} {record.message}".rstrip())


def _leave(number: int, frame: FrameType | None) -> None:
    # SystemExit unwinds through the supervisor, which kills the run before this process ends.
    sys.exit(128 + number)


@click.command()
@click.argument("config", type=_FILE)
@click.argument("records", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="The CSV table to write.")
def lowrank_merge(config: Path, records: Path, out: Path) -> None:
    """Merge the rows that CONFIG expects below the folder RECORDS; a missing row is an error."""
    import json

    from kdrbench.bench.lowrank_grid import LowrankGrid
    from kdrbench.bench.lowrank_record import LOWRANK_SCHEMA_VERSION, LowrankRecord
    from kdrbench.bench.rows import merge_rows, read_rows

    batches = LowrankGrid(json.loads(config.read_text(encoding="utf-8"))).batches()
    paths = [records / f"{batch.path}.jsonl" for batch in batches]
    rows = [row for path in paths for row in read_rows(path, LowrankRecord, LOWRANK_SCHEMA_VERSION)]
    merged = merge_rows(rows, [axes for batch in batches for axes in batch.axes], out)
    click.echo(f"{len(merged)} rows -> {out}")
