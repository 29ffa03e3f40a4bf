"""The unfinished work of a job: of each batch its rows so far and a folder a run; locks against a second process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kdrbench.bench import claim
from kdrbench.bench.execute import RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.plan import Batch, Bundle
from kdrbench.bench.record import read_records
from kdrbench.bench.terms import Terms
from kdrbench.files import drop_unfinished


@dataclass(frozen=True)
class BatchFiles:
    """Where a job, or one of its batches, writes: finished rows and traces, unfinished work, and what runs found.

    ``findings`` is an .npz file of arrays ``<kernel>/<solver>/projection_<fold>`` (d x q), ``labels_<fold>`` (those by
    which a baseline or a clustering was judged) and ``given_<fold>`` (of alternative clusterings), of the runs that
    have such; without it nothing is kept.
    """

    records: Path
    traces: Path
    state: Path
    findings: Path | None = None

    def of(self, batch: Batch, bundle: Bundle) -> BatchFiles:
        """Return the files of a batch of the job: one that has the job for itself has its folder, too."""
        if bundle.path == batch.path:
            return self
        return replace(self, state=self.state / batch.kernel / batch.solver / batch.folds_label)

    @property
    def rows(self) -> Path:
        """Rows of the runs that have ended."""
        return self.state / "rows.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the batch."""
        return claim.lock_of(self.state)

    @property
    def job_lock(self) -> Path:
        """Held by the process that works on the job, whichever of its batches it is at."""
        return self.state.with_name(f"{self.state.name}.job.lock")

    @property
    def before(self) -> BatchFiles:
        """What the files were when the job that works on them began."""
        folder = self.state.with_name(f"{self.state.name}.before")
        findings = folder / "findings.npz" if self.findings is not None else None
        return BatchFiles(folder / "records.jsonl", folder / "traces.jsonl", folder / "state", findings)

    @property
    def finished(self) -> list[Path]:
        """The files that appear whole when the job has ended."""
        return [path for path in (self.records, self.traces, self.findings) if path is not None]

    def run(self, fold: int) -> RunFiles:
        """Files of one run."""
        return RunFiles(self.state / f"fold-{fold}")


@contextmanager
def claimed_job(files: BatchFiles) -> Iterator[None]:
    """Hold the job for this process alone, and clear up after writers of its files that were killed.

    Raises ``SupervisionError`` when another process works on it.
    """
    with claim.held(files.job_lock, files.state):
        for path in files.finished:
            drop_unfinished(path)
        yield


@contextmanager
def claimed(files: BatchFiles, batch: Batch, limits: Limits, repeat_for_s: float, terms: Terms) -> Iterator[set[int]]:
    """Hold the batch for this process alone and yield the folds whose rows are there already.

    Rows count only if they were made for the same batch, limits and repeats, and timed or not as is asked; others are
    thrown away.

    Raises ``SupervisionError`` when another process works on the batch.
    """
    with claim.held(files.lock, files.state):
        claim.keep_if_for(files.state, [batch.sha256, limits.time_s, limits.memory_mib, repeat_for_s, terms.timed])
        _drop_unfinished_line(files.rows)
        yield {record.fold for record in read_records(files.rows)}


def keep_before(files: BatchFiles) -> None:
    """Keep a copy of the finished files until :func:`drop_before`: Snakemake may remove them if the job fails.

    On a cluster it does: the process that ran the job puts them back, and the one that sent it there finds no backup.
    """
    drop_before(files)
    files.before.records.parent.mkdir(parents=True)
    for path, kept in zip(files.finished, files.before.finished, strict=True):
        shutil.copyfile(path, kept)


def drop_before(files: BatchFiles) -> None:
    """Remove what :func:`keep_before` has kept."""
    shutil.rmtree(files.before.records.parent, ignore_errors=True)


def _drop_unfinished_line(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
