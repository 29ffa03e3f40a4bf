"""`kdrbench compare`: two methods run by run, or all of them."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click
import pandas as pd

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.suite.commands.answers import echo_answers, merged_answers
from kdrbench.suite.commands.options import aligned, as_json, configuration_name, results_folder, runs_of, with_included
from kdrbench.suite.reports.records import REFERENCE, read_runs
from kdrbench.suite.reports.tables.table import Table
from kdrbench.suite.systems.ikdr.paired_tests import PairedTest, paired_table, paired_tests

# Of the table of tests: what the command's words say, and what a terminal has no room for.
_LEFT_OUT = {"First", "Second", "p (t, overlap)", "95 % of the gap"}


@click.command()
@click.argument("methods", metavar="[A B]", nargs=-1)
@click.option("--experiment", default=None, help="Of this experiment only.")
@click.option("--with", "reference", default=None, help="Beside this record: reference, a folder, or none.")
@results_folder
@configuration_name
@as_json
def compare(
    methods: tuple[str, ...], experiment: str | None, reference: str | None, results: Path, name: str, as_json: bool
) -> None:
    """Compare the solvers A and B run by run, in each cell of results/ikdr.csv that both have: of system ikdr alone.

    The difference is the median over runs of A - B; p is that of Wilcoxon's signed rank test, then Holm's correction of
    it over the cells of a metric. Runs that failed are left out, and disturbed times; exit code 1 if nothing is left.

    Without A and B: what each experiment asks and its records answer, and all solvers over its data sets, best first,
    as the dashboard says it. `best in` counts the runs that came within 1e-6 of the best known cost; times are ratios
    to the quickest; wins, ties and losses are of final costs against the first. `differ in` counts the data sets and
    kernels in which these differ significantly.

    With a record beside them, by default the one that the configuration includes, its rows of the same problems are
    compared as well: its solvers are called NAME_reference.
    Their costs count as they are; their times, of another machine, are left out.
    """
    if len(methods) not in (0, 2):
        raise InputError(f"{counted(len(methods), 'solver')} given; name two to compare, or none for all")
    runs = click.get_current_context().with_resource(with_included(runs_of(results, name), reference))
    if methods:
        tests = _tests((methods[0], methods[1]), _rows(runs.merged, experiment))
        if as_json:
            click.echo(json.dumps([asdict(test) for test in tests]))
        elif tests:
            click.echo("\n".join(_lines(paired_table(tests))))
        sys.exit(0 if tests else 1)
    answers = merged_answers(runs, experiment)
    if as_json:
        click.echo(json.dumps([asdict(answer) for answer in answers]))
    else:
        echo_answers(answers, matrices=True)
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
