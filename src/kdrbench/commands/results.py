"""`kdrbench compare` and `kdrbench show`: what finished runs say."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.commands.completion import RunName
from kdrbench.commands.options import as_json, results_folder
from kdrbench.errors import InputError, unknown_name

if TYPE_CHECKING:
    from kdrbench.bench.record import RunRecord
    from kdrbench.reports.tables.paired_solvers import Pair

_AXES = ("experiment", "dataset", "kernel", "solver", "fold")
_TITLES = ("metric", "cell", "runs", "wins", "losses", "median ratio", "p (Wilcoxon)", "p (Holm)")
# What `show` prints, in this order; the rest is in --json.
_GROUPS = {
    "result": ("cost", "quality_metric", "quality", "feasibility", "stationarity", "iterations", "rounds"),
    "time": ("time_s", "time_iqr_s", "repeats", "cpu_s", "wall_s", "time_limit_s", "contaminated", "cores", "load"),
    "memory": ("memory_mib", "memory_limit_mib"),
    "calls": ("value_calls", "gradient_calls", "hessian_vector_calls", "hessian_calls", "surrogate_calls"),
    "problem": ("paradigm", "split", "n_train", "n_test", "n_features", "n_components", "evaluation"),
    "provenance": (
        "started_at",
        "git_commit",
        "git_dirty",
        "kdrbench_version",
        "solver_version",
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
@click.argument("first", metavar="A", type=RunName("solver"))
@click.argument("second", metavar="B", type=RunName("solver"))
@click.option("--experiment", default=None, help="Of this experiment only.")
@results_folder
@as_json
def compare(first: str, second: str, experiment: str | None, results: Path, as_json: bool) -> None:
    """Compare the solvers A and B run by run, in each cell of results/ikdr.csv that both have.

    Wins and losses are A's. The ratio is the median over runs of A / B (of costs that of F = -cost); p is that of
    Wilcoxon's signed rank test, then Holm's correction of it over the cells of a metric.
    """
    from kdrbench.reports.records import read_runs
    from kdrbench.reports.tables.paired_solvers import compare_solvers

    table = results / "ikdr.csv"
    if not table.is_file():
        raise InputError(f"{table} is not there: run the workflow first, or name its folder with --results")
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
    words = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
    return "  ".join([*words, *(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))])


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
    """Show the record of RUN, named by its axes: experiment/dataset/kernel/solver/fold."""
    record = find_record(results, run)
    trace = _trace(results, record)
    if as_json:
        click.echo(json.dumps({**asdict(record), "trace": trace}))
        return
    click.echo(f"{run}: {record.status} - {record.message}")
    values = asdict(record)
    for title, names in _GROUPS.items():
        known = {name: values[name] for name in names if values[name] is not None}
        click.echo(f"{title}: " + ", ".join(f"{name} {_short(value)}" for name, value in known.items()))
    click.echo(_trace_in_words(trace))


def find_record(results: Path, run: str) -> RunRecord:
    """Return the record of a run by its axes, joined by slashes.

    Raises ``InputError`` for words that name no run, saying how far they do.
    """
    from kdrbench.bench.record import read_records

    words = run.split("/")
    if len(words) != len(_AXES) or not words[-1].isdigit():
        raise InputError(f"a run is named {'/'.join(_AXES)}, for instance demo/wine/gaussian/ism/0; got {run!r}")
    # A job's file stands in the folder of its data set, or below that.
    paths = sorted((results / "runs" / words[0]).rglob("*.jsonl"))
    left = [record for path in paths for record in read_records(path)]
    for place, (axis, word) in enumerate(zip(_AXES, words, strict=True)):
        known = list(dict.fromkeys(str(record.axes[place]) for record in left))
        if axis == "experiment":
            known = sorted(path.name for path in (results / "runs").glob("*/"))
        left = [record for record in left if str(record.axes[place]) == word]
        if not left:
            raise InputError(f"{results / 'runs'} holds no such run: {unknown_name(axis, word, known)}")
    # Files of an earlier configuration, which shared jobs in another way, may lie about.
    return max(left, key=lambda record: record.started_at)


def _trace(results: Path, record: RunRecord) -> list[dict[str, float]]:
    from kdrbench.bench.published import read_points

    path = results / "traces" / record.trace_file
    points = read_points(path) if path.is_file() else {}
    return [
        {key: point[key] for key in ("time_s", "cost", "stationarity")}
        for point in points.get((record.kernel, record.solver, record.fold), [])
    ]


def _trace_in_words(trace: list[dict[str, float]]) -> str:
    if not trace:
        return "trace: none"
    first, last = trace[0], trace[-1]
    best = min(point["cost"] for point in trace)
    # When the run first was so near its best cost that more digits are rarely printed.
    near = next(point for point in trace if point["cost"] <= best + 1e-4 * abs(best))
    return (
        f"trace: {len(trace)} iterates seen; cost {first['cost']:.8g} at {first['time_s']:.3g} s, {last['cost']:.8g} "
        f"at {last['time_s']:.3g} s, lowest {best:.8g}, within 0.01 % of it after {near['time_s']:.3g} s"
    )


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
