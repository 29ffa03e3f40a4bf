"""How templates of pages are filled in: words and numbers of filters, how cells are sorted, and their runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kdrbench.suite.findings.finding import DECISION_RULES
from kdrbench.suite.findings.ledger import interval_text, labels_of, place_label, unit_text
from kdrbench.suite.findings.pairwise import gap_text, meaning, ratio_text, wins_text
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.reports.records import ATLAS, IKDR, KPCA_FIGURES, KPCA_TRICK, LEAGUE, NOISE, Config
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS
from kdrbench.suite.reports.tables.labels import (
    METRIC_TITLES,
    dataset_label,
    kernel_label,
    label_in_text,
    low_rank_label,
    method_label,
)
from kdrbench.suite.reports.tables.numbers import PLUS_MINUS, rounded
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.table import Entry, fitting, plain_environment
from kdrbench.suite.systems import system_name
from kdrbench.suite.systems.league.table_rows import title_of

if TYPE_CHECKING:
    import jinja2

# Numbers of cells without one: they sort behind all others.
_LAST = 1e300
# How the figures of the KPCA trick solved.
_TRICKS = {"kpca": "KPCA trick", "exact": "kernel trick", "ridge": "kernel trick, ridge", "qz": "kernel trick, QZ"}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def environment() -> jinja2.Environment:
    """Return what fills in the templates of the dashboard and the site; a filter is called like its function."""
    filters = [paper_label, order_of, slug, place_label, dataset_label, kernel_label, label_in_text]
    filters += [interval_text, unit_text, labels_of, ratio_text, gap_text, wins_text, meaning, fitting, titled]
    made = plain_environment()
    made.filters.update({function.__name__: function for function in filters})
    rules = {"decision_rules": DECISION_RULES, "converged_means": CONVERGED_MEANS}
    made.globals.update(sentences=declared("words"), metric_titles=METRIC_TITLES, **rules)
    return made


def slug(name: str) -> str:
    """Return ``name`` as part of an address within the page, or of a class."""
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


def titled(text: str, titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is said of experiments in parts: each is words, and the experiment whose title they are, if any.

    A method of low-rank kernels that is named behind an experiment has its label.
    """
    parts, end = list[tuple[str, str]](), 0
    for found in re.finditer(rf"\b({'|'.join(map(re.escape, titles))})(?=[:,])(?:, (\w+)(?=:))?", text):
        parts += [(text[end : found.start()], ""), (titles[found[1]].rstrip("."), found[1])]
        parts += [(f", {low_rank_label(found[2])}", "")] if found[2] else []
        end = found.end()
    return [*parts, (text[end:], "")]


def order_of(entry: Entry) -> float:
    """Return the number by which a cell is sorted: that behind it, else the one its text begins with."""
    return sort_key(entry.text) if entry.value is None else entry.value


def sort_key(text: str) -> float:
    """Return the number by which a cell's words are sorted: that printed first, durations in seconds.

    ``(-1.9 +- 0.1)e6`` counts its power; words without a number come last.
    """
    number = re.search(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(us|ms|[smhd])?(?![a-z])", text)
    if number is None:
        return _LAST
    power = re.search(r"\)e(-?\d+)", text) if PLUS_MINUS in text else None
    value = float(number[1]) * (10.0 ** int(power[1]) if power else 1.0)
    return value * _SECONDS.get(number[2] or "s", 1.0)


class Cells:
    """What a page keeps of the cells of its tables, once each: by what they are sorted, what they mean, their runs."""

    def __init__(self, config: Config) -> None:
        self._config = config
        # The first experiment of each table; a page asks for each of some ten thousand cells.
        self._experiments = {name: report.experiments[0] for name, report in tables_of(config).items()}
        self._links: dict[tuple[str, ...], int] = {}
        self._cells: dict[tuple[float | None, str, int | None], int] = {}

    def add(self, table: str, entry: Entry, is_number: bool) -> int | None:
        """Return the place of a table's cell, ``None`` for one of which nothing need be kept."""
        experiment = entry.experiment or self._experiments.get(table, table)
        order = rounded(order_of(entry), 8) if is_number else None
        return None if order is None and not entry.detail else self.place(experiment, entry.axes, entry.detail, order)

    def place(self, experiment: str, axes: tuple[str, ...], words: str, order: float | None = None) -> int:
        """Return the place of a cell that means ``words``, of an experiment's runs with these axes.

        Axes are metric, data set, kernel and method, empty for all; none for a cell of no runs.
        """
        link = None
        if axes:
            system = system_name(self._config["experiments"].get(experiment, {}))
            names = experiment, *run_labels(system, *axes[1:])
            link = self._links.setdefault(names, len(self._links))
        return self._cells.setdefault((order, words, link), len(self._cells))

    @property
    def content(self) -> dict[str, list[Any]]:
        """The cells in the order of their places: order, meaning, place among the links; and the links."""
        links = [dict(zip(("experiment", "data", "kernel", "method"), link, strict=True)) for link in self._links]
        return {"cells": [list(cell) for cell in self._cells], "links": links}


def run_labels(system: str, dataset: str, kernel: str, method: str) -> tuple[str, str, str]:
    """Return data set, kernel and method of runs as tables print them; not all systems have a kernel as an axis."""
    of_data = dataset and dataset_label(dataset)
    if system in (IKDR, ATLAS):
        return of_data, kernel and kernel_label(kernel), method and method_label(method)
    if system in (LEAGUE, NOISE):
        return of_data, "", title_of(method)
    if system == KPCA_FIGURES:
        return of_data, "", _TRICKS.get(method, method.upper())
    return of_data, "", method.upper() if system == KPCA_TRICK else low_rank_label(method)
