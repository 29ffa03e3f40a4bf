"""A number that is computed again, and what rounding explains of its distance from the recorded one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A recomputed value, and by how much the recorded one may differ from it by rounding.

    ``wider`` is the bound where ``allowed`` is a part of it that takes less time: few numbers need the rest.
    """

    value: float
    allowed: float
    wider: Callable[[], float] | None = None

    @property
    def bound(self) -> float:
        """By how much the recorded value may differ at most."""
        return self.wider() if self.wider is not None else self.allowed

    def is_near(self, recorded: float) -> bool:
        """Return whether rounding explains the recorded value."""
        gap = abs(recorded - self.value)
        return bool(gap <= self.allowed or gap <= self.bound)

    def in_words(self) -> str:
        """Return the value and its bound, as findings name them."""
        return f"{self.value!r} within {self.bound:.1e}"
