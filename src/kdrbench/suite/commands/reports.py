"""The commands that make reports: tables, figures, claims and pages from the merged tables of finished runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.suite.archive import shown
from kdrbench.suite.commands.options import FILE, read_paths
from kdrbench.suite.commands.sources import ReportCommand, config_file, merged_folder, out_stem, store_folder, which

if TYPE_CHECKING:
    import pandas as pd

    from kdrbench.suite.engine.stage import Config
    from kdrbench.suite.findings.answers import Answer
    from kdrbench.suite.findings.source import Source
    from kdrbench.suite.reports.outputs import Report
    from kdrbench.suite.reports.tables.html import Section
    from kdrbench.suite.reports.tables.making import Page

# A configuration, the folder of its merged tables, and that of traces, findings and data.
Included = tuple["Config", Path, Path]


@contextmanager
def included(config: Config, results: Path, store: Path) -> Iterator[Included]:
    """Give what a report is made of, with the record that the configuration includes beside it, if it does."""
    if not config.get("include"):
        yield config, results, store
        return
    from kdrbench.suite.archive.beside import opened_beside
    from kdrbench.suite.experiments.results import read_frozen

    with opened_beside(results, store, config["include"]) as (both, left_out):
        for reason in shown(left_out):
            click.echo(f"of the reference is left out: {reason}")
        # Reports stay those of the configuration's name.
        yield {**read_frozen(both / "config.json"), "name": config.get("name", "")}, both, both


def read_systems(config: Config, results: Path) -> dict[str, pd.DataFrame]:
    """Return the merged table of each system that the configuration runs."""
    from kdrbench.suite.reports.records import read_runs, systems_of, table_of

    return {system: read_runs(results / f"{table_of(system)}.csv") for system in systems_of(config)}


@click.command(cls=ReportCommand)
@click.argument("name")
@click.argument("figures", type=FILE, nargs=-1)
@which
@config_file
@merged_folder
@store_folder
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def table(name: str, figures: tuple[Path, ...], config: Config, results: Path, store: Path, out: Path) -> None:
    """Write the table NAME as .tex, .html, .csv and .json, its page with the PNG FIGURES.

    NAME is an experiment, whatever its system, or one of several tables: kpca_table1, paired_tests, complexity,
    low_rank_text.
    """
    from kdrbench.suite.reports.tables.making import reports_named

    with included(config, results, store) as source:
        for report in reports_named(name, config):
            write_report(report, source, out, figures)


def write_report(report: Report, source: Included, out: Path, figures: tuple[Path, ...]) -> None:
    """Write a table into the folder ``out``, its page with the PNG ``figures``."""
    from kdrbench.suite.reports.tables.making import make_table

    page = make_table(report, *source)
    write_page(page, out / report.name, figures)
    click.echo(f"{page[0].title} {page[0].notes[-1] if page[0].notes else ''}".rstrip())


def write_page(page: Page, stem: Path, figures: tuple[Path, ...]) -> None:
    """Write a table with its page as ``stem``, the PNG ``figures`` above the page's own sections."""
    from kdrbench.suite.reports.tables.making import write_table

    contents, sections = page
    write_table(contents, stem, [*map(_picture, figures), *sections])


def _picture(png: Path) -> Section:
    """Return the section of a page that shows a figure, with the caption that is written beside it."""
    from kdrbench.suite.reports.figures.chart import Chart
    from kdrbench.suite.reports.tables.html import Section

    chart = Chart.from_json(png.with_suffix(".json").read_text(encoding="utf-8"))
    return Section(chart.title, picture=png.read_bytes(), paragraphs=[chart.caption])


@click.command(cls=ReportCommand)
@click.argument("name")
@which
@config_file
@merged_folder
@store_folder
@out_stem
def figure(name: str, config: Config, results: Path, store: Path, out: Path) -> None:
    """Draw the figure NAME as .pdf and .png, with its data as .json.

    NAME is one of those of the configuration: EXPERIMENT_cost_against_time, EXPERIMENT_scatter, performance_profile,
    scaling, or an experiment of the KPCA trick's figures or of low-rank kernels.
    """
    with included(config, results, store) as source:
        draw_figure(name, source, out)


