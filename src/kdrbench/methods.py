"""Methods by name: a registered name, or ``module:Class``, and options, become a dataclass of those options.

A method's module is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

from kdrbench.errors import InputError, unknown_name


def build_method(
    kind: str, definition: Mapping[str, Any], registered: Mapping[str, str], contract: tuple[str, ...]
) -> Any:
    """Return the method of this ``kind`` (a word for messages) that ``definition`` names, with its options.

    ``registered`` maps names to ``module:Class``; ``contract`` names the attributes that each class must have.

    Raises ``InputError`` for an unknown method or option, a value of the wrong type, or a class that does not keep
    the contract.
    """
    method = definition.get("method")
    found = _load(kind, method, registered)
    _check_contract(kind, method, found, contract)
    options = {key: value for key, value in definition.items() if key != "method"}
    defaults = {field.name: field.default for field in fields(found)}
    for option, value in options.items():
        if option not in defaults:
            raise InputError(unknown_name(f"option of {kind} method {method!r}:", option, sorted(defaults)))
        # Of options without a default value, or with none, the method itself knows the type.
        if defaults[option] is not MISSING and defaults[option] is not None:
            _check_type(kind, option, value, defaults[option])
    try:
        return found(**options)
    except TypeError as error:
        raise InputError(f"{kind} method {method!r} does not take these options: {error}") from error


def _load(kind: str, method: object, registered: Mapping[str, str]) -> type:
    place = registered.get(str(method), str(method))
    if ":" not in place:
        raise InputError(
            f"{unknown_name(f'{kind} method', method, sorted(registered))} A {kind} of your own is named module:Class"
        )
    module, name = place.split(":", 1)
    try:
        found: type = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        raise InputError(f"{kind} method {method!r} cannot be loaded: {error}; is it on the PYTHONPATH?") from error
    return found


def _check_contract(kind: str, method: object, found: type, contract: tuple[str, ...]) -> None:
    lacking = [name for name in contract if not hasattr(found, name)]
    if not (isinstance(found, type) and is_dataclass(found)) or lacking:
        *first, last = contract
        raise InputError(
            f"{kind} method {method!r} must be a dataclass of its options with {', '.join(first)} and {last}; "
            f"{'it lacks ' + ', '.join(lacking) if lacking else 'it is no dataclass'}"
        )


def _check_type(kind: str, option: str, value: object, default: object) -> None:
    wanted = {float: Real, int: Integral}.get(type(default), type(default))
    if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(default, bool)):
        raise InputError(f"{kind} option {option} must be of type {type(default).__name__}, got {value!r}")
