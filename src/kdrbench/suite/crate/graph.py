"""The flat graph of entities that describes a crate. A record's words are values in it, never identifiers or keys."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from kdrbench.errors import visible

Reference = dict[str, str]
_LONGEST_TEXT, _LONGEST_WORD = 1000, 100
_WORKFLOW_RUN = "https://w3id.org/ro/terms/workflow-run#"
# RO-Crate's own terms, and those of workflow runs that it lacks.
_CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    {term: f"{_WORKFLOW_RUN}{term}" for term in ("environment", "resourceUsage", "sha256")},
]


class Graph:
    """Entities by identifier, in the order in which they came.

    ``arguments`` are the names of the formal parameters whose examples are property values.
    """

    def __init__(self) -> None:
        self._entities: dict[str, dict[str, Any]] = {}
        self._examples: dict[str, list[Reference]] = {}
        self.arguments: dict[str, None] = {}

    def add(self, place: str, kind: str | list[str], /, **properties: Any) -> Reference:
        """Add an entity unless its identifier ``place`` is there, and return what refers to it.

        Properties without a value are left out, and a list of one is that one.
        """
        held = {name: _said(value) for name, value in properties.items() if value not in (None, "", [])}
        self._entities.setdefault(place, {"@id": place, "@type": kind, **held})
        return {"@id": place}

    def value(self, group: str, name: str, value: Any, **properties: Any) -> Reference:
        """Add a property value, once for all that share it."""
        place = local(group, name, str(value))
        return self.add(place, "PropertyValue", name=name, value=value, **properties)

    def argument(self, name: str, value: Any) -> Reference:
        """Add a property value that is an example of the formal parameter of its name."""
        work = {"@id": local("parameter", name)}
        self.arguments[name] = None
        return self.example(work["@id"], self.value("value", name, value, exampleOfWork=work))

    def example(self, parameter: str, reference: Reference) -> Reference:
        """Note an example of a formal parameter, and return it."""
        known = self._examples.setdefault(parameter, [])
        if reference not in known:
            known.append(reference)
        return reference

    def parameter(self, name: str, kind: str) -> Reference:
        """Add a formal parameter with its examples so far."""
        place = local("parameter", name)
        examples = self._examples.get(place, [])
        return self.add(place, "FormalParameter", name=name, additionalType=kind, workExample=examples)

    def text(self) -> str:
        """Return the document."""
        return json.dumps({"@context": _CONTEXT, "@graph": list(self._entities.values())}, indent=1) + "\n"


def local(*words: str) -> str:
    """Return an identifier within the crate that is made of these words, whatever they hold."""
    return "#" + "/".join(map(_encoded, words))


def file_name(path: str) -> str:
    """Return the identifier of a file by its path in the crate."""
    return "/".join(quote(part, safe="", errors="backslashreplace") for part in path.split("/"))


def shown(text: str) -> str:
    """Return a text on one line with its invisible characters escaped, cut where it is longer than a reader needs."""
    text = visible(text)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} ..."


def _encoded(word: str) -> str:
    encoded = quote(visible(word), safe="")
    if len(encoded) <= _LONGEST_WORD:
        return encoded
    return hashlib.sha256(encoded.encode()).hexdigest()


def _said(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return shown(value) if isinstance(value, str) else value
