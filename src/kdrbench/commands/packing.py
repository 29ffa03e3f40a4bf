"""Packed records: made of a folder of results, and made a folder of results again."""

from __future__ import annotations

from pathlib import Path

import click

from kdrbench.commands.options import (
    FILE,
    Number,
    configuration_name,
    frozen_configuration,
    grid_of,
    read_licence,
    root_and_name,
)
from kdrbench.errors import counted
from kdrbench.licences import DEFAULT
from kdrbench.packing import PAPERS

# By this file a folder is known as made by `kdrbench pack`, which may then replace it.
_PACKED = ".kdrbench-packed"


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@configuration_name
@click.option("--out", type=FILE, default=PAPERS, show_default=True, help="The folder to write, or to replace.")
@click.option("--whole", is_flag=True, help="Thin, round and leave out nothing: for a record that is still made.")
@click.option(
    "--cell-kib",
    type=Number(least=0, whole=True),
    default=None,
    help="Projections that are stored of a cell, beside its first; 28 KiB if not said.",
)
@click.option(
    "--licence",
    default=DEFAULT,
    show_default=True,
    callback=read_licence,
    help="The record's licence, as a word of SPDX.",
)
def pack(results: Path, name: str, out: Path, whole: bool, cell_kib: int | None, licence: str) -> None:
    """Pack the runs in RESULTS: rows, traces and what runs found, compressed, with hashes, a licence and a README.

    Jobs that have not ended are left out, and counted. Traces are thinned by less than can be seen, projections are in
    float32, and of large ones the first runs of a cell are stored. The same results give the same bytes.
    """
    from kdrbench.files import replacing_folder
    from kdrbench.packing.arrays import MOST_OF_A_CELL
    from kdrbench.packing.pack import Packing
    from kdrbench.reports.figures.making import charts_to_store
    from kdrbench.reports.optima import BestKnown

    results, name = root_and_name(results, name)
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    charts, missing = charts_to_store(grid.config, frozen.parent, results)
    most = MOST_OF_A_CELL if cell_kib is None else int(cell_kib) * 1024
    with replacing_folder(out, _PACKED) as folder:
        known = BestKnown.of(results, grid.config).best
        packed = Packing(grid, results, known, charts, whole, most, licence).write(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for line in missing:
        click.echo(f"kdrbench: {line}", err=True)
    experiments = packed["experiments"].values()
    rows, left_out = (sum(one[key] for one in experiments) for key in ("rows", "projections_not_stored"))
    jobs = sum(len(grid.bundles(one)) for one in grid.experiments) - sum(one["jobs"] for one in experiments)
    click.echo(f"{counted(rows, 'row')} of {counted(len(experiments), 'experiment')}, {size / 1e6:.2f} MB -> {out}")
    click.echo(f"not there yet: {counted(jobs, 'job')}; not stored: {counted(left_out, 'projection')}")


@click.command()
@click.argument("packed", type=FILE, default=PAPERS)
@click.option("--out", type=FILE, default=Path("results"), show_default=True, help="The folder of results to write.")
def unpack(packed: Path, out: Path) -> None:
    """Make a folder of results of the record PACKED, from which the workflow goes on with what is missing."""
    from kdrbench.packing.folder import packed_at
    from kdrbench.packing.unpack import unpack as unpacked

    record = packed_at(packed)
    complete = unpacked(record, out)
    begun = len(record.manifest["experiments"]) - len(complete)
    click.echo(f"{counted(len(complete), 'experiment')}, and {begun} that are not complete -> {out}")
