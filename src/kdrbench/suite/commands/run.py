"""`kdrbench run`: one cell, as the workflow runs it, with a line that says how far it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from kdrbench.datasets import Dataset, DatasetEntry, load_defined, registry_of, save_prepared
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.tables import table_of
from kdrbench.errors import ConfigError, InputError, counted, unknown_name
from kdrbench.methods import is_own
from kdrbench.progress import ProgressLine
from kdrbench.solvers.registry import definition_of
from kdrbench.suite.commands.options import (
    FILE,
    Number,
    Whole,
    as_json,
    data_options,
    mirror_option,
    read_configs,
    read_options,
)
from kdrbench.suite.engine.batch import Batch, Bundle, Order, order_path
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.isolation.core_lock import leave_when_told
from kdrbench.suite.engine.progress import progress_of
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import Record, flat, read_records
from kdrbench.suite.experiments.config import check_part, load_grid
from kdrbench.suite.systems import build_system
from kdrbench.suite.systems.ikdr.scores import ending_in_words

EXPERIMENT = "run"
# Seconds for which a short solve is repeated, so that its warm time is shown beside that of the first.
REPEAT_FOR_S = 0.1
# By their places in the configuration of a cell: the words of `kdrbench run`.
_WORDS = {rf"experiments\.{EXPERIMENT}\.{key}": f"--{key}" for key in ("folds", "components")}
_WORDS |= {r"limits\.time_s": "--time-limit", r"limits\.memory_mib": "--memory-limit"}
_WORDS |= {r"kernels\.[\w-]+(?=: (unknown|kernel) option)": "--kernel-option"}
_WORDS |= {r"solvers\.[\w-]+(?=: (unknown|solver) option)": "--option"}
_WORDS |= {r"kernels\.[\w-]+\.(?!family\b)([\w-]+)": r"--kernel-option \1"}
_WORDS |= {r"solvers\.[\w-]+\.(?!method\b)([\w-]+)": r"--option \1"}
_WORDS |= {rf"({kind}s\.[\w-]+|experiments\.{EXPERIMENT}\.{kind}s)": kind.upper() for kind in ("kernel", "solver")}
_WORDS |= {rf"(datasets\.[\w-]+|experiments\.{EXPERIMENT}\.datasets)": "DATASET"}
# By key of the limits, the option that sets it, and the limit where neither that nor a configuration does.
_LIMITS = {"time_s": ("time_limit", 60.0), "memory_mib": ("memory_limit", 4096)}
_LOOK_S = 0.1
# Where the line cannot be written over, one is enough now and then.
_PLAIN_S = 1.0


@click.command()
@click.argument("dataset")
@click.argument("kernel")
@click.argument("solver")
@click.option("--components", type=Whole(1), help="q (default: number of classes, but less than that of features).")
@click.option("--time-limit", type=Number(0, min_open=True), help="In s; that of the configuration, else 60.")
@click.option("--memory-limit", type=Whole(1), help="In MiB; that of the configuration, else 4096.")
@click.option("--folds", type=Whole(2), help="Cross validation; all rows, once, if not said.")
@click.option("--unsupervised", is_flag=True, help="Cluster; labels are used for scoring alone.")
@click.option("--option", "options", multiple=True, help="Of the solver, such as start=random; may be repeated.")
@click.option("--kernel-option", "kernel_options", multiple=True, help="The same of the kernel.")
@data_options
@click.option("--config", "configs", type=FILE, multiple=True, help="Names and limits of this configuration.")
@click.option("--seed", type=Whole(0), default=0, show_default=True)
@mirror_option
@as_json
def run(
    dataset: str,
    kernel: str,
    solver: str,
    configs: tuple[Path, ...],
    mirror: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run SOLVER with KERNEL on DATASET: names of `kdrbench list` or of a configuration, or files of your own.

    A table of your own is named with the column of its classes: my_data.csv:species.

    Progress goes to standard error. Exit code 1 if a run ended without a result.
    """
    resolved = read_configs(configs)
    settings |= {name: read_options(settings[name]) for name in ("options", "kernel_options", "data_options")}
    check_part(resolved)
    config = cell_config(dataset, kernel, solver, settings, resolved)
    try:
        grid = load_grid(config)
    except ConfigError as fault:
        raise by_options(fault) from fault
    (batch,) = grid.batches()
    leave_when_told()
    definitions = config["datasets"]
    data = load_defined(batch.dataset, definitions.get(batch.dataset, {}), Sources(mirror))
    with tempfile.TemporaryDirectory(prefix="kdrbench-run-") as folder:
        watch = partial(show_progress, grid, batch, Path(folder))
        rows = [flat(record) for record in run_batch(grid, batch, data, Path(folder), REPEAT_FOR_S, watch)]
    if not rows:
        raise InputError("the run came to no end, see the lines above")
    for row in rows:
        click.echo(json.dumps(row) if as_json else _in_words(row))
    sys.exit(0 if all(row["cost"] is not None and row["status"] != "failed" for row in rows) else 1)


