"""Which method to use when: the best ones by rows, features, classes, components and seconds of a fit."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np
import pandas as pd

from kdrbench.kernels.family import FloatArray
from kdrbench.league.ranks import ranks_of
from kdrbench.league.scores import Scores
from kdrbench.reports.tables.league_rows import ACCURACIES, League
from kdrbench.reports.tables.table import Entry, Table

# CPU seconds of a fit, tuning included.
_BUDGETS = (np.inf, 1.0, 0.1, 0.01)
# Groups of cells by a column of their rows: at most so much.
_SIZES = {"n_rows": (300, 1000), "n_features": (10, 50), "n_classes": (2, 9)}
_WORDS = {"n_rows": "n", "n_features": "d", "n_classes": "classes"}
_NOTE = (
    "The two methods with the best mean rank by k-NN and linear accuracy among those whose median CPU time, "
    "tuning included, is no longer; in parentheses their mean rank among these. Groups overlap, and small ones say "
    "little. Controls are left out."
)


def advice_table(name: str, league: League) -> Table:
    """Return the methods with the best mean rank by kind of data and seconds of a fit, controls left out."""
    cells = _cells(league.runs)
    columns = ["Where", "Cells", *("any time" if np.isinf(s) else f"at most {s:g} s" for s in _BUDGETS)]
    rows = []
    for words, chosen in _groups(cells):
        count = int(chosen.sum())
        rows.append([Entry(words), Entry(str(count)), *(Entry(_best(league, cells[chosen], s)) for s in _BUDGETS)])
    return Table(name, "What to use when", columns, [rows], [_NOTE])


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


def _best(league: League, cells: pd.DataFrame, budget_s: float) -> str:
    """Return the two methods with the best mean rank by both accuracies whose median fit takes at most so long."""
    here = league.runs.merge(cells[["dataset", "n_components"]])
    seconds = here.groupby("method")["cpu_s"].median()
    eligible = [
        place
        for place, name in enumerate(league.methods)
        if not league.controls[place] and seconds.get(name, np.inf) <= budget_s
    ]
    if not eligible:
        return "none"
    wanted = set(zip(cells["dataset"], cells["n_components"], strict=True))
    ranks = np.mean([_mean_ranks(league.scores[judge], wanted, eligible) for judge in ACCURACIES], axis=0)
    first = np.argsort(ranks, kind="stable")[:2]
    return "; ".join(f"{league.title(league.methods[eligible[place]])} ({ranks[place]:.1f})" for place in first)


def _mean_ranks(scores: Scores, wanted: Container[tuple[str, int]], eligible: Sequence[int]) -> FloatArray:
    places = [place for place, cell in enumerate(scores.cells) if cell in wanted]
    ranks: FloatArray = ranks_of(scores.means[np.ix_(places, list(eligible))]).mean(axis=0)
    return ranks
