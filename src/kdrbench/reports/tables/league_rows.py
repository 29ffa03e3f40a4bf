"""The rows of a league as its table, its figure and its claims read them, and the sentences on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.league.duels import headline
from kdrbench.league.ranks import controls_ahead
from kdrbench.league.rules import JUDGES
from kdrbench.league.scores import Scores

# Whose wins the headline counts, and against whom.
KERNEL_PROJECTIONS = ("kdr_gaussian", "kdr_polynomial", "kdr_combination")
RIVALS = ("pls_da", "lda", "gradient_kdr")
ACCURACIES = ("knn_accuracy", "linear_accuracy")


@dataclass(frozen=True, eq=False)
class League:
    """The rows of an experiment as its page and its figure need them."""

    runs: pd.DataFrame

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores of each judge."""
        rows: Any = self.runs.astype(object).where(self.runs.notna(), None).to_dict("records")
        return {judge: Scores.of(rows, judge) for judge in JUDGES}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods in the order of the experiment."""
        return self.scores["knn_accuracy"].methods

    @cached_property
    def controls(self) -> NDArray[np.bool_]:
        """Whether each method is a control."""
        from kdrbench.reduction.methods import METHODS

        return np.array([name in METHODS and METHODS[name].control for name in self.methods])

    def title(self, method: str) -> str:
        """Return a method's name as the page prints it."""
        from kdrbench.reduction.methods import METHODS

        return METHODS[method].title if method in METHODS else method

    def ranks(self, judge: str) -> FloatArray:
        """Return the mean ranks by data set, n x k."""
        return self.scores[judge].mean_ranks()

    @cached_property
    def overall(self) -> FloatArray:
        """Mean rank of each method over all judges and data sets, by which tables and figures are ordered."""
        overall: FloatArray = np.mean([self.ranks(judge).mean(axis=0) for judge in JUDGES], axis=0)
        return overall

    @cached_property
    def order(self) -> list[int]:
        """Places of the methods, the best first."""
        return [int(place) for place in np.argsort(self.overall, kind="stable")]

    def median_s(self, method: str) -> float:
        """Return the median CPU seconds of tuning and fit, which other work on the machine does not change."""
        return float(self.runs.loc[self.runs["method"] == method, "cpu_s"].median())

    @property
    def rivals(self) -> list[str]:
        """The rivals of the headline that play."""
        return [name for name in RIVALS if name in self.methods]


def headlines(league: League) -> list[str]:
    """Return the sentence on each kernel projection by each accuracy, whatever it says."""
    playing = [method for method in KERNEL_PROJECTIONS if method in league.methods]
    if not league.rivals or not playing:
        return [f"No headline: it needs one of {', '.join(KERNEL_PROJECTIONS)} and one of {', '.join(RIVALS)}."]
    rivals = [league.title(rival) for rival in league.rivals]
    missing = [rival for rival in RIVALS if rival not in league.methods]
    sentences = [
        headline(league.title(method), rivals, league.scores[judge].verdicts(method, league.rivals), JUDGES[judge])
        for method in playing
        for judge in ACCURACIES
    ]
    return sentences + ([f"Not in this experiment: {', '.join(missing)}."] if missing else [])


def controls_sentence(league: League) -> str:
    """Return whether the controls come last by each judge."""
    if not league.controls.any():
        return "There is no control."
    found = []
    for judge, words in JUDGES.items():
        ahead = controls_ahead(league.ranks(judge).mean(axis=0), league.controls)
        names = [
            f"{league.title(league.methods[one])} behind {league.title(league.methods[two])}" for one, two in ahead
        ]
        found += [f"by {words}, {'; '.join(names)}"] if names else []
    return (
        f"The controls do not come last: {', and '.join(found)}." if found else "The controls come last by each judge."
    )