def cell_config(
    dataset: str,
    kernel: str,
    solver: str,
    settings: Mapping[str, Any],
    resolved: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the configuration of an experiment with one cell; names mean first what they mean in ``resolved``.

    So do limits that no option sets.
    """
    if settings["unsupervised"] and settings["folds"]:
        raise InputError("--folds and --unsupervised exclude each other: clusters say nothing of test rows")
    defined = definition_of(solver, resolved.get("solvers", {})) | settings["options"]
    data_name, definitions = _data(dataset, resolved.get("datasets", {}), settings.get("data_options", {}))
    experiment: dict[str, Any] = {
        "title": "one cell",
        "paradigm": "unsupervised" if settings["unsupervised"] else "supervised",
        "start": "surrogate",
        "datasets": [data_name],
        "kernels": [short_name(kernel)],
        "solvers": [short_name(solver)],
        "components": {data_name: settings["components"] or _usual(data_name, definitions)},
        "split": "folds" if settings["folds"] else "none",
    }
    if settings["folds"]:
        experiment |= {"folds": settings["folds"], "runs_per_job": settings["folds"]}
    family, limits = resolved.get("kernels", {}).get(kernel, {"family": kernel}), resolved.get("limits", {})
    return {
        "seed": settings["seed"],
        "run": [EXPERIMENT],
        "data": {"mirror": ""},
        "limits": {key: settings[name] or limits.get(key, usual) for key, (name, usual) in _LIMITS.items()},
        "timing": {"repeat_for_s": REPEAT_FOR_S, "threads": 1},
        "datasets": definitions,
        "kernels": {short_name(kernel): {**family, **settings["kernel_options"]}},
        "solvers": {short_name(solver): defined},
        "experiments": {EXPERIMENT: experiment},
    }


def _data(name: str, definitions: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the short name of a data set, and its definition with ``options`` if it is the user's own."""
    if name in definitions:
        short, definition = name, definitions[name]
    elif table := table_of(name):
        short, definition = table
    elif is_own("data set", name, ()):
        short, definition = short_name(name), {"loader": name}
    elif options:
        raise InputError(f"--data-option is for data of your own, not for {name!r}; leave it out")
    else:
        return name, {}
    return short, {short: {**definition, **options}}


def short_name(place: str) -> str:
    """Return a name for files and tables: that of the file, or of the class."""
    name = place.rpartition(":")[2] if ":" in place else Path(place).stem
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)


def _usual(name: str, definitions: Mapping[str, Any]) -> int:
    if name not in (registry := registry_of({"datasets": definitions})):
        raise InputError(f"{unknown_name('data set', name, sorted(registry))} One of your own is named path/to/file.py")
    return usual_components(registry[name])


def usual_components(entry: DatasetEntry) -> int:
    """Return q where it is not given: the number of classes, but less than that of features.

    With as many components as features W only rotates the samples: kernels do not see that, and all solvers tie.
    """
    return max(1, min(len(entry.class_counts), entry.n_features - 1))


