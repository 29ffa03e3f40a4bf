"""The runs of a record as actions: the runs of a cell that ended by their method are one, those that did not another.

An action for each run would make the papers' record a document of tens of megabytes that repeats its tables, which are
in the crate as well. What differs within a cell, numbers and seeds, is said of all its runs at once; each reason why
runs failed or were stopped is an action of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from kdrbench.errors import counted
from kdrbench.status import BY_METHODS
from kdrbench.suite.crate.graph import Graph, Reference, local
from kdrbench.suite.crate.swhid import revision_swhid
from kdrbench.suite.engine.record import Provenance, Record

COMPLETED, FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))
# What a run was made with; a record may join several machines and versions.
_ENVIRONMENT = ("processor", "machine", "blas", "blas_threads", "git_dirty", "lock_sha256")
_ASKED = ("time_limit_s", "memory_limit_mib", "definition_sha256")


@dataclass(frozen=True)
class Group:
    """Runs of one cell that ended alike; ``reason`` is empty where their method ended them."""

    axes: tuple[tuple[str, str], ...]
    reason: str
    records: tuple[Record, ...]

    @property
    def experiment(self) -> str:
        """The experiment of the runs."""
        return self.records[0].experiment

    @property
    def dataset(self) -> str:
        """Their data set."""
        return self.records[0].dataset

    @property
    def provenances(self) -> list[Provenance]:
        """How and where the runs were made."""
        return [record.provenance for record in self.records]


def groups_of(records: Iterable[Record]) -> list[Group]:
    """Return the groups of the rows, in the order of their first ones."""
    held: dict[tuple[tuple[tuple[str, str], ...], str], list[Record]] = {}
    for record in records:
        axes = tuple((name, str(getattr(record, name))) for name in record.axis_names() if name != "run")
        reason = "" if record.status in BY_METHODS else f"{record.status}: {record.message}"
        held.setdefault((axes, reason), []).append(record)
    return [Group(axes, reason, tuple(rows)) for (axes, reason), rows in held.items()]


def add_action(graph: Graph, number: int, group: Group, inputs: list[Reference], **shared: Any) -> Reference:
    """Add the action of a group; ``inputs`` are its files and data, ``shared`` further properties."""
    axes = dict(group.axes)
    return graph.add(
        local("action", *axes.values(), str(number)),
        "CreateAction",
        name="/".join(axes.values()),
        description=_counts(group.records),
        object=[*inputs, *_arguments(graph, group)],
        actionStatus=FAILED if group.reason else COMPLETED,
        error=group.reason,
        environment=_environment(graph, group.provenances),
        resourceUsage=_usage(graph, group.provenances),
        **period(group.records),
        **shared,
    )


def _arguments(graph: Graph, group: Group) -> list[Reference]:
    """Add what the runs were asked for: axes, limits, the hash of their definition, numbers and seeds."""
    said: list[tuple[str, Any]] = [(name, value) for name, value in group.axes if name not in ("experiment", "dataset")]
    said += [(name, value) for name in _ASKED for value in _distinct(group.provenances, name)]
    said += [(name, _listed(getattr(row, name) for row in group.records)) for name in ("run", "seed")]
    return [graph.argument(name, value) for name, value in said]


def period(records: Iterable[Record]) -> dict[str, str]:
    """Return the first start and the last end of runs as properties, left out where no row says a time."""
    spans = [span for record in records if (span := _span(record.provenance))]
    if not spans:
        return {}
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    return {"startTime": first.isoformat(timespec="seconds"), "endTime": last.isoformat(timespec="seconds")}


def _span(provenance: Provenance) -> tuple[datetime, datetime] | None:
    try:
        start = datetime.fromisoformat(provenance.started_at)
        return (start, start + timedelta(seconds=provenance.wall_s)) if start.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _counts(records: Iterable[Record]) -> str:
    ends = Counter(record.status for record in records)
    return f"{counted(ends.total(), 'row')}: " + ", ".join(
        f"{count} {status}" for status, count in sorted(ends.items())
    )


def _environment(graph: Graph, provenances: list[Provenance]) -> list[Reference]:
    names = [*(name for name in asdict(provenances[0]) if name.endswith("_version")), *_ENVIRONMENT]
    said = [(name, value) for name in names for value in _distinct(provenances, name)]
    said += [("source", swhid) for commit in _distinct(provenances, "git_commit") if (swhid := revision_swhid(commit))]
    return [graph.value("environment", name, value) for name, value in said]


def _usage(graph: Graph, provenances: list[Provenance]) -> list[Reference]:
    # Units have the codes of UN/CEFACT.
    wall = round(sum(one.wall_s for one in provenances), 3)
    memory = max(one.memory_mib for one in provenances)
    used = (("wall_s", wall, "Seconds of all runs.", "SEC"), ("memory_mib", memory, "Most MiB of a run.", "E63"))
    return [
        graph.value("usage", name, value, propertyID=name, description=what, unitCode=unit)
        for name, value, what, unit in used
    ]


def _distinct(provenances: list[Provenance], name: str) -> list[Any]:
    values = dict.fromkeys(getattr(one, name) for one in provenances)
    return [value for value in values if value not in (None, "")]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))
