"""One job of Snakemake: the batches of a bundle that have no rows yet, then the files of all of them."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from kdrbench.bench.batch import Surroundings, run_batch
from kdrbench.bench.plan import Batch, Bundle
from kdrbench.bench.publish import Published, made, publish, read_published
from kdrbench.bench.record import Axes, RunRecord, read_records
from kdrbench.bench.row import shared_columns
from kdrbench.bench.state import BatchFiles, claimed_job, drop_before, keep_before
from kdrbench.bench.terms import Terms
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError, KdrbenchError
from kdrbench.files import write_text

# Seconds after which the cores are calibrated again between two batches.
CALIBRATE_EVERY_S = 10.0


@dataclass
class _Calibrations:
    """Times of the fixed piece of work before and after the runs of each stretch of a job."""

    around: Surroundings
    before_s: float | None = None
    _at: float = 0.0
    _stretch: list[Axes] = field(default_factory=list)
    _after_s: dict[Axes, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._calibrate()

    def note(self, runs: Iterable[Axes], *, last: bool) -> None:
        """Say what has been run; calibrate at the end, and where the last time is some seconds ago."""
        self._stretch.extend(runs)
        if last or time.monotonic() >= self._at + CALIBRATE_EVERY_S:
            self._calibrate()
            self._after_s |= dict.fromkeys(self._stretch, self.before_s)
            self._stretch.clear()

    def told(self, record: RunRecord) -> RunRecord:
        """Return the row with the calibration that followed it, if it was made in this job."""
        return replace(record, calibration_after_s=self._after_s.get(record.axes, record.calibration_after_s))

    def _calibrate(self) -> None:
        self.before_s = self.around.calibrate() if self.around.terms.timed else None
        self._at = time.monotonic()


def run_job(
    bundle: Bundle, load: Callable[[], Dataset], around: Surroundings, files: BatchFiles, summary: Path | None = None
) -> list[RunRecord]:
    """Run what has no row yet, as far as the budget goes, then publish rows and traces of all as whole files.

    What the files hold of a batch that is the same stands as it is; ``load`` is called if there is another. Errors of
    the bench itself (missing package, wrong data, bad specification) leave no row: only a method's own failure is data.
    The first of them is raised when the other batches have been run; their rows wait in the state. ``summary`` is
    written when all has gone well.
    """
    began = time.monotonic()
    with claimed_job(files):
        published = _standing(bundle, files, around.terms)
        waiting = [batch for batch in bundle.batches if batch.path not in published]
        if waiting:
            published |= _made(bundle, waiting, load(), around, files)
        records = publish(bundle, files, published)
        drop_before(files)
        if summary is not None:
            _write_summary(summary, began, sum(len(batch.folds) for batch in waiting), len(records))
        return records


def _standing(bundle: Bundle, files: BatchFiles, terms: Terms) -> dict[str, Published]:
    """Return by path the batches that need not be run again, from the job's files or what a job that failed kept."""
    if published := read_published(bundle, files, terms):
        keep_before(files)
        return published
    return read_published(bundle, files.before, terms)


def _made(
    bundle: Bundle, waiting: list[Batch], dataset: Dataset, around: Surroundings, files: BatchFiles
) -> dict[str, Published]:
    """Return by path what the batches that are ``waiting`` have left when they have been run."""
    calibrations, columns = _Calibrations(around), shared_columns(around.cores)
    rows: dict[str, list[RunRecord]] = {}
    errors: list[Exception] = []
    for batch in waiting:
        own = files.of(batch, bundle)
        before = {record.axes for record in read_records(own.rows)}
        shared = columns | {"calibration_before_s": calibrations.before_s}
        try:
            _check_data(batch, dataset)
            rows[batch.path] = run_batch(batch, dataset, around, own, bundle.path, shared)
        except (KdrbenchError, ImportError) as error:
            around.check_scheduler()
            click.echo(f"{batch.path}: {error}", err=True)
            errors.append(error)
            continue
        calibrations.note(set(batch.axes) - before, last=batch is waiting[-1])
    if errors:
        raise errors[0]
    return {
        batch.path: made(batch, files.of(batch, bundle), [calibrations.told(row) for row in rows[batch.path]])
        for batch in waiting
    }


def _check_data(batch: Batch, dataset: Dataset) -> None:
    if dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the run wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )


def _write_summary(path: Path, began: float, n_made: int, n_runs: int) -> None:
    """Say what the job did and took: its own CPU seconds and those of all its runs."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    values = {
        "runs": n_runs,
        "runs_made": n_made,
        "cpu_s": round(sum(usage.ru_utime + usage.ru_stime for usage in usages), 3),
        "wall_s": round(time.monotonic() - began, 3),
    }
    write_text(path, json.dumps(values) + "\n")