def by_options(fault: ConfigError) -> ConfigError:
    """Return a fault of the configuration of a cell in the words of the command that asked for it."""
    text = str(fault)
    for place, word in _WORDS.items():
        text = re.sub(rf"^config: {place}(\.[\w-]+)?(?=[ :])", word, text)
    return ConfigError(text)


def run_batch(
    grid: Grid,
    batch: Batch,
    dataset: Dataset,
    folder: Path,
    repeat_for_s: float = 0.0,
    watch: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
) -> list[Record]:
    """Make the runs of a batch as a job of the workflow does, in a process of its own; no rows where the job fails.

    ``watch`` is called with the process, and returns when it has ended.
    """
    data, limits, files = folder / "data", grid.limits(batch.experiment), JobFiles.of(folder, batch.path)
    save_prepared(dataset, data / f"{batch.dataset}.npz")
    order = Order(Bundle(batch.path, (batch,)), timed=grid.timed(batch.experiment))
    command: list[object] = [sys.executable, "-m", "kdrbench", "batch", order.write(order_path(folder, batch.path))]
    command += ["--data", data, "--results", folder, "--repeat-for-s", repeat_for_s, "--threads", batch.threads]
    command += ["--time-limit-s", limits.time_s, "--memory-limit-mib", limits.memory_mib]
    # This process is the one that the job must not outlive.
    environment = {**os.environ, "KDRBENCH_SCHEDULER_PID": str(os.getpid())}
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=environment) as process:
        try:
            watch(process)
            process.wait()
        except BaseException:
            process.terminate()
            raise
    return [] if process.returncode else list(read_records(files.records, build_system(batch.system).record))


def show_progress(grid: Grid, batch: Batch, folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Show how far a batch is until its process ends."""
    line = ProgressLine(_PLAIN_S)
    line.show("starting")
    while process.poll() is None:
        (run,) = (one.running for one in progress_of(grid, folder) if one.batch.path == batch.path)
        if run is not None and run.best_cost is not None:
            fold = f"fold {run.run + 1} of {len(batch.runs)}: " if len(batch.runs) > 1 else ""
            seconds = f"{run.time_s:.1f} of {grid.limits(batch.experiment).time_s:g} s"
            line.show(f"{fold}lowest cost {run.best_cost:.8g}, {seconds}")
        time.sleep(_LOOK_S)
    line.end()


def _in_words(row: Mapping[str, Any]) -> str:
    """Return how a run ended, why, and what it has found."""
    fold = f"fold {row['run']}: " if row["split"] == "folds" else ""
    ending = ending_in_words(row["status"], row["optimality"], row["stationarity"])
    ending = f"{fold}{ending} - {row['message']}"
    if row["cost"] is None:
        return f"{ending}; it left no result"
    # Without held-out samples the error is that of the samples which were learned from.
    metric = "training error" if row["quality_metric"] == "error" else row["quality_metric"]
    repeats = f" (warm median {row['warm_s']:.3g} s of {counted(row['repeats'], 'repeat')})" if row["repeats"] else ""
    seconds = "" if row["time_s"] is None else f" in {row['time_s']:.3g} s, first solve{repeats}"
    forms = {"cost": "cost {:.8g}", "quality": f"{metric} {{:.4g}}"}
    forms |= {"iterations": f"{{:d}} iteration{'s' * (row['iterations'] != 1)}{seconds}"}
    forms |= {"stationarity": "stationarity {:.1e}", "feasibility": "feasibility {:.1e}"}
    words = [form.format(row[name]) for name, form in forms.items() if row[name] is not None]
    lines = [ending, f"  {', '.join(words)}"]
    if constant := row["n_constant_features"]:
        lines.append(f"  {counted(constant, 'feature')} without variation: length of W in them shortens distances")
    return "\n".join(lines)
