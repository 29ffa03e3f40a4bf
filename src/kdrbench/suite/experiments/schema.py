"""What JSON schemas say of a configuration: the shared part, those of the systems, and faults as sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from kdrbench.errors import ConfigError, counted, unknown_name
from kdrbench.suite.engine.stage import Config, Stage

# Characters of a value that a message shows.
_SHOWN = 80


@cache
def general_schema() -> dict[str, Any]:
    """Return the JSON schema of what all systems share."""
    text = files("kdrbench.suite.experiments").joinpath("config.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def partial_schema(stages: Iterable[Stage]) -> dict[str, Any]:
    """Return the schema of a part of an experiment whose system is not known: keys of any of them."""
    own: dict[str, Any] = {key: {} for stage in stages for key in stage.schema.get("properties", {})}
    shared = general_schema()["$defs"]["experiment"]["properties"]
    return {"type": "object", "additionalProperties": False, "properties": {**own, **shared}}


def experiment_schema(stage: Stage) -> dict[str, Any]:
    """Return the schema of an experiment of the stage's system."""
    shared = general_schema()["$defs"]["experiment"]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*shared["required"], *stage.schema.get("required", [])],
        "properties": {**shared["properties"], **stage.schema.get("properties", {})},
    }


@cache
def _validator() -> Any:
    import jsonschema

    plain = jsonschema.Draft202012Validator
    # JSON takes 2.0 for an integer; what is counted with it does not.
    whole = plain.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(plain, type_checker=whole)


def check_schema(config: Config, schema: Mapping[str, Any], *, complete: bool = True) -> None:
    """Raise ``ConfigError`` for the first fault; unless ``complete`` is asked for, keys may be missing."""
    whole = {**schema, "$defs": general_schema()["$defs"]}
    errors = [one for one in _validator()(whole).iter_errors(config) if complete or one.validator != "required"]
    # A misspelt key often shows as a missing one too: the misspelling is the better message.
    faults = sorted(errors, key=lambda error: (error.validator != "additionalProperties", list(map(str, error.path))))
    if not faults:
        return
    if faults[0].validator == "required":
        raise ConfigError(_missing(fault for fault in faults if fault.validator == "required"))
    raise ConfigError(_in_words(faults[0]))


def _missing(faults: Iterable[Any]) -> str:
    """Return all missing keys in words, by the place where they are missing."""
    places: dict[str, list[str]] = {}
    for fault in faults:
        # Two parts of the schema may ask for the same key.
        keys = places.setdefault(_place(fault), [])
        keys += [key for key in dict.fromkeys(fault.validator_value) if key not in (*fault.instance, *keys)]
    said = [
        f"the key{'s' if len(keys) > 1 else ''} {', '.join(map(repr, keys))} {'are' if len(keys) > 1 else 'is'} missing"
        f"{f' in {place}' if place else ''}"
        for place, keys in places.items()
    ]
    return f"config: {'; '.join(said)}"


def _one_of(alternatives: list[Config]) -> str:
    """Return in words what the schema allows: a word or a number."""
    words = [repr(one["const"]) for one in alternatives if "const" in one]
    least = [f"an integer of at least {one['minimum']}" for one in alternatives if "minimum" in one]
    return " or ".join(words + least)


def _place(error: Any) -> str:
    return ".".join(str(part) for part in error.absolute_path)


def shown(value: object) -> str:
    """Return a value as messages show it, cut where it is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _in_words(error: Any) -> str:
    place = _place(error)
    where = f" in {place}" if place else ""
    rule, value, wanted = error.validator, error.instance, error.validator_value
    if rule == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        extra = next(key for key in value if key not in error.schema["properties"])
        return f"config: {unknown_name(f'key{where}:', shown(extra), allowed)}"
    if rule == "minProperties":
        return f"config: {place} must hold at least {counted(wanted, 'entry', 'entries')}"
    allowed_words = {
        "type": f"of type {wanted}",
        "enum": f"one of {', '.join(map(str, wanted))}" if rule == "enum" else "",
        "minimum": f"at least {wanted}",
        "exclusiveMinimum": f"greater than {wanted}",
        "maximum": f"a finite number of at most {wanted:.4g}" if rule == "maximum" else "",
        "minItems": f"a list of at least {counted(wanted, 'name')}",
        "anyOf": _one_of(wanted) if rule == "anyOf" else "",
        "maxLength": f"at most {wanted} characters long",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    subject = f"config: {place} is {shown(repr(value))}" if place else "config: the configuration"
    return f"{subject}; it must be {allowed_words.get(rule, shown(error.message))}"
