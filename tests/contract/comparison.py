"""What a run of the canaries says beside what is stored: faults in words, and what may be stored again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.canary import Value

# Relative to the number, or to the natural size that is stored beside it.
TOLERANCE = 1e-9
UPDATE = "make contract UPDATE=1 stores it"
# At most this many names are printed.
_NAMED = 6


@dataclass(frozen=True)
class Measured:
    """The numbers of a canary and the components that take part in it."""

    components: tuple[str, ...]
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Present:
    """What a run has found: canaries by name, and of functions that none executes their hashes.

    ``revisions`` are those of the components that are beyond the first; ``importers`` are the components of which the
    results may depend on an unreached function, by its name.
    """

    canaries: Mapping[str, Measured]
    unreached: Mapping[str, str]
    revisions: Mapping[str, int] = field(default_factory=dict)
    importers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def revision(self, component: str) -> int:
        """Return the revision of a component's numbers."""
        return self.revisions.get(component, 1)

    @property
    def components(self) -> set[str]:
        """All components that some canary has."""
        return {component for canary in self.canaries.values() for component in canary.components}

    def to_store(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the file holds, with the old digits of numbers that have not changed."""
        before = stored.get("canaries", {})
        canaries = {}
        for name, canary in self.canaries.items():
            old = before.get(name, {}).get("values", {})
            values = {
                key: old[key] if key in old and is_same(old[key], new) else new for key, new in canary.values.items()
            }
            revisions = {component: self.revision(component) for component in sorted(canary.components)}
            canaries[name] = {"revisions": revisions, "values": values}
        components = {name: self.revision(name) for name in sorted(self.components)}
        return {"canaries": canaries, "revisions": components, "unreached": dict(self.unreached)}


def is_same(old: Value, new: Value) -> bool:
    """Return whether two numbers agree to the tolerance; whole numbers and words must be equal."""
    if isinstance(old, list) and isinstance(new, list):
        return is_same(old[1], new[1]) and abs(old[0] - new[0]) <= TOLERANCE * abs(old[1])
    if isinstance(old, float) and isinstance(new, float | int) and not isinstance(new, bool):
        return old == new or abs(old - new) <= TOLERANCE * abs(old)
    return type(old) is type(new) and old == new


def differences(old: Mapping[str, Value], new: Mapping[str, Value]) -> list[str]:
    """Return in words which of the stored numbers differ; further numbers are no difference."""
    names = [name for name in sorted(old) if name not in new or not is_same(old[name], new[name])]
    return [f"{name}: {_shown(old[name])} is now {_shown(new.get(name))}" for name in names]


def _shown(value: Value) -> str:
    return f"{value[0]!r}" if isinstance(value, list) else repr(value)


@dataclass(frozen=True)
class Verdict:
    """``faults`` fail and cannot be stored; ``due`` fail until they are stored; ``notes`` fail nothing."""

    faults: list[str]
    due: list[str]
    notes: list[str]


def compare(stored: Mapping[str, Any], present: Present) -> Verdict:
    """Return the verdict on a run."""
    known = {name: canary for name, canary in stored["canaries"].items() if name in present.canaries}
    changed = {name: differences(old["values"], present.canaries[name].values) for name, old in known.items()}
    changed = {name: words for name, words in changed.items() if words}
    edited = [name for name, text in stored["unreached"].items() if present.unreached.get(name, text) != text]
    raised = {name for name in present.components if present.revision(name) > stored["revisions"].get(name, 1)}
    verdict = Verdict([], [], [])
    _refuse_revisions(stored, present, verdict)
    for name, words in changed.items():
        _judge(f"canary {name!r} differs: {'; '.join(words[:3])}", present.canaries[name].components, raised, verdict)
    for name in edited:
        _judge(f"{name}, which no canary executes, was edited", present.importers.get(name, ()), raised, verdict)
    explained = {one for name in changed for one in present.canaries[name].components}
    explained |= {one for name in edited for one in present.importers.get(name, ())}
    for name in sorted(raised - explained):
        verdict.faults.append(
            f"numbers of {name} is raised to {present.revision(name)}, but none of its canaries differs"
        )
    _say_what_is_new(stored, present, verdict)
    return verdict


def _judge(what: str, components: Iterable[str], raised: set[str], verdict: Verdict) -> None:
    """Add a difference: it is due to be stored where one of its components is raised, else a fault."""
    if absolving := sorted(raised & set(components)):
        verdict.due.append(f"{what}; {', '.join(absolving)} raised: {UPDATE}")
    else:
        named = list(components)
        more = f" or {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        verdict.faults.append(
            f"{what}. Undo it, or raise numbers of {' or '.join(named[:_NAMED])}{more} in kdrbench.revisions"
        )


def _refuse_revisions(stored: Mapping[str, Any], present: Present, verdict: Verdict) -> None:
    """Add revisions of components without a canary, which are misspelt or need one, and those that were lowered."""
    for name in sorted(set(present.revisions) - present.components):
        verdict.faults.append(f"REVISIONS names {name!r}, a component that no canary has")
    for name, before in stored["revisions"].items():
        if present.revision(name) < before:
            verdict.faults.append(
                f"numbers of {name} was {before} and is {present.revision(name)}; revisions only rise"
            )


def _say_what_is_new(stored: Mapping[str, Any], present: Present, verdict: Verdict) -> None:
    for name in sorted(set(present.canaries) - set(stored["canaries"])):
        verdict.due.append(f"canary {name!r} is new: {UPDATE}")
    for name in sorted(set(stored["canaries"]) - set(present.canaries)):
        verdict.due.append(f"canary {name!r} is gone: {UPDATE}")
    for name, canary in present.canaries.items():
        before = stored["canaries"].get(name)
        if before and set(before["revisions"]) != set(canary.components):
            verdict.due.append(f"canary {name!r} has other components: {UPDATE}")
        if before and set(canary.values) > set(before["values"]):
            verdict.due.append(f"canary {name!r} has further numbers: {UPDATE}")
    new = sorted(set(present.unreached) - set(stored["unreached"]))
    verdict.notes.extend(f"no canary executes {name}, which is not stored" for name in new)
