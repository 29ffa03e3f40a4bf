"""What a run of the canaries says beside what is stored: faults in words, and what may be stored again."""

from collections.abc import Mapping
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
    """The canaries of a run by name, and the revisions of components that are beyond the first."""

    canaries: Mapping[str, Measured]
    revisions: Mapping[str, int] = field(default_factory=dict)

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
        return {"canaries": canaries, "revisions": {name: self.revision(name) for name in sorted(self.components)}}


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
    """``faults`` fail and cannot be stored; ``due`` fail until they are stored."""

    faults: list[str]
    due: list[str]


def compare(stored: Mapping[str, Any], present: Present) -> Verdict:
    """Return the verdict on a run."""
    verdict = Verdict([], [])
    raised = {name for name in present.components if present.revision(name) > stored["revisions"].get(name, 1)}
    # Components without a canary are misspelt, or need one.
    for name in sorted(set(present.revisions) - present.components):
        verdict.faults.append(f"REVISIONS names {name!r}, a component that no canary has")
    for name, before in stored["revisions"].items():
        if present.revision(name) < before:
            fault = f"numbers of {name} was {before} and is {present.revision(name)}; revisions only rise"
            verdict.faults.append(fault)
    unexplained = set(raised)
    for name, canary in present.canaries.items():
        if name not in stored["canaries"]:
            verdict.due.append(f"canary {name!r} is new: {UPDATE}")
        elif _differs(f"canary {name!r}", stored["canaries"][name], canary, raised, verdict):
            unexplained -= {*canary.components}
    for name in sorted(set(stored["canaries"]) - set(present.canaries)):
        verdict.due.append(f"canary {name!r} is gone: {UPDATE}")
    for name in sorted(unexplained):
        fault = f"numbers of {name} is raised to {present.revision(name)}, but none of its canaries differs"
        verdict.faults.append(fault)
    return verdict


def _differs(name: str, before: Mapping[str, Any], canary: Measured, raised: set[str], verdict: Verdict) -> bool:
    """Add what is to be said of a stored canary, and return whether its numbers differ."""
    if set(before["revisions"]) != set(canary.components):
        verdict.due.append(f"{name} has other components: {UPDATE}")
    if set(canary.values) > set(before["values"]):
        verdict.due.append(f"{name} has further numbers: {UPDATE}")
    if not (words := differences(before["values"], canary.values)):
        return False
    difference = f"{name} differs: {'; '.join(words[:3])}"
    if absolving := sorted(raised & {*canary.components}):
        verdict.due.append(f"{difference}; {', '.join(absolving)} raised: {UPDATE}")
    else:
        more = f" or {len(canary.components) - _NAMED} more" if len(canary.components) > _NAMED else ""
        named = " or ".join(canary.components[:_NAMED])
        verdict.faults.append(f"{difference}. Undo it, or raise numbers of {named}{more} in kdrbench.revisions")
    return True
