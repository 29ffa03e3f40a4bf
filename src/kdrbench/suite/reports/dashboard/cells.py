"""From a cell of a table to its runs: the words by which lists name them."""

from __future__ import annotations

from typing import Any

from kdrbench.suite.reports.dashboard.rendering import order_of
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.reports.records import ATLAS, IKDR, KPCA_TRICK, Config, system_name
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, low_rank_label, method_label
from kdrbench.suite.reports.tables.numbers import rounded
from kdrbench.suite.reports.tables.table import Entry


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
    return of_data, "", method.upper() if system == KPCA_TRICK else low_rank_label(method)
