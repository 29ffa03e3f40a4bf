"""Whether the controls of a league come last: by mean rank, and by signed ranks over data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kdrbench.errors import counted, joined
from kdrbench.suite.reports.tables.league.rows import League, leading_to
from kdrbench.suite.reports.tables.table import Entry, Table, entries
from kdrbench.suite.systems.league.duels import SIGNIFICANT, effect_size
from kdrbench.suite.systems.league.ranks import controls_ahead, wilcoxon_holm
from kdrbench.suite.systems.league.rules import JUDGES

# Controls that are a method on shuffled labels, with that method.
WITH_LABELS = {"shuffled_lda": "lda", "shuffled_kdr": "kdr_gaussian"}
# A sentence names this many methods; of more it gives the number.
_MOST_NAMES = 6
_NOTE = (
    "Ahead and behind: methods by mean rank. Differences are those of mean scores over data sets, method less control; "
    "effects are their means over their standard deviations; both are medians over the methods. Better and worse: "
    "methods that differ by Wilcoxon's signed ranks over data sets (p <= 0.05, Holm's correction over all methods and "
    "controls). With labels: the same for the method that the control is with its labels shuffled."
)


@dataclass(frozen=True)
class Beside:
    """A method less a control over data sets: mean difference, its effect, and the corrected p of signed ranks."""

    gain: float
    effect: float
    p: float

    @property
    def outcome(self) -> int:
        """1 where the method is significantly better than the control, -1 where worse, 0 where neither."""
        return int(np.sign(self.gain)) if self.p <= SIGNIFICANT else 0


def besides(league: League, judge: str) -> dict[tuple[int, int], Beside]:
    """Return by the places of a method and a control how they compare; p corrected by Holm over all of these pairs."""
    scores = league.scores[judge].by_dataset()
    filled = np.nan_to_num(scores, nan=0.0)
    pairs = [(method, control) for control in league.places(controls=True) for method in league.places(controls=False)]
    if not pairs:
        return {}
    corrected, found = wilcoxon_holm(scores, pairs), {}
    for method, control in pairs:
        gains = filled[:, method] - filled[:, control]
        found[method, control] = Beside(float(gains.mean()), effect_size(gains), corrected[method, control])
    return found


def controls_sentence(league: League) -> str:
    """Return whether the controls come last by each judge: by mean rank, and by test."""
    if not league.controls.any():
        return "There is no control."
    found = []
    for judge, words in JUDGES.items():
        ahead = controls_ahead(league.ranks(judge).mean(axis=0), league.controls)
        names = [
            f"{league.title(league.methods[one])} behind {league.title(league.methods[two])}" for one, two in ahead
        ]
        found += [f"by {words}, {'; '.join(names)}"] if names else []
    ranked = f"The controls do not rank last: {', and '.join(found)}." if found else "The controls rank last."
    return f"{ranked} {_by_test(league)}"


def _by_test(league: League) -> str:
    """Return which methods signed ranks find behind a control, or do not tell apart from one, by any judge."""
    compared = [besides(league, judge) for judge in JUDGES]
    behind = _named(league, "behind", lambda pair: any(one[pair].outcome < 0 for one in compared))
    alike = _named(league, "from", lambda pair: any(one[pair].outcome == 0 for one in compared))
    worse = f"significantly worse are {'; '.join(behind)}" if behind else "no method is significantly behind a control"
    rest = f"some judge does not distinguish {'; '.join(alike)}" if alike else "each differs from every control"
    return f"By signed ranks over data sets, {worse}; {rest}."


def _named(league: League, relation: str, holds: Callable[[tuple[int, int]], bool]) -> list[str]:
    """Return for each control the methods for which ``holds`` is true of the pair of places, in words."""
    methods, words = league.places(controls=False), []
    for control in league.places(controls=True):
        names = [league.title(league.methods[one]) for one in methods if holds((one, control))]
        if names:
            many = f"{len(names)} of {counted(len(methods), 'method')}"
            listed = joined(names) if len(names) <= _MOST_NAMES else many
            words.append(f"{listed} {relation} {league.title(league.methods[control])}")
    return words


def controls_table(name: str, league: League) -> Table:
    """Return a row for each control and judge: how all methods, and its own with labels, do against it."""
    rows = []
    for judge in JUDGES:
        compared = besides(league, judge)
        rows += [(control, _control(league, judge, control, compared)) for control in league.places(controls=True)]
    rows.sort(key=lambda one: one[0])
    columns = ["Control", "Judge", "Ahead", "Behind", "Median difference", "Median effect", "Better", "Worse"]
    columns += ["With labels", "Effect", "p (Holm)"]
    shown = [row for _, row in rows]
    return Table(name, "Methods against controls", columns, [shown], [controls_sentence(league), _NOTE], n_labels=2)


def _control(league: League, judge: str, control: int, compared: dict[tuple[int, int], Beside]) -> list[Entry]:
    methods, ranks = league.places(controls=False), league.ranks(judge).mean(axis=0)
    besides_it = {method: compared[method, control] for method in methods}
    outcomes = [one.outcome for one in besides_it.values()]
    ahead = sum(ranks[method] < ranks[control] for method in methods)
    gain, effect = (
        float(np.median([getattr(one, part) for one in besides_it.values()])) for part in ("gain", "effect")
    )
    row = entries([ahead, len(methods) - ahead, f"{gain:+.3f}", f"{effect:+.2f}"])
    row += entries([outcomes.count(1), outcomes.count(-1)])
    own = WITH_LABELS.get(league.methods[control], "")
    if own in league.methods:
        with_labels = besides_it[league.methods.index(own)]
        row += entries([f"{with_labels.gain:+.3f}", f"{with_labels.effect:+.2f}"])
        row.append(Entry(f"{with_labels.p:.2g}", bold=with_labels.p <= SIGNIFICANT))
    else:
        row += entries("---")
    sets = counted(len(league.ranks(judge)), "data set")
    meant = f"{len(methods)} methods beside {league.title(league.methods[control])} by {JUDGES[judge]} over {sets}"
    labels = entries([league.title(league.methods[control]), JUDGES[judge]])
    return [*labels, *leading_to(league.methods[control], [replace(one, detail=meant) for one in row])]
