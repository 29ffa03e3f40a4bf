"""How far a grid has come, as lines for a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.engine.progress import BatchProgress, Costs, endings
from kdrbench.suite.reports.tables.numbers import duration, quantity

_HOUR_S = 3600.0
_FEW_HOURS = 0.01
_SHOWN = {
    Status.TIME_LIMIT: "at the time limit",
    Status.MEMORY_LIMIT: "at the memory limit",
    Status.SKIPPED: "left out by an earlier version",
}


def progress_lines(progress: list[BatchProgress]) -> Iterator[str]:
    """Yield a line for each cell that has begun, one that counts the others, and one for the whole."""
    cells = [(cell, list(batches)) for cell, batches in groupby(progress, _cell)]
    width = max((len(cell) for cell, _ in cells), default=0)
    waiting = 0
    for cell, batches in cells:
        ended, total = sum(state.n_ended for state in batches), sum(len(state.batch.runs) for state in batches)
        if not ended and not any(state.begun for state in batches):
            waiting += 1
            continue
        parts = [_in_words(batches), *_outdated(batches), *_running(batches)]
        yield f"{cell:<{width}}  {ended:>4} of {total:<4}  {'; '.join(filter(None, parts))}".rstrip()
    if waiting:
        yield f"not begun: {counted(waiting, 'cell')}"
    yield _summary(progress)


def losing_lines(losing: list[str]) -> list[str]:
    """Return a line for each cell that loses to a random projection, after one that counts them; none if none does."""
    if not losing:
        return []
    return [f"worse than a random projection: {counted(len(losing), 'cell')}", *(f"  {cell}" for cell in losing)]


def _cell(state: BatchProgress) -> str:
    batch = state.batch
    return "/".join((batch.experiment, batch.dataset, *batch.cell))


def _in_words(batches: list[BatchProgress]) -> str:
    counts = endings(batches)
    words = ", ".join(
        f"{counts[name]} {_SHOWN.get(name, name.value.replace('_', ' '))}" for name in Status if counts[name]
    )
    # A run of some systems leaves several rows, each of which has ended in its own way.
    several = counts.total() != sum(state.n_ended for state in batches)
    return f"{counted(counts.total(), 'row')}: {words}" if several else words


def _outdated(batches: list[BatchProgress]) -> Iterator[str]:
    if runs := sum(state.n_ended for state in batches if state.outdated):
        yield f"{runs} out of date: {'; '.join(dict.fromkeys(why for one in batches for why in one.reasons))}"


def _running(batches: list[BatchProgress]) -> Iterator[str]:
    for state in batches:
        if run := state.running:
            seen = "" if run.best_cost is None else f", lowest cost {quantity(run.best_cost)}"
            since = f"running for {duration(run.time_s)}" if run.time_s else "has begun"
            yield f"run {run.run} {since}{seen}"
        elif state.begun:
            yield f"runs {state.batch.runs_label} begun, but no process here works on them"


def _summary(progress: list[BatchProgress]) -> str:
    ended, left = sum(state.n_ended for state in progress), sum(state.left for state in progress)
    text = f"{ended} of {counted(sum(len(state.batch.runs) for state in progress), 'run')} ended"
    if counts := _in_words(progress):
        text += f" ({counts})"
    if outdated := sum(state.n_ended for state in progress if state.outdated):
        text += f", {outdated} of them out of date"
    if running := sum(state.running is not None for state in progress):
        text += f", {running} running"
    if left:
        work = work_in_words(Costs(progress).core_s_left(progress))
        text += f"; {counted(left, 'run')} to make, {work}"
    return text


def work_in_words(core_s: float) -> str:
    """Return core-seconds as core-hours, and as the time that the cores of this process take for them."""
    cores = len(os.sched_getaffinity(0))
    hours = core_s / _HOUR_S
    # An estimate says nothing of parts of a second.
    on_cores = f"{duration(max(1.0, core_s / cores))} on {counted(cores, 'core')}"
    if hours < _FEW_HOURS:
        return f"less than {_FEW_HOURS} core-hours ({on_cores})"
    return f"about {hours:{'.0f' if hours >= 10 else '.2g'}} core-hours ({on_cores})"
