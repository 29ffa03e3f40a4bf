"""`kdrbench report`, of a record, and the steps of the workflow that make tables, figures, papers and the dashboard."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import wraps
from itertools import count, groupby
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import InputError, KdrbenchError, counted, refusal
from kdrbench.files import write_text
from kdrbench.progress import ProgressLine
from kdrbench.suite.archive import PAPERS
from kdrbench.suite.commands.options import (
    FILE,
    RECORD,
    Runs,
    configuration_name,
    place_given,
    processes,
    results_folder,
    results_word,
    runs_of,
    with_included,
)
from kdrbench.suite.commands.workflow import merge_experiments
from kdrbench.suite.engine.system import FINDINGS, TRACES, Config
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.claims import claims_json
from kdrbench.suite.findings.ledger import comparison_csv, comparisons_from_csv
from kdrbench.suite.findings.source import Source
from kdrbench.suite.findings.summary import write_summaries
from kdrbench.suite.reports.dashboard.page import read_parts, render_dashboard
from kdrbench.suite.reports.dashboard.runs import all_runs
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.making import Page, can_be_drawn, make, make_chart, reports_named
from kdrbench.suite.reports.outputs import FIGURE_FOLDER, dashboard_parts, figures_of, report_folder, tables_of, word_of
from kdrbench.suite.reports.records import read_runs, systems_of, table_of
from kdrbench.suite.reports.site import write_index
from kdrbench.suite.reports.tables.table import Section, write_table
from kdrbench.suite.systems.atlas.optima import best_solutions, write_solutions

_RESULTS = Path("results")
# Seconds between lines on reports, and on a terminal between two texts of one.
_LINE_S, _TERMINAL_S = 5.0, 0.5


def step(function: Callable[..., None]) -> click.Command:
    """Return the command of a function that makes reports of ``runs`` in the folder ``out``."""

    @configuration_name
    @results_folder
    @click.option("--out", type=FILE, help="Where to write (default: the configuration's reports, or reports/RECORD).")
    @wraps(function)
    def command(name: str, results: Path, out: Path | None, place: str = "", **options: Any) -> None:
        runs = runs_of(place_given(place, results), name)
        if out is None:
            out = reports_folder(runs.store, runs.config)
            click.echo(f"kdrbench: writing to {out}", err=True)
        function(runs, out, **options)

    return click.command()(command)


def reports_folder(root: Path, config: Config) -> Path:
    """Return where reports of the results in ``root`` are written; those of another record never among the user's own.

    Raises ``InputError`` where the user has a configuration with the name of the record.
    """
    if root.resolve() == _RESULTS.resolve():
        return Path(report_folder(config))
    reports = Path("reports", root.resolve().name)
    if (_RESULTS / reports.name / "config.json").is_file():
        raise InputError(f"{reports} is of your own configuration {reports.name}; say with --out where to write")
    return reports


@step
@click.argument("names", nargs=-1)
@click.option("--merge", "experiment", default="", help="The experiment whose records are merged before.")
@click.option("--optima", type=FILE, help="The .npz file for the best solutions of that experiment, an atlas.")
def reports(runs: Runs, out: Path, names: tuple[str, ...], experiment: str, optima: Path | None) -> None:
    """Make the tables NAMES, those of experiments, and the figures among them, figures/NAME, in one process.

    A report that cannot be made is named, with the reason; the others are made. Pages of tables show the figures of
    their experiment, which come first or are there.
    """
    table = runs.merged / "merged" / f"{experiment}.csv"
    if experiment:
        merge_experiments(load_grid(runs.config), [experiment], runs.store, table)
    if optima:
        solutions = best_solutions(read_runs(table), runs.store / "findings")
        write_solutions(optima, solutions)
        click.echo(f"{counted(len(solutions), 'problem')} -> {optima}")
    with with_included(runs) as source:
        faulty = [name for name in names if not _is_made(name, source, out)]
    if faulty:
        click.echo(f"kdrbench: not made: {', '.join(faulty)}", err=True)
        click.get_current_context().exit(2)


def _is_made(name: str, runs: Runs, out: Path) -> bool:
    """Make a figure or tables, and return whether that is done; otherwise say why not."""
    try:
        click.echo(make_report(name, runs, out))
        return True
    except (KdrbenchError, OSError) as error:
        click.echo(f"kdrbench: {name}: {refusal(error) if isinstance(error, OSError) else error}", err=True)
    except Exception:
        click.echo(f"kdrbench: {name}: {traceback.format_exc()}", err=True)
    return False


def make_report(name: str, runs: Runs, out: Path) -> str:
    """Draw a figure, ``figures/NAME``, or write the tables of a name with their pages; return their words."""
    words = []
    for report in reports_named(name, runs.config):
        if report.is_figure:
            from kdrbench.suite.reports.figures.draw_matplotlib import write_chart

            chart = make_chart(report, *runs)
            write_chart(chart, out / name)
            words.append(chart.caption)
        else:
            page = make(report, *runs)
            write_page(page, out, report.name, report.figures)
            words.append(" ".join([page[0].title, *page[0].notes[-1:]]))
    return "\n".join(words)


def write_page(page: Page, out: Path, name: str, figures: tuple[str, ...]) -> None:
    """Write a table with its page into ``out``: the ``figures`` that are there with captions, then its sections."""
    contents, sections = page
    pictures = [out / FIGURE_FOLDER / f"{figure}.png" for figure in figures]
    shown_figures = []
    for png in (path for path in pictures if path.is_file()):
        chart = Chart.from_json(png.with_suffix(".json").read_text(encoding="utf-8"))
        if chart.panels:
            shown_figures.append(Section(chart.title, picture=png.read_bytes(), paragraphs=[chart.caption]))
    write_table(contents, out / name, [*shown_figures, *sections])


@step
def papers(runs: Runs, out: Path) -> None:
    """Write every published number beside ours, the claims of the papers with decisions, and the summaries."""
    source = write_papers(runs, out)
    for claim, result in source.claims:
        measure = f" ({result.measure})" if result.measure else ""
        click.echo(f"{result.decision}{measure}: {claim.words} - {result.evidence}")


def write_papers(runs: Runs, out: Path) -> Source:
    """Write published numbers, claims and summaries, which are made of each other, and return what they are made of.

    Decided are the claims of papers that experiments name, and those of the user's own systems.
    """
    source = Source(*runs, "..")
    write_text(out / "published_vs_ours.csv", comparison_csv(source.comparisons))
    write_text(out / "claims.json", claims_json(source.claims))
    write_summaries(source, out / "summary")
    return source


@step
@results_word
@click.option("--reports", "address", default="", help="Folder of the record's reports, from the pages, for links.")
def summary(runs: Runs, out: Path, address: str) -> None:
    """Write what the record in RESULTS shows as pages of Markdown into --out; pages that lack rows are left out."""
    for path in write_summaries(Source(*runs, address), out):
        click.echo(str(path))


@step
def dashboard(runs: Runs, out: Path) -> None:
    """Write dashboard.html with all runs, tables, figures, claims and findings of plug-ins, which come before."""
    click.echo(f"{write_dashboard(runs, out) / 1e6:.1f} MB -> {out / 'dashboard.html'}")


def write_dashboard(runs: Runs, out: Path, answers: list[Answer] | None = None) -> int:
    """Write the page, of all that is in the folder ``out``, and return its size.

    With ``answers`` that were found before, those are shown.
    """
    paths = [out / Path(path).relative_to(report_folder(runs.config)) for path in dashboard_parts(runs.config)]
    parts = [path for path in paths if path.is_file()] + sorted((runs.store / "checks").glob("*.json"))
    comparisons = comparisons_from_csv((out / "published_vs_ours.csv").read_text(encoding="utf-8"))
    with with_included(runs) as (config, merged, store):
        tables = {system: read_runs(merged / f"{table_of(system)}.csv") for system in systems_of(config)}
        page = render_dashboard(all_runs(tables), config, store / "traces", comparisons, read_parts(parts), answers)
        write_text(out / "dashboard.html", page)
    return len(page)


@click.command()
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@configuration_name
@click.option("--out", type=FILE, help="Folder of the reports (default: reports/RECORD).")
@processes
@click.pass_context
def report(ctx: click.Context, results: tuple[str, ...], name: str, out: Path | None, jobs: int) -> None:
    """Make all tables, figures and pages of the record in RESULTS, without data and without the workflow.

    What has no rows yet is left out, and so are figures that show data which neither the record nor RESULTS hold.

    Reports of several records go to folders of their names below --out, where index.html leads to their dashboards and
    puts their claims side by side.
    """
    places = [RECORD.convert(result, None, ctx) for result in results or (PAPERS,)]
    if len(places) < 2:
        _report_record(places[0], name, out, jobs)
        return
    names = [place.absolute().name for place in places]
    if out is None or name or len(set(names)) < len(names):
        raise click.UsageError("several records need --out, no --name, and a folder of another name each")
    for place in places:
        _report_record(place, name, out / place.absolute().name, jobs)
    click.echo(f"{counted(len(names), 'record')} -> {write_index(out, names)}")


def _report_record(place: Path, name: str, out: Path | None, jobs: int) -> None:
    """Make all reports of one record: of those experiments whose tables are merged."""
    if not place.exists():
        raise InputError(f"{place} is not there: `kdrbench pack` makes a record of a folder of results")
    runs = runs_of(place, name)
    merged = [one for one in runs.config["run"] if (runs.merged / "merged" / f"{one}.csv").is_file()]
    if not merged:
        raise InputError(f"{runs.merged} has no merged tables yet: run the workflow first")
    lacking = [kind for kind in (TRACES, FINDINGS) if not (runs.store / kind).is_dir()]
    tables = {one: tables_of(runs.config, one).values() for one in merged}
    left_out = [one for one in merged if any(FINDINGS in {*lacking} & {*table.needs} for table in tables[one])]
    runs = runs._replace(config={**runs.config, "run": [one for one in merged if one not in left_out]})
    figures = figures_of(runs.config)
    left_out += [name for name, one in figures.items() if not can_be_drawn(one, runs.config, runs.store)]
    if left_out:
        message = f"kdrbench: left out, since the record lacks what they show: {', '.join(left_out)}"
        if lacking:
            message += f". Its {' and '.join(lacking)} are beside it: copy all of results/, or `kdrbench pack` it"
        click.echo(message, err=True)
    out = out or reports_folder(runs.store, runs.config)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; name a folder")
    n_made = _make_all(runs, out, jobs)
    click.echo(f"{counted(n_made, 'table and figure', 'tables and figures')}, and pages -> {out}")


def _make_all(runs: Runs, out: Path, n_jobs: int) -> int:
    """Make all reports and return how many tables and figures there are."""

    def size(experiment: str) -> int:
        return (runs.merged / "merged" / f"{experiment}.csv").stat().st_size

    # Those of many rows first: none is left for one core at the end.
    tables = sorted(tables_of(runs.config).items(), key=lambda one: -sum(map(size, one[1].experiments)))
    drawn = {name: one for name, one in figures_of(runs.config).items() if can_be_drawn(one, runs.config, runs.store)}
    # One process draws the figures of an experiment: it reads the rows once.
    by_rows = groupby(drawn, key=lambda name: drawn[name].experiments)
    figures = [[word_of(drawn[name]) for name in names] for _, names in by_rows]
    n_calls, n_ended = len(figures) + len(tables) + 2, count(1)
    line = ProgressLine(_LINE_S, _TERMINAL_S)
    # Not joblib's, which ends a process that keeps 300 MB, and with it the rows that its next table reads again.
    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool, _ended_by_any_error(pool):

        def made(*calls: tuple[Any, ...]) -> list[Any]:
            """Return what functions with their arguments give, in this order; the first that fails raises its error."""
            begun = [pool.submit(*call) for call in calls]
            for ended in as_completed(begun):
                ended.result()
                line.show(f"kdrbench: {next(n_ended)} of {n_calls} steps")
            return [call.result() for call in begun]

        (answers, pages), *_ = made((_papers, runs, out), *((_reports, runs, out, names) for names in figures))
        # Beside an included record tables and answers are others than those that the summaries are made of.
        if runs.config.get("include"):
            answers, pages = None, {}
        # Pages of tables show figures, and the dashboard shows both.
        there = ((write_page, pages[name], out, name, one.figures) for name, one in tables if name in pages)
        made(*((_reports, runs, out, [name]) for name, _ in tables if name not in pages), *there)
        made((write_dashboard, runs, out, answers))
    line.end()
    return len(drawn) + len(tables)


@contextmanager
def _ended_by_any_error(pool: ProcessPoolExecutor) -> Iterator[None]:
    """End the processes at once where one has failed or the user interrupts; steps that wait are not begun.

    The files of finished steps are kept; no file is half written.
    """
    try:
        yield
    except BaseException as fault:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()
        if isinstance(fault, KeyboardInterrupt):
            click.echo("\nkdrbench: interrupted; the same command makes all reports from the beginning", err=True)
        raise


def _papers(runs: Runs, out: Path) -> tuple[list[Answer], dict[str, Page]]:
    """Write what is said of papers; return the answers, and the tables that were made for it, by name."""
    source = write_papers(runs, out)
    return list(source.answers.values()), source.pages


def _reports(runs: Runs, out: Path, words: list[str]) -> None:
    """Make figures and tables by their words of `kdrbench reports`."""
    with with_included(runs) as source:
        for word in words:
            make_report(word, source, out)
