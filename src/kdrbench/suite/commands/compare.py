"""`kdrbench compare`: two methods run by run; or what the records answer, as the dashboard does, and who beats whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import click
import pandas as pd

from kdrbench.errors import InputError, unknown_name, visible
from kdrbench.suite.commands.options import (
    Runs,
    aligned,
    as_json,
    configuration_name,
    place_given,
    results_folder,
    runs_of,
    with_included,
)
from kdrbench.suite.findings.answers import Answer, answer_of
from kdrbench.suite.findings.pairwise import Matrix, Standing, factor
from kdrbench.suite.reports.records import REFERENCE, read_runs
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.reports.tables.table import Table
from kdrbench.suite.systems.ikdr.paired_tests import PairedTest, paired_table, paired_tests
from kdrbench.suite.systems.league.system import fixed_beside

_TITLES = ("solver", "best in", "time to 1e-2", "to 1e-6", "above best", "wins", "ties", "losses", "differ in")
# Of the table of tests: what the command's words say, and what a terminal has no room for.
_LEFT_OUT = {"First", "Second", "p (t, overlap)", "95 % of the gap"}
# The question is of two solvers everywhere, that of reports is of all solvers of a cell.
_FAMILY = "p (Holm): corrected over all cells of time, of cost or of quality; in reports, over the tests of one cell"


@click.command()
@click.argument("words", metavar="[RESULTS] [A B]", nargs=-1)
@click.option("--experiment", default=None, help="Of this experiment only.")
@click.option("--with", "reference", default=None, help="Beside this record: reference, a folder, or none.")
@results_folder
@configuration_name
@as_json
def compare(
    words: tuple[str, ...], experiment: str | None, reference: str | None, results: Path, name: str, as_json: bool
) -> None:
    """Compare the solvers A and B run by run, in each cell of ikdr.csv in RESULTS that both have: of system ikdr alone.

    The difference is the median over runs of A - B; p is that of Wilcoxon's signed rank test, then Holm's correction of
    it over all cells of time, of cost or of quality. Runs that failed are left out, and disturbed times; exit code 1 if
    nothing is left.

    Without A and B: what each experiment asks and its records answer, and all solvers over its data sets, best first,
    as the dashboard says it. `best in` counts the runs that came within 1e-6 of the best known cost; times are ratios
    to the quickest; wins, ties and losses are of final costs against the first. `differ in` counts the data sets and
    kernels in which these differ significantly, by Holm over the solvers of each.

    With a record beside them, by default the one that the configuration includes, its rows of the same problems are
    compared as well: its solvers are called NAME_reference.
    Their costs count as they are; their times, of another machine, are left out.
    """
    n_places = len(words) % 2
    place = place_given("".join(words[:n_places]), results)
    if len(words) > 3 or (n_places and not place.exists()):
        raise InputError(
            f"{' '.join(words)!r} is given; allowed are a folder of results that is there, two solvers, or the folder "
            "and then the solvers"
        )
    runs = click.get_current_context().with_resource(with_included(runs_of(place, name), reference))
    if methods := words[n_places:]:
        tests = _tests((methods[0], methods[1]), _rows(runs.merged, experiment))
        if as_json:
            click.echo(json.dumps([asdict(test) for test in tests]))
        elif tests:
            click.echo("\n".join([*_lines(paired_table(tests)), _FAMILY]))
        sys.exit(0 if tests else 1)
    answers = merged_answers(runs, experiment)
    if as_json:
        click.echo(json.dumps([asdict(answer) for answer in answers]))
    elif answers:
        echo_answers(answers, matrices=True)
    else:
        click.echo("kdrbench: there are no merged rows to compare: run the workflow", err=True)
    sys.exit(0 if answers else 1)


def _tests(chosen: tuple[str, str], runs: pd.DataFrame) -> list[PairedTest]:
    """Return the tests of two solvers; says on standard error where there is nothing to compare."""
    methods = sorted(map(str, runs["method"].unique()))
    if chosen[0] == chosen[1]:
        raise InputError(f"both solvers are {chosen[0]!r}; name two that differ, or none for all")
    if absent := [name for name in chosen if name not in methods]:
        of_record = [name.endswith(REFERENCE) for name in (absent[0], *methods)]
        why = " No row of the record is of the same problem" if of_record[0] and not any(of_record[1:]) else ""
        raise InputError(f"{unknown_name('method', absent[0], methods)}{why}")
    tests = paired_tests(runs, chosen=chosen)
    if not tests:
        click.echo(
            f"kdrbench: nothing can be compared: {chosen[0]!r} and {chosen[1]!r} share no run with a result", err=True
        )
    elif all(test.metric != "time_s" for test in tests):
        click.echo(
            "kdrbench: no times are compared: those of disturbed runs and of other machines do not count", err=True
        )
    return tests


def _lines(table: Table) -> list[str]:
    shown = [place for place, title in enumerate(table.columns) if title not in _LEFT_OUT]
    rows = [table.columns, *([entry.text for entry in row] for row in table.rows)]
    return aligned([[row[place] for place in shown] for row in rows], 4)


def _rows(folder: Path, experiment: str | None) -> pd.DataFrame:
    """Return the merged rows of ikdr, or those of an experiment; ``InputError`` where there are none."""
    merged = folder / "merged" / f"{experiment}.csv"
    # After a single target there is the table of its experiment alone.
    table = merged if merged.is_file() else folder / "ikdr.csv"
    runs = read_runs(table)
    if "kernel" not in runs:
        raise InputError(f"{table} is of another system than ikdr; its own table in reports/ compares methods")
    names = sorted(map(str, runs["experiment"].unique()))
    if experiment not in (None, *names):
        raise InputError(unknown_name("experiment", str(experiment), names))
    return runs if experiment is None else runs[runs["experiment"] == experiment]


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
        raise InputError(f"{tables[experiment]} is not there: run the workflow first, which merges these rows")
    # A tuned league is answered beside the one with default parameters.
    beside = {name: merged / f"{fixed_beside(config, name)}.csv" for name in rows}
    shown = {name: [rows[name], read_runs(path)] if path.is_file() else [rows[name]] for name, path in beside.items()}
    return [answer_of(name, pd.concat(parts), config, runs.store / "traces") for name, parts in shown.items()]


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
