"""Whether a stored row is what a configuration asks for now, and if not, why, in words.

A row is identified by what was asked (definition, data, seed) and by the revisions of the components that decide
numbers. Revisions are stored with each row, by component: ``"3.1"`` is the third revision of the numbers and the first
of the speed (:mod:`kdrbench.revisions`); a component of the user's own has the hash of its code instead. Rows from
before revisions were declared have none, which counts as revision 0. The code itself is no part of the identity.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from kdrbench.revisions import FIRST, revisions_of
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.own_code import is_own, own_code_sha256

# Speeds were the first ones until revisions were declared.
_UNDECLARED = "0.1"
# Batches by the hash of their definition.
Known = Mapping[str, Batch]
_NONE_KNOWN: Known = {}
# Characters of a hash that a row holds of a plug-in.
_HASH = 16


def revision_words(components: Iterable[str], modules: Mapping[str, str]) -> dict[str, str]:
    """Return the present revisions of components as rows hold them; ``modules`` names those that plug-ins come from.

    A module that is none of the user's has no revision of its own.
    """
    words = {name: f"{one.numbers}.{one.speed}" for name, one in revisions_of(components).items()}
    own = {name: module for name, module in modules.items() if is_own(module)}
    return words | {name: own_code_sha256(module)[:_HASH] for name, module in own.items()}


@dataclass(frozen=True)
class Attested:
    """Steps of revisions of which an audit has shown that numbers are the same: (component, from, to)."""

    steps: frozenset[tuple[str, int, int]] = frozenset()

    def leads(self, component: str, old: int, new: int) -> bool:
        """Return whether a chain of steps leads from one revision of a component to another one."""
        reached, waiting = {old}, [old]
        while waiting:
            at = waiting.pop()
            further = {end for name, start, end in self.steps if name == component and start == at} - reached
            reached |= further
            waiting += further
        return new in reached


@dataclass(frozen=True)
class Requirements:
    """What rows are judged by, beside their batch: whether times count, the budget, and what audits have attested."""

    timed: bool = False
    budget_s: float | None = None
    attested: Attested = field(default_factory=Attested)


def reasons(row: Mapping[str, Any], batch: Batch, required: Requirements, known: Known = _NONE_KNOWN) -> list[str]:
    """Return in words why the run of a row is to be made again; empty where the row can be used.

    ``row`` holds the columns of a record by name. The batch that it was made for may be among those ``known``.
    """
    if row["definition_sha256"] != batch.definition_sha256:
        former = known.get(row["definition_sha256"])
        found = list(_of_definition(row, batch, former)) or ["its definition changed"]
    else:
        found = list(of_revisions(row["revisions"], batch, required.attested))
    if row["status"] == Status.SKIPPED and row["budget_s"] != required.budget_s:
        found.append(f"skipped under {_budget(row['budget_s'])}, now {_budget(required.budget_s)}")
    if required.timed and not row["timed"]:
        found.append("its times are those of shared cores")
    return found


def _budget(budget_s: float | None) -> str:
    return "no budget" if budget_s is None else f"a budget of {budget_s:g} s"


def has_earlier_speed(revisions: str) -> bool:
    """Return whether a row has times of an earlier speed of a component; ``revisions`` is its column."""
    words = {name: word for name, word in json.loads(revisions or "{}").items() if "." in word}
    return any(_numbers(words[name])[1] < now.speed for name, now in revisions_of(words).items())


def _of_definition(row: Mapping[str, Any], batch: Batch, stored: Batch | None) -> Iterator[str]:
    if row["seed"] != batch.seed:
        yield f"seed {row['seed']} -> {batch.seed}"
    if row["data_sha256"] != batch.data_sha256:
        yield "data changed"
    if stored is None:
        return
    before, now = stored.definition, batch.definition
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name} {_short(before.get(name))} -> {_short(now.get(name))}"
    if stored.threads != batch.threads:
        yield f"threads {stored.threads} -> {batch.threads}"


def steps_of(revisions: str, batch: Batch) -> dict[str, tuple[int, int]]:
    """Return by component the revisions of a row's numbers and of the present ones; plug-ins have none.

    ``revisions`` is the column of the row.
    """
    words = json.loads(revisions or "{}")
    declared = {name: now for name, now in batch.revisions.items() if "." in now}
    return {name: (_numbers(words.get(name, _first(words)))[0], _numbers(now)[0]) for name, now in declared.items()}


def of_revisions(revisions: str, batch: Batch, attested: Attested) -> Iterator[str]:
    """Yield in words which revisions of a row, given by its column of that name, are not the present ones."""
    words = json.loads(revisions or "{}")
    for name, now in batch.revisions.items():
        if "." not in now and words.get(name) != now:
            kind, _, place = name.partition("/")
            yield f"your {kind} {PurePath(place).name} changed"
    steps = steps_of(revisions, batch)
    raised = [name for name, step in steps.items() if step[0] != step[1] and not attested.leads(name, *step)]
    if raised and not words:
        further = f" and {len(raised) - 1} more components" if raised[1:] else ""
        yield f"made before revisions were declared, and not audited since ({raised[0]}{further})"
        return
    for name in raised:
        yield f"{name}: numbers {steps[name][0]} -> {steps[name][1]}"


def _first(words: Mapping[str, str]) -> str:
    """Return the revision of a component that a row does not name: it was declared later, or none was at all."""
    return f"{FIRST.numbers}.{FIRST.speed}" if words else _UNDECLARED


def _numbers(word: str) -> tuple[int, int]:
    numbers, _, speed = word.partition(".")
    return int(numbers), int(speed)


def _short(value: object) -> str:
    text = "not given" if value is None else json.dumps(value) if isinstance(value, dict) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
