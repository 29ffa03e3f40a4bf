"""Which method to use when: the best ones by rows, features, classes, components and seconds of a fit."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from kdrbench.errors import counted, joined
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.reports.tables.league.rows import ACCURACIES, League
from kdrbench.suite.reports.tables.table import Entry, Table
from kdrbench.suite.systems.league.ranks import bootstrap_mean_ranks, critical_difference
from kdrbench.suite.systems.league.scores import Scores

# CPU seconds of a fit, tuning included.
_BUDGETS = (np.inf, 1.0, 0.1, 0.01)
# Groups of cells by a column of their rows: at most so much.
_SIZES = {"n_rows": (300, 1000), "n_features": (10, 50), "n_classes": (2, 9)}
# A cell names this many methods that are like the first; of more it gives the number.
_MOST_NAMES = 3
_WORDS = {"n_rows": "n", "n_features": "d", "n_classes": "classes"}
_NOTE = (
    "The two methods with the best mean rank by k-NN and linear accuracy among those whose median CPU time, tuning "
    "included, is no longer. In parentheses is the mean rank among these over data sets, of the first with its 95 % "
    "bootstrap interval. Alike are the others that Nemenyi's test does not tell from the first; of more than "
    f"{_MOST_NAMES} the number. Groups overlap, and small ones say little. Controls are left out."
)


def advice_table(name: str, league: League) -> Table:
    """Return the methods with the best mean rank by kind of data and seconds of a fit, controls left out."""
    cells = _cells(league.runs)
    columns = ["Where", "Cells", *("any time" if np.isinf(s) else f"at most {s:g} s" for s in _BUDGETS)]
    rows = []
    for words, chosen in _groups(cells):
        count = int(chosen.sum())
        rows.append([Entry(words), Entry(str(count)), *(_best(league, cells[chosen], s) for s in _BUDGETS)])
    return Table(name, "What to use when", columns, [rows], [f"{_NOTE} {_largest(cells)}"])


def _largest(cells: pd.DataFrame) -> str:
    """Return up to how many rows the table says anything."""
    most = int(cells["n_rows"].max())
    return f"No data set here has more than {counted(most, 'row')}: of larger ones the table says nothing."


def _cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes of each cell, in the order of its scores."""
    rows = runs.assign(n_rows=runs["n_train"] + runs["n_test"])
    return rows.groupby(["dataset", "n_components"], sort=False)[list(_SIZES)].first().reset_index()


def _groups(cells: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield kinds of cells in words, with where they are; empty ones are left out."""
    kinds: list[tuple[str, pd.Series]] = [("all", cells["n_rows"] > 0)]
    for column, (few, some) in _SIZES.items():
        of, word = cells[column], _WORDS[column]
        kinds += [(f"{word} <= {few}", of <= few), (f"{few} < {word} <= {some}", (of > few) & (of <= some))]
        kinds.append((f"{word} > {some}", of > some))
    kinds += [(f"q = {count}", cells["n_components"] == count) for count in sorted(set(cells["n_components"]))]
    return ((words, chosen) for words, chosen in kinds if chosen.any())


def _best(league: League, cells: pd.DataFrame, budget_s: float) -> Entry:
    """Return the two methods with the best mean rank whose median fit takes at most so long, and who is like the first.

    Ranks are those by data set, over its cells and both accuracies: data sets are what Nemenyi's test counts.
    """
    here = league.runs.merge(cells[["dataset", "n_components"]])
    seconds = here.groupby("method")["cpu_s"].median()
    eligible = [
        place for place in league.places(controls=False) if seconds.get(league.methods[place], np.inf) <= budget_s
    ]
    if not eligible:
        return Entry("none")
    wanted = set(zip(cells["dataset"], cells["n_components"], strict=True))
    ranks = np.mean([_ranks(league.scores[judge], wanted, eligible) for judge in ACCURACIES], axis=0)
    means = ranks.mean(axis=0)
    order = np.argsort(means, kind="stable").tolist()
    titles = [league.title(league.methods[eligible[place]]) for place in order]
    low, high = bootstrap_mean_ranks(ranks, np.random.default_rng(0))[order[0]]
    text = f"{titles[0]} ({means[order[0]]:.1f}, {low:.1f} to {high:.1f})"
    if not titles[1:]:
        return Entry(text, detail=f"over {counted(len(ranks), 'data set')}")
    alike = _n_alike(np.sort(means), len(ranks))
    alike_names = joined(titles[1 : alike + 1]) if alike else "none"
    shown = alike_names if alike <= _MOST_NAMES else f"{alike} of {len(titles) - 1}"
    detail = f"over {counted(len(ranks), 'data set')}; alike: {alike_names}"
    return Entry(f"{text}; {titles[1]} ({means[order[1]]:.1f}); alike: {shown}", detail=detail)


def _n_alike(means: FloatArray, n_sets: int) -> int:
    """Return how many of the ascending mean ranks Nemenyi's test does not tell from the first, itself left out."""
    return int((means[1:] - means[0] <= critical_difference(len(means), n_sets)).sum())


def _ranks(scores: Scores, wanted: Container[tuple[str, int]], eligible: Sequence[int]) -> FloatArray:
    """Return the ranks of the eligible methods by data set: means over those of its cells that are wanted."""
    chosen = {cell: table for cell, table in scores.cells.items() if cell in wanted}
    return replace(scores, cells={cell: table[list(eligible)] for cell, table in chosen.items()}).mean_ranks()
