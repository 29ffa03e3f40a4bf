"""The commands that make reports: tables, figures, claims and pages from the merged tables of finished runs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import KdrbenchError, counted, refusal
from kdrbench.suite.archive import shown
from kdrbench.suite.commands.options import FILE, read_paths
from kdrbench.suite.commands.sources import ReportCommand, config_file, merged_folder, out_stem, store_folder, which

if TYPE_CHECKING:
    import pandas as pd

    from kdrbench.suite.engine.system import Config, Report
    from kdrbench.suite.findings.answers import Answer
    from kdrbench.suite.findings.source import Source
    from kdrbench.suite.reports.making import Page

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
    from kdrbench.suite.reports.making import reports_named

    with included(config, results, store) as source:
        for report in reports_named(name, config):
            write_report(report, source, out, figures)


def write_report(report: Report, source: Included, out: Path, figures: tuple[Path, ...]) -> None:
    """Write a table into the folder ``out``, its page with the PNG ``figures``."""
    from kdrbench.suite.reports.making import make_table

    page = make_table(report, *source)
    write_page(page, out / report.name, figures)
    click.echo(f"{page[0].title} {page[0].notes[-1] if page[0].notes else ''}".rstrip())


def write_page(page: Page, stem: Path, figures: tuple[Path, ...]) -> None:
    """Write a table with its page as ``stem``: the PNG ``figures`` with their captions, then its own sections."""
    from kdrbench.suite.reports.figures.chart import Chart
    from kdrbench.suite.reports.tables.table import Section, write_table

    contents, sections = page
    charts = [(png, Chart.from_json(png.with_suffix(".json").read_text(encoding="utf-8"))) for png in figures]
    shown_figures = [
        Section(chart.title, picture=png.read_bytes(), paragraphs=[chart.caption]) for png, chart in charts
    ]
    write_table(contents, stem, [*shown_figures, *sections])


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


def draw_figure(name: str, source: Included, out: Path) -> None:
    """Draw a figure, with its data and its caption."""
    from kdrbench.suite.reports.figures.draw_matplotlib import write_chart
    from kdrbench.suite.reports.making import make_chart

    chart = make_chart(name, *source)
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
    """Decide the claims of papers that experiments name, and of your own systems, by their records: .html, .json."""
    from kdrbench.suite.findings.claim_rows import Records
    from kdrbench.suite.findings.claims import decide_claims, write_claims

    decisions = decide_claims(Records.of(read_systems(config, results), config))
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


@click.command(cls=ReportCommand)
@click.argument("names", nargs=-1)
@which
@config_file
@merged_folder
@store_folder
@click.option("--merge", "experiment", default="", help="The experiment whose records are merged before.")
@click.option("--optima", type=FILE, help="The .npz file for the best solutions of that experiment, an atlas.")
@click.option("--typeset", is_flag=True, help="Make a PDF of each table of IKDR, too.")
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def reports(
    names: tuple[str, ...],
    config: Config,
    results: Path,
    store: Path,
    experiment: str,
    optima: Path | None,
    typeset: bool,
    out: Path,
) -> None:
    """Make the tables NAMES and the figures among them, figures/NAME, in one process.

    A report that cannot be made is named, with the reason; the others are made. Pages of tables show the figures of
    their experiment, which come first or are there.
    """
    table = results / "merged" / f"{experiment}.csv"
    if experiment:
        from kdrbench.suite.commands.workflow import merge_experiments
        from kdrbench.suite.experiments.config import load_grid

        merge_experiments(load_grid(config), [experiment], store, table)
    if optima:
        from kdrbench.suite.reports.records import read_runs
        from kdrbench.suite.systems.atlas.optima import best_solutions, write_solutions

        solutions = best_solutions(read_runs(table), store / "findings")
        write_solutions(optima, solutions)
        click.echo(f"{counted(len(solutions), 'problem')} -> {optima}")
    with included(config, results, store) as source:
        faulty = [name for name in names if not _is_made(name, source, out, typeset=typeset)]
    if faulty:
        click.echo(f"kdrbench: not made: {', '.join(faulty)}", err=True)
        click.get_current_context().exit(2)


def _is_made(name: str, source: Included, out: Path, *, typeset: bool) -> bool:
    """Make a table or a figure, and return whether it is made; otherwise say why not."""
    try:
        _make(name, source, out, typeset=typeset)
    except (KdrbenchError, OSError) as error:
        click.echo(f"kdrbench: {name}: {refusal(error) if isinstance(error, OSError) else error}", err=True)
    except Exception:
        click.echo(f"kdrbench: {name}: {traceback.format_exc()}", err=True)
    else:
        return True
    return False


def _make(name: str, source: Included, out: Path, *, typeset: bool) -> None:
    from kdrbench.suite.reports.making import reports_named
    from kdrbench.suite.reports.report_jobs import FIGURE_FOLDER

    if name.startswith(FIGURE_FOLDER):
        draw_figure(name.removeprefix(FIGURE_FOLDER), source, out / name)
        return
    (table,) = reports_named(name, source[0])
    write_report(table, source, out, tuple(out / FIGURE_FOLDER / f"{figure}.png" for figure in table.figures))
    if typeset and table.typeset:
        from kdrbench.suite.reports.tables.table import compile_pdf

        compile_pdf((out / f"{name}.tex").read_text(encoding="utf-8"), out / f"{name}.pdf")


@click.command(cls=ReportCommand)
@which
@config_file
@merged_folder
@store_folder
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def papers(config: Config, results: Path, store: Path, out: Path) -> None:
    """Write every published number beside ours, the claims of the papers with decisions, and the summaries."""
    from kdrbench.suite.findings.source import Source

    write_papers(Source(config, results, store, ".."), out)


def write_papers(source: Source, out: Path) -> None:
    """Write published numbers, claims and summaries, which are made of each other, into a folder."""
    from kdrbench.suite.findings.claims import write_claims
    from kdrbench.suite.findings.ledger import shares, write_comparisons

    write_comparisons(source.comparisons, out / "published_vs_ours")
    click.echo("\n".join(shares(source.comparisons)))
    write_claims(source.claims, out / "claims", list(source.config["run"]), source.merged)
    write_summary(source, out / "summary")
