"""Methods by name: a registered name or one's own (see :mod:`kdrbench.plugins`), and options, become a dataclass.

A method's module is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from kdrbench import plugins
from kdrbench.errors import InputError, KdrbenchError, in_words, unknown_name
from kdrbench.parameters import Constraint, check_names, check_value, constraint_of_default, constraints_of


def build_method(
    kind: str,
    definition: Mapping[str, Any],
    registered: Mapping[str, str],
    contract: tuple[str, ...],
    key: str = "method",
) -> Any:
    """Return the method of this ``kind`` (a word for messages) that ``definition`` names, with its options.

    ``registered`` maps names to ``module:Class``; ``contract`` names the attributes that each class must have; ``key``
    is the key of the definition that holds the name.

    Raises ``InputError`` for an unknown method or option, a value of the wrong type, or a class that does not keep
    the contract.
    """
    if key not in definition:
        allowed = ", ".join(sorted(registered))
        raise InputError(f"a {kind} is defined by its {key!r}, got {dict(definition)!r} without; allowed: {allowed}")
    method = definition[key]
    loaded = load_method(kind, method, registered, contract)
    options = {name: value for name, value in definition.items() if name != key}
    defaults = {field.name: field.default for field in fields(loaded)}
    check_names(f"option of {kind} method {method!r}:", options, sorted(defaults))
    declared = _declared(loaded)
    for option, value in options.items():
        # A default of None, or none at all, says nothing of the type.
        if option not in declared and defaults[option] is not MISSING and defaults[option] is not None:
            declared[option] = constraint_of_default(defaults[option])
        if option in declared:
            check_value(f"{kind} option {option}", value, declared[option])
    try:
        return loaded(**options)
    except (KdrbenchError, KeyboardInterrupt):
        raise
    except TypeError as error:
        raise InputError(f"{kind} method {method!r} does not take these options: {error}") from error
    except BaseException as error:
        # A user's constructor may raise anything, also what ends a process.
        raise InputError(f"{kind} method {method!r} cannot be built with these options: {in_words(error)}") from error


def load_method(kind: str, method: object, registered: Mapping[str, str], contract: tuple[str, ...]) -> Any:
    """Return the class of a method; the first half of :func:`build_method`, with its errors."""
    name = str(method)
    place = registered.get(name) or (name if _is_place(name) else plugins.declared_places(kind).get(name))
    if place is None:
        raise InputError(unknown_method(kind, f"{kind} method", method, registered))
    loaded = plugins.load_class(kind, place, contract)
    _check_contract(kind, method, loaded, contract)
    return loaded


def is_own(kind: str, name: object, registered: Collection[str]) -> bool:
    """Return whether a name means something of the user's own: a file, ``module:Class`` or an entry point."""
    if not isinstance(name, str) or name in registered:
        return False
    return _is_place(name) or name in plugins.declared_places(kind)


def unknown_method(kind: str, words: str, name: object, registered: Collection[str]) -> str:
    """Say that a name is unknown, which ones there are, and how one's own are named; ``words`` say what is named."""
    allowed = sorted({*registered, *plugins.declared_places(kind)})
    return f"{unknown_name(words, name, allowed)} A {kind} of your own is named path/to/file.py or module:Class"


def _is_place(name: str) -> bool:
    return ":" in name or plugins.is_file_name(name)


def _check_contract(kind: str, method: object, loaded: type, contract: tuple[str, ...]) -> None:
    lacking = [name for name in contract if not hasattr(loaded, name)]
    if not (isinstance(loaded, type) and is_dataclass(loaded)) or lacking:
        *first, last = contract
        wanted = f"{', '.join(first)} and {last}" if first else last
        raise InputError(
            f"{kind} method {method!r} must be a dataclass of its options with {wanted}; "
            f"{'it lacks ' + ', '.join(lacking) if lacking else 'it is no dataclass'}; "
            "`kdrbench new` writes one"
        )


def _declared(loaded: type) -> dict[str, Constraint]:
    """Return the constraints of a class; none where a user's type hints cannot be resolved."""
    try:
        return dict(constraints_of(loaded))
    except (NameError, TypeError, AttributeError):
        return {}
