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
from kdrbench.suite.findings.pairwise import Pair, compare_solvers, without_result, without_time
from kdrbench.suite.reports.records import REFERENCE, read_runs

_TITLES = ("metric", "cell", "runs", "wins", "losses", "median ratio", "p (Wilcoxon)", "p (Holm)")


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

    Wins and losses are A's. The ratio is the median over runs of A / B (of costs that of F = -cost); p is that of
    Wilcoxon's signed rank test, then Holm's correction of it over the cells of a metric. Runs that failed are left out
    and counted; exit code 1 if nothing is left.

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
        pairs = _two_solvers((methods[0], methods[1]), _rows(runs.merged, experiment), as_json=as_json)
        sys.exit(0 if pairs else 1)
    answers = merged_answers(runs, experiment)
    if as_json:
        click.echo(json.dumps([asdict(answer) for answer in answers]))
    else:
        echo_answers(answers, matrices=True)
    sys.exit(0 if answers else 1)


def _two_solvers(chosen: tuple[str, str], runs: pd.DataFrame, *, as_json: bool) -> list[Pair]:

    first, second = chosen
    methods = list(map(str, runs["method"].unique()))
    if first == second and first in methods:
        raise InputError(f"both solvers are {first!r}; name two that differ, or none for all")
    if absent := [name for name in chosen if name.endswith(REFERENCE) and name not in methods]:
        is_beside = any(name.endswith(REFERENCE) for name in methods)
        why = "" if is_beside else " No row of the record is of the same problem"
        raise InputError(f"{unknown_name('method', absent[0], sorted(methods))}{why}")
    pairs, without = compare_solvers(runs, first, second), without_result(runs, chosen)
    if as_json:
        click.echo(json.dumps([asdict(pair) for pair in pairs]))
    elif pairs:
        click.echo("\n".join(aligned([_TITLES, *map(_row, pairs)], 2)))
    if without:
        left = "left out" if pairs else "nothing can be compared"
        click.echo(f"kdrbench: {left}: {'; '.join(without)}; the table's column message says why", err=True)
    if pairs and "time_s" not in {pair.metric for pair in pairs}:
        for reason in without_time(runs, chosen):
            click.echo(f"kdrbench: no times are compared: {reason}", err=True)
    return pairs


def _rows(folder: Path, experiment: str | None) -> pd.DataFrame:
    """Return the merged rows of ikdr, or those of an experiment.

    Raises ``InputError`` where there are none.
    """
    table = folder / "ikdr.csv"
    # After a single target there is the table of its experiment alone.
    if experiment is not None and (merged := folder / "merged" / f"{experiment}.csv").is_file():
        table = merged
    if not table.is_file():
        raise InputError(
            f"{table} is not there: run the workflow first, or name its folder with --results, the configuration with "
            "--name, and after a single target its --experiment"
        )
    runs = read_runs(table)
    if "kernel" not in runs:
        raise InputError(
            f"{table} is of another system than ikdr, and solvers of ikdr alone share cells; its own table in reports/ "
            "compares methods"
        )
    if experiment is not None:
        if experiment not in set(runs["experiment"]):
            raise InputError(unknown_name("experiment", experiment, sorted(map(str, runs["experiment"].unique()))))
        runs = runs[runs["experiment"] == experiment]
    return runs


def _row(pair: Pair) -> tuple[str, ...]:
    cell = f"{pair.experiment}/{pair.dataset}/{pair.kernel}"
    # Ratios of costs differ from one in digits that ratios of times have not.
    values = ((pair.ratio, ".6g"), (pair.p, ".3g"), (pair.holm, ".3g"))
    numbers = [format(value, form) if value is not None else "-" for value, form in values]
    return pair.metric, cell, str(pair.runs), str(pair.wins), str(pair.losses), *numbers
