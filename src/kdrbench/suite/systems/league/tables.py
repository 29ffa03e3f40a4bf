"""The league's tables: standings, kernel projections against their rivals, and accuracies by data set.

Effects come before p values. A cell is a data set with a number of components; a cell in which a method lacks a run is
lost for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.errors import counted, joined
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.paired import holm
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.table import Entry, Group, Table, blocks_by, entries, measured
from kdrbench.suite.systems.league.system import JUDGES
from kdrbench.suite.systems.league.table_rows import (
    ACCURACIES,
    KERNEL_PROJECTIONS,
    NEITHER,
    RIVALS,
    SIGNIFICANT,
    Duel,
    League,
    bootstrap_mean_ranks,
    compared,
    friedman,
    headlines,
    leading_to,
    title_of,
    wilcoxon_holm,
)

# A sentence names this many methods; of more it gives the number.
_MOST_NAMES = 6
_STANDINGS = (
    "Mean ranks over data sets of the mean ranks over numbers of components, 1 is best; 95 % intervals by bootstrap "
    "over data sets. A rank is bold where Nemenyi's test tells its method from all others. Alike: methods that share "
    "a letter, or whose ranges of letters overlap, do not differ by that test. Means count a lost cell as 0. Angle: "
    "the largest principal angle between the projections of two folds of a linear method in degrees, median over "
    "pairs of a cell's first three folds and over cells. CPU time: median of tuning and fit. Distance correlation is "
    "HSIC with the kernel -|x - y|, so it is of the kind that methods of kernel dimension reduction maximise: no "
    "judge apart from them."
)
_DUELS = (
    "Difference: first minus rival, a lost run counting as 0. Effect: mean over standard deviation of the differences "
    "of a cell's runs, median over cells. Wins and losses: cells in which a t test that allows for overlapping folds "
    "says so (p <= 0.05). p: signed ranks over data sets, Holm's correction over the rivals."
)
_SETS = (
    "Mean accuracy over folds; in parentheses its difference to that of %s over the same folds, a lost run counting "
    "as 0; the effect, that is the mean over the standard deviation of the differences; and p, of a t test that allows "
    "for overlapping folds, with Holm's correction over the methods of a cell. Bold is what differs (p <= 0.05)."
)


def page(source: Source) -> Page:
    """Return one of an experiment's tables: standings, duels, or accuracies by data set."""
    league, name = League(source.runs, source.stored[0]), source.report.name
    make = {source.name: standings, f"{source.name}_duels": _duels}.get(name, _sets)
    return make(name, league, source.experiment["title"]), sections_of_runs(source.runs)


def standings(name: str, league: League, title: str) -> Table:
    """Return a row for each method, the best first and controls last."""
    rng = np.random.default_rng(0)
    intervals = {judge: bootstrap_mean_ranks(league.scores[judge].mean_ranks, rng) for judge in JUDGES}
    letters = {judge: league.letters(judge) for judge in JUDGES}
    blocks: list[list[list[Entry]]] = [[], []]
    for place in league.order:
        method = league.methods[place]
        numbers = [
            number
            for judge in JUDGES
            for number in _standing(league, place, judge, intervals[judge][place], letters[judge][place])
        ]
        row = [Entry(title_of(method)), *leading_to(method, [*numbers, *_costs(league, method)])]
        blocks[int(league.controls[place])].append(row)
    shared = ("rank", "95 %", "alike", "mean")
    last = ("Angle", "CPU time", "Lost cells")
    return Table(
        name,
        title,
        ["Method", *(part for _ in JUDGES for part in shared), *last],
        [block for block in blocks if block],
        [*headlines(league), *(_tests(league, judge) for judge in JUDGES), controls_sentence(league), _STANDINGS],
        groups=[[*(Group(words, len(shared)) for words in JUDGES.values()), Group("", len(last))]],
    )