def draw_figure(name: str, source: Included, out: Path, kinds: tuple[str, ...] = ("pdf", "png")) -> None:
    """Draw a figure as files of these kinds, with its data and its caption."""
    from kdrbench.suite.reports.figures.draw_matplotlib import write_chart
    from kdrbench.suite.reports.figures.making import make_chart

    chart = make_chart(name, *source)
    write_chart(chart, out, kinds)
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


@click.command("published-vs-ours", cls=ReportCommand)
@which
@config_file
@merged_folder
@out_stem
def published_vs_ours(config: Config, results: Path, out: Path) -> None:
    """Write every published number beside ours as .csv and .html, and say what share of them is met."""
    from kdrbench.suite.findings.ledger import compare, shares, write_comparisons

    comparisons = compare(read_systems(config, results), config)
    write_comparisons(comparisons, out)
    click.echo("\n".join(shares(comparisons)))


@click.command(cls=ReportCommand)
@which
@config_file
@merged_folder
@out_stem
def claims(config: Config, results: Path, out: Path) -> None:
    """Decide each claim of the papers that experiments name by their records, as .html and .json."""
    from kdrbench.suite.findings.claim_rows import Records
    from kdrbench.suite.findings.claims import decided_of_papers, write_claims

    decisions = decided_of_papers(Records.of(read_systems(config, results), config))
    write_claims(decisions, out, list(config["run"]), results)
    if not decisions:
        click.echo(f"no claims: no experiment that is run names a paper; run: {', '.join(config['run'])}")
    for claim, result in decisions:
        measure = f" ({result.measure})" if result.measure else ""
        click.echo(f"{result.decision}{measure}: {claim.words} - {result.evidence}")


@click.command(cls=ReportCommand)
@which
@config_file
@merged_folder
@store_folder
@click.option("--reports", default="", help="Folder of the record's reports, from the pages: links lead there.")
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def summary(config: Config, results: Path, store: Path, reports: str, out: Path) -> None:
    """Write what the records show as pages of Markdown; pages that lack rows are left out."""
    from kdrbench.suite.findings.source import Source

    write_summary(Source(config, results, store, reports), out)


def write_summary(source: Source, out: Path) -> None:
    """Write the pages of a record, and say which."""
    from kdrbench.suite.findings.summary import write_summaries

    for path in write_summaries(source, out):
        click.echo(str(path))


@click.command(cls=ReportCommand)
@click.argument("parts", type=FILE, nargs=-1, callback=read_paths)
@which
@config_file
@merged_folder
@store_folder
@click.option("--published", type=FILE, required=True, help="The published numbers and ours, as .csv.")
@click.option("--out", type=FILE, required=True, help="The page to write.")
def dashboard(parts: tuple[Path, ...], config: Config, results: Path, store: Path, published: Path, out: Path) -> None:
    """Write one page with all runs and with the PARTS: JSON of figures, tables, claims and findings of plug-ins."""
    with included(config, results, store) as source:
        size = write_dashboard(*source, parts, published, out)
    click.echo(f"{size / 1e6:.1f} MB -> {out}")


def write_dashboard(
    config: Config,
    results: Path,
    store: Path,
    parts: tuple[Path, ...],
    published: Path,
    out: Path,
    answers: list[Answer] | None = None,
) -> int:
    """Write the page and return its size; with ``answers`` that were found before, those are shown."""
    from kdrbench.files import write_text
    from kdrbench.suite.findings.ledger import comparisons_from_csv
    from kdrbench.suite.reports.dashboard.page import read_parts, render_dashboard
    from kdrbench.suite.reports.dashboard.runs import all_runs

    comparisons = comparisons_from_csv(published.read_text(encoding="utf-8"))
    runs = all_runs(read_systems(config, results))
    page = render_dashboard(runs, config, store / "traces", comparisons, read_parts(parts), answers)
    write_text(out, page)
    return len(page)
