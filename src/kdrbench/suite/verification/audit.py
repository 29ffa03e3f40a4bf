"""Audit a record: runs of it, drawn by a seed, are made again by the engine, and compared with their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import psutil

from kdrbench.datasets import Dataset
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import KdrbenchError
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.identity import Step, steps_of
from kdrbench.suite.engine.record import Record as RunRecord
from kdrbench.suite.engine.record import RecordError
from kdrbench.suite.experiments.merged_tables import record_in
from kdrbench.suite.systems import build_stage
from kdrbench.suite.verification.bookkeeping import Finding, place_of
from kdrbench.suite.verification.comparison import Made, compared, time_ratio
from kdrbench.suite.verification.record import Record, Row

_MIB = 2**20
# Makes the run of a batch of one in the folder, from the data set; returns its rows, none where the engine has failed.
Rerun = Callable[[Batch, Dataset, Path], Sequence[RunRecord]]


@dataclass(frozen=True)
class Audited:
    """A run that was made again: its place, what differs, and its time over the recorded one, scaled by calibration.

    ``steps`` are by component the revisions of the row's numbers and of the code.
    """

    place: str
    findings: tuple[Finding, ...]
    time_ratio: float | None
    steps: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Audit:
    """What was made again, and how many runs were passed over by reason."""

    runs: list[Audited] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)

    @property
    def findings(self) -> list[Finding]:
        """The findings of all runs."""
        return [finding for run in self.runs for finding in run.findings]

    @property
    def cells(self) -> Counter[str]:
        """How many of the runs each component took part in."""
        return Counter(name for run in self.runs for name in run.steps)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was found by component and revisions."""
        made = [(name, *step, bool(run.findings)) for run in self.runs for name, step in run.steps.items()]
        cells, differing = Counter(one[:3] for one in made), Counter(one[:3] for one in made if one[3])
        return tuple(Step(*step, cells[step], differing[step]) for step in sorted(cells))


def drawn(batches: Sequence[Batch], rng: np.random.Generator) -> Iterator[Batch]:
    """Yield a run of each cell as a batch of one, so that the first k cells are of all systems in proportion.

    The i-th of the m cells of a system, in an order drawn, is put at (i + u) / m, u uniform in [0, 1): within every
    stretch a system has as many cells as its share of it, up to one.
    """
    by_system: dict[str, dict[tuple[str, str], list[Batch]]] = {}
    for batch in batches:
        cell = batch.experiment, batch.cell_name
        by_system.setdefault(batch.system, {}).setdefault(cell, []).append(batch)
    placed: list[tuple[float, list[Batch]]] = []
    for cells in by_system.values():
        shift, those = rng.random(), list(cells.values())
        order = rng.permutation(len(those))
        placed += [((rank + shift) / len(those), those[at]) for rank, at in enumerate(order.tolist())]
    for _, of_cell in sorted(placed, key=lambda one: one[0]):
        runs = [(batch, run) for batch in of_cell for run in batch.runs]
        batch, run = runs[int(rng.integers(len(runs)))]
        yield replace(batch, runs=(run,))


