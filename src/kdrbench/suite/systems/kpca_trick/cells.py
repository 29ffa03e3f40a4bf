"""From the runs of the KPCA trick to cells: accuracies beside the printed ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kdrbench.errors import joined
from kdrbench.suite.reports.protocol import departure
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.cells import summarise
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name
from kdrbench.suite.reports.tables.numbers import share
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber, find_published, published_numbers
from kdrbench.suite.reports.tables.verdicts import Compared
from kdrbench.suite.systems.kpca_trick.system import TABLES as TABLES
from kdrbench.suite.systems.kpca_trick.system import VARIANTS

PAPER, SETTING, METRIC = "kpca_trick", "classification", "accuracy"
PLAIN = "plain"
# The data sets of the paper's figures.
FIGURE_DATA = {3: ("ionosphere",), 4: ("pima", "m-usps"), 5: ("ionosphere", "glass")}
# What the paper leaves open of a data set.
_TAKEN_FOR = {"m-usps": "m-USPS is taken to be the set USPS of the semi-supervised learning book."}


def axes_of(dataset: str, learner: str, variant: str) -> tuple[str, ...]:
    """Return metric, data set, kernel and method of a learner's runs, by which pages find them."""
    return ("accuracy", dataset, "", learner_name(learner, variant))


@dataclass(frozen=True, kw_only=True)
class KpcaCell(Compared):
    """One learner in one variant on one data set, over all splits.

    ``test_selected`` is the accuracy of the kernel that is best on the test samples, where all were tried on them.
    """

    dataset: str
    learner: str
    variant: str
    test_selected: float | None

    @property
    def axes(self) -> tuple[str, ...]:
        """Metric, data set, kernel and method of the cell's runs."""
        return axes_of(self.dataset, self.learner, self.variant)

    @property
    def printed(self) -> float | None:
        """The printed mean, if there is one."""
        return self.published.value if self.published else None

    @property
    def rounded(self) -> float | None:
        """Our mean with two digits, as the paper compares."""
        return None if self.ours.mean is None else round(self.ours.mean, 2)


def find_printed(dataset: str, learner: str, variant: str) -> PublishedNumber | None:
    """Return the number that the paper prints, if there is one."""
    if learner not in TABLES:
        return None
    return find_published(
        paper=PAPER,
        table=TABLES[learner],
        setting=SETTING,
        dataset=dataset,
        kernel="" if variant == PLAIN else variant,
        method=learner_name(learner, variant),
        metric=METRIC,
    )


def kpca_cells(runs: pd.DataFrame, config: Config | None = None) -> dict[tuple[str, str, str], KpcaCell]:
    """Return the cells of an experiment by (data set, learner, variant), in the order of the rows.

    ``config`` defines the experiment, which may depart from the paper's protocol.
    """
    experiment = config["experiments"][str(runs["experiment"].iloc[0])] if config and len(runs) else {}
    cells = {}
    for names, group in runs.groupby(["dataset", "learner", "variant"], sort=False):
        axes = str(names[0]), str(names[1]), str(names[2])
        cells[axes] = replace(_cell(*axes, group), departure=departure(experiment, config or {}, axes[0]))
    return cells


def _cell(dataset: str, learner: str, variant: str, group: pd.DataFrame) -> KpcaCell:
    tried = [json.loads(text) for text in group["test_selected"].dropna()]
    # The mean over splits of each kernel, then the best of these.
    selected = float(np.mean(tried, axis=0).max()) if tried and len(tried) == len(group) else None
    cell = summarise("quality", group, "accuracy", share, unit="splits")
    cell = cell if cell.counted else replace(cell, text=str(group["status"].iloc[0]).replace("_", " "))
    axes = {"dataset": dataset, "learner": learner, "variant": variant}
    return KpcaCell(
        ours=cell, published=find_printed(dataset, learner, variant), error=cell.error, **axes, test_selected=selected
    )


def win_draw_lose(pairs: Iterable[Iterable[float | None]]) -> str:
    """Return how often the first of a pair is above, equal to and below the second; unknown ones do not count."""
    signs = [int(np.sign(first - second)) for first, second in pairs if first is not None and second is not None]
    return "/".join(str(signs.count(sign)) for sign in (1, 0, -1))


@dataclass(frozen=True)
class Counts:
    """How often a version with a kernel is above, level with and below the plain learner, over the paper's data sets.

    ``name`` is the paper's, as ``aknca``. ``printed`` is counted on the rounded means that the paper prints, ``ours``
    on ours, both as "win/draw/lose"; ``n_cells`` data sets have both of our means with all splits, of ``n_printed``.
    """

    name: str
    learner: str
    variant: str
    printed: str
    ours: str
    n_cells: int
    n_printed: int


def kpca_published_wdl(cells: Mapping[tuple[str, str, str], KpcaCell]) -> list[Counts]:
    """Return the counts of KNCA, AKNCA, KLMNN, AKLMNN, KDNE and AKDNE; ``cells`` are those of :func:`kpca_cells`."""
    counts = []
    for learner, table in TABLES.items():
        axes = published_numbers(paper=PAPER, table=table, setting=SETTING)
        datasets = list(dict.fromkeys(one["dataset"] for one in axes))
        for variant in (name for name in VARIANTS if find_printed(datasets[0], learner, name) and name != PLAIN):
            printed, ours = [], []
            for dataset in datasets:
                numbers = [find_printed(dataset, learner, name) for name in (variant, PLAIN)]
                printed.append(tuple(number.value if number else None for number in numbers))
                both = [cells.get((dataset, learner, name)) for name in (variant, PLAIN)]
                ours.append(tuple(cell.rounded if cell and cell.ours.complete else None for cell in both))
            complete = sum(None not in pair for pair in ours)
            texts = (win_draw_lose(printed), win_draw_lose(ours))
            name = learner_name(learner, variant)
            counts.append(Counts(name, learner, variant, *texts, complete, len(datasets)))
    return counts


def data_beside_the_papers(figure: int, runs: pd.DataFrame) -> str:
    """Say which of the paper's data sets a figure shows and which it does not, and which are none of the paper's."""
    shown = [str(name) for name in runs.loc[runs["accuracy"].notna(), "dataset"].unique()]
    printed = FIGURE_DATA[figure]
    groups = {
        "The paper's own data, in draws of ours": [name for name in printed if name in shown],
        "Of the paper's data not shown": [name for name in printed if name not in shown],
        "Not in the paper": [name for name in shown if name not in printed],
    }
    sentences = [f"{words}: {joined([*map(dataset_label, names)])}." for words, names in groups.items() if names]
    return " ".join([*sentences, *(_TAKEN_FOR[name] for name in printed if name in shown and name in _TAKEN_FOR)])
