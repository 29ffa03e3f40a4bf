"""Methods of a cell side by side: their first works one after the other, then their repeats in turns.

A machine that becomes slower or faster meanwhile so does the same to all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TypeVar

from kdrbench.suite.engine.rows import RowMaker

_Outcome = TypeVar("_Outcome")
# Yields whenever a run waits for its turn, and goes on when that has come.
Turns = Generator[None, None, _Outcome]

# Processes of runs at a time, each with memory up to its limit: one works, the others wait.
MOST_TOGETHER = 16


def groups_of(makers: Iterable[RowMaker]) -> Iterator[Sequence[RowMaker]]:
    """Yield those whose batches differ in the method alone, the last name of their cell, in the order of the first."""
    groups: dict[tuple[object, ...], list[RowMaker]] = {}
    for one in makers:
        groups.setdefault((one.batch.dataset, one.batch.cell[:-1], one.batch.runs), []).append(one)
    for group in groups.values():
        for first in range(0, len(group), MOST_TOGETHER):
            yield group[first : first + MOST_TOGETHER]


def take_turns(runs: Iterable[Turns[None]]) -> None:
    """Let each run do its first work, one after the other, then give each that waits a turn, until all have ended."""
    with ExitStack() as stack:
        waiting = [run for run in runs if _waits(stack.enter_context(closing(run)))]
        while waiting:
            waiting = [run for run in waiting if _waits(run)]


def _waits(run: Turns[None]) -> bool:
    """Let the run go on; return whether it waits for its next turn."""
    return next(run, _ENDED) is not _ENDED


_ENDED = object()
