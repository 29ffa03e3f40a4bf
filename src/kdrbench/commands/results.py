"""`kdrbench compare` and `kdrbench show`: what finished runs say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.commands.completion import RunName
from kdrbench.commands.options import as_json, results_folder
from kdrbench.errors import InputError, counted, unknown_name

if TYPE_CHECKING:
    from kdrbench.bench.record import Record
    from kdrbench.reports.tables.side_by_side import Pair

_TITLES = ("metric", "cell", "runs", "wins", "losses", "median ratio", "p (Wilcoxon)", "p (Holm)")
# What `show` prints after the result, in this order; the rest is in --json.
_GROUPS = {
    "time": (
        "time_s",
        "cpu_s",
        "warm_s",
        "warm_cpu_s",
        "warm_iqr_s",
        "repeats",
        "wall_s",
        "time_limit_s",
        "unclocked_s",
        "unaccounted",
        "contaminated",
        "cores",
        "load",
    ),
    "memory": ("memory_mib", "memory_limit_mib", "memory_meter"),
    "calls": (
        "value_calls",
        "gradient_calls",
        "value_gradient_calls",
        "hessian_vector_calls",
        "hessian_calls",
        "surrogate_calls",
    ),
    "problem": (
        "paradigm",
        "split",
        "partition",
        "kernel_weights",
        "n_train",
        "n_test",
        "n_samples",
        "n_features",
        "n_constant_features",
        "n_components",
        "rank",
        "evaluation",
    ),
    "provenance": (
        "started_at",
        "git_commit",
        "git_dirty",
        "kdrbench_version",
        "python_version",
        "numpy_version",
        "scipy_version",
        "blas",
        "blas_threads",
        "processor",
        "machine",
        "seed",
        "data_sha256",
        "batch_sha256",
        "lock_sha256",
    ),
}


@click.command()
@click.argument("first", metavar="A", type=RunName("method"))
@click.argument("second", metavar="B", type=RunName("method"))
@click.option("--experiment", default=None, help="Of this experiment only.")
@results_folder
@click.option("--name", default="", help="Name of the configuration; the one without a name if not said.")
@as_json
def compare(first: str, second: str, experiment: str | None, results: Path, name: str, as_json: bool) -> None:
    """Compare the solvers A and B run by run, in each cell of results/ikdr.csv that both have.

    Wins and losses are A's. The ratio is the median over runs of A / B (of costs that of F = -cost); p is that of
    Wilcoxon's signed rank test, then Holm's correction of it over the cells of a metric.
    """
    from kdrbench.reports.records import read_runs
    from kdrbench.reports.tables.side_by_side import compare_solvers

    folder = results / name
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
    if experiment is not None:
        if experiment not in set(runs["experiment"]):
            raise InputError(unknown_name("experiment", experiment, sorted(map(str, runs["experiment"].unique()))))
        runs = runs[runs["experiment"] == experiment]
    pairs = compare_solvers(runs, first, second)
    click.echo(json.dumps([asdict(pair) for pair in pairs]) if as_json else _table(pairs))


def _table(pairs: list[Pair]) -> str:
    rows = [_TITLES, *(_row(pair) for pair in pairs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """Return words to the left, numbers to the right."""
    labels = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
    return "  ".join([*labels, *(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))])


def _row(pair: Pair) -> tuple[str, ...]:
    cell = f"{pair.experiment}/{pair.dataset}/{pair.kernel}"
    # Ratios of costs differ from one in digits that ratios of times have not.
    values = ((pair.ratio, ".6g"), (pair.p, ".3g"), (pair.holm, ".3g"))
    numbers = [format(value, form) if value is not None else "-" for value, form in values]
    return pair.metric, cell, str(pair.runs), str(pair.wins), str(pair.losses), *numbers


@click.command()
@click.argument("run", type=RunName("run"))
@results_folder
@as_json
def show(run: str, results: Path, as_json: bool) -> None:
    """Show the record of RUN of any system, named by its axes: of ikdr experiment/dataset/kernel/method/run."""
    from kdrbench.bench.record import flat

    record = find_record(results, run)
    trace, values = _trace(results, record), flat(record)
    if as_json:
        click.echo(json.dumps({**values, "trace": trace}))
        return
    click.echo(f"{run}: {record.status} - {record.message}")
    for title, names in {"result": _result_columns(record), **_GROUPS}.items():
        filled = {name: values[name] for name in names if values.get(name) not in (None, "")}
        if filled:
            click.echo(f"{title}: " + ", ".join(f"{name} {_short(value)}" for name, value in filled.items()))
    click.echo(_trace_in_words(trace))


def _result_columns(record: Record) -> list[str]:
    """Return the columns of the record's system that say what came out: those of no other group, and no axes."""
    from kdrbench.bench.record import Record, column_types

    others = {*column_types(Record), *record.axis_names(), *(name for names in _GROUPS.values() for name in names)}
    return [name for name in column_types(type(record)) if name not in others]  # type: ignore[arg-type]


