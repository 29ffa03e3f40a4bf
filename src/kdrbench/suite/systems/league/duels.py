"""Two methods on one data set, run by run, and the sentence on how often one beats its rivals.

Runs are folds, repeated; the t test allows for their overlapping training sets (:mod:`.paired`). A method that
is missing in a run has lost the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kdrbench.errors import count_of, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm

SIGNIFICANT = 0.05


class Verdict(StrEnum):
    """How a method does in a cell against all its rivals."""

    WINS = "wins"
    LOSES = "loses"
    NEITHER = "neither"


@dataclass(frozen=True)
class Duel:
    """The first method's scores less the second's over the runs of a cell.

    ``difference`` is their mean with its 95 % interval from ``low`` to ``high``; ``effect`` is that mean over the
    standard deviation of the differences, infinite where all are equal. ``p`` is two-sided. ``lost`` is -1 where the
    first method is missing in a run, 1 where the second is, 0 where both are or none.
    """

    difference: float
    low: float
    high: float
    effect: float
    p: float
    lost: int = 0

    def outcome(self, p: float) -> int:
        """Return 1 where the first method wins, -1 where it loses, 0 where ``p``, the corrected value, says neither."""
        return self.lost or (int(np.sign(self.difference)) if p <= SIGNIFICANT else 0)


def duel_of(first: FloatArray, second: FloatArray, test_share: float) -> Duel:
    """Return the duel of two methods by their scores in the same runs; missing ones are NaN and count as 0.

    ``test_share`` is n_test / n_train.
    """
    lost = int(np.isnan(second).any()) - int(np.isnan(first).any())
    differences = np.nan_to_num(first, nan=0.0) - np.nan_to_num(second, nan=0.0)
    mean, p = float(differences.mean()), corrected_t_p(differences, test_share)
    interval = corrected_t_interval(differences, test_share)
    return Duel(mean, *interval, effect_size(differences), 1.0 if p is None else p, lost)


def effect_size(differences: FloatArray) -> float:
    """Return the mean of paired differences over their standard deviation; infinite where all are equal and not 0."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return mean / spread if spread > 0 else float(np.sign(mean) * np.inf) if mean else 0.0


def verdict_of(duels: Sequence[Duel]) -> Verdict:
    """Return how a method does against all rivals of a cell, p values corrected by Holm over them.

    It wins where it is significantly better than each, and loses where it is significantly worse than any.
    """
    corrected = holm([duel.p for duel in duels])
    outcomes = [duel.outcome(p) for duel, p in zip(duels, corrected, strict=True)]
    if -1 in outcomes:
        return Verdict.LOSES
    return Verdict.WINS if outcomes and min(outcomes) > 0 else Verdict.NEITHER


def headline(subject: str, rivals: Sequence[str], verdicts: Sequence[Verdict], judge: str) -> str:
    """Return the sentence that the league exists for, with its counts, whatever they are."""
    wins, loses = (sum(one is verdict for one in verdicts) for verdict in (Verdict.WINS, Verdict.LOSES))
    names = f"{', '.join(rivals[:-1])} and {rivals[-1]}" if len(rivals) > 1 else rivals[0]
    each = "each of " if len(rivals) > 1 else ""
    any_of = "at least one of them" if len(rivals) > 1 else "it"
    return (
        f"By {judge}, {subject} is significantly better than {each}{names} in {count_of(wins)} of "
        f"{counted(len(verdicts), 'cell')}; in {count_of(loses)} it is significantly worse than {any_of}."
    )
