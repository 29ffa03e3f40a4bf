"""Declared parameters: what a value must be is stated where the parameter is declared, and checked in one place.

A dataclass declares a constraint with the type of its field:

    tolerance: Annotated[float, POSITIVE] = 1e-6

:func:`check_parameters` then checks all of them; :func:`check_value` checks one value, where what is allowed depends on
data. The error names the parameter, what is allowed, and what was given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from kdrbench.errors import InputError, unknown_name


@dataclass(frozen=True)
class Interval:
    """A finite number, numpy's included, within bounds; an integer where ``whole``. Truth values are no numbers.

    ``open_below`` and ``open_above`` exclude the bounds, ``but_zero`` excludes 0, ``infinite`` allows inf.
    ``upper`` names the upper bound in errors.
    """

    least: float
    most: float = math.inf
    whole: bool = False
    open_below: bool = False
    open_above: bool = False
    infinite: bool = False
    but_zero: bool = False
    upper: str = ""

    def allows(self, value: object) -> bool:
        """Return whether the value is a number of the kind, within the bounds."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number = float(value)
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            return False
        if self.but_zero and number == 0.0:
            return False
        above = number > self.least if self.open_below else number >= self.least
        return above and (number < self.most if self.open_above else number <= self.most)

    @property
    def words(self) -> str:
        """The kind and the bounds."""
        kind = (
            "an integer" if self.whole else "a number" if self.infinite or self.most < math.inf else "a finite number"
        )
        if self.but_zero:
            return f"{kind} other than 0"
        below = f"{'>' if self.open_below else '>='} {self.least:g}"
        if self.most == math.inf:
            return f"{kind} {below}{' or inf' if self.infinite else ''}"
        if self.whole:
            return f"{kind} between {self.least:g} and {self.upper or f'{self.most:g}'}"
        return f"{kind} {below} and {'<' if self.open_above else '<='} {self.most:g}"


@dataclass(frozen=True)
class OneOf:
    """One of several values, most often names."""

    values: tuple[object, ...]

    def allows(self, value: object) -> bool:
        """Return whether the value is one of them, of the same type."""
        return any(type(value) is type(one) and value == one for one in self.values)

    @property
    def names(self) -> list[str]:
        """The values that are names."""
        return [one for one in self.values if isinstance(one, str)]

    @property
    def words(self) -> str:
        """The values."""
        if len(self.names) == len(self.values):
            return f"one of {', '.join(self.names)}"
        *first, last = map(repr, self.values)
        return f"{', '.join(first)} or {last}"


@dataclass(frozen=True)
class Instance:
    """An object of one of some types; ``words`` describe it."""

    types: tuple[type, ...]
    words: str

    def allows(self, value: object) -> bool:
        """Return whether the value has one of the types; a truth value is no number."""
        return isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)


@dataclass(frozen=True)
class Either:
    """What one of several constraints allows, or ``None`` where ``or_none``."""

    constraints: tuple[Constraint, ...]
    or_none: bool = False

    def allows(self, value: object) -> bool:
        """Return whether one of them allows the value."""
        return (self.or_none and value is None) or any(one.allows(value) for one in self.constraints)

    @property
    def words(self) -> str:
        """All of them."""
        *first, last = [*(["None"] if self.or_none else []), *(one.words for one in self.constraints)]
        return f"{', '.join(first)}{',' if len(first) > 1 else ''} or {last}" if first else last


# What a value must be; ``words`` are the end of the sentence "... must be".
Constraint = Interval | OneOf | Instance | Either


def whole(least: int, most: float = math.inf, upper: str = "") -> Interval:
    """Return the constraint of integers from ``least`` to ``most``, which ``upper`` names in errors."""
    return Interval(least, most, whole=True, upper=upper)


def optional(constraint: Constraint) -> Either:
    """Return the constraint that allows ``None``, too."""
    return Either((constraint,), or_none=True)


POSITIVE = Interval(0.0, open_below=True)
NOT_NEGATIVE = Interval(0.0)
FRACTION = Interval(0.0, 1.0, open_below=True, open_above=True)
POSITIVE_OR_INFINITE = Interval(0.0, open_below=True, infinite=True)
COUNT = whole(1)
FLAG = OneOf((True, False))
OPTIONS = Instance((Mapping,), "a dict of options")


def check_value(subject: str, value: object, constraint: Constraint) -> None:
    """Raise ``InputError`` unless the constraint allows the value; ``subject`` names the parameter."""
    if constraint.allows(value):
        return
    alternatives = [constraint] if isinstance(constraint, OneOf) else getattr(constraint, "constraints", ())
    names = [name for one in alternatives if isinstance(one, OneOf) for name in one.names]
    if isinstance(value, str) and len(names) > 1:
        others = ["None"] if getattr(constraint, "or_none", False) else []
        others += [one.words for one in alternatives if not isinstance(one, OneOf)]
        also = f" Also allowed: {', '.join(others)}." if others else ""
        raise InputError(unknown_name(subject, value, names) + also)
    if isinstance(value, type):
        raise InputError(f"{subject} must be {constraint.words}, got the class {value.__name__}; give an object of it")
    raise InputError(f"{subject} must be {constraint.words}, got {value!r}{yaml_number(value)}")


def yaml_number(value: object) -> str:
    """Return how a text such as 1e-3 is written as a number of YAML; nothing of any other value."""
    parts = re.fullmatch(r"([-+]?\d+)(\.\d*)?[eE]([-+]?)(\d+)", value) if isinstance(value, str) else None
    if parts is None:
        return ""
    whole_part, decimals, sign, exponent = parts.groups()
    return f"; YAML reads {value} as text: write {whole_part}{decimals or '.0'}e{sign or '+'}{exponent}"


def check_parameters(owner: Any, kind: str = "") -> None:
    """Raise ``InputError`` for the first declared parameter of an object whose value is not allowed.

    ``kind`` goes before the name in the error, for instance ``solver option``.
    """
    for name, constraint in constraints_of(type(owner)).items():  # type: ignore[arg-type]
        check_value(f"{kind} {name}".lstrip(), getattr(owner, name), constraint)


@cache
def constraints_of(owner: Hashable) -> Mapping[str, Constraint]:
    """Return the constraints that a class declares, by parameter."""
    hints = get_type_hints(owner, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items() if get_origin(hint) is Annotated}


def constraint_of_default(default: Any) -> Constraint:
    """Return the constraint that a default value implies, for parameters that declare none: its type."""
    types: Mapping[type, type] = {float: Real, int: Integral}
    return Instance((types.get(type(default), type(default)),), f"of type {type(default).__name__}")


def check_names(kind: str, names: Iterable[object], allowed: Iterable[str]) -> None:
    """Raise ``InputError`` for the first name that is not allowed; ``kind`` says what is named."""
    listed = list(allowed)
    for name in names:
        if name not in listed:
            raise InputError(unknown_name(kind, name, listed))
