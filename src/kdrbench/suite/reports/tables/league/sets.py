"""The league's numbers by data set, method and number of components, each beside those of one method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.paired import holm
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label
from kdrbench.suite.reports.tables.league.rows import ACCURACIES, KERNEL_PROJECTIONS, League, leading_to
from kdrbench.suite.reports.tables.table import Entry, Group, Table, blocks_by, entries
from kdrbench.suite.systems.league.duels import SIGNIFICANT, Duel
from kdrbench.suite.systems.league.rules import JUDGES
from kdrbench.suite.systems.league.scores import Cell


def sets_table(name: str, league: League) -> Table:
    """Return a row for each data set and method, with a cell for each accuracy and number of components.

    A cell has the mean, and in parentheses difference to the reference, effect and p. The file of comma-separated
    values has a row for each, in full precision.
    """
    reference = reference_of(league)
    counts = sorted({count for _, count in league.scores[ACCURACIES[0]].cells})
    shown: dict[tuple[str, str], dict[tuple[str, int], Entry]] = {}
    listed = []
    for judge in ACCURACIES:
        for dataset, count in league.scores[judge].cells:
            for method, scores, duel, p in _beside(league, judge, (dataset, count), reference):
                axes = {"dataset": dataset, "n_components": count, "method": method, "judge": judge}
                listed.append({**axes, "mean": float(np.mean(scores)), **_columns(duel), "p_holm": p})
                entry = _entry(scores, duel, p, JUDGES[judge])
                shown.setdefault((dataset, method), {})[judge, count] = entry
    places = [(judge, count) for judge in ACCURACIES for count in counts]
    rows = [
        (dataset, _row(league, dataset, method, [found.get(place, Entry(NO_CELL)) for place in places]))
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


def _row(league: League, dataset: str, method: str, numbers: list[Entry]) -> list[Entry]:
    return [*entries([dataset_label(dataset), league.title(method)]), *leading_to(method, numbers, dataset)]


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


def _columns(duel: Duel | None) -> dict[str, Any]:
    parts = ("difference", "low", "high", "effect")
    return dict.fromkeys(parts) if duel is None else {name: asdict(duel)[name] for name in parts}


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
