"""The league's tables by name, with its standings and duels: who is ahead by each judge, and by how much.

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
from kdrbench.suite.reports.leagues import LEAGUE_TABLES
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.league.advice import advice_table
from kdrbench.suite.reports.tables.league.controls import controls_sentence, controls_table
from kdrbench.suite.reports.tables.league.rows import ACCURACIES, League, headlines, leading_to
from kdrbench.suite.reports.tables.league.sets import sets_table
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.table import Entry, Group, Table, entries
from kdrbench.suite.systems.league.duels import SIGNIFICANT, Verdict
from kdrbench.suite.systems.league.ranks import bootstrap_mean_ranks, friedman, wilcoxon_holm
from kdrbench.suite.systems.league.rules import JUDGES


def league_table(wanted: str, name: str, runs: pd.DataFrame, experiment: Config, findings: Path | None = None) -> Table:
    """Return one of an experiment's tables: standings, what to use when, duels, controls, or numbers by data set.

    ``findings`` is the folder of what runs found, from which the angles between folds come.
    """
    advice, duels, controls, sets = (f"{name}_{part}" for part in LEAGUE_TABLES)
    makers: dict[str, Callable[[League], Table]] = {
        name: lambda league: _standings(name, league, experiment),
        advice: partial(advice_table, advice),
        duels: partial(_duels, duels),
        controls: partial(controls_table, controls),
        sets: partial(sets_table, sets),
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
    title, numbers = league.title(method), []
    for judge, words in JUDGES.items():
        ranks, means = league.ranks(judge), league.scores[judge].means
        (low, high), rank = intervals[judge][place], float(ranks[:, place].mean())
        # A lost cell counts as 0, so that losing the hard cells raises no mean.
        mean = float(np.nan_to_num(means[:, place], nan=0.0).mean())
        ranked = f"{title}: mean rank by {words} over {counted(len(ranks), 'data set')}, 95 % {low:.2f} to {high:.2f}"
        numbers.append(Entry(f"{rank:.2f}", rank, bold=league.ahead_of_all(judge) == place, detail=ranked))
        numbers.append(Entry(f"{low:.1f} to {high:.1f}", detail=f"{ranked} by bootstrap over data sets"))
        numbers.append(Entry(letters[judge][place], detail=f"{title}: who shares a letter does not differ by {words}"))
        over = f"{title}: mean {words} over {counted(len(means), 'cell')}, 0 where lost"
        numbers.append(Entry(f"{mean:.3f}", mean, detail=over))
    return [Entry(title), *leading_to(method, [*numbers, *_last(league, method)])]


def _last(league: League, method: str) -> list[Entry]:
    """Return stability, time and lost cells of a method."""
    title, angle, seconds = league.title(method), league.median_angle(method), league.median_s(method)
    lost, cells = league.scores["knn_accuracy"].n_lost(method), len(league.scores["knn_accuracy"].cells)
    of_angle = f"{title}: median over cells of the largest principal angle between two folds' projections, in degrees"
    n_runs = int(league.runs.loc[league.runs["method"] == method, "cpu_s"].notna().sum())
    of_time = f"{title}: median CPU time of tuning and fit over {counted(n_runs, 'fit')}"
    return [
        Entry("-" if np.isnan(angle) else f"{angle:.0f}", angle, detail=of_angle),
        Entry("-" if np.isnan(seconds) else duration(seconds), seconds, detail=of_time),
        Entry(str(lost), float(lost), detail=f"{title}: cells of {cells} in which a run is missing"),
    ]


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
    for judge in ACCURACIES:
        scores = league.scores[judge]
        for method in league.kernel_projections if league.rivals else []:
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
                meant = f"{league.title(method)} less {league.title(rival)} by {JUDGES[judge]}"
                numbers = [replace(one, detail=f"{meant} over {counted(len(duels), 'cell')}") for one in numbers]
                labels = entries([league.title(method), league.title(rival), JUDGES[judge]])
                rows.append([*labels, *leading_to(method, numbers)])
    columns = ["Method", "Rival", "Judge", "Cells", "Mean difference", "Median effect", "Wins", "Losses", "p (Holm)"]
    return Table(name, "Kernel projections against their rivals", columns, [rows], [_DUELS], n_labels=3)


_STANDINGS = (
    "Mean ranks over data sets of the mean ranks over numbers of components, 1 is best; 95 % intervals by bootstrap "
    "over data sets. A rank is bold where Nemenyi's test tells its method from all others. Alike: methods that share a "
    "letter, or whose ranges of letters overlap, do not differ by that test. Means count a lost cell as 0. Angle: the "
    "largest principal angle between the projections of two folds of a linear method in degrees, median over pairs of "
    "folds and cells. CPU time: median of tuning and fit."
)
_DUELS = (
    "Difference: first minus rival, a lost run counting as 0. Effect: mean over standard deviation of the differences "
    "of a cell's runs, median over cells. Wins and losses: cells in which a t test that allows for overlapping folds "
    "says so (p <= 0.05). p: signed ranks over data sets, Holm's correction over the rivals."
)
