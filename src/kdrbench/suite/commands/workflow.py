"""The steps of the workflow: prepare data, run a job, freeze the configuration, merge rows; and how far it has come."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.files import write_bytes
from kdrbench.suite.commands.options import FILE, Number, Whole, all_results, grid_of, mirror_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdrbench.suite.engine.grid import Grid


@click.command()
@click.argument("names", nargs=-1, required=True)
@mirror_option
@click.option("--definition", default="{}", help="The definition of a data set of one's own, as JSON.")
@click.option("--out", type=FILE, required=True, help="The .npz file, or the folder of several; .png of an image.")
def prepare(names: tuple[str, ...], mirror: str, definition: str, out: Path) -> None:
    """Fetch, verify and parse the data sets NAMES; or fetch and verify the image whose colours are one of them."""
    import json

    from kdrbench.datasets import load_defined, save_prepared
    from kdrbench.datasets.fetch import Sources
    from kdrbench.datasets.load import picture_bytes

    if out.suffix == ".png":
        write_bytes(out, picture_bytes(names[0], mirror=mirror))
        return
    sources = Sources(mirror)
    for name in names:
        dataset = load_defined(name, json.loads(definition), sources)
        path = out if out.suffix == ".npz" else out / f"{name}.npz"
        save_prepared(dataset, path)
        n_samples, n_features = dataset.features.shape
        size = f"{counted(n_samples, 'sample')}, {counted(n_features, 'feature')}"
        click.echo(f"{name}: {size}, {counted(len(dataset.class_names), 'class', 'classes')} -> {path}")


@click.command()
@click.argument("order", type=FILE)
@click.option("--data", type=FILE, required=True, help="Folder of prepared data sets.")
@all_results
@click.option("--time-limit-s", type=Number(0, min_open=True), required=True, help="Of a run, on its method's clock.")
@click.option("--memory-limit-mib", type=Number(0, min_open=True), required=True, help="Of a run.")
@click.option("--repeat-for-s", type=Number(0), default=0.5, show_default=True, help="Repeat shorter solves so long.")
@click.option("--threads", type=Whole(1), default=1, show_default=True, help="Cores and BLAS threads of a run.")
@mirror_option
def batch(
    order: Path,
    data: Path,
    results: Path,
    time_limit_s: float,
    memory_limit_mib: float,
    repeat_for_s: float,
    threads: int,
    mirror: str,
) -> None:
    """Make the runs that the file ORDER asks for, each supervised in a process of its own."""
    from kdrbench.suite.engine.batch import read_order
    from kdrbench.suite.engine.isolation.core_lock import owned_cores, prepare_process
    from kdrbench.suite.engine.isolation.limits import Limits

    job = read_order(order)
    limits = Limits(time_limit_s, memory_limit_mib)
    prepare_process(threads)
    # The heavy imports wait until a core is free, so that they do not disturb a run that is being timed, and until the
    # threads are set: numpy reads them once, when it is loaded.
    # Runs that are not timed share all cores, also with timed ones.
    with owned_cores(threads) if job.timed else nullcontext(()) as cores:
        from kdrbench.datasets import PreparedFolder
        from kdrbench.suite.engine.identity import attested_in
        from kdrbench.suite.engine.isolation.supervisor import SCHEDULER_VARIABLE
        from kdrbench.suite.engine.job import run_job
        from kdrbench.suite.engine.publish import JobFiles
        from kdrbench.suite.engine.system import RunContext
        from kdrbench.suite.systems import build_system

        scheduler = os.environ.get(SCHEDULER_VARIABLE)
        context = RunContext(
            limits,
            # Repeats serve the time alone.
            repeat_for_s=repeat_for_s if job.timed else 0.0,
            cores=cores,
            scheduler=int(scheduler) if scheduler else None,
            timed=job.timed,
            attested=attested_in(results),
        )
        bundle, results = job.bundle, results.absolute()
        system, files = build_system(bundle.system), JobFiles.of(results, bundle.path)
        sha256 = {batch.dataset: batch.data_sha256 for batch in bundle.batches}
        prepared = PreparedFolder(data, sha256, job.definitions, mirror)
        run_job(system, bundle, prepared.load, context, files)


@click.command()
@click.argument("config", type=FILE)
@click.argument("experiments", nargs=-1)
@all_results
@click.option("--out", type=FILE, required=True, help="The CSV table to write; the folder of those of all systems.")
def merge(config: Path, experiments: tuple[str, ...], results: Path, out: Path) -> None:
    """Merge the records that CONFIG expects of the EXPERIMENTS of one system; a missing run is an error.

    Without EXPERIMENTS: of all, in a table for each system.
    """
    grid = grid_of(config)
    if unknown := [name for name in experiments if name not in grid.experiments]:
        raise InputError(f"{config}: {unknown_name('experiment in `run`', unknown[0], grid.experiments)}")
    if experiments:
        merge_experiments(grid, experiments, results, out)
        return
    from kdrbench.suite.systems import table_of

    for system, names in grid.systems.items():
        merge_experiments(grid, names, results, out / f"{table_of(system)}.csv")


def merge_experiments(grid: Grid, experiments: Sequence[str], results: Path, out: Path) -> None:
    """Write the rows of experiments of one system as the CSV table ``out``, and say how many there are."""
    from kdrbench.suite.engine.publish import merge_records

    paths = [Path(path) for name in experiments for path in grid.experiment_paths(name, "records", results)]
    expected = grid.expected(list(experiments))
    merged = merge_records(paths, grid.system(experiments[0]).record, expected, out)
    click.echo(f"{counted(len(merged), 'row')} -> {out}")
