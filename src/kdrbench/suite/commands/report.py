"""`kdrbench report`: all reports of a record, without data and without the workflow."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import InputError, counted
from kdrbench.progress import ProgressLine
from kdrbench.suite.archive import PAPERS
from kdrbench.suite.commands.options import (
    FILE,
    RECORD,
    Runs,
    configuration_name,
    processes,
    runs_of,
    with_included,
)
from kdrbench.suite.commands.reports import make_report, reports_of, write_dashboard
from kdrbench.suite.commands.reports import write_page as page_written
from kdrbench.suite.commands.reports import write_papers as papers_written
from kdrbench.suite.experiments.results import without_code
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.source import Source
from kdrbench.suite.reports.making import Page, can_be_drawn
from kdrbench.suite.reports.outputs import figures_of, tables_of
from kdrbench.suite.reports.site import write_index

# Seconds between lines on reports, and on a terminal between two texts of one.
_LINE_S, _TERMINAL_S = 5.0, 0.5


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
    """Make all reports of one record."""
    if not place.exists():
        raise InputError(f"{place} is not there: `kdrbench pack` makes a record of a folder of results")

    runs = runs_of(place, name)
    merged = [one for one in runs.config["run"] if (runs.merged / "merged" / f"{one}.csv").is_file()]
    if not merged:
        raise InputError(f"{runs.merged} has no merged tables yet: run the workflow first")
    out = out or reports_of(runs.store, runs.config)
    n_made = _make_all(runs._replace(config=without_code({**runs.config, "run": merged})), out, jobs)
    click.echo(f"{counted(n_made, 'table and figure', 'tables and figures')}, and pages -> {out}")


def _make_all(runs: Runs, out: Path, n_jobs: int) -> int:
    """Make all reports and return how many tables and figures there are."""

    def size(experiment: str) -> int:
        return (runs.merged / "merged" / f"{experiment}.csv").stat().st_size

    # Those of many rows first: none is left for one core at the end.
    tables = sorted(tables_of(runs.config).items(), key=lambda one: -sum(map(size, one[1].experiments)))
    figures = [name for name, one in figures_of(runs.config).items() if can_be_drawn(one, runs.config, runs.store)]
    # Not joblib's, which ends a process that keeps 300 MB, and with it the rows that its next table reads again.
    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool:
        # Beside figures and tables: papers and dashboard.
        work = _Work(pool, len(figures) + len(tables) + 2)
        papers, *_ = work.all((_papers, runs, out), *((_report, runs, out, f"figures/{name}") for name in figures))
        answers, pages = papers
        # Their pages show figures, and what follows shows them.
        work.all(*((_report, runs, out, name, (pages.get(name), one.figures)) for name, one in tables))
        work.all((_dashboard, runs, out, answers))
    work.line.end()
    return len(figures) + len(tables)


def _papers(runs: Runs, out: Path) -> tuple[list[Answer], dict[str, Page]]:
    """Write what is said of papers; return the answers, and the tables that were made for it, by name."""
    source = Source(*runs, "..")
    with redirect_stdout(StringIO()):
        papers_written(source, out)
    return list(source.answers.values()), source.pages


def _report(runs: Runs, out: Path, name: str, made: tuple[Page | None, tuple[str, ...]] = (None, ())) -> None:
    """Draw a figure or write a table, with a page that was ``made`` before and its figures."""
    page, figures = made
    # Beside an included record a table is another than the one that the summaries are made of.
    if page is not None and not runs.config.get("include"):
        page_written(page, out, name, figures)
        return
    with redirect_stdout(StringIO()), with_included(runs) as source:
        make_report(name, source, out)


def _dashboard(runs: Runs, out: Path, answers: list[Answer]) -> None:
    """Write the dashboard, of all that is written before; its answers are others where it includes a record."""
    write_dashboard(runs, out, None if runs.config.get("include") else answers)


@dataclass
class _Work:
    """Calls in other processes, with a line that says how many of ``n_calls`` have ended."""

    pool: Executor
    n_calls: int
    n_ended: int = 0
    line: ProgressLine = field(default_factory=lambda: ProgressLine(_LINE_S, _TERMINAL_S))

    def all(self, *calls: tuple[Any, ...]) -> list[Any]:
        """Return what functions with their arguments give, in this order; the first that fails raises its error."""
        begun = [self.pool.submit(*call) for call in calls]
        for ended in as_completed(begun):
            ended.result()
            self.n_ended += 1
            self.line.show(f"kdrbench: {self.n_ended} of {self.n_calls} reports")
        return [call.result() for call in begun]
