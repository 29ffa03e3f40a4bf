"""The commands that run the KPCA trick's splits and merge their rows. Each imports what it needs."""

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
@click.option("--out", type=_FILE, required=True, help="Records to write, one JSON line a method and split.")
@click.option("--state", type=_FILE, required=True, help="Folder of unfinished work.")
@click.option("--time-limit-s", type=float, required=True, help="Limit of one split, on the wall clock.")
@click.option("--memory-limit-mib", type=float, required=True, help="Memory limit of one split.")
def kpca_batch(spec: str, data: Path, out: Path, state: Path, time_limit_s: float, memory_limit_mib: float) -> None:
    """Run splits of a data set for the tables of the KPCA trick, each supervised in a process of its own."""
    from kdrbench.bench.lane import owned_cores
    from kdrbench.bench.limits import Limits

    limits = Limits(time_limit_s, memory_limit_mib)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    # The heavy imports wait until a core is free and the threads are set.
    with owned_cores(1) as cores:
        from kdrbench.bench.metric_batch import MetricBatch
        from kdrbench.bench.metric_job import MetricFiles, MetricSurroundings, run_metric_batch
        from kdrbench.bench.supervisor import SCHEDULER_VARIABLE
        from kdrbench.datasets import load_prepared

        scheduler = os.environ.get(SCHEDULER_VARIABLE)
        around = MetricSurroundings(limits, cores, int(scheduler) if scheduler else None)
        batch = MetricBatch.from_json(spec)
        records = run_metric_batch(batch, load_prepared(data), around, MetricFiles(out, state))
    for record in records:
        click.echo(f"{'/'.join(map(str, record.axes))}: {record.status} {record.message}".rstrip())


def _leave(number: int, frame: FrameType | None) -> None:
    # SystemExit unwinds through the supervisor, which kills the split before this process ends.
    sys.exit(128 + number)


@click.command()
@click.argument("config", type=_FILE)
@click.argument("records", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="The CSV table to write.")
def kpca_merge(config: Path, records: Path, out: Path) -> None:
    """Merge the rows that CONFIG expects below the folder RECORDS; a missing row is an error."""
    import json

    from kdrbench.bench.metric_grid import MetricGrid
    from kdrbench.bench.metric_record import merge_metric_records

    batches = MetricGrid(json.loads(config.read_text(encoding="utf-8"))).batches()
    paths = [records / f"{batch.path}.jsonl" for batch in batches]
    merged = merge_metric_records(paths, [axes for batch in batches for axes in batch.axes], out)
    click.echo(f"{len(merged)} rows -> {out}")
