"""The league's page: who is ahead by each judge, how often a kernel projection wins, and what to use when.

Effects come before p values. A cell is a data set with a number of components; a cell in which a method lacks a run is
lost for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.kernels.family import FloatArray
from kdrbench.league.duels import SIGNIFICANT, Verdict
from kdrbench.league.ranks import bootstrap_mean_ranks, friedman, ranks_of, wilcoxon_holm
from kdrbench.league.rules import JUDGES
from kdrbench.league.scores import Scores
from kdrbench.reports.records import Config
from kdrbench.reports.tables.html import Section
from kdrbench.reports.tables.league_rows import ACCURACIES, KERNEL_PROJECTIONS, League, controls_sentence, headlines
from kdrbench.reports.tables.numbers import duration
from kdrbench.reports.tables.table import Entry, Group, Table, entries

# CPU seconds of a fit, tuning included.
_BUDGETS = (np.inf, 1.0, 0.1, 0.01)
# Groups of cells by a column of their rows: at most so much.
_SIZES = {"n_rows": (300, 1000), "n_features": (10, 50), "n_classes": (2, 9)}
_WORDS = {"n_rows": "n", "n_features": "d", "n_classes": "classes"}


def league_page(name: str, runs: pd.DataFrame, experiment: Config) -> tuple[Table, list[Section]]:
    """Return the table of an experiment of the league, and the sections of its page."""
    league = League(runs)
    sections = [Section("In one sentence", paragraphs=headlines(league))]
    sections.append(Section("What to use when", _advice(league), paragraphs=[_ADVICE]))
    if league.rivals and (duels := _duels(league)).rows:
        sections.append(Section("Kernel projections against their rivals", duels))
    return _standings(name, league, experiment), sections


def _standings(name: str, league: League, experiment: Config) -> Table:
    """Return a row a method, the best first, controls below."""
    rng = np.random.default_rng(0)
    intervals = {judge: bootstrap_mean_ranks(league.ranks(judge), rng) for judge in JUDGES}
    blocks: list[list[list[Entry]]] = [[], []]
    for place in league.order:
        blocks[int(league.controls[place])].append(_standing(league, place, intervals))
    shared = ("rank", "95 %", "mean")
    return Table(
        name,
        experiment["title"],
        ["Method", *(part for _ in JUDGES for part in shared), "CPU time", "Lost cells"],
        [block for block in blocks if block],
        [_tests(league, judge) for judge in JUDGES] + [controls_sentence(league), _STANDINGS],
        groups=[[*(Group(words, len(shared)) for words in JUDGES.values()), Group("", 2)]],
    )


def _standing(league: League, place: int, intervals: dict[str, FloatArray]) -> list[Entry]:
    method = league.methods[place]
    row = [Entry(league.title(method))]
    for judge in JUDGES:
        ranks, means = league.ranks(judge).mean(axis=0), league.scores[judge].means
        low, high = intervals[judge][place]
        # A lost cell counts as 0, so that losing the hard cells raises no mean.
        mean = float(np.nan_to_num(means[:, place], nan=0.0).mean())
        best = ranks[place] == ranks.min()
        row += [Entry(f"{ranks[place]:.2f}", float(ranks[place]), bold=bool(best)), Entry(f"{low:.1f} to {high:.1f}")]
        row.append(Entry(f"{mean:.3f}", mean))
    seconds, lost = league.median_s(method), league.scores["knn_accuracy"].n_lost(method)
    return [*row, Entry("-" if np.isnan(seconds) else duration(seconds), seconds), Entry(str(lost), float(lost))]


def _tests(league: League, judge: str) -> str:
    ranks = league.ranks(judge)
    if min(ranks.shape) < 2:
        return f"{JUDGES[judge].capitalize()}: {counted(len(ranks), 'data set')}, too few for Friedman's test."
    test = friedman(-ranks)
    # Where all data sets agree, F is infinite and says no more.
    f = f", F {test.f:.2f} (p = {test.p_f:.2g})" if np.isfinite(test.f) else ""
    return (
        f"By {JUDGES[judge]} over {counted(len(ranks), 'data set')}: Friedman's chi-squared {test.chi_squared:.1f} "
        f"(p = {test.p:.2g}){f}."
    )


def _duels(league: League) -> Table:
    """Return a row for each kernel projection, rival and accuracy: effects first, then tests."""
    rows = []
    for judge in ACCURACIES:
        scores = league.scores[judge]
        for method in (one for one in KERNEL_PROJECTIONS if one in league.methods):
            pairs = [(league.methods.index(method), league.methods.index(rival)) for rival in league.rivals]
            corrected = wilcoxon_holm(scores.by_dataset(), pairs)
            for rival, pair in zip(league.rivals, pairs, strict=True):
                duels = [scores.duel(cell, method, rival) for cell in scores.cells]
                verdicts = scores.verdicts(method, [rival])
                differences = [duel.difference for duel in duels]
                effects = [duel.effect for duel in duels if np.isfinite(duel.effect)]
                wins, losses = (sum(one is verdict for one in verdicts) for verdict in (Verdict.WINS, Verdict.LOSES))
                rows.append(
                    entries([league.title(method), league.title(rival), JUDGES[judge], len(duels)])
                    + entries([f"{np.mean(differences):+.3f}", f"{np.median(effects):+.2f}" if effects else "-"])
                    + entries([wins, losses])
                    + [Entry(f"{corrected[pair]:.2g}", bold=corrected[pair] <= SIGNIFICANT)]
                )
    columns = ["Method", "Rival", "Judge", "Cells", "Mean difference", "Median effect", "Wins", "Losses", "p (Holm)"]
    return Table("duels", "Kernel projections against their rivals", columns, [rows], [_DUELS], n_labels=3)


def _advice(league: League) -> Table:
    """Return the methods with the best mean rank by kind of data and seconds of a fit, controls left out."""
    cells = _cells(league.runs)
    columns = ["Where", "Cells", *("any time" if np.isinf(s) else f"at most {s:g} s" for s in _BUDGETS)]
    rows = []
    for words, chosen in _groups(cells):
        count = int(chosen.sum())
        rows.append([Entry(words), Entry(str(count)), *(Entry(_best(league, cells[chosen], s)) for s in _BUDGETS)])
    return Table("advice", "What to use when", columns, [rows])


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
    return ", ".join(f"{league.title(league.methods[eligible[place]])} ({ranks[place]:.1f})" for place in first)


def _mean_ranks(scores: Scores, wanted: Container[tuple[str, int]], eligible: Sequence[int]) -> FloatArray:
    places = [place for place, cell in enumerate(scores.cells) if cell in wanted]
    ranks: FloatArray = ranks_of(scores.means[np.ix_(places, list(eligible))]).mean(axis=0)
    return ranks


_STANDINGS = (
    "Mean ranks over data sets of the mean ranks over numbers of components, 1 is best; 95 % intervals by bootstrap "
    "over data sets. Means count a lost cell as 0. CPU time is the median of tuning and fit."
)
_DUELS = (
    "Difference: first minus rival, a lost run counting as 0. Effect: mean over standard deviation of the differences "
    "of a cell's runs, median over cells. Wins and losses: cells in which a t test that allows for overlapping folds "
    "says so (p <= 0.05). p: signed ranks over data sets, Holm's correction over the rivals."
)
_ADVICE = (
    "The two methods with the best mean rank by k-NN and linear accuracy among those whose median CPU time, "
    "tuning included, is no longer; in parentheses their mean rank among these. Groups overlap, and small ones say "
    "little."
)
