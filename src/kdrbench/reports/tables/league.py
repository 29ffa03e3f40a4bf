"""The league's tables: who is ahead by each judge, how often a kernel projection wins, and whether controls lose.

Effects come before p values. A cell is a data set with a number of components; a cell in which a method lacks a run is
lost for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.kernels.family import FloatArray
from kdrbench.league.duels import SIGNIFICANT, Verdict, effect_size
from kdrbench.league.ranks import bootstrap_mean_ranks, friedman, wilcoxon_holm
from kdrbench.league.rules import JUDGES
from kdrbench.reports.outputs import LEAGUE_TABLES
from kdrbench.reports.records import Config
from kdrbench.reports.tables.league_advice import advice_table
from kdrbench.reports.tables.league_rows import (
    ACCURACIES,
    KERNEL_PROJECTIONS,
    WITH_LABELS,
    League,
    controls_sentence,
    headlines,
)
from kdrbench.reports.tables.numbers import duration
from kdrbench.reports.tables.table import Entry, Group, Table, entries


def league_table(wanted: str, name: str, runs: pd.DataFrame, experiment: Config, findings: Path | None = None) -> Table:
    """Return one of an experiment's tables: standings, what to use when, duels of kernel projections, or controls.

    ``findings`` is the folder of what runs found, from which the angles between folds come.
    """
    advice, duels, controls = (f"{name}_{part}" for part in LEAGUE_TABLES)
    makers: dict[str, Callable[[League], Table]] = {
        name: lambda league: _standings(name, league, experiment),
        advice: partial(advice_table, advice),
        duels: partial(_duels, duels),
        controls: partial(_controls, controls),
    }
    return makers[wanted](League(runs, findings))


def _standings(name: str, league: League, experiment: Config) -> Table:
    """Return a row a method, the best first, controls below."""
    rng = np.random.default_rng(0)
    intervals = {judge: bootstrap_mean_ranks(league.ranks(judge), rng) for judge in JUDGES}
    letters = {judge: league.letters(judge) for judge in JUDGES}
    blocks: list[list[list[Entry]]] = [[], []]
    for place in league.order:
        blocks[int(league.controls[place])].append(_standing(league, place, intervals, letters))
    shared = ("rank", "95 %", "alike", "mean")
    last = ("Angle", "CPU time", "Lost cells")
    return Table(
        name,
        experiment["title"],
        ["Method", *(part for _ in JUDGES for part in shared), *last],
        [block for block in blocks if block],
        [*headlines(league), *(_tests(league, judge) for judge in JUDGES), controls_sentence(league), _STANDINGS],
        groups=[[*(Group(words, len(shared)) for words in JUDGES.values()), Group("", len(last))]],
    )


def _standing(
    league: League, place: int, intervals: dict[str, FloatArray], letters: dict[str, list[str]]
) -> list[Entry]:
    method = league.methods[place]
    row = [Entry(league.title(method))]
    for judge in JUDGES:
        ranks, means = league.ranks(judge).mean(axis=0), league.scores[judge].means
        low, high = intervals[judge][place]
        # A lost cell counts as 0, so that losing the hard cells raises no mean.
        mean = float(np.nan_to_num(means[:, place], nan=0.0).mean())
        best = ranks[place] == ranks.min()
        row += [Entry(f"{ranks[place]:.2f}", float(ranks[place]), bold=bool(best)), Entry(f"{low:.1f} to {high:.1f}")]
        row += [Entry(letters[judge][place]), Entry(f"{mean:.3f}", mean)]
    angle, seconds = league.median_angle(method), league.median_s(method)
    row.append(Entry("-" if np.isnan(angle) else f"{angle:.0f}", angle))
    lost = league.scores["knn_accuracy"].n_lost(method)
    row += [Entry("-" if np.isnan(seconds) else duration(seconds), seconds), Entry(str(lost), float(lost))]
    over = f"{league.title(method)} over {counted(len(league.scores['knn_accuracy'].cells), 'cell')}"
    return [row[0], *_leading_to(method, [replace(entry, detail=over) for entry in row[1:]])]


def _tests(league: League, judge: str) -> str:
    ranks = league.ranks(judge)
    if min(ranks.shape) < 2:
        return f"{JUDGES[judge].capitalize()}: {counted(len(ranks), 'data set')}, too few for Friedman's test."
    test = friedman(-ranks)
    # Where all data sets agree, F is infinite and says no more.
    f = f", F {test.f:.2f} (p = {test.p_f:.2g})" if np.isfinite(test.f) else ""
    return (
        f"By {JUDGES[judge]} over {counted(len(ranks), 'data set')}: Friedman's chi-squared {test.chi_squared:.1f} "
        f"(p = {test.p:.2g}){f}. Two mean ranks differ where they are more than {league.difference(judge):.2f} apart."
    )


def _duels(name: str, league: League) -> Table:
    """Return a row for each kernel projection, rival and accuracy: effects first, then tests."""
    rows = []
    playing = [one for one in KERNEL_PROJECTIONS if one in league.methods]
    for judge in ACCURACIES:
        scores = league.scores[judge]
        for method in playing if league.rivals else []:
            pairs = [(league.methods.index(method), league.methods.index(rival)) for rival in league.rivals]
            corrected = wilcoxon_holm(scores.by_dataset(), pairs)
            for rival, pair in zip(league.rivals, pairs, strict=True):
                duels = [scores.duel(cell, method, rival) for cell in scores.cells]
                verdicts = scores.verdicts(method, [rival])
                differences = [duel.difference for duel in duels]
                effects = [duel.effect for duel in duels if np.isfinite(duel.effect)]
                wins, losses = (sum(one is verdict for one in verdicts) for verdict in (Verdict.WINS, Verdict.LOSES))
                numbers = entries([len(duels), f"{np.mean(differences):+.3f}"])
                numbers += entries([f"{np.median(effects):+.2f}" if effects else "-", wins, losses])
                numbers.append(Entry(f"{corrected[pair]:.2g}", bold=corrected[pair] <= SIGNIFICANT))
                labels = entries([league.title(method), league.title(rival), JUDGES[judge]])
                rows.append([*labels, *_leading_to(method, numbers)])
    columns = ["Method", "Rival", "Judge", "Cells", "Mean difference", "Median effect", "Wins", "Losses", "p (Holm)"]
    return Table(name, "Kernel projections against their rivals", columns, [rows], [_DUELS], n_labels=3)


def _controls(name: str, league: League) -> Table:
    """Return a row for each control and judge: how all methods, and its own with labels, do against it."""
    rows = [_control(league, judge, control) for control in league.places(controls=True) for judge in JUDGES]
    columns = ["Control", "Judge", "Ahead", "Behind", "Median difference", "Median effect", "Better", "Worse"]
    columns += ["With labels", "Effect", "p (Holm)"]
    return Table(name, "Methods against controls", columns, [rows], [controls_sentence(league), _CONTROLS], n_labels=2)


def _control(league: League, judge: str, control: int) -> list[Entry]:
    methods = league.places(controls=False)
    scores, ranks = league.scores[judge].by_dataset(), league.ranks(judge).mean(axis=0)
    corrected = wilcoxon_holm(scores, [(method, one) for one in league.places(controls=True) for method in methods])
    gains = np.nan_to_num(scores[:, methods], nan=0.0) - np.nan_to_num(scores[:, [control]], nan=0.0)
    effects = {method: effect_size(column) for method, column in zip(methods, gains.T, strict=True)}
    differ = [effects[method] for method in methods if corrected[method, control] <= SIGNIFICANT]
    ahead = sum(ranks[method] < ranks[control] for method in methods)
    labels = entries([league.title(league.methods[control]), JUDGES[judge]])
    row = entries([ahead, len(methods) - ahead])
    row += entries([f"{np.median(gains.mean(axis=0)):+.3f}", f"{np.median(list(effects.values())):+.2f}"])
    row += entries([sum(effect > 0 for effect in differ), sum(effect < 0 for effect in differ)])
    own = WITH_LABELS.get(league.methods[control], "")
    if own in league.methods:
        place = league.methods.index(own)
        p, gain = corrected[place, control], gains[:, methods.index(place)].mean()
        row += [*entries([f"{gain:+.3f}", f"{effects[place]:+.2f}"]), Entry(f"{p:.2g}", bold=p <= SIGNIFICANT)]
    else:
        row += entries("---")
    return [*labels, *_leading_to(league.methods[control], row)]


def _leading_to(method: str, numbers: list[Entry]) -> list[Entry]:
    """Return numbers by which a page finds the runs of a method."""
    return [replace(number, axes=("", "", "", method)) for number in numbers]


_STANDINGS = (
    "Mean ranks over data sets of the mean ranks over numbers of components, 1 is best; 95 % intervals by bootstrap "
    "over data sets. Alike: methods that share a letter, or whose ranges of letters overlap, do not differ by "
    "Nemenyi's test. Means count a lost cell as 0. Angle: the largest principal angle between the projections of two "
    "folds of a linear method in degrees, median over pairs of folds and cells. CPU time: median of tuning and fit."
)
_DUELS = (
    "Difference: first minus rival, a lost run counting as 0. Effect: mean over standard deviation of the differences "
    "of a cell's runs, median over cells. Wins and losses: cells in which a t test that allows for overlapping folds "
    "says so (p <= 0.05). p: signed ranks over data sets, Holm's correction over the rivals."
)
_CONTROLS = (
    "Ahead and behind: methods by mean rank. Differences are those of mean scores over data sets, method less control; "
    "effects are their means over their standard deviations; both are medians over the methods. Better and worse: "
    "methods that differ by Wilcoxon's signed ranks over data sets (p <= 0.05, Holm's correction over all methods and "
    "controls). With labels: the same for the method that the control is with its labels shuffled."
)
