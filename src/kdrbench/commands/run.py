"""`kdrbench run`: one cell, as the workflow runs it, with a line that says how far it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.commands.completion import PluginName
from kdrbench.commands.options import FILE, NearChoice, as_json, read_configs, read_options
from kdrbench.errors import InputError, counted

if TYPE_CHECKING:
    from kdrbench.bench.batch import Batch
    from kdrbench.bench.publish import JobFiles
    from kdrbench.bench.record import Record
    from kdrbench.bench.workspace import Workspace

_EXPERIMENT = "run"
_LOOK_S = 0.1
# Seconds for which a short solve is repeated, so that its warm time is shown beside that of the first.
_REPEAT_FOR_S = 0.1
# Where the line cannot be written over, one is enough now and then.
_PLAIN_S = 1.0


@click.command()
@click.argument("dataset", type=PluginName("dataset"))
@click.argument("kernel", type=PluginName("kernel"))
@click.argument("solver", type=PluginName("solver"))
@click.option("--components", type=click.IntRange(min=1), help="q; the number of classes if not said.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="In s.")
@click.option("--memory-limit", type=click.IntRange(min=1), default=4096, show_default=True, help="In MiB.")
@click.option("--folds", type=click.IntRange(min=2), help="Cross validation; all rows, once, if not said.")
@click.option("--start", type=NearChoice(["surrogate", "random", "identity"]), help="In place of the solver's own.")
@click.option("--unsupervised", is_flag=True, help="Cluster; labels are used for scoring alone.")
@click.option("--option", "options", multiple=True, help="An option of the solver, as name=value; may be repeated.")
@click.option("--kernel-option", "kernel_options", multiple=True, help="The same of the kernel.")
@click.option("--config", "configs", type=FILE, multiple=True, help="Also resolve names from this configuration.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--mirror", default="", help="Folder or http(s) URL of data; KDRBENCH_MIRROR overrides it.")
@as_json
def run(
    dataset: str,
    kernel: str,
    solver: str,
    options: tuple[str, ...],
    kernel_options: tuple[str, ...],
    configs: tuple[Path, ...],
    mirror: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run SOLVER with KERNEL on DATASET: registered names, those of a configuration, or files of your own.

    Progress goes to standard error. Exit code 1 if a run ended without a result.
    """
    from kdrbench.bench.isolation.core_lock import leave_when_told
    from kdrbench.bench.record import flat
    from kdrbench.conformance.trial import places_in, places_of, try_apart
    from kdrbench.stages.config import load_grid

    resolved = read_configs(configs)
    both_options = read_options(options), read_options(kernel_options)
    places = [*places_of([dataset, kernel, solver]), *places_in(resolved)]

    def configured() -> dict[str, Any]:
        return cell_config(resolved, dataset, kernel, solver, *both_options, settings)

    try_apart(lambda: load_grid(configured(), hashed=False), places)
    config = configured()
    (batch,) = load_grid(config).batches()
    leave_when_told()
    with tempfile.TemporaryDirectory(prefix="kdrbench-run-") as folder:
        _prepare(batch.dataset, config, mirror, Path(folder))
        rows = [flat(record) for record in _run_batch(batch, settings, Path(folder))]
    for row in rows:
        click.echo(json.dumps(row) if as_json else _in_words(row))
    sys.exit(0 if all(row["cost"] is not None and row["status"] != "failed" for row in rows) else 1)