def audit(
    record: Record,
    rerun: Rerun,
    folder: Path,
    *,
    n_cells: int,
    seed: int,
    limit_s: float,
    least: int = 0,
    mirror: str | None = None,
    look: Callable[[Audited], None] = lambda _: None,
) -> Audit:
    """Make runs of ``n_cells`` cells again, those that can be made here, and compare each with its rows.

    ``folder`` is where they are made, ``limit_s`` the recorded seconds above which a run is passed over; ``look`` is
    called with each run that was made. First come ``least`` cells of each component, where there are any.

    Raises ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    rows: dict[str, dict[str, Row]] = {
        system: {place_of(row, build_stage(system).record.axis_names()): row for row in of_one}
        for system, of_one in record.rows().items()
    }
    data = _Data(record, mirror)
    result = Audit()
    for batch in _in_turn(list(drawn(record.grid.batches(), np.random.default_rng(seed))), result, least):
        if len(result.runs) == n_cells:
            break
        places = ["/".join(map(str, axes)) for axes in batch.axes]
        those = [rows[batch.system].get(place) for place in places]
        audited: Audited | str
        if missing := [place for place, row in zip(places, those, strict=True) if row is None]:
            audited = Audited(batch.path, (Finding(missing[0], "row", "missing", "in the table"),), None)
        else:
            audited = _audited(record, rerun, folder, batch, [row for row in those if row], data, limit_s)
        if isinstance(audited, str):
            result.passed_over[audited] += 1
        else:
            result.runs.append(audited)
            look(audited)
    return result


def _in_turn(batches: list[Batch], result: Audit, least: int) -> Iterator[Batch]:
    """Yield first the batches with a component of which fewer than ``least`` runs were made so far, then the others."""
    others = []
    for batch in batches:
        cells = result.cells
        if any(cells[name] < least for name in batch.revisions):
            yield batch
        else:
            others.append(batch)
    yield from others


@dataclass
class _Data:
    """The data sets of a record, or why they cannot be had here; the last is kept."""

    record: Record
    mirror: str | None
    _held: tuple[str, Dataset | str] = ("", "")

    def __call__(self, batch: Batch) -> Dataset | str:
        if self._held[0] != batch.dataset:
            self._held = batch.dataset, self._load(batch)
        return self._held[1]

    def _load(self, batch: Batch) -> Dataset | str:
        definition = self.record.grid.config.get("datasets", {}).get(batch.dataset, {})
        try:
            dataset = load_defined(batch.dataset, definition, self.mirror)
        except KdrbenchError as error:
            return f"runs on {batch.dataset}, which cannot be had here: {error}"
        if batch.data_sha256 not in ("", dataset.content_sha256):
            return f"runs on {batch.dataset}, whose values are others here"
        return dataset


def _audited(
    record: Record, rerun: Rerun, folder: Path, batch: Batch, rows: list[Row], data: _Data, limit_s: float
) -> Audited | str:
    """Return a run beside its rerun, or why it is passed over."""
    axes = build_stage(batch.system).record.axis_names()
    try:
        recorded = {place_of(row, axes): record_in(row, build_stage(batch.system).record) for row in rows}
    except RecordError as error:
        return Audited(batch.path, (Finding(batch.path, "row", f"none that can be read: {error}", "one"),), None)
    if reason := _obstacle(list(recorded.values()), limit_s):
        return reason
    if isinstance(dataset := data(batch), str):
        return dataset
    made = rerun(batch, dataset, folder)
    if not made:
        return "runs to which the engine came to no end here, see the lines above"
    here = {"/".join(map(str, one.axes)): one for one in made}
    run, own = batch.runs[0], Record(folder)
    try:
        left = record.arrays(rows[0], batch.cell_name, run)
    except KdrbenchError as error:
        return Audited(batch.path, (Finding(batch.path, "result", f"({error})", "readable"),), None)
    new = own.arrays({"trace_file": f"{batch.path}.jsonl"}, batch.cell_name, run)
    findings = [
        finding
        for place, one in recorded.items()
        for finding in compared(place, Made(one, left), Made(here[place], new))
    ]
    ratios = [time_ratio(one, here[place]) for place, one in recorded.items()]
    known = [ratio for ratio in ratios if ratio is not None]
    steps = steps_of(next(iter(recorded.values())).provenance.revisions, batch)
    return Audited(batch.path, tuple(dict.fromkeys(findings)), float(np.median(known)) if known else None, steps)


def _obstacle(recorded: list[RunRecord], limit_s: float) -> str:
    """Return why a run cannot be made again here, by what its rows say; empty where it can."""
    made = recorded[0].provenance
    if any(one.status == Status.SKIPPED for one in recorded):
        return "runs that were skipped in the record"
    # A run that comes to its limit takes all of it.
    seconds = max([made.wall_s, *(one.time_s or 0.0 for one in recorded)])
    if seconds > limit_s:
        return f"runs that took more than {limit_s:g} s"
    free_mib = psutil.virtual_memory().available / _MIB
    stopped = any(one.status == Status.MEMORY_LIMIT for one in recorded)
    if (made.memory_limit_mib if stopped else made.memory_mib) > free_mib:
        return f"runs that need more than the {free_mib:.0f} MiB that are free here"
    return ""