def _standing(league: League, place: int, judge: str, interval: FloatArray, letter: str) -> list[Entry]:
    title, words, scores = title_of(league.methods[place]), JUDGES[judge], league.scores[judge]
    (low, high), rank = interval, float(scores.mean_ranks[:, place].mean())
    # A lost cell counts as 0, so that losing the hard cells raises no mean.
    mean = float(np.nan_to_num(scores.means[:, place], nan=0.0).mean())
    sets, cells = counted(len(scores.mean_ranks), "data set"), counted(len(scores.cells), "cell")
    ranked = f"{title}: mean rank by {words} over {sets}, 95 % {low:.2f} to {high:.2f}"
    return [
        Entry(f"{rank:.2f}", rank, bold=league.ahead_of_all(judge) == place, detail=ranked),
        Entry(f"{low:.1f} to {high:.1f}", detail=f"{ranked} by bootstrap over data sets"),
        Entry(letter, detail=f"{title}: who shares a letter does not differ by {words}"),
        Entry(f"{mean:.3f}", mean, detail=f"{title}: mean {words} over {cells}, 0 where lost"),
    ]


def _costs(league: League, method: str) -> list[Entry]:
    title, angle, seconds = title_of(method), league.median_angle(method), league.median_s(method)
    lost, cells = league.scores["knn_accuracy"].n_lost(method), len(league.scores["knn_accuracy"].cells)
    of_angle = f"{title}: median over cells of the largest principal angle between two folds' projections, in degrees"
    n_runs = int(league.runs.loc[league.runs["method"] == method, "cpu_s"].notna().sum())
    of_time = f"{title}: median CPU time of tuning and fit over {counted(n_runs, 'fit')}"
    return [
        measured(angle, "{:.0f}", of_angle),
        measured(seconds, duration, of_time),
        Entry(str(lost), float(lost), detail=f"{title}: cells of {cells} in which a run is missing"),
    ]


def _tests(league: League, judge: str) -> str:
    ranks = league.scores[judge].mean_ranks
    n_sets = counted(len(ranks), "data set")
    if len(ranks) < 2 or ranks.shape[1] < 3:
        return f"{JUDGES[judge].capitalize()}: {n_sets}, too few for Friedman's test."
    chi_squared, p = friedman(-ranks)
    return (
        f"By {JUDGES[judge]} over {n_sets}: Friedman's chi-squared {chi_squared:.1f} (p = {p:.2g}). Two mean ranks "
        f"differ where they are more than {league.difference(judge):.2f} apart."
    )


def controls_sentence(league: League) -> str:
    """Return which methods do not differ from a control, by signed ranks over data sets, or are behind one."""
    if not league.places(controls=True):
        return "There is no control."
    outcomes = [_against_controls(league, judge) for judge in JUDGES]
    behind = _named(league, "behind", lambda pair: any(one[pair] < NEITHER for one in outcomes))
    alike = _named(league, "from", lambda pair: any(one[pair] == NEITHER for one in outcomes))
    worse = f"significantly worse are {behind}" if behind else "no method is significantly behind a control"
    rest = f"some judge does not distinguish {alike}" if alike else "each differs from every control"
    return f"By signed ranks over data sets, {worse}; {rest}."


def _against_controls(league: League, judge: str) -> dict[tuple[int, int], int]:
    """Return whether each method differs significantly from each control, p corrected by Holm over all pairs."""
    scores = league.scores[judge].dataset_means
    means = np.nan_to_num(scores, nan=0.0).mean(axis=0)
    pairs = [(method, control) for control in league.places(controls=True) for method in league.places(controls=False)]
    return {
        (method, control): int(np.sign(means[method] - means[control])) if p <= SIGNIFICANT else NEITHER
        for (method, control), p in wilcoxon_holm(scores, pairs).items()
    }


