"""`kdrbench figure` and `picture`: figures from records, and the images that some of them show."""

from __future__ import annotations

from pathlib import Path

import click

from kdrbench.commands.options import FILE, config_file, merged_folder, out_stem, read_frozen, store_folder


@click.command()
@click.argument("name")
@config_file
@merged_folder
@store_folder
@out_stem
def figure(name: str, config: Path, results: Path, store: Path, out: Path) -> None:
    """Draw the figure NAME as .pdf and .png, with its data as .json.

    NAME is one of those of the configuration: EXPERIMENT_cost_against_time, EXPERIMENT_scatter, performance_profile,
    scaling, or an experiment of the KPCA trick's figures or of low-rank kernels.
    """
    from kdrbench.reports.figures.draw_matplotlib import write_chart
    from kdrbench.reports.figures.making import make_chart

    chart = make_chart(name, read_frozen(config), results, store)
    write_chart(chart, out)
    click.echo(chart.caption)


@click.command()
@click.argument("name")
@click.option("--mirror", default="", help="Folder or http(s) URL asked before the canonical source.")
@click.option("--out", type=FILE, required=True, help="The PNG file to write.")
def picture(name: str, mirror: str, out: Path) -> None:
    """Fetch and verify the image whose colours are the data set NAME."""
    from kdrbench.datasets.load import picture_bytes
    from kdrbench.files import write_bytes

    write_bytes(out, picture_bytes(name, mirror=mirror or None))
