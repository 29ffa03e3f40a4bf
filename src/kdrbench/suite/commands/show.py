"""`kdrbench show`: what is recorded of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.suite.commands.options import Runs, as_json, configuration_name, results_folder, runs_of

if TYPE_CHECKING:
    from kdrbench.suite.engine.record import Record


@click.command()
@click.argument("run")
@results_folder
@configuration_name
@as_json
def show(run: str, results: Path, name: str, as_json: bool) -> None:
    """Show the record of RUN of any system, named by its axes: of ikdr experiment/dataset/kernel/method/run."""
    from kdrbench.suite.engine.record import flat
    from kdrbench.suite.reports.records import COLUMN_GROUPS
    from kdrbench.suite.systems.ikdr.scores import ending_in_words

    runs = runs_of(results, name)
    record = find_record(runs, run)
    trace, values = _trace(runs.store, record), flat(record)
    if as_json:
        click.echo(json.dumps({**values, "trace": trace}))
        return
    ending = ending_in_words(record.status, values.get("optimality"))
    click.echo(f"{run}: {ending} - {record.message}")
    for title, columns in {"Result": " ".join(_result_columns(record)), **COLUMN_GROUPS}.items():
        filled = {column: values[column] for column in columns.split() if values.get(column) not in (None, "")}
        if filled:
            shown = ", ".join(f"{column} {_short(value)}" for column, value in filled.items())
            click.echo(f"{title.lower()}: {shown}")
    click.echo(_trace_in_words(trace))


def _result_columns(record: Record) -> list[str]:
    """Return the columns of the record's system that say what came out: those of no other group, and no axes."""
    from kdrbench.suite.engine.record import Record, column_types
    from kdrbench.suite.reports.records import COLUMN_GROUPS

    others = {*column_types(Record), *record.axis_names(), *" ".join(COLUMN_GROUPS.values()).split()}
    return [name for name in column_types(type(record)) if name not in others]  # type: ignore[arg-type]


def find_record(runs: Runs, run: str) -> Record:
    """Return the record of a run by its axes, joined by slashes.

    Raises ``InputError`` for words that name no run, saying how far they do.
    """
    from kdrbench.suite.engine.record import read_records
    from kdrbench.suite.systems import system_of

    (experiment, *rest), defined = run.split("/"), runs.config["experiments"]
    if experiment not in defined:
        raise InputError(unknown_name("experiment", experiment, sorted(defined)))
    kind, folder = system_of(defined[experiment]).record, runs.store / "runs" / experiment
    # A job's file is in the folder of its data set, or below that.
    left = [record for path in sorted(folder.rglob("*.jsonl")) for record in read_records(path, kind)]
    if not left:
        raise InputError(f"{experiment!r} has no rows yet: no job of it has ended")
    axes, example = left[0].axis_names(), "/".join(map(str, left[0].axes))
    if len(rest) != len(axes) - 1:
        raise InputError(f"a run of {experiment!r} is named {'/'.join(axes)}, for instance {example}; got {run!r}")
    for place, word in enumerate(rest, 1):
        names = list(dict.fromkeys(str(record.axes[place]) for record in left))
        left = [record for record in left if str(record.axes[place]) == word]
        if not left:
            raise InputError(f"{folder.parent} holds no such run: {unknown_name(axes[place], word, names)}")
    # Files of an earlier configuration, which shared jobs in another way, may be there too.
    return max(left, key=lambda record: record.provenance.started_at)


def _trace(results: Path, record: Record) -> list[dict[str, float]]:
    from kdrbench.suite.engine.publish import read_points

    path = results / "traces" / record.provenance.trace_file
    points = read_points(path) if path.is_file() else {}
    cell = "/".join(str(getattr(record, name)) for name in ("dataset", *record.CELL))
    columns = ("time_s", "cost", "stationarity")
    return [{key: point[key] for key in columns} for point in points.get((cell, record.run), [])]


def _trace_in_words(trace: list[dict[str, float]]) -> str:
    if not trace:
        return "trace: none"
    first, last = trace[0], trace[-1]
    best = min(point["cost"] for point in trace)
    # When the run first was so near its best cost that more digits are rarely printed.
    near = next(point for point in trace if point["cost"] <= best + 1e-4 * abs(best))
    return (
        f"trace: {counted(len(trace), 'iterate')} seen; cost {first['cost']:.8g} at {first['time_s']:.3g} s, "
        f"{last['cost']:.8g} at {last['time_s']:.3g} s, lowest {best:.8g}, within 0.01 % of it after "
        f"{near['time_s']:.3g} s"
    )


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
