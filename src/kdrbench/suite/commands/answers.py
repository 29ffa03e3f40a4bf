"""What the records answer, for a terminal: the sentences of the dashboard's first screen, and who beats whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
import pandas as pd

from kdrbench.errors import InputError, unknown_name, visible
from kdrbench.suite.commands.options import Runs, aligned
from kdrbench.suite.findings.answers import Answer, answer_of
from kdrbench.suite.findings.nearness import traces_of
from kdrbench.suite.findings.pairwise import Matrix, Standing, factor
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.systems.league.system import fixed_beside

_TITLES = ("solver", "best in", "time to 1e-2", "to 1e-6", "above best", "wins", "ties", "losses", "differ in")


def merged_answers(runs: Runs, experiment: str | None = None) -> list[Answer]:
    """Return the answers of the experiments whose tables are merged, or of one.

    Raises ``InputError`` where there is no such experiment, or its table is not merged, and ``ConfigError`` for a
    configuration with a fault.
    """
    config, names, merged = runs.config, list(runs.config["run"]), runs.merged / "merged"
    if experiment is not None and experiment not in names:
        raise InputError(unknown_name("experiment", experiment, names))
    tables = {name: merged / f"{name}.csv" for name in names if experiment in (None, name)}
    rows = {name: read_runs(path) for name, path in tables.items() if path.is_file()}
    if experiment is not None and not rows:
        raise InputError(
            f"{tables[experiment]} is not there: run the workflow first; it merges the rows of {experiment}"
        )
    traces = {name: traces_of(table, runs.store / "traces") for name, table in rows.items()}
    # A tuned league is answered beside the one with default parameters.
    beside = {name: merged / f"{fixed_beside(config, name)}.csv" for name in rows}
    shown = {name: [rows[name], read_runs(path)] if path.is_file() else [rows[name]] for name, path in beside.items()}
    return [answer_of(name, pd.concat(parts), config, traces[name]) for name, parts in shown.items()]


def echo_answers(answers: Iterable[Answer], *, matrices: bool) -> None:
    """Print the answers; with ``matrices`` how the solvers of each compare."""
    for answer in answers:
        click.echo(f"\n{visible(answer.question)} ({visible(answer.experiment)})")
        click.echo(f"  {visible(answer.text)}")
        if matrices and answer.matrix:
            click.echo("\n".join(_matrix_lines(answer.matrix)))


def _matrix_lines(matrix: Matrix) -> Iterator[str]:
    """Yield a line for each solver, best first: over all data sets and kernels."""
    rows = [_TITLES, *(_row(one, matrix) for one in matrix.overall)]
    yield from (f"  {line}" for line in aligned(rows, 1))
    if matrix.disturbed:
        yield "  Times were disturbed: their ratios are an indication."
    if matrix.untimed_note:
        yield f"  {visible(matrix.untimed_note)}"


def _row(one: Standing, matrix: Matrix) -> tuple[str, ...]:
    """Return a line's cells; final costs are compared within each data set and kernel, and counted over all."""
    cells = [cell for cell in matrix.cells if cell.solver == one.solver]
    ratios = ["-" if ratio is None else factor(ratio) for ratio in (one.coarse_ratio, one.fine_ratio)]
    gap = "-" if one.gap is None else f"{one.gap:.1e}"
    compared = [str(sum(getattr(cell, name) for cell in cells)) for name in ("wins", "ties", "losses")]
    differ = f"{sum(cell.differs for cell in cells)} of {len(cells)}"
    return visible(method_label(one.solver)), f"{one.fine} of {one.runs}", *ratios, gap, *compared, differ
