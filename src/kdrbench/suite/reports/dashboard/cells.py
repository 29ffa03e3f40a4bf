"""From a cell of a table to its runs: the words by which lists name them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from kdrbench.suite.reports.dashboard.rendering import order_of
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.reports.records import ATLAS, IKDR, KPCA_TRICK, Config, system_name
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, low_rank_label, method_label
from kdrbench.suite.reports.tables.numbers import rounded
from kdrbench.suite.reports.tables.table import Entry


@dataclass(frozen=True)
class CellLink:
    """Where a cell's runs are: experiment, and the labels that its runs have in lists, empty for all."""

    experiment: str
    data: str
    kernel: str
    method: str


def link_within(name: str, axes: tuple[str, ...], config: Config) -> CellLink:
    """Return the link of a cell of an experiment; ``axes`` are metric, data set, kernel and method, empty for all."""
    system = system_name(config["experiments"].get(name, {}))
    return CellLink(name, *run_labels(system, *axes[1:]))


class Cells:
    """What a page keeps of the cells of its tables, once each: by what they are sorted, what they mean, their runs."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._links: dict[CellLink, int] = {}
        self._cells: dict[tuple[float | None, str, int | None], int] = {}

    def add(self, table: str, entry: Entry, is_number: bool) -> int | None:
        """Return the place of a table's cell, ``None`` for one of which nothing need be kept."""
        experiment = entry.experiment or self._experiments.get(table, table)
        link = self._place_of(link_within(experiment, entry.axes, self._config)) if entry.axes else None
        order = rounded(order_of(entry), 8) if is_number else None
        return None if order is None and not entry.detail else self._place(order, entry.detail, link)

    def of_runs(self, experiment: str, axes: tuple[str, ...], words: str) -> int:
        """Return the place of a cell that says what it means in words, of an experiment's runs with these axes."""
        return self._place(None, words, self._place_of(link_within(experiment, axes, self._config)))

    @cached_property
    def _experiments(self) -> dict[str, str]:
        """The first experiment of each table; a page asks for each of some ten thousand cells."""
        return {name: report.experiments[0] for name, report in tables_of(self._config).items()}

    def _place_of(self, link: CellLink) -> int:
        return self._links.setdefault(link, len(self._links))

    def _place(self, order: float | None, words: str, link: int | None) -> int:
        return self._cells.setdefault((order, words, link), len(self._cells))

    @property
    def content(self) -> dict[str, list[Any]]:
        """The cells in the order of their places: order, meaning, place among the links; and the links."""
        links = [asdict(one) for one in self._links]
        return {"cells": [list(cell) for cell in self._cells], "links": links}


def run_labels(system: str, dataset: str, kernel: str, method: str) -> tuple[str, str, str]:
    """Return data set, kernel and method of runs as tables print them; not all systems have a kernel as an axis."""
    of_data = dataset and dataset_label(dataset)
    if system in (IKDR, ATLAS):
        return of_data, kernel and kernel_label(kernel), method and method_label(method)
    return of_data, "", method.upper() if system == KPCA_TRICK else low_rank_label(method)
