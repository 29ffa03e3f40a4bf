"""What the commands of jobs in parts have in common: options, a core of their own, what they say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kdrbench.bench.parts import PartRow, Supervision
    from kdrbench.bench.parts_batch import PartsBatch

_FILE = click.Path(path_type=Path)
_Function = TypeVar("_Function", bound=Callable[..., None])


def combined(*decorators: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    """Return what decorates with all of them, as if they stood below one another."""

    def decorated(function: _Function) -> _Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorated


def batch_options(row: str, part: str) -> Callable[[_Function], _Function]:
    """Return what gives a command the options of a job in parts; ``row`` and ``part`` are what its help calls them."""
    return combined(
        click.option("--spec", required=True, help="The batch as JSON, as the workflow's grid gives it."),
        click.option("--data", type=_FILE, required=True, help="The prepared data set."),
        click.option("--out", type=_FILE, required=True, help=f"Records to write, one JSON line a {row}."),
        click.option("--state", type=_FILE, required=True, help="Folder of unfinished work."),
        click.option("--time-limit-s", type=float, required=True, help=f"Limit of one {part}, on the wall clock."),
        click.option("--memory-limit-mib", type=float, required=True, help=f"Memory limit of one {part}."),
    )


# What a merge is told.
merge_options = combined(
    click.argument("config", type=_FILE),
    click.argument("records", type=_FILE),
    click.option("--out", type=_FILE, required=True, help="The CSV table to write."),
)


@contextmanager
def on_one_core(time_limit_s: float, memory_limit_mib: float) -> Iterator[Supervision]:
    """Wait for a core, own it, and yield what parts are run under, one thread each.

    The heavy imports of a command belong inside: they wait until a core is free and the threads are set.
    """
    from kdrbench.bench.lane import owned_cores, prepare_process
    from kdrbench.bench.limits import Limits

    limits = Limits(time_limit_s, memory_limit_mib)
    prepare_process(threads=1)
    with owned_cores(1) as cores:
        from kdrbench.bench.parts import Supervision
        from kdrbench.bench.supervisor import SCHEDULER_VARIABLE

        scheduler = os.environ.get(SCHEDULER_VARIABLE)
        yield Supervision(limits, cores, int(scheduler) if scheduler else None)


def say_rows(rows: Iterable[Any]) -> None:
    """Print a line for each row."""
    for row in rows:
        click.echo(f"{'/'.join(map(str, row.axes))}: {row.status} {row.message}".rstrip())


def merge_batches(batches: Sequence[PartsBatch], records: Path, kind: type[PartRow], out: Path) -> None:
    """Merge the rows of all batches below the folder ``records`` and say how many there are."""
    from kdrbench.bench.rows import merge_rows

    paths = [records / f"{batch.path}.jsonl" for batch in batches]
    merged = merge_rows(paths, kind, [axes for batch in batches for axes in batch.axes], out)
    click.echo(f"{len(merged)} rows -> {out}")
