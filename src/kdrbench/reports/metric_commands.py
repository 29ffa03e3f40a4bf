"""The commands that make the tables of the KPCA trick. Each imports what it needs."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("rows", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="Folder to write to.")
def kpca_tables(rows: Path, out: Path) -> None:
    """Write the KPCA trick's tables, tests and times of the merged ROWS as .tex, .html, .csv and .json."""
    from kdrbench.reports.metric_summary import read_metric_rows
    from kdrbench.reports.metric_tables import metric_tables
    from kdrbench.reports.paper_table import write_table

    for table in metric_tables(read_metric_rows(rows)):
        write_table(table, out / table.name)
        click.echo(f"{table.title} {table.notes[-1]}")


@click.command()
@click.argument("number", type=click.Choice(["2", "3", "4", "5"]))
@click.argument("data", type=_FILE, nargs=-1)
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--out", type=_FILE, required=True, help="Path of the figure without extension.")
def kpca_figure(number: str, data: tuple[Path, ...], config: Path, out: Path) -> None:
    """Draw Figure NUMBER of the KPCA trick from the prepared DATA sets as .pdf, .png and .json."""
    import json

    from kdrbench.bench.metric_config import value_for
    from kdrbench.datasets import load_prepared
    from kdrbench.datasets.registry import load_registry
    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.metric_figures import figure_2, figure_3
    from kdrbench.reports.trick_figures import Points, figure_4, figure_5

    section = json.loads(config.read_text(encoding="utf-8"))["kpca"]
    sets = []
    for dataset in map(load_prepared, data):
        sets.append(Points(dataset, load_registry()[dataset.name].label, value_for(section["training"], dataset.name)))
    seed = section["seed"]
    if number == "2":
        chart = figure_2(seed)
    elif number == "3":
        chart = figure_3(sets[0].dataset, sets[0].label, sets[0].n_train, seed)
    else:
        chart = (figure_4 if number == "4" else figure_5)(sets, seed)
    write_chart(chart, out)
    click.echo(chart.caption)
