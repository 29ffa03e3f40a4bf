"""Verify a record: its bookkeeping, and every number that can be computed again from the data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import chain

from joblib import Parallel, delayed

from kdrbench.errors import DataError
from kdrbench.suite.engine.identity import of_revisions
from kdrbench.suite.systems import build_stage
from kdrbench.suite.verification import large
from kdrbench.suite.verification.batches import COMPUTED, BatchToVerify, Placed, Verification
from kdrbench.suite.verification.bookkeeping import (
    Finding,
    against_definition,
    against_schema,
    drifts,
    missing_and_double,
    of_itself,
    of_limits,
    place_of,
    to_number,
)
from kdrbench.suite.verification.described import SUPERVISED, of_description
from kdrbench.suite.verification.manifest import of_figures, of_stated
from kdrbench.suite.verification.marks import of_ending, of_marks
from kdrbench.suite.verification.optima import IKDR, sha256_of
from kdrbench.suite.verification.ranges import of_ranges
from kdrbench.suite.verification.record import Record, Row
from kdrbench.suite.verification.store import of_all_stored
from kdrbench.suite.verification.traces import lowest_ends

# Seconds of all runs of many samples together.
BUDGET_S = 300.0


def verify(
    record: Record,
    *,
    mirror: str | None = None,
    n_jobs: int = 1,
    most: int = large.MOST_SAMPLES,
    budget_s: float = BUDGET_S,
    seed: int = 0,
    figures: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Compare every row of a record with its definition, its trace, and what is computed again from raw data.

    Of supervised runs of more than ``most`` training samples cost and stationarity alone are computed again, of as many
    as about ``budget_s`` seconds allow, in an order drawn by ``seed``. Clusterings of that size, and rows of other
    systems than IKDR, its atlas and leagues, keep their numbers unverified. What is left out is counted by reason.
    ``figures`` are those that show samples and may be stored, by name, if they are known. ``mirror`` is where data are
    looked for first; a data set that cannot be had is a finding. ``progress`` is called after each batch with the
    number of those that are verified, and of all.

    Raises ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    total, rows_of = Verification(), defaultdict[str, Placed](list)
    for system, rows in record.rows().items():
        total.add(_bookkeeping(record, system, rows, rows_of))
    ask = BatchToVerify(record, mirror, most)
    ask = replace(ask, missing=_missing_data(ask, rows_of))
    total.findings += [Finding(f"datasets/{name}", "data", f"({why})", "readable") for name, why in ask.missing.items()]
    ask = replace(ask, chosen=frozenset(large.within_budget(ask.of_many(rows_of), seed, budget_s)))
    ask = replace(ask, least=_least(record, rows_of))
    jobs = [(batch, rows_of[batch.path]) for batch in record.grid.batches()]
    parts = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(ask.verified)(*job) for job in jobs)
    for done, part in enumerate(parts, 1):
        total.add(part)
        if progress is not None:
            progress(done, len(jobs))
    total.findings += of_stated(record, rows_of)
    for finding in chain(of_all_stored(record, rows_of, ask.data), of_figures(record, figures)):
        if isinstance(finding, str):
            total.left_out[finding] += 1
        else:
            total.findings.append(finding)
    return total


def _least(record: Record, rows_of: Mapping[str, Placed]) -> dict[str, float]:
    """Return by place the lowest cost at which supervised runs of the same problem ended, whatever their experiment."""
    problem_at: dict[str, str] = {}
    ends = []
    for batch in record.grid.batches():
        if batch.system != IKDR or batch.definition["paradigm"] != SUPERVISED:
            continue
        for place, row in rows_of.get(batch.path, ()):
            if (cost := to_number(row["cost"])) is not None:
                problem_at[place] = sha256_of(batch, int(row["run"]))
                ends.append((problem_at[place], json.dumps(batch.definition["method"], sort_keys=True), cost))
    lowest = lowest_ends(ends)
    return {place: lowest[problem] for place, problem in problem_at.items() if problem in lowest}


def _missing_data(ask: BatchToVerify, rows_of: Mapping[str, Placed]) -> dict[str, str]:
    """Return why data sets cannot be had: each is asked for once, as a server that is not there is waited for."""
    wanted = {
        batch.dataset for batch in ask.record.grid.batches() if batch.system in COMPUTED and rows_of.get(batch.path)
    }
    missing = {}
    for name in sorted(wanted):
        try:
            ask.data(name)
        except DataError as error:
            missing[name] = str(error)
    return missing


def _bookkeeping(record: Record, system: str, rows: list[Row], rows_of: dict[str, Placed]) -> Verification:
    """Return the findings of a table's rows, and sort them by batch into ``rows_of``."""
    grid, kind = record.grid, build_stage(system).record
    axes = kind.axis_names()
    batches = [batch for batch in grid.batches() if batch.system == system]
    by_place = {"/".join(map(str, names)): batch for batch in batches for names in batch.axes}
    traces = {batch.path: f"{bundle.path}.jsonl" for bundle in grid.bundles() for batch in bundle.batches}
    result, placed = Verification(rows=len(rows)), [(place_of(row, axes), row) for row in rows]
    result.findings += missing_and_double((place for place, _ in placed), by_place)
    for place, row in placed:
        if unsound := list(against_schema(place, row, kind)):
            result.findings += unsound
            # Nothing else of this row can be compared.
            continue
        result.findings += [*of_itself(place, row), *of_ranges(place, row, kind)]
        if (batch := by_place.get(place)) is not None:
            others = record.other_limits.get(batch.experiment, {})
            result.findings += against_definition(place, row, batch, grid, traces[batch.path], others)
            result.findings += [*of_description(place, row, batch), *of_ending(place, row, batch.definition)]
            result.findings += of_marks(place, row, grid)
            result.stale.update(of_revisions(row["revisions"], batch, record.attested))
            rows_of[batch.path].append((place, row))
    result.findings += drifts(placed, kind.CELL)
    result.findings += of_limits(placed, record.other_limits)
    return result
