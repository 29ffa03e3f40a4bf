"""`kdrbench table`, `typeset` and `published-vs-ours`: numbers beside the papers'."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.commands.options import FILE, config_file, merged_folder, out_stem, read_frozen

if TYPE_CHECKING:
    import pandas as pd

    from kdrbench.reports.tables.html import Section


@click.command()
@click.argument("name")
@click.argument("figures", type=FILE, nargs=-1)
@config_file
@merged_folder
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def table(name: str, figures: tuple[Path, ...], config: Path, results: Path, out: Path) -> None:
    """Write the table NAME as .tex, .html, .csv and .json, its page with the PNG FIGURES.

    NAME is an experiment, whatever its system, or one of several tables: kpca_table1, paired_tests, complexity,
    low_rank_text.
    """
    from kdrbench.reports.tables.making import make_table, reports_named, write_table

    frozen = read_frozen(config)
    for report in reports_named(name, frozen):
        made, sections = make_table(report, frozen, results)
        write_table(made, out / report.name, [*map(_picture, figures), *sections])
        click.echo(f"{made.title} {made.notes[-1] if made.notes else ''}".rstrip())


def _picture(png: Path) -> Section:
    """Return the section of a page that shows a figure, with the caption that is written beside it."""
    from kdrbench.reports.figures.chart import Chart
    from kdrbench.reports.tables.html import Section

    chart = Chart.from_json(png.with_suffix(".json").read_text(encoding="utf-8"))
    return Section(chart.title, picture=png.read_bytes(), paragraphs=[chart.caption])


@click.command()
@click.argument("fragment", type=FILE)
@click.option("--out", type=FILE, required=True, help="The PDF to write.")
def typeset(fragment: Path, out: Path) -> None:
    """Typeset the LaTeX table FRAGMENT on a page of its own."""
    from kdrbench.reports.tables.latex import compile_pdf

    compile_pdf(fragment.read_text(encoding="utf-8"), out)


@click.command("published-vs-ours")
@config_file
@merged_folder
@out_stem
def published_vs_ours(config: Path, results: Path, out: Path) -> None:
    """Write every published number beside ours as .csv and .html, and say what share of them is met."""
    from kdrbench.files import write_text
    from kdrbench.reports.tables.published_vs_ours import compare, comparison_csv, comparison_html, shares

    frozen = read_frozen(config)
    comparisons = compare(read_systems(frozen, results), frozen)
    write_text(out.parent / f"{out.name}.csv", comparison_csv(comparisons))
    write_text(out.parent / f"{out.name}.html", comparison_html(comparisons))
    click.echo("\n".join(shares(comparisons)))


def read_systems(config: dict[str, object], results: Path) -> dict[str, pd.DataFrame]:
    """Return the merged table of each system that the configuration runs."""
    from kdrbench.reports.records import read_runs, systems_of, table_of

    return {system: read_runs(results / f"{table_of(system)}.csv") for system in systems_of(config)}
