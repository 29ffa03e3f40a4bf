"""Checks of solver options."""

from __future__ import annotations

import math

from kdrbench.errors import InputError


def require_positive(**options: float) -> None:
    """Raise ``InputError`` for the first option that is not a finite number > 0."""
    for name, value in options.items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"solver option {name} must be a finite number > 0, got {value!r}")
