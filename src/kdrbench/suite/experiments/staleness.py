"""Which jobs have results that are not what the configuration asks for now, and why.

The workflow finds that out from the results themselves, whatever Snakemake remembers: its hidden folder may be lost,
and its triggers may be switched off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from kdrbench.errors import counted
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import Requirements, attested_in, reasons
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import Record, completed

# Reasons that a line names.
_MOST = 3


def stale_jobs(grid: Grid, results: Path, experiments: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Return by its path each job that has rows, but not those that are asked for, with the reasons in words."""
    attested, stale = attested_in(results), {}
    for name in grid.experiments if experiments is None else experiments:
        kind, required = grid.stage(name).record, Requirements(grid.timed(name), grid.budget_s, attested)
        for bundle in grid.bundles(name):
            files = JobFiles.of(results, bundle.path)
            if files.records.is_file() and (why := list(_reasons(bundle, files, kind, required))):
                stale[bundle.path] = why
    return stale


def _reasons(bundle: Bundle, files: JobFiles, kind: type[Record], required: Requirements) -> Iterator[str]:
    try:
        lines = files.records.read_text(encoding="utf-8").splitlines()
        rows = {_axes(row, kind): row for row in (completed(json.loads(line), kind) for line in lines)}
        batches = {axes: batch for batch in bundle.batches for axes in batch.axes}
        found = [(rows[axes], batch) for axes, batch in batches.items() if axes in rows]
        differing = {batch.path: batch for batch in _differing(found)}
        known = {path: files.workspace(batch, kind).batches_of_cell() for path, batch in differing.items()}
        words = (reasons(row, batch, required, known.get(batch.path, {})) for row, batch in found)
        yield from dict.fromkeys(chain.from_iterable(words))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield "its rows cannot be read"
        return
    if added := len(batches) - len(found):
        yield f"{counted(added, 'row')} more asked for"
    if extra := len(rows) - len(found):
        yield f"{counted(extra, 'row')} no longer asked for"


def _axes(row: Mapping[str, Any], kind: type[Record]) -> tuple[Any, ...]:
    return tuple(row[name] for name in kind.axis_names())


def _differing(found: Iterable[tuple[Mapping[str, Any], Batch]]) -> Iterator[Batch]:
    for row, batch in found:
        if row["definition_sha256"] != batch.definition_sha256:
            yield batch


def in_words(stale: Mapping[str, list[str]]) -> str:
    """Return in a line how many jobs are out of date, and the most frequent reasons."""
    counts = Counter(why for reasons in stale.values() for why in reasons)
    words = [f"{why} ({counted(count, 'job')})" for why, count in counts.most_common(_MOST)]
    more = f" and {len(counts) - _MOST} more reasons" if len(counts) > _MOST else ""
    return f"{counted(len(stale), 'job')} out of date: {'; '.join(words)}{more}"
