"""The league's tables: standings, duels, controls, numbers by data set, and what to use when.

Effects come before p values. A cell is a data set with a number of components; a cell in which a method lacks a run is
lost for it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted, joined
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.paired import holm
from kdrbench.suite.reports.making import sections_of_runs
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.table import Entry, Group, Table, blocks_by, entries
from kdrbench.suite.systems.league.rules import JUDGES
from kdrbench.suite.systems.league.scores import (
    SIGNIFICANT,
    Cell,
    Duel,
    Scores,
    Verdict,
    bootstrap_mean_ranks,
    controls_ahead,
    critical_difference,
    effect_size,
    friedman,
    wilcoxon_holm,
)
from kdrbench.suite.systems.league.table_rows import ACCURACIES, KERNEL_PROJECTIONS, League, headlines, leading_to

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Page, Source


# CPU seconds of a fit, tuning included.
_BUDGETS = (np.inf, 1.0, 0.1, 0.01)
# Groups of cells by a column of their rows: at most so much.
_SIZES = {"n_rows": (300, 1000), "n_features": (10, 50), "n_classes": (2, 9)}
# A cell names this many methods that are like the first; of more it gives the number.
_MOST_ALIKE = 3
_WORDS = {"n_rows": "n", "n_features": "d", "n_classes": "classes"}
_ADVICE = (
    "The two methods with the best mean rank by k-NN and linear accuracy among those whose median CPU time, tuning "
    "included, is no longer. In parentheses is the mean rank among these over data sets, of the first with its 95 % "
    "bootstrap interval. Alike are the others that Nemenyi's test does not tell from the first; of more than "
    f"{_MOST_ALIKE} the number. Groups overlap, and small ones say little. Controls are left out."
)


def advice_table(name: str, league: League) -> Table:
    """Return the methods with the best mean rank by kind of data and seconds of a fit, controls left out."""
    rows_of = league.runs.assign(n_rows=league.runs["n_train"] + league.runs["n_test"])
    cells = rows_of.groupby(["dataset", "n_components"], sort=False)[list(_SIZES)].first().reset_index()
    most = counted(int(cells["n_rows"].max()), "row")
    largest = f"No data set here has more than {most}: of larger ones the table says nothing."
    columns = ["Where", "Cells", *("any time" if np.isinf(s) else f"at most {s:g} s" for s in _BUDGETS)]
    rows = []
    for words, chosen in _groups(cells):
        count = int(chosen.sum())
        rows.append([Entry(words), Entry(str(count)), *(_best(league, cells[chosen], s) for s in _BUDGETS)])
    return Table(name, "What to use when", columns, [rows], [f"{_ADVICE} {largest}"])


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
    # Itself left out.
    alike = int((means - means.min() <= critical_difference(len(means), len(ranks))).sum()) - 1
    alike_names = joined(titles[1 : alike + 1]) if alike else "none"
    shown = alike_names if alike <= _MOST_ALIKE else f"{alike} of {len(titles) - 1}"
    detail = f"over {counted(len(ranks), 'data set')}; alike: {alike_names}"
    return Entry(f"{text}; {titles[1]} ({means[order[1]]:.1f}); alike: {shown}", detail=detail)


def _ranks(scores: Scores, wanted: Container[tuple[str, int]], eligible: Sequence[int]) -> FloatArray:
    """Return the ranks of the eligible methods by data set: means over those of its cells that are wanted."""
    chosen = {cell: table for cell, table in scores.cells.items() if cell in wanted}
    return replace(scores, cells={cell: table[list(eligible)] for cell, table in chosen.items()}).mean_ranks()


# Controls that are a method on shuffled labels, with that method.
WITH_LABELS = {"shuffled_lda": "lda", "shuffled_kdr": "kdr_gaussian"}
# A sentence names this many methods; of more it gives the number.
_MOST_NAMES = 6
_CONTROLS = (
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
    return Table(name, "Methods against controls", columns, [shown], [controls_sentence(league), _CONTROLS], n_labels=2)


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


def sets_table(name: str, league: League) -> Table:
    """Return a row for each data set and method, with a cell for each accuracy and number of components.

    A cell has the mean, and in parentheses difference to the reference, effect and p. The file of comma-separated
    values has a row for each, in full precision.
    """
    reference = reference_of(league)
    counts = sorted({count for _, count in league.scores[ACCURACIES[0]].cells})
    parts = ("difference", "low", "high", "effect")
    shown: dict[tuple[str, str], dict[tuple[str, int], Entry]] = {}
    listed = []
    for judge in ACCURACIES:
        for dataset, count in league.scores[judge].cells:
            for method, scores, duel, p in _beside(league, judge, (dataset, count), reference):
                axes = {"dataset": dataset, "n_components": count, "method": method, "judge": judge}
                listed.append(
                    {
                        **axes,
                        "mean": float(np.mean(scores)),
                        **{part: getattr(duel, part, None) for part in parts},
                        "p_holm": p,
                    }
                )
                entry = _entry(scores, duel, p, JUDGES[judge])
                shown.setdefault((dataset, method), {})[judge, count] = entry
    places = [(judge, count) for judge in ACCURACIES for count in counts]
    rows = [
        (
            dataset,
            [
                *entries([dataset_label(dataset), league.title(method)]),
                *leading_to(method, [found.get(place, Entry(NO_CELL)) for place in places], dataset),
            ],
        )
        for (dataset, method), found in shown.items()
    ]
    return Table(
        name,
        "Accuracy by data set",
        ["Data", "Method", *(f"q = {count}" for _, count in places)],
        list(blocks_by(rows)),
        [_note(league.title(reference))],
        n_labels=2,
        groups=[[Group(JUDGES[judge], len(counts)) for judge in ACCURACIES]],
        listed=listed,
    )


def reference_of(league: League) -> str:
    """Return the method that others are compared with: our first one that plays, else the best by mean rank."""
    return next((one for one in KERNEL_PROJECTIONS if one in league.methods), league.methods[league.order[0]])


def _beside(
    league: League, judge: str, cell: Cell, reference: str
) -> Iterator[tuple[str, np.ndarray[Any, Any], Duel | None, float | None]]:
    """Yield each method of a cell with its scores, its duel with the reference and the corrected p of that.

    The methods are in the order of the standings; the reference has no duel.
    """
    scores = league.scores[judge]
    methods = [league.methods[place] for place in league.order]
    duels = {one: scores.duel(cell, one, reference) for one in methods if one != reference}
    corrected = dict(zip(duels, holm([duel.p for duel in duels.values()]), strict=True))
    for method in methods:
        yield method, scores.cells[cell][league.methods.index(method)], duels.get(method), corrected.get(method)


def _entry(scores: np.ndarray[Any, Any], duel: Duel | None, p: float | None, words: str) -> Entry:
    mean, known = float(np.mean(scores)), int(np.isfinite(scores).sum())
    text = "lost" if np.isnan(mean) else f"{mean:.3f}"
    detail = f"mean {words} over {known} of {counted(len(scores), 'fold')}"
    # By what is printed cells are sorted; the list of comma-separated values has all digits.
    value = None if np.isnan(mean) else round(mean, 3)
    if duel is None or p is None:
        return Entry(text, value, detail=detail)
    effect = f"{duel.effect:+.1f}" if np.isfinite(duel.effect) else NO_CELL
    text += f" ({duel.difference:+.3f}; {effect}; {p:.2g})"
    interval = f"difference 95 % {duel.low:+.2f} to {duel.high:+.2f}"
    return Entry(text, value, bold=p <= SIGNIFICANT, detail=f"{detail}; {interval}")


def _note(reference: str) -> str:
    return (
        f"Mean accuracy over folds; in parentheses its difference to that of {reference} over the same folds, a lost "
        "run counting as 0; the effect, that is the mean over the standard deviation of the differences; and p, of a t "
        "test that allows for overlapping folds, with Holm's correction over the methods of a cell. Bold is what "
        "differs (p <= 0.05)."
    )


def page(source: Source) -> Page:
    """Return one of an experiment's tables: standings, what to use when, duels, controls, or numbers by data set."""
    table = league_table(source.report.name, source.name, source.runs, source.experiment, source.stored[0])
    return table, sections_of_runs(source.runs)


def league_table(wanted: str, name: str, runs: pd.DataFrame, experiment: Config, findings: Path | None = None) -> Table:
    """Return the table ``wanted`` of the experiment ``name``.

    ``findings`` is the folder of what runs found, from which the angles between folds come.
    """
    league = League(runs, findings)
    if wanted == name:
        return _standings(name, league, experiment)
    makers = {"advice": advice_table, "duels": _duels, "controls": controls_table, "sets": sets_table}
    return makers[wanted.removeprefix(f"{name}_")](wanted, league)


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