def _named(league: League, relation: str, holds: Callable[[tuple[int, int]], bool]) -> str:
    methods, words = league.places(controls=False), []
    for control in league.places(controls=True):
        names = [title_of(league.methods[one]) for one in methods if holds((one, control))]
        if names:
            many = f"{len(names)} of {counted(len(methods), 'method')}"
            listed = joined(names) if len(names) <= _MOST_NAMES else many
            words.append(f"{listed} {relation} {title_of(league.methods[control])}")
    return "; ".join(words)


def _duels(name: str, league: League, _: str) -> Table:
    """Return a row for each kernel projection, rival and accuracy: effects first, then tests."""
    rows, rivals = [], league.playing(RIVALS)
    for judge in ACCURACIES:
        scores = league.scores[judge]
        for method in league.playing(KERNEL_PROJECTIONS):
            pairs = [(league.methods.index(method), league.methods.index(rival)) for rival in rivals]
            corrected = wilcoxon_holm(scores.dataset_means, pairs)
            for rival, pair in zip(rivals, pairs, strict=True):
                duels = [scores.duel(cell, method, rival) for cell in scores.cells]
                effects = [duel.effect for duel in duels if np.isfinite(duel.effect)]
                texts = [str(len(duels)), f"{np.mean([duel.difference for duel in duels]):+.3f}"]
                texts.append(f"{np.median(effects):+.2f}" if effects else "-")
                detail = f"{title_of(method)} less {title_of(rival)} by {JUDGES[judge]}"
                numbers = compared(texts, scores.outcomes(method, [rival]), corrected[pair], detail)
                labels = entries([title_of(method), title_of(rival), JUDGES[judge]])
                rows.append([*labels, *leading_to(method, numbers)])
    columns = ["Method", "Rival", "Judge", "Cells", "Mean difference", "Median effect", "Wins", "Losses", "p (Holm)"]
    return Table(name, "Kernel projections against their rivals", columns, [rows], [_DUELS], n_labels=3)


def _sets(name: str, league: League, _: str) -> Table:
    """Return mean accuracies by data set and method, beside those of the first kernel projection, else of the best."""
    methods = [league.methods[place] for place in league.order]
    reference = next((one for one in KERNEL_PROJECTIONS if one in methods), methods[0])
    rivals = [method for method in methods if method != reference]
    counts = sorted({count for _, count in league.scores[ACCURACIES[0]].cells})
    shown: dict[tuple[str, str], dict[tuple[str, int], Entry]] = {}
    listed = []
    for judge in ACCURACIES:
        scores = league.scores[judge]
        for (dataset, count), table in scores.cells.items():
            duels = {rival: scores.duel((dataset, count), rival, reference) for rival in rivals}
            corrected = dict(zip(rivals, holm([duel.p for duel in duels.values()]), strict=True))
            for method in methods:
                of_method, duel, p = table[league.methods.index(method)], duels.get(method), corrected.get(method)
                parts = {part: getattr(duel, part, None) for part in ("difference", "low", "high", "effect")}
                axes = {"dataset": dataset, "n_components": count, "method": method, "judge": judge}
                listed.append({**axes, "mean": float(np.mean(of_method)), **parts, "p_holm": p})
                shown.setdefault((dataset, method), {})[judge, count] = _accuracy(of_method, duel, p, JUDGES[judge])
    places = [(judge, count) for judge in ACCURACIES for count in counts]
    rows: list[tuple[str, list[Entry]]] = []
    for (dataset, method), found in shown.items():
        numbers = leading_to(method, [found.get(place, Entry(NO_CELL)) for place in places], dataset)
        rows.append((dataset, [*entries([dataset_label(dataset), title_of(method)]), *numbers]))
    return Table(
        name,
        "Accuracy by data set",
        ["Data", "Method", *(f"q = {count}" for _, count in places)],
        list(blocks_by(rows)),
        [_SETS % title_of(reference)],
        n_labels=2,
        groups=[[Group(JUDGES[judge], len(counts)) for judge in ACCURACIES]],
        listed=listed,
    )


def _accuracy(scores: FloatArray, duel: Duel | None, p: float | None, words: str) -> Entry:
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
