"""Checks of solver options."""

from __future__ import annotations

import math

from kdrbench.errors import InputError, unknown_name

# Of a rival: best effort to a common accuracy, or the defaults of its paper or its authors' code.
VARIANTS = ("converged", "published")


def require_positive(**options: float) -> None:
    """Raise ``InputError`` for the first option that is not a finite number > 0."""
    for name, value in options.items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"solver option {name} must be a finite number > 0, got {value!r}")


def require_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise ``InputError`` unless the option's value is one of the allowed words."""
    if value not in allowed:
        raise InputError(unknown_name(f"value of solver option {name}:", value, list(allowed)))