def cell_config(
    resolved: Mapping[str, Any],
    dataset: str,
    kernel: str,
    solver: str,
    options: dict[str, Any],
    kernel_options: dict[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the configuration of an experiment with one cell; names mean first what they mean in ``resolved``."""
    paradigm = "unsupervised" if settings["unsupervised"] else "supervised"
    experiment: dict[str, Any] = {"title": "one cell", "paradigm": paradigm, "start": "surrogate"}
    defined = _named("method", solver, resolved.get("solvers", {})) | options
    if settings["start"]:
        defined["start"] = settings["start"]
    data_name, definitions = _data(dataset, resolved.get("datasets", {}))
    names = {"kernels": _short(kernel), "solvers": _short(solver)}
    experiment |= {"datasets": [data_name], "split": "folds" if settings["folds"] else "none"}
    experiment |= {key: [name] for key, name in names.items()}
    experiment["components"] = {data_name: settings["components"] or _classes(data_name, definitions)}
    if settings["folds"]:
        experiment |= {"folds": settings["folds"], "runs_per_job": settings["folds"]}
    return {
        "seed": settings["seed"],
        "run": [_EXPERIMENT],
        "data": {"mirror": ""},
        "limits": {"time_s": settings["time_limit"], "memory_mib": settings["memory_limit"]},
        "timing": {"repeat_for_s": _REPEAT_FOR_S, "threads": 1},
        "datasets": definitions,
        "kernels": {names["kernels"]: _named("family", kernel, resolved.get("kernels", {})) | kernel_options},
        "solvers": {names["solvers"]: defined},
        "experiments": {_EXPERIMENT: experiment},
    }


def _named(key: str, name: str, definitions: Mapping[str, Any]) -> dict[str, Any]:
    return dict(definitions[name]) if name in definitions else {key: name}


def _data(name: str, definitions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the short name of a data set, and its definition if it is the user's own."""
    from kdrbench.methods import is_own

    if name in definitions:
        return name, {name: dict(definitions[name])}
    return (_short(name), {_short(name): {"loader": name}}) if is_own("data set", name, ()) else (name, {})


def _short(place: str) -> str:
    """Return a name for files and tables: that of the file, or of the class."""
    name = place.rpartition(":")[2] if ":" in place else Path(place).stem
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)


def _classes(name: str, definitions: Mapping[str, Any]) -> int:
    from kdrbench.datasets import registry_of
    from kdrbench.errors import unknown_name

    registry = registry_of({"datasets": definitions})
    if name not in registry:
        raise InputError(f"{unknown_name('data set', name, sorted(registry))} One of your own is named path/to/file.py")
    return max(1, min(len(registry[name].class_counts), registry[name].n_features))


def _prepare(name: str, config: Mapping[str, Any], mirror: str, folder: Path) -> None:
    from kdrbench.datasets import load_dataset, load_own, save_prepared

    definitions = config["datasets"]
    dataset = load_own(name, definitions[name]) if name in definitions else load_dataset(name, mirror=mirror or None)
    save_prepared(dataset, folder / f"{name}.npz")


def _run_batch(batch: Batch, settings: Mapping[str, Any], folder: Path) -> list[Record]:
    """Run the batch as the workflow does, in a process of its own, and show meanwhile how far it is."""
    from kdrbench.bench.batch import Bundle
    from kdrbench.bench.publish import JobFiles
    from kdrbench.bench.record import read_records
    from kdrbench.stages import build_stage

    files, record = JobFiles.of(folder, batch.path), build_stage(batch.system).record
    command: list[str | Path] = [sys.executable, "-m", "kdrbench", "batch", "--repeat-for-s", str(_REPEAT_FOR_S)]
    command += ["--job", Bundle(batch.path, (batch,)).to_word(), "--data", folder, "--results", folder]
    command += ["--time-limit-s", str(settings["time_limit"]), "--memory-limit-mib", str(settings["memory_limit"])]
    # This process is the one that the batch must not outlive.
    environment = {**os.environ, "KDRBENCH_SCHEDULER_PID": str(os.getpid())}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        try:
            _watch(process, batch, files, files.workspace(batch, record), settings["time_limit"])
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise InputError("the run came to no end, see the lines above")
    return list(read_records(files.records, record))


def _watch(
    process: subprocess.Popen[bytes], batch: Batch, files: JobFiles, workspace: Workspace[Any], time_limit_s: float
) -> None:
    """Show how far the batch is until its process ends."""
    line = _Line()
    while process.poll() is None:
        line.show("ending" if files.records.exists() else _progress(batch, workspace, time_limit_s))
        time.sleep(_LOOK_S)
    line.end()


def _progress(batch: Batch, workspace: Workspace[Any], time_limit_s: float) -> str:
    """Return what the trace of the last run that has begun says."""
    from kdrbench.bench.run_files import read_trace
    from kdrbench.bench.untrusted import UnreadableError

    begun = [number for number in batch.runs if workspace.run(number).trace.exists()]
    try:
        trace = read_trace(workspace.run(begun[-1]).trace) if begun else []
    except UnreadableError:
        # Of a run under way, which is not judged yet.
        trace = []
    if not trace:
        return "starting"
    last = trace[-1]
    fold = f"fold {begun[-1] + 1} of {len(batch.runs)}: " if len(batch.runs) > 1 else ""
    return (
        f"{fold}cost {last.cost:.8g}, {counted(len(trace), 'iterate')} seen, stationarity {last.stationarity:.1e}, "
        f"{last.time_s:.1f} of {time_limit_s:g} s"
    )


class _Line:
    """A line that is overwritten on a terminal, and written again now and then elsewhere."""

    def __init__(self) -> None:
        self._shown, self._next_s = "", 0.0
        self._terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if text == self._shown or (not self._terminal and time.monotonic() < self._next_s):
            return
        self._shown, self._next_s = text, time.monotonic() + _PLAIN_S
        click.echo(f"\r{text}\x1b[K" if self._terminal else text, nl=not self._terminal, err=True)

    def end(self) -> None:
        if self._terminal:
            click.echo("\r\x1b[K", nl=False, err=True)


def _repeated(row: Mapping[str, Any]) -> str:
    return f" ({row['warm_s']:.3g} s warm, {counted(row['repeats'], 'repeat')})" if row["repeats"] else ""


def _in_words(row: Mapping[str, Any]) -> str:
    def number(name: str, form: str) -> str:
        return "none" if row[name] is None else format(row[name], form)

    fold = f"fold {row['run']}: " if row["split"] == "folds" else ""
    return (
        f"{fold}{row['status']} - {row['message']}\n"
        f"  cost {number('cost', '.8g')}, {row['quality_metric']} {number('quality', '.4g')}, "
        f"{number('iterations', 'd')} iterations in {number('time_s', '.3g')} s{_repeated(row)}, stationarity "
        f"{number('stationarity', '.1e')}, feasibility {number('feasibility', '.1e')}"
    )
