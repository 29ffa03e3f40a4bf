"""The rows of a league as scores: by cell (a data set with a number of components), method and run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.status import Status
from kdrbench.suite.systems.league.duels import Duel, Verdict, duel_of, verdict_of
from kdrbench.suite.systems.league.ranks import ranks_of

Cell = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Scores:
    """One judge's scores: a table (methods x runs) for each cell, NaN where a method has none.

    ``test_shares`` are n_test / n_train by cell.
    """

    methods: tuple[str, ...]
    cells: Mapping[Cell, FloatArray]
    test_shares: Mapping[Cell, float]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], judge: str) -> Scores:
        """Return the scores of a judge; a row that did not converge has none, whatever it says."""
        found: dict[Cell, dict[tuple[str, int], float]] = defaultdict(dict)
        runs: dict[Cell, set[int]] = defaultdict(set)
        methods: dict[str, None] = {}
        shares: dict[Cell, float] = {}
        for row in rows:
            cell, run, method = (str(row["dataset"]), int(row["n_components"])), int(row["run"]), str(row["method"])
            methods.setdefault(method)
            runs[cell].add(run)
            score = row.get(judge)
            if row["status"] == Status.CONVERGED and score is not None:
                found[cell][method, run] = float(score)
                shares[cell] = float(row["n_test"]) / float(row["n_train"])
        names = tuple(methods)
        cells = {
            cell: np.array([[found[cell].get((name, run), np.nan) for run in sorted(numbers)] for name in names])
            for cell, numbers in runs.items()
        }
        return cls(names, cells, shares)

    @cached_property
    def means(self) -> FloatArray:
        """Mean scores, a row a cell and a column a method; NaN where a run is missing: that cell is lost."""
        return np.array([table.mean(axis=1) for table in self.cells.values()])

    @property
    def datasets(self) -> list[str]:
        """The data sets in the order of their cells."""
        return list(dict.fromkeys(name for name, _ in self.cells))

    def mean_ranks(self, n_components: int | None = None) -> FloatArray:
        """Return the mean ranks by data set (n x k) over its numbers of components, or with one of them alone."""
        ranks, chosen = ranks_of(self.means), []
        for name in self.datasets:
            places = [
                place
                for place, (dataset, count) in enumerate(self.cells)
                if dataset == name and n_components in (None, count)
            ]
            if places:
                chosen.append(ranks[places].mean(axis=0))
        return np.array(chosen)

    def by_dataset(self) -> FloatArray:
        """Return the mean scores by data set (n x k) over its numbers of components; NaN where any of them is lost."""
        rows = [[place for place, (name, _) in enumerate(self.cells) if name == one] for one in self.datasets]
        return np.array([self.means[places].mean(axis=0) for places in rows])

    def n_lost(self, method: str) -> int:
        """Return in how many cells a method lacks a run."""
        return int(np.isnan(self.means[:, self.methods.index(method)]).sum())

    def duel(self, cell: Cell, first: str, second: str) -> Duel:
        """Return the duel of two methods in a cell."""
        table = self.cells[cell]
        one, other = (table[self.methods.index(name)] for name in (first, second))
        return duel_of(one, other, self.test_shares.get(cell, 0.0))

    def verdicts(self, method: str, rivals: Sequence[str]) -> list[Verdict]:
        """Return how a method does in each cell against all of its rivals."""
        return [verdict_of([self.duel(cell, method, rival) for rival in rivals]) for cell in self.cells]
