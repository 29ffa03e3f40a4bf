"""Audit a record: runs of it, drawn by a seed, are made again by the engine, and compared with their rows.

On the same processor, with the same packages and the same commit, a run is deterministic: all results are equal, bit
for bit. Elsewhere sums are rounded in another order, and results differ by what rounding moves an optimum:

    cost      relatively by s^2 / (2 |c|), and 1e-9
    W         largest sine between the spaces of both: (s + s') sqrt(q) / |c|, and sqrt(2e-9 / |c|)
    shares    two samples whose label a tie decides
    steps     a tenth of them, and one: a bound is crossed sooner or later

where s and s' are the relative stationarities and c is the relative curvature. To first order the gradient at an angle
t from a certified optimum is at least |c| t times the largest |eigenvalue| of W'G, which is at least |G| / sqrt(q);
and a cost that is above the optimum's by a share e is within t^2 = 2 e / |c|. Without a recorded curvature, c = 0.01.

Methods by steps along gradients amplify rounding, so that s counts. Those that map W to eigenvectors of Phi(W) contract
it: after as many iterations theirs counts as 0.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, section 4.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import KdrbenchError, counted
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.identity import ATTESTATIONS, STEP, append_attestation, steps_of
from kdrbench.suite.engine.provenance import now, software_and_machine, write_evidence
from kdrbench.suite.engine.recomputed import NOT_STORED, Arrays
from kdrbench.suite.engine.record import Record as RunRecord
from kdrbench.suite.engine.record import RecordError, flat, own_column_types
from kdrbench.suite.experiments.results import record_in
from kdrbench.suite.systems import build_system
from kdrbench.suite.verification.verify import Finding, Record, place_of, way_to

_MIB = 2**20
# Makes the run of a batch of one in the folder, from the data set; returns its rows, none where the engine has failed.
Rerun = Callable[[Batch, Dataset, Path], Sequence[RunRecord]]
# A row of a run, and the arrays that its run has left.
Made = tuple[RunRecord, Arrays]
# By these rounding is the same.
_SAME = (
    *("processor", "blas", "blas_threads", "kdrbench_version", "git_commit", "git_dirty", "python_version"),
    *("numpy_version", "scipy_version", "scikit_learn_version", "pymanopt_version", "numba_version"),
)
_COSTS, _STEPS = ("cost", "best_cost"), ("iterations", "sweeps", "projections")
_ACCURACIES = ("quality", "train_accuracy", "accuracy", "test_accuracy", "knn_accuracy", "linear_accuracy")
_AGREEMENTS = ("nmi_given", "nmi_one_start", "nmi_ten_starts")
_COST, _CURVATURE, _SAMPLES = 1e-9, 1e-2, 2
# A run whose time comes this near its limit may end on either side of it.
_NEAR = 0.5


@dataclass(frozen=True)
class Audited:
    """A run that was made again: its place, what differs, and its time over the recorded one, scaled by calibration.

    ``steps`` are by component the revisions of the row's numbers and of the code.
    """

    place: str
    findings: tuple[Finding, ...]
    time_ratio: float | None = None
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
    def steps(self) -> list[dict[str, Any]]:
        """The runs, and those that differ, by component and revisions, as attestations have them."""
        made = [(name, *step, bool(run.findings)) for run in self.runs for name, step in run.steps.items()]
        cells, differing = Counter(one[:3] for one in made), Counter(one[:3] for one in made if one[3])
        return [dict(zip(STEP, (*step, cells[step], differing[step]), strict=True)) for step in sorted(cells)]


def drawn(batches: Sequence[Batch], rng: np.random.Generator) -> Iterator[Batch]:
    """Yield a run of each cell as a batch of one, cells and runs in an order that is drawn."""
    by_cell: dict[tuple[str, str], list[tuple[Batch, int]]] = {}
    for batch in batches:
        by_cell.setdefault((batch.experiment, batch.cell_name), []).extend((batch, run) for run in batch.runs)
    cells = list(by_cell.values())
    for place in rng.permutation(len(cells)):
        batch, run = cells[place][int(rng.integers(len(cells[place])))]
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

    Raises ``ConfigError``, ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    rows = {
        system: {place_of(row, build_system(system).record.axis_names()): row for row in of_one}
        for system, of_one in record.rows().items()
    }

    sources = Sources(mirror)

    @lru_cache(maxsize=1)
    def data(name: str) -> Dataset | str:
        try:
            return load_defined(name, record.grid.config.get("datasets", {}).get(name, {}), sources)
        except KdrbenchError as error:
            return f"runs on {name}, whose data cannot be had: {way_to(name, str(error))}"

    result = Audit()
    for batch in _in_turn(list(drawn(record.grid.batches(), np.random.default_rng(seed))), result, least):
        if len(result.runs) == n_cells:
            break
        audited = _audited(record, rerun, folder, batch, rows[batch.system], data, limit_s)
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
        cells = Counter(name for run in result.runs for name in run.steps)
        if any(cells[name] < least for name in batch.revisions):
            yield batch
        else:
            others.append(batch)
    yield from others


def _audited(
    record: Record,
    rerun: Rerun,
    folder: Path,
    batch: Batch,
    rows: Mapping[str, dict[str, str]],
    data: Callable[[str], Dataset | str],
    limit_s: float,
) -> Audited | str:
    """Return a run beside its rerun, or why it is passed over; ``rows`` are those of the system by place."""
    kind, places = build_system(batch.system).record, ["/".join(map(str, axes)) for axes in batch.axes]
    if missing := [place for place in places if place not in rows]:
        return Audited(batch.path, (Finding(missing[0], "row", "missing", "in the table"),))
    try:
        recorded = {place: record_in(rows[place], kind) for place in places}
    except RecordError as error:
        return Audited(batch.path, (Finding(batch.path, "row", f"none that can be read: {error}", "one"),))
    if reason := _obstacle(list(recorded.values()), limit_s):
        return reason
    if isinstance(dataset := data(batch.dataset), str):
        return dataset
    if batch.data_sha256 not in ("", dataset.content_sha256):
        return f"runs on {batch.dataset}, whose values are others here"
    if not (made := rerun(batch, dataset, folder)):
        return "runs to which the engine came to no end here, see the lines above"
    here, run = {"/".join(map(str, one.axes)): one for one in made}, batch.runs[0]
    try:
        stored = record.arrays(rows[places[0]]["trace_file"], batch.cell_name, [run]).get(run, {})
    except KdrbenchError as error:
        return Audited(batch.path, (Finding(batch.path, "result", f"({error})", "readable"),))
    new = Record(folder).arrays(f"{batch.path}.jsonl", batch.cell_name, [run]).get(run, {})
    findings = [
        finding for place, one in recorded.items() for finding in compared(place, (one, stored), (here[place], new))
    ]
    ratios = [ratio for place, one in recorded.items() if (ratio := time_ratio(one, here[place])) is not None]
    steps = steps_of(recorded[places[0]].provenance.revisions, batch)
    return Audited(batch.path, tuple(dict.fromkeys(findings)), float(np.median(ratios)) if ratios else None, steps)


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


def same_rounding(recorded: RunRecord, here: RunRecord) -> bool:
    """Return whether both were made by the same processor, packages and commit, without changes to it."""
    first, second = flat(recorded), flat(here)
    return first["git_dirty"] is False and all(first[name] == second[name] for name in _SAME)


def time_ratio(recorded: RunRecord, here: RunRecord) -> float | None:
    """Return the rerun's time over the recorded one's, each in units of its calibration; ``None`` without both."""
    scaled = [(one.time_s or 0.0) / (one.provenance.calibration_before_s or np.inf) for one in (recorded, here)]
    return scaled[1] / scaled[0] if min(scaled) > 0 else None


def compared(place: str, recorded: Made, here: Made) -> Iterator[Finding]:
    """Yield what a rerun has found otherwise than the row of the record, and the arrays that this stores."""
    (row, stored), (row_here, left) = recorded, here
    first, second = flat(row), flat(row_here)
    if first["status"] != second["status"]:
        if not _near_a_limit(row, row_here):
            yield Finding(place, "status", first["status"], f"{second['status']}, of a rerun ({second['message']})")
    # Where the clock or the memory has stopped it, is the machine's.
    elif first["status"] not in (Status.TIME_LIMIT, Status.MEMORY_LIMIT):
        same = same_rounding(row, row_here)
        # What the clock says is not a result.
        own = (name for name in own_column_types(type(row)) if not name.endswith("_s"))  # type: ignore[arg-type]
        allowed = {name: 0.0 for name in own if name != "repeats"} if same else dict(_allowed(first, second))
        for name, most in allowed.items():
            one, other = first.get(name), second.get(name)
            if one != other and (not most or one is None or other is None or not abs(one - other) <= most):
                yield Finding(place, name, _word(one), f"{_word(other)} within {most:.1e}, of a rerun")
        # Those that the record says it does not store are left out.
        left_out = {NOT_STORED, *(str(name) for name in stored.get(NOT_STORED, ()))}
        for name in sorted({*stored, *left} - left_out):
            one, other = stored.get(name), left.get(name)
            if not same and name == "projection":
                yield from _near_subspace(place, one, other, _still(first, second), _bent(first))
            elif same and (one is None or other is None or not np.array_equal(one, other.astype(one.dtype))):
                yield Finding(place, name, _shape(one), f"{_shape(other)} with other values, of a rerun")


def _near_a_limit(*both: RunRecord) -> bool:
    """Return whether one was stopped by the clock, and the other ended after half of that time by the same measure."""
    stopped = [one for one in both if one.status == Status.TIME_LIMIT]
    ended = [one for one in both if one.status in BY_METHODS]
    if len(stopped) != 1 or len(ended) != 1:
        return False
    limit_s, kernel_s = stopped[0].provenance.time_limit_s, stopped[0].provenance.calibration_before_s
    own_s, time_s = ended[0].provenance.calibration_before_s, ended[0].time_s
    speed = kernel_s / own_s if kernel_s and own_s else 1.0
    return (time_s or 0.0) * speed > _NEAR * limit_s


def _allowed(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the columns that are compared, and by how much they may differ."""
    share = max(_COST, _still(first, second) ** 2 / (2.0 * _bent(first)))
    n = max(1, first.get("n_test") or first.get("n_train") or first.get("n_samples") or 1)
    for name in (*_COSTS, *_STEPS, *_ACCURACIES, *_AGREEMENTS):
        size = abs(first.get(name) or 0.0)
        if name in _COSTS:
            yield name, share * size
        elif name in _STEPS:
            yield name, 0.1 * size + 1
        elif name in _AGREEMENTS or first.get("quality_metric") == "nmi":
            # Moving a sample changes an entropy by at most 2 ln(n) / n.
            yield name, 2 * _SAMPLES * float(np.log(max(n, 3))) / n
        else:
            yield name, _SAMPLES / n + 1e-12


