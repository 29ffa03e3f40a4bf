"""Packed records: made of a folder of results, and made a folder of results again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import InputError, counted
from kdrbench.files import replacing_folder
from kdrbench.suite.archive import PAPERS, is_packed, parts_of
from kdrbench.suite.archive.layers import new_layer, opened, record_at
from kdrbench.suite.archive.layers import unpack as unpacked
from kdrbench.suite.archive.pack import Packing, check_licence, submitted_solvers, write_submission
from kdrbench.suite.commands.options import FILE, configuration_name, frozen_configuration, grid_of, root_and_name
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.reports.making import charts_to_store
from kdrbench.suite.systems.atlas.optima import BestKnown

# By this file a folder is known as made by `kdrbench pack`, which may then replace it.
PACKED = ".kdrbench-packed"
# Of a record whose makers give none.
LICENCE = "CC-BY-4.0"


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@configuration_name
@click.option("--out", type=FILE, default=PAPERS, show_default=True, help="The folder to write, or to replace.")
@click.option("--crate", is_flag=True, help="Write an RO-Crate for an archive, into --out: FILE.zip or a folder.")
@click.option("--layer", help="Add to the record --out what it lacks, as a layer of this name, such as 2026-12-01.")
@click.option("--licence", help=f"A word of SPDX (default: that of a packed record, otherwise {LICENCE}).")
@click.option("--author", "authors", multiple=True, help="Who made the record, for --crate; may be repeated.")
def pack(
    results: Path,
    name: str,
    out: Path,
    crate: bool,
    layer: str | None,
    licence: str | None,
    authors: tuple[str, ...],
) -> None:
    """Pack the runs in RESULTS: rows, traces and what runs found, compressed, with hashes, a licence and a README.

    Jobs that have not ended are left out, and counted. Traces are thinned by less than can be seen, projections are in
    float32, and of large ones the first runs of a cell are stored. The same results give the same bytes.

    With --layer the record in --out stays as it is. Runs whose rows it lacks come into a folder below it, which is
    read with it: of each run the newest rows count.

    RESULTS may be what `kdrbench submit` has packed: with --layer its rows are added to a record of submissions.

    With --crate, RESULTS may be a packed record too. The crate holds configuration, tables, traces, projections and the
    workflow, and says in JSON-LD what made each file (profile Process Run Crate): software, machine, parameters, data
    with their hashes, and the runs that failed or were stopped, with the reason.
    """
    check_licence(licence or LICENCE)
    if crate:
        if layer or out == PAPERS:
            raise InputError("--crate needs --out (FILE.zip or a folder), without --layer")
        _write_crate(results / name if name else results, out, licence, authors)
        return
    if (base := parts_of(out)[0]) != out:
        raise InputError(f"{out} is an earlier state of a record, which is not written again; name the record: {base}")
    if layer and is_packed(results):
        _add_submission(results, out, layer)
        return
    results, name = root_and_name(results, name)
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    place, how = _how(out, layer, grid, licence or LICENCE)
    charts, missing = charts_to_store(grid.config, frozen.parent, results)
    with replacing_folder(place, PACKED) as folder:
        known = BestKnown.of(results, grid.config).best
        packed = Packing(grid, results, known, charts, **how).write(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for line in missing:
        click.echo(f"kdrbench: {line}", err=True)
    if layer:
        held = f"{counted(packed['rows'], 'row')} of {counted(packed['jobs'], 'job')}"
        click.echo(f"{held}, {size / 1e6:.2f} MB -> {place}")
        return
    experiments = packed["experiments"].values()
    rows, left_out, jobs = (sum(one[key] for one in experiments) for key in ("rows", "projections_not_stored", "jobs"))
    missing_jobs = sum(len(grid.bundles(one)) for one in grid.experiments) - jobs
    click.echo(f"{counted(rows, 'row')} of {counted(len(experiments), 'experiment')}, {size / 1e6:.2f} MB -> {place}")
    click.echo(f"not there yet: {counted(missing_jobs, 'job')}; not stored: {counted(left_out, 'projection')}")


def _add_submission(place: Path, out: Path, layer: str) -> None:
    """Add what `kdrbench submit` has packed to a record; nothing below it is written again."""
    record, submission = record_at(out), record_at(place)
    names, known = submitted_solvers(record, submission), set(record.config["solvers"])
    before = f"; its earlier rows stay in {record.parts[-1].place}" if known.intersection(names) else ""
    with replacing_folder(new_layer(record, layer), PACKED) as folder:
        write_submission(record, submission, folder)
    click.echo(f"{', '.join(names)} -> {out / 'layers' / layer}{before}\nshow all: kdrbench report {out}")


def _write_crate(results: Path, out: Path, licence: str | None, authors: tuple[str, ...]) -> None:
    from kdrbench.suite.archive.crate import write_crate

    own = record_at(results).base.manifest.get("licence") if is_packed(results) else None
    if own and licence and licence != own:
        raise InputError(f"{results} is under {own}, not {licence}: leave --licence out")
    word, today = own or licence or LICENCE, datetime.now(UTC).date()
    with opened(results) as folder:
        read, n_files = write_crate(folder, out, licence=word, authors=authors, published=today)
    for name in read.left_out:
        click.echo(f"kdrbench: left out {name}, which is of a system of its own", err=True)
    n_rows = sum(map(len, read.records.values()))
    experiments = counted(len(read.records), "experiment")
    click.echo(f"{counted(n_rows, 'row')} of {experiments}, {counted(n_files, 'file')} -> {out}")


def _how(out: Path, layer: str | None, grid: Grid, licence: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder that is written, and how: alone, or as a layer over its base.

    Raises ``InputError`` where a record would replace that of the papers or one with layers.
    """
    if not layer:
        if parts_of(out)[1:] or (out.absolute() == PAPERS.absolute() and is_packed(out)):
            raise InputError(f"{out} is not packed over: add what it lacks with --layer, or give another --out")
        return out, {"licence": licence}
    below = record_at(out)
    if (known := str(below.config.get("name", ""))) != grid.name:
        raise InputError(f"{out} is of the configuration {known!r}, and these results of {grid.name!r}; see --name")
    return new_layer(below, layer), {"below": below}


@click.command()
@click.argument("packed", type=FILE, default=PAPERS)
@click.option("--out", type=FILE, default=Path("results"), show_default=True, help="The folder of results to write.")
def unpack(packed: Path, out: Path) -> None:
    """Make a folder of results of the record PACKED, from which the workflow goes on with what is missing."""
    record = record_at(packed)
    complete = unpacked(record, out)
    begun = len(record.manifest["experiments"]) - len(complete)
    click.echo(f"{counted(len(complete), 'experiment')}, and {begun} that are not complete -> {out}")
