"""The unfinished work of a job: of each batch its rows so far and a folder a run; locks against a second process."""

from __future__ import annotations

import os
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
    which a reference or a clustering was judged) and ``given_<fold>`` (of alternative clusterings), of the runs that
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

    def run(self, fold: int) -> RunFiles:
        """Files of one run."""
        return RunFiles(self.state / f"fold-{fold}")


@contextmanager
def claimed_job(files: BatchFiles) -> Iterator[None]:
    """Hold the job for this process alone, and clear up after writers of its files that were killed.

    Raises ``SupervisionError`` when another process works on it.
    """
    with claim.held(files.job_lock, files.state):
        for path in (files.records, files.traces, files.findings):
            if path is not None:
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


def _drop_unfinished_line(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
