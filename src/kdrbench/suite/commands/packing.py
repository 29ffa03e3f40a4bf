"""Packed records: made of a folder of results, and made a folder of results again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.errors import InputError, counted
from kdrbench.suite.archive import PAPERS, is_packed, parts_of
from kdrbench.suite.commands.options import FILE, configuration_name, frozen_configuration, grid_of, root_and_name

if TYPE_CHECKING:
    from kdrbench.suite.engine.grid import Grid

# By this file a folder is known as made by `kdrbench pack`, which may then replace it.
_PACKED = ".kdrbench-packed"


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@configuration_name
@click.option("--out", type=FILE, default=PAPERS, show_default=True, help="The folder to write, or to replace.")
@click.option("--layer", help="Add to the record --out what it lacks, as a layer of this name, such as 2026-12-01.")
@click.option("--licence", default="CC-BY-4.0", show_default=True, help="The record's licence, as a word of SPDX.")
def pack(results: Path, name: str, out: Path, layer: str | None, licence: str) -> None:
    """Pack the runs in RESULTS: rows, traces and what runs found, compressed, with hashes, a licence and a README.

    Jobs that have not ended are left out, and counted. Traces are thinned by less than can be seen, projections are in
    float32, and of large ones the first runs of a cell are stored. The same results give the same bytes.

    With --layer the record in --out stays as it is. Runs whose rows it lacks come into a folder below it, which is
    read with it: of each run the newest rows count.
    """
    from kdrbench.files import replacing_folder
    from kdrbench.suite.archive.pack import Packing, check_licence
    from kdrbench.suite.reports.making import charts_to_store
    from kdrbench.suite.systems.atlas.optima import BestKnown

    check_licence(licence)
    results, name = root_and_name(results, name)
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    place, how = _how(out, layer, grid, licence)
    charts, missing = charts_to_store(grid.config, frozen.parent, results)
    with replacing_folder(place, _PACKED) as folder:
        known = BestKnown.of(results, grid.config).best
        packed = Packing(grid, results, known, charts, **how).write(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for line in missing:
        click.echo(f"kdrbench: {line}", err=True)
    if layer:
        held, rest = f"{counted(packed['rows'], 'row')} of {counted(packed['jobs'], 'job')}", ""
    else:
        experiments = packed["experiments"].values()
        rows, left_out = (sum(one[key] for one in experiments) for key in ("rows", "projections_not_stored"))
        jobs = sum(len(grid.bundles(one)) for one in grid.experiments) - sum(one["jobs"] for one in experiments)
        held = f"{counted(rows, 'row')} of {counted(len(experiments), 'experiment')}"
        rest = f"not there yet: {counted(jobs, 'job')}; not stored: {counted(left_out, 'projection')}"
    click.echo("\n".join(filter(None, [f"{held}, {size / 1e6:.2f} MB -> {place}", rest])))


def _how(out: Path, layer: str | None, grid: Grid, licence: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder that is written, and how: alone, or as a layer over its base.

    Raises ``InputError`` where a record would replace that of the papers, or one with layers.
    """
    from kdrbench.suite.archive.layers import new_layer, record_at

    if not layer:
        if parts_of(out)[1:] or (out.absolute() == PAPERS.absolute() and is_packed(out)):
            raise InputError(
                f"{out} is not packed over: add what it lacks with --layer, or name another folder with --out"
            )
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
    from kdrbench.suite.archive.layers import record_at
    from kdrbench.suite.archive.unpack import unpack as unpacked

    record = record_at(packed)
    complete = unpacked(record, out)
    begun = len(record.manifest["experiments"]) - len(complete)
    click.echo(f"{counted(len(complete), 'experiment')}, and {begun} that are not complete -> {out}")