def _still(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    if first.get("surrogate_calls") and first.get("iterations") == second.get("iterations"):
        return 0.0
    return max(0.0, *((one.get("stationarity") or 0.0) for one in (first, second)))


def _bent(first: Mapping[str, Any]) -> float:
    return float(max(abs(first.get("curvature") or _CURVATURE), np.finfo(float).tiny))


def _near_subspace(
    place: str, one: NDArray[Any] | None, other: NDArray[Any] | None, still: float, bent: float
) -> Iterator[Finding]:
    if one is None or other is None or one.shape != other.shape:
        yield Finding(place, "projection", _shape(one), f"{_shape(other)}, of a rerun")
        return
    bound = max(2.0 * still * one.shape[1] ** 0.5 / bent, (2.0 * _COST / bent) ** 0.5)
    if not (angle := sine(one, other)) <= bound:
        yield Finding(
            place, "projection", _shape(one), f"at a sine of {bound:.1e} at most to a rerun's, not {angle:.1e}"
        )


def sine(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the largest sine of an angle between the spaces of two d x q matrices with orthonormal columns.

    NaN where a matrix has entries that are not finite.
    """
    first, second = first.astype(float), second.astype(float)
    rest = second - first @ (first.T @ second)
    return float(np.linalg.norm(rest, 2)) if np.isfinite(rest).all() else float("nan")


def _shape(array: NDArray[Any] | None) -> str:
    return "missing" if array is None else f"of shape {array.shape}"


def _word(value: object) -> str:
    return "" if value is None else str(value)


def attest(results: Path, found: Audit, seed: int) -> str:
    """Append what was found to the attestations beside the results, and return it in a line."""
    made = software_and_machine()
    audit = {
        "date": now(),
        "seed": seed,
        "cells": len(found.runs),
        "differing": sum(bool(run.findings) for run in found.runs),
        **{name: made[name] for name in ("machine", "processor", "git_commit")},
        **write_evidence(results),
        "steps": found.steps,
    }
    append_attestation(results, audit)
    safe = sum(not step["differing"] for step in found.steps)
    return f"attested: {safe} of {counted(len(found.steps), 'component')}, in {results / ATTESTATIONS}"
