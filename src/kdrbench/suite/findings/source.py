"""A record as reports in words read it: its tables, sections, answers, claims and published numbers, each made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, urlencode

import pandas as pd

from kdrbench.errors import InputError
from kdrbench.suite.engine.system import TRACES
from kdrbench.suite.findings.answers import Answer, answer_of
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import Decided, decide_claims
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.reports.dashboard.rendering import run_labels
from kdrbench.suite.reports.making import Page, make
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.reports.records import Config, experiments_of, read_runs, systems_of
from kdrbench.suite.reports.tables.table import Table
from kdrbench.suite.systems import system_name
from kdrbench.suite.systems.league.system import TUNING, fixed_beside


@dataclass(frozen=True, eq=False)
class Source:
    """Merged tables in the folder ``merged`` by a configuration, and the folder ``store`` of what runs left.

    ``reports`` is where the pages lead: from their folder to that of the record's reports, empty for nowhere.
    ``pages`` are those of the tables that were made, by name.
    """

    config: Config
    merged: Path
    store: Path
    reports: str = ""
    pages: dict[str, Page] = field(default_factory=dict)

    @cached_property
    def experiments(self) -> list[str]:
        """The experiments of ``run`` whose rows are there."""
        return [name for name in self.config["run"] if self._rows(name).is_file()]

    @property
    def made(self) -> Config:
        """The configuration of the experiments whose rows are there."""
        return {**self.config, "run": self.experiments}

    def tables_of(self, kind: str) -> list[str]:
        """Return the tables of a system."""
        return [name for name, report in tables_of(self.made).items() if report.kind == kind]

    def table(self, name: str) -> Table:
        """Return a table."""
        return self._page(name)[0]

    def section(self, name: str, title: str) -> Table:
        """Return the table of a section on the page of the table ``name``."""
        sections = {section.title: section.table for section in self._page(name)[1]}
        if (table := sections.get(title)) is None:
            raise InputError(f"the page of {name} has no table under {title!r}; it has {', '.join(sections)}")
        return table

    def _page(self, name: str) -> Page:
        if name not in self.pages:
            self.pages[name] = make(tables_of(self.config)[name], self.config, self.merged, self.store)
        return self.pages[name]

    def tuned_beside(self, league: str) -> str | None:
        """Return the tuned league that is on the folds of ``league`` and whose rows are there, if any."""
        return next((name for name in self.experiments if fixed_beside(self.made, name) == league), None)

    def tuning(self, tuned: str) -> Table:
        """Return the table of a tuned league beside that with default parameters."""
        return self.table(f"{tuned}_{TUNING}")

    @cached_property
    def runs(self) -> dict[str, pd.DataFrame]:
        """The merged rows of each experiment."""
        return {name: read_runs(self._rows(name)) for name in self.experiments}

    def _rows(self, experiment: str) -> Path:
        return self.merged / "merged" / f"{experiment}.csv"

    @cached_property
    def systems(self) -> dict[str, pd.DataFrame]:
        """The merged rows of each system, an experiment after the other."""
        names = {system: experiments_of(self.made, system) for system in systems_of(self.made)}
        return {system: pd.concat(map(self.runs.get, own), ignore_index=True) for system, own in names.items()}

    def _system(self, experiment: str) -> str:
        return system_name(self.config["experiments"][experiment])

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every number that is printed for these experiments beside ours."""
        return compare(self.systems, self.made)

    @cached_property
    def claims(self) -> Decided:
        """The claims of the papers with their decisions."""
        return decide_claims(Records.of(self.systems, self.made))

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """What each experiment answers."""
        rows = {name: self.systems[self._system(name)] for name in self.experiments}
        return {name: answer_of(name, rows[name], self.config, self.store / TRACES) for name in rows}

    def address(self, place: str, **state: str) -> str:
        """Return the address of a place on the dashboard that shows ``state``; empty where pages lead nowhere."""
        query = f"?{urlencode(state, quote_via=quote)}" if state else ""
        return f"{self.reports}/dashboard.html#{place}{query}" if self.reports else ""

    def address_of_runs(self, line: Comparison) -> str:
        """Return where the runs beside a published number are listed, or where that number is, if there are none."""
        if line.experiment not in self.experiments:
            return self.address("published")
        labels = run_labels(self._system(line.experiment), line.dataset, line.kernel, line.method)
        chosen = {name: label for name, label in zip(("data", "kernel", "method"), labels, strict=True) if label}
        return self.address("runs", experiment=line.experiment, **chosen)