def find_record(results: Path, run: str) -> Record:
    """Return the record of a run by its axes, joined by slashes.

    Raises ``InputError`` for words that name no run, saying how far they do.
    """
    names_of_run = run.split("/")
    left = _records(results, names_of_run[0])
    axes, example = left[0].axis_names(), "/".join(map(str, left[0].axes))
    if len(names_of_run) != len(axes):
        raise InputError(f"a run of {names_of_run[0]!r} is named {'/'.join(axes)}, for instance {example}; got {run!r}")
    for place, (axis, word) in enumerate(zip(axes, names_of_run, strict=True)):
        names = list(dict.fromkeys(str(record.axes[place]) for record in left))
        left = [record for record in left if str(record.axes[place]) == word]
        if not left:
            raise InputError(f"{results / 'runs'} holds no such run: {unknown_name(axis, word, names)}")
    # Files of an earlier configuration, which shared jobs in another way, may be there too.
    return max(left, key=lambda record: record.provenance.started_at)


def _records(results: Path, experiment: str) -> list[Record]:
    """Return all records of an experiment, read as those of its system; ``InputError`` where there are none."""
    from kdrbench.bench.record import RecordError, read_records

    # A job's file is in the folder of its data set, or below that.
    paths = sorted((results / "runs" / experiment).rglob("*.jsonl")) if experiment else []
    if not any(path.stat().st_size for path in paths):
        if experiment and (results / "runs" / experiment).is_dir():
            raise InputError(f"{experiment!r} has no rows yet: no job of it has ended")
        names = sorted(path.name for path in (results / "runs").glob("*/"))
        raise InputError(f"{results / 'runs'} holds no such run: {unknown_name('experiment', experiment, names)}")
    faults = []
    for kind in _kinds(results, experiment):
        try:
            return [record for path in paths for record in read_records(path, kind)]
        except RecordError as fault:
            faults.append(fault)
    raise faults[0]


def _kinds(results: Path, experiment: str) -> Iterator[type[Record]]:
    """Yield the class of an experiment's records by the frozen configurations, then those of all systems."""
    from kdrbench.stages import STAGES, build_stage, stage_of

    for path in (results / "config.json", *sorted(results.glob("*/config.json"))):
        definitions = _experiments(path)
        if experiment in definitions:
            yield stage_of(definitions[experiment]).record
    for system in STAGES:
        yield build_stage(system).record


def _experiments(path: Path) -> Mapping[str, Any]:
    try:
        experiments: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["experiments"]
    except (OSError, ValueError, KeyError):
        return {}
    return experiments


def _trace(results: Path, record: Record) -> list[dict[str, float]]:
    from kdrbench.bench.publish import read_points

    path = results / "traces" / record.provenance.trace_file
    points = read_points(path) if path.is_file() else {}
    cell = "/".join(str(getattr(record, name)) for name in ("dataset", *record.CELL))
    return [
        {key: point[key] for key in ("time_s", "cost", "stationarity")} for point in points.get((cell, record.run), [])
    ]


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
