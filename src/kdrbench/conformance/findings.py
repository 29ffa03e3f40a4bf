"""What a check is, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Fault(Exception):  # noqa: N818 - it is what is found, not an error of the check
    """What is wrong with a plug-in, and how to mend it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(what)
        self.what, self.mend = what, mend


class Check(NamedTuple):
    """One question; ``ask`` raises :class:`Fault` or anything else where the answer is no.

    ``mend`` says what to do where it raises something else, or does not end.
    """

    name: str
    ask: Callable[[], None]
    mend: str


@dataclass(frozen=True)
class Finding:
    """The answer to one check; ``fault`` and ``mend`` are empty where all is well."""

    check: str
    fault: str = ""
    mend: str = ""

    def __str__(self) -> str:
        """Return the finding as lines for a terminal."""
        return f"{self.check}: {self.fault}\n    {self.mend}" if self.fault else f"{self.check}: well"
