"""Which sweeps are machine code: the one place that decides.

numba (the extra ``compiled``) is loaded at the first compiled sweep, which takes a few tenths of a second, and compiles
each loop once for all later processes. ``auto`` therefore leaves a solve to numpy until its projections have cost about
as much. It counts projections and not seconds, so that the same problem always takes the same path.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kdrbench.errors import InputError
from kdrbench.lowrank.result import Progress


@dataclass(frozen=True)
class InnerLoop:
    """A compiled sweep: its ``name`` in the package ``compiled``, and where ``auto`` uses it.

    ``auto`` uses it after ``pays_after`` projections of a solve, at ranks up to ``largest_rank``.
    """

    name: str
    pays_after: int
    largest_rank: int

    def load(self, asked: bool | str, rank: int, progress: Progress) -> Any | None:
        """Return the compiled sweep if this sweep is to use it, else ``None``.

        ``asked``: ``True``, ``False`` or ``auto``. Raises ``InputError`` when it is ``True`` and numba is missing.
        """
        if asked is False or (asked == "auto" and not self._pays(rank, progress)):
            return None
        try:
            module = import_module(f"kdrbench.lowrank.compiled.{self.name}")
        except ImportError as error:
            if asked is True:
                raise InputError(
                    f"compiled=True needs numba ({error}): pip install 'kdrbench[compiled]', or set compiled to "
                    "'auto' or False for the same results from numpy"
                ) from error
            return None
        return getattr(module, f"{self.name}_sweep")

    def _pays(self, rank: int, progress: Progress) -> bool:
        return rank <= self.largest_rank and progress.projections >= self.pays_after
