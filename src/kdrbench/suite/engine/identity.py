"""Whether a stored row is what a configuration asks for now, and if not, why, in words.

A row is identified by what was asked (definition, data, seed) and by the revisions of the components that decide
numbers. Revisions are stored with each row, by component: ``"3.1"`` is the third revision of the numbers and the first
of the speed (:mod:`kdrbench.revisions`); a component of the user's own has the hash of its code instead. Rows from
before revisions were declared have none, which counts as revision 0. The code itself is no part of the identity.

Attestations are audits that have shown that rows of earlier revisions are what the present code gives.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from kdrbench.errors import DamagedError, in_words
from kdrbench.revisions import FIRST, revisions_of
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch

# Speeds were the first ones until revisions were declared.
_UNDECLARED = "0.1"
# Batches by the hash of their definition.
Known = Mapping[str, Batch]
# A file of audits beside results or a packed record, a line of JSON each, which is only appended to.
ATTESTATIONS = "attestations.jsonl"
# What an audit says of each component: revisions of rows and code, cells that were made again, and those that differ.
STEP = ("component", "old", "new", "cells", "differing")
# The shipped record lies in the folder of results of a checkout, and its audits hold for all rows.
_SHIPPED = "reference"
_PACKAGE = "kdrbench"
_STANDARD = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED = frozenset({"site-packages", "dist-packages"})
# Characters of a hash that a row holds of a plug-in.
_HASH = 16


def revision_words(components: Iterable[str], modules: Mapping[str, str]) -> dict[str, str]:
    """Return the present revisions of components as rows hold them; ``modules`` names those that plug-ins come from.

    A module that is none of the user's has no revision of its own.
    """
    words = {name: f"{one.numbers}.{one.speed}" for name, one in revisions_of(components).items()}
    return words | {name: own_code_sha256(module)[:_HASH] for name, module in modules.items() if is_own(module)}


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
    """What rows are judged by, beside their batch: whether times count, and what audits have attested."""

    timed: bool = False
    attested: Attested = field(default_factory=Attested)


def reasons(
    row: Mapping[str, Any], batch: Batch, required: Requirements, known: Known = MappingProxyType({})
) -> list[str]:
    """Return in words why the run of a row is to be made again; empty where the row can be used.

    ``row`` holds the columns of a record by name. The batch that it was made for may be among those ``known``.
    """
    found: list[str] = []
    if redefined := row["definition_sha256"] != batch.definition_sha256:
        former = known.get(row["definition_sha256"])
        found = list(_of_definition(row, batch, former)) or ["its definition changed"]
    found += of_revisions(row["revisions"], batch, required.attested, named_alone=redefined)
    if row["status"] == Status.SKIPPED:
        found.append("it was skipped by an earlier version, which had a budget of all runs")
    if required.timed and not row["timed"]:
        found.append("its times are those of shared cores")
    return found


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
    # That of a component which the row does not name: it was declared later, or none was at all.
    first = f"{FIRST.numbers}.{FIRST.speed}" if words else _UNDECLARED
    declared = {name: now for name, now in batch.revisions.items() if "." in now}
    return {name: (_numbers(words.get(name, first))[0], _numbers(now)[0]) for name, now in declared.items()}


def of_revisions(revisions: str, batch: Batch, attested: Attested, *, named_alone: bool = False) -> Iterator[str]:
    """Yield in words which revisions of a row, given by its column of that name, are not the present ones.

    With ``named_alone`` they are those of components that the row names: another definition may have others.
    """
    words = json.loads(revisions or "{}")
    for name, now in batch.revisions.items():
        if named_alone and name not in words:
            continue
        if "." not in now and words.get(name) != now:
            kind, _, place = name.partition("/")
            yield f"your {kind} {PurePath(place).name} changed"
    steps = steps_of(revisions, batch)
    steps = {name: step for name, step in steps.items() if name in words or not named_alone}
    raised = [name for name, step in steps.items() if step[0] != step[1] and not attested.leads(name, *step)]
    if raised and not words:
        further = f" and {len(raised) - 1} more components" if raised[1:] else ""
        yield f"made before revisions were declared, and not audited since ({raised[0]}{further})"
        return
    for name in raised:
        yield f"{name}: numbers {steps[name][0]} -> {steps[name][1]}"


def _numbers(word: str) -> tuple[int, int]:
    numbers, _, speed = word.partition(".")
    return int(numbers), int(speed)


def _short(value: object) -> str:
    text = "not given" if value is None else json.dumps(value) if isinstance(value, dict) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def append_attestation(folder: Path, audit: Mapping[str, Any]) -> None:
    """Add an audit as a line to the attestations in a folder, flushed to disk; its ``steps`` have the keys ``STEP``."""
    with (folder / ATTESTATIONS).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(audit, separators=(",", ":")) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def attested_in(results: Path) -> Attested:
    """Return what the audits beside these results attest, and those of the shipped record below them.

    Attested are steps of which cells were made again and none differs. Raises ``DamagedError`` for a line that is none.
    """
    audits = [audit for folder in (results, results / _SHIPPED) for audit in _audits_in(folder / ATTESTATIONS)]
    safe = (step for audit in audits for step in audit if step["cells"] and not step["differing"])
    return Attested(frozenset((step["component"], step["old"], step["new"]) for step in safe))


def _audits_in(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the steps of each audit in a file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            yield [{name: step[name] for name in STEP} for step in json.loads(line)["steps"]]
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedError(f"{path}, line {number}, is no attestation ({in_words(error)}); remove it") from error


def is_own(module: str) -> bool:
    """Return whether a module is a user's: neither of this project nor installed."""
    return _own_file(module) is not None


def own_code_sha256(module: str) -> str:
    """Return the hash of a user's module: the names and bytes of its file and of all own files that it imports."""
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in files and (path := _own_file(name)) is not None:
            files[name] = path
            waiting += _imported(path, name)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\n".encode() + hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()


def _imported(path: Path, module: str) -> Iterator[str]:
    """Yield the names of all modules that a file may import; it counts with its bytes where it is no Python."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _own_file(module: str) -> Path | None:
    top = module.partition(".")[0]
    if not top or top == _PACKAGE:
        return None
    try:
        # Looking for a part imports the whole, so the top comes first: what is installed need not be imported.
        if _is_installed(importlib.util.find_spec(top)):
            return None
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _is_installed(top: ModuleSpec | None) -> bool:
    """Return whether a module is Python's own or a package's, by its place: a user's may be called ``random.py``.

    A user's package may be a folder without ``__init__.py``.
    """
    places = [] if top is None else [top.origin] if top.origin else (top.submodule_search_locations or [])
    folders = [{*Path(place).parents, Path(place)} for place in places]
    return any(_STANDARD & folder or _INSTALLED & {path.name for path in folder} for folder in folders)
