"""What a packed record states of itself, beside what is there: its experiments, its counts, its figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kdrbench.suite.archive.other_limits import other_limits
from kdrbench.suite.archive.stated import Stated
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.experiments.merged_tables import record_in, was_disturbed
from kdrbench.suite.experiments.workflow import plugin_checks
from kdrbench.suite.systems import build_stage
from kdrbench.suite.verification.bookkeeping import Finding
from kdrbench.suite.verification.record import Record, Row

Rows = Mapping[str, Sequence[tuple[str, Row]]]
_PLACE = "manifest.json"


def of_stated(record: Record, rows_of: Rows) -> Iterator[Finding]:
    """Yield what a packed record states that is not so; nothing of results that were not packed.

    ``rows_of`` has the rows that can be read by batch.
    """
    if (stated := record.stated) is None:
        return
    there = _counted(record.grid, rows_of, stated)
    for name in stated.run:
        if name not in there:
            yield Finding(name, "experiment", "missing", "in the record, whose configuration runs it")
    for name, counts in there.items():
        said = stated.experiments.get(name, {})
        for word, count in counts.items():
            if said.get(word) != count or isinstance(said.get(word), bool) is not isinstance(count, bool):
                yield Finding(f"{_PLACE}/{name}", word, str(said.get(word)), str(count))
    complete = set(stated.run) == set(there) and all(one["complete"] for one in there.values())
    if stated.complete is not complete:
        yield Finding(_PLACE, "complete", str(stated.complete), str(complete))
    if stated.whole is not False and (stated.whole is not True or any(stated.not_stored.values())):
        yield Finding(_PLACE, "whole", str(stated.whole), "False, as of a record without some of its projections")


def _counted(grid: Grid, rows_of: Rows, stated: Stated) -> dict[str, dict[str, Any]]:
    """Return of each experiment what its manifest should say."""
    found = {}
    for name in grid.experiments:
        bundles, kind = grid.bundles(name), build_stage(grid.config["experiments"][name]["system"]).record
        jobs = sum(all(len(rows_of.get(one.path, ())) == len(one.axes) for one in bundle.batches) for bundle in bundles)
        batches = [batch for bundle in bundles for batch in bundle.batches]
        rows = [row for batch in batches for _, row in rows_of.get(batch.path, ())]
        found[name] = {
            "rows": len(rows),
            "jobs": jobs,
            "jobs_missing": len(bundles) - jobs,
            "complete": jobs == len(bundles),
            "projections_not_stored": stated.not_stored.get(name, 0),
            "timed": sum(row["timed"] == "True" for row in rows),
            "disturbed": sum(map(was_disturbed, rows)),
            "other_limits_s": other_limits((record_in(row, kind) for row in rows), grid.limits(name).time_s),
        }
    return found


def of_figures(record: Record, figures: Collection[str] | None = None) -> Iterator[Finding | str]:
    """Yield the files beside a record that nothing of its configuration makes, and for each other figure that it is.

    ``figures`` are those that show samples of data, if they are known.
    """
    there = {folder: sorted((record.results / folder).glob("*.json")) for folder in ("charts", "checks")}
    # Which plug-ins are used is asked of all installed packages.
    asked = {"charts": figures, "checks": plugin_checks(record.grid.config) if there["checks"] else None}
    for folder, names in asked.items():
        for path in there[folder]:
            if names is not None and path.stem not in names:
                yield Finding(f"{folder}/{path.stem}", "file", "there", "absent: nothing of the configuration makes it")
            else:
                yield "figures that show samples of data" if folder == "charts" else "findings of plug-ins"
