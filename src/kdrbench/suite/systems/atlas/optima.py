"""The best solutions known of problems: stored by an atlas of optima, and what costs in figures are compared with.

A file ``results/optima/<experiment>.npz`` holds the lowest cost of a certified optimum and its projection W for each
problem, by its hash (:func:`.problem_sha256`). Where a solver saw a lower cost, that is the best known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.errors import DamagedError
from kdrbench.files import Version, replacing, version_of
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in
from kdrbench.suite.engine.system import OPTIMA
from kdrbench.suite.reports.records import Config, read_arrays
from kdrbench.suite.systems.atlas.system import ANGLE_DEG, NUMBERS, problem_of

_COST, _PROJECTION = "cost", "projection"
# Optima that at least this share of a draw's starts reach are sought in the next draw.
LEAST_SHARE = 0.02
# What qualities differ by behind this digit is rounding.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Solution:
    """A certified optimum: its ``projection`` (d x q, orthonormal) and its ``cost``, -F."""

    cost: float
    projection: FloatArray


@dataclass(frozen=True)
class BestKnown:
    """The best solutions known by the hash of their problem, for the experiments of a configuration."""

    config: Config = field(default_factory=dict)
    solutions: Mapping[str, Solution] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Path, config: Config) -> BestKnown:
        """Return what all files of solutions in ``store`` hold; of one problem the lower cost counts."""
        paths = sorted((store / OPTIMA).glob("*.npz"))
        return cls(config, _lowest_of(tuple((path, version_of(path)) for path in paths)))

    def best(self, problem: tuple[str, str, str, int], seen: Iterable[float]) -> float:
        """Return the lowest cost known of a problem: of those ``seen`` in its runs and the stored one.

        ``problem`` is experiment, data set, kernel and the number of the run.
        """
        stored = self.solutions.get(problem_of(self.config, *problem)) if self.solutions else None
        return min(math.inf if stored is None else stored.cost, *seen, math.inf)


NOTHING_KNOWN = BestKnown()


def best_solutions(runs: pd.DataFrame, findings: Path) -> dict[str, Solution]:
    """Return the best optimum of each problem in the rows of an atlas; of several draws the lowest."""
    charts = (chart for _, chart in read_charts(runs, findings))
    return _lowest((chart.problem, Solution(float(chart.costs[0]), chart.optima[0])) for chart in charts)


@lru_cache(1)
def _lowest_of(files: tuple[tuple[Path, Version], ...]) -> Mapping[str, Solution]:
    """Return what files of solutions hold, each in its version, for all figures that a process draws."""
    return _lowest(chain.from_iterable(read_solutions(path).items() for path, _ in files))


def _lowest(solutions: Iterable[tuple[str, Solution]]) -> dict[str, Solution]:
    found: dict[str, Solution] = {}
    for problem, solution in solutions:
        if problem not in found or solution.cost < found[problem].cost:
            found[problem] = solution
    return found


@dataclass(frozen=True, eq=False)
class Charted:
    """The distinct optima (k x d x q) of one run by rising cost, and the share of starts at each (k x solvers)."""

    problem: str
    draw: int
    optima: FloatArray
    costs: FloatArray
    qualities: FloatArray
    shares: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """How far each optimum is above the best, relative to it."""
        gaps: FloatArray = (self.costs - self.costs[0]) / abs(self.costs[0])
        return gaps

    @property
    def lead(self) -> float:
        """How much higher the quality of the lowest cost is than the best of the others; NaN where one is unknown."""
        lead = float(self.qualities[0] - self.qualities[1:].max())
        return round(lead, _DIGITS)

    def found_again(self, other: Charted) -> tuple[int, int]:
        """Return how many optima with more than 2 % of some solver's starts ``other`` has too, and of how many."""
        # It loads scikit-learn, which nothing else here needs.
        from kdrbench.inference.atlas import place_of

        wanted = self.optima[self.shares.max(axis=1) > LEAST_SHARE]
        return sum(place_of(one, other.optima, ANGLE_DEG) >= 0 for one in wanted), len(wanted)


def read_charts(runs: pd.DataFrame, findings: Path) -> Iterator[tuple[pd.Series, Charted]]:
    """Yield for each run of an atlas that charted optima its first row, and the chart, which is that of all solvers."""
    rows = runs.drop_duplicates(["experiment", "dataset", "cells_of", "kernel", "run"]).reset_index(drop=True)
    numbers, optima = (dict(read_arrays(rows, findings, kind)) for kind in (NUMBERS, OPTIMA))
    for place in sorted(optima):
        row, (costs, qualities, *shares) = rows.iloc[place], numbers[place].T
        yield row, Charted(str(row["problem"]), int(row["draw"]), optima[place], costs, qualities, np.array(shares).T)


def write_solutions(path: Path, solutions: Mapping[str, Solution]) -> None:
    """Write the solutions; the file appears whole."""
    arrays: dict[str, NDArray[Any]] = {}
    for problem, solution in solutions.items():
        arrays[f"{problem}/{_COST}"] = np.array(solution.cost)
        arrays[f"{problem}/{_PROJECTION}"] = solution.projection
    with replacing(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_solutions(path: Path) -> dict[str, Solution]:
    """Read what :func:`write_solutions` wrote; ``DamagedError`` for another file."""
    try:
        arrays = arrays_in(path) or {}
        costs = {name.partition("/")[0]: float(array) for name, array in arrays.items() if name.endswith(_COST)}
        return {one: Solution(cost, arrays[f"{one}/{_PROJECTION}"]) for one, cost in sorted(costs.items())}
    except (UnreadableError, KeyError, ValueError, TypeError) as error:
        raise DamagedError(
            f"{path} is no file of solutions ({error}); delete it and start the workflow again, which makes it of the "
            "atlas' runs"
        ) from error
