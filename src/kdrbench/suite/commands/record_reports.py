"""All reports of a record, without data and without the workflow, by several processes."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from kdrbench.errors import InputError, counted
from kdrbench.progress import ProgressLine
from kdrbench.suite.archive import PAPERS
from kdrbench.suite.commands.options import (
    ANNOUNCED_RECORD,
    FILE,
    configuration_name,
    frozen_configuration,
    processes,
    root_and_name,
)
from kdrbench.suite.commands.sources import reports_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from kdrbench.suite.engine.system import Config
    from kdrbench.suite.findings.answers import Answer
    from kdrbench.suite.reports.making import Page

# Seconds between lines on reports, and on a terminal between two texts of one.
_LINE_S, _TERMINAL_S = 5.0, 0.5


@click.command()
@click.argument("results", type=ANNOUNCED_RECORD, default=PAPERS)
@configuration_name
@click.option("--out", type=FILE, help="Folder of the reports; reports/RECORD if not said.")
@processes
def report(results: Path, name: str, out: Path | None, jobs: int) -> None:
    """Make all tables, figures and pages of the record in RESULTS, without data and without the workflow.

    What has no rows yet is left out, and so are figures that show data which neither the record nor RESULTS hold.
    """
    if not results.exists():
        raise InputError(f"{results} is not there: `kdrbench pack` makes a record of a folder of results")
    from kdrbench.suite.experiments.results import read_frozen, without_code

    results, name = root_and_name(results, name)
    frozen = frozen_configuration(results, name)
    config = read_frozen(frozen)
    merged = [one for one in config["run"] if (frozen.parent / "merged" / f"{one}.csv").is_file()]
    if not merged:
        raise InputError(f"{frozen.parent} has no merged tables yet: run the workflow first")
    out = out or reports_of(results, config)
    source = _Source(without_code({**config, "run": merged}), frozen.parent, results, out)
    click.echo(f"{counted(source.make(jobs), 'table and figure', 'tables and figures')}, and pages -> {out}")


@dataclass(frozen=True)
class _Source:
    """The record that reports are made of: its configuration, its merged tables, what runs left; and where to."""

    config: Config
    merged: Path
    store: Path
    out: Path

    def make(self, n_jobs: int) -> int:
        """Make all reports and return how many tables and figures there are."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        from kdrbench.suite.reports.making import can_be_drawn
        from kdrbench.suite.reports.outputs import figures_of, tables_of

        # Those of many rows first: none is left for one core at the end.
        tables = sorted(tables_of(self.config).items(), key=lambda one: -sum(map(self._size, one[1].experiments)))
        figures = [name for name, one in figures_of(self.config).items() if can_be_drawn(one, self.config, self.store)]
        # Not joblib's, which ends a process that keeps 300 MB, and with it the rows that its next table reads again.
        with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool:
            # Beside figures and tables: papers and dashboard.
            work = _Work(pool, len(figures) + len(tables) + 2)
            found, *_ = work.all((self.papers,), *((self.figure, name) for name in figures))
            answers, made = found
            # Their pages show figures, and what follows shows them.
            work.all(*((self.table, name, made.get(name)) for name, _ in tables))
            work.all((self.dashboard, answers))
        work.line.end()
        return len(figures) + len(tables)

    def _size(self, experiment: str) -> int:
        return (self.merged / "merged" / f"{experiment}.csv").stat().st_size

    def papers(self) -> tuple[list[Answer], dict[str, Page]]:
        """Write published numbers, claims and what was found, which are made of each other.

        Returns the answers and, by name, the tables with their pages that were made for them.
        """
        from kdrbench.suite.commands.reports import write_papers
        from kdrbench.suite.findings.source import Source

        source = Source(self.config, self.merged, self.store, "..")
        with redirect_stdout(StringIO()):
            write_papers(source, self.out)
        return list(source.answers.values()), source.pages

    def figure(self, name: str) -> None:
        """Draw a figure."""
        from kdrbench.suite.commands.reports import draw_figure, included

        with redirect_stdout(StringIO()), included(self.config, self.merged, self.store) as source:
            draw_figure(name, source, self.out / "figures" / name)

    def table(self, name: str, made: Page | None) -> None:
        """Write a table with the figures of its page; with a page that was ``made`` before, that is written."""
        from kdrbench.suite.commands.reports import included, write_page, write_report
        from kdrbench.suite.reports.outputs import tables_of

        pictures = tuple(self.out / "figures" / f"{one}.png" for one in tables_of(self.config)[name].figures)
        # Beside an included record a table is another than the one that the summaries are made of.
        if made is None or self.config.get("include"):
            with redirect_stdout(StringIO()), included(self.config, self.merged, self.store) as source:
                write_report(tables_of(source[0])[name], source, self.out, pictures)
        else:
            write_page(made, self.out / name, pictures)

    def dashboard(self, answers: list[Answer]) -> None:
        """Write the dashboard, of all that is written before; its answers are others where it includes a record."""
        from kdrbench.suite.commands.reports import included, write_dashboard
        from kdrbench.suite.reports.outputs import dashboard_parts, report_folder

        folder = report_folder(self.config)
        parts = [self.out / Path(path).relative_to(folder) for path in dashboard_parts(self.config)]
        parts = [path for path in parts if path.is_file()]
        parts += sorted((self.store / "checks").glob("*.json"))
        published, page = self.out / "published_vs_ours.csv", self.out / "dashboard.html"
        found = None if self.config.get("include") else answers
        with redirect_stdout(StringIO()), included(self.config, self.merged, self.store) as source:
            write_dashboard(*source, tuple(parts), published, page, found)


@dataclass
class _Work:
    """Calls in other processes, with a line that says how many of ``n_calls`` have ended and which are under way."""

    pool: Executor
    n_calls: int
    n_ended: int = 0
    began_s: float = field(default_factory=monotonic)
    line: ProgressLine = field(default_factory=lambda: ProgressLine(_LINE_S, _TERMINAL_S))

    def all(self, *calls: tuple[Any, ...]) -> list[Any]:
        """Return what functions with their arguments give, in this order; the first that fails raises its error."""
        # Called what they make: a figure or a table by its name, or the name of the page.
        names = [[work.__name__, *(word for word in given[:1] if isinstance(word, str))] for work, *given in calls]
        begun = {self.pool.submit(*call): " ".join(words) for call, words in zip(calls, names, strict=True)}
        open_calls = set(begun)
        while open_calls:
            next_ones = ", ".join(islice((title for call, title in begun.items() if call in open_calls), 2))
            seconds = monotonic() - self.began_s
            self.line.show(f"kdrbench: {self.n_ended} of {self.n_calls} reports, {seconds:.0f} s: {next_ones}")
            ended, open_calls = wait(open_calls, timeout=1.0, return_when=FIRST_COMPLETED)
            for call in ended:
                call.result()
            self.n_ended += len(ended)
        return [call.result() for call in begun]
