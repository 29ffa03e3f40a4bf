"""Tables 1 to 3 of the KPCA trick beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pandas as pd

from kdrbench.bench.metric_config import TABLES, table_name
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.metric_side_tables import KERNELISED, NO_NUMBER, tests_table, times_table
from kdrbench.reports.metric_summary import (
    PLAIN,
    Difference,
    MetricCell,
    differences_of,
    method_name,
    metric_cells,
    win_draw_lose,
)
from kdrbench.reports.paper_table import Entry, PaperTable
from kdrbench.reports.verdict import Verdict

_CENTRED = "centred"
Cells = dict[tuple[str, str, str], MetricCell]


def metric_tables(rows: pd.DataFrame) -> list[PaperTable]:
    """Return all tables that the rows give: one a learner, the tests, the times."""
    cells = metric_cells(rows)
    learners = list(dict.fromkeys(rows["learner"]))
    differences = {learner: differences_of(rows, learner) for learner in learners}
    tables = [accuracy_table(cells, learner, differences[learner]) for learner in learners]
    return [*tables, tests_table(differences), times_table(rows, learners)]


def accuracy_table(cells: Cells, learner: str, differences: dict[tuple[str, str], Difference]) -> PaperTable:
    """Return a learner's table: paper, ours and verdict for each variant that the paper has, and what it has not."""
    datasets = list(dict.fromkeys(dataset for dataset, name, _ in cells if name == learner))
    printed = [variant for variant in (PLAIN, *KERNELISED) if any((one, learner, variant) in cells for one in datasets)]
    columns = ["Data set"]
    for variant in printed:
        name = method_name(learner, variant).upper()
        columns += [f"{name}, paper", name, f"{name}, verdict"]
    tested = [variant for variant in printed if variant != PLAIN]
    columns += [f"p, {method_name(learner, variant).upper()}" for variant in tested]
    extra = _extra_columns(cells, learner, datasets)
    lines = [
        [
            Entry(load_registry()[dataset].label),
            *(entry for variant in printed for entry in _three(cells, differences, dataset, learner, variant)),
            *(Entry(_p_text(differences.get((dataset, variant)))) for variant in tested),
            *(Entry(values.get(dataset, NO_NUMBER)) for values in extra.values()),
        ]
        for dataset in datasets
    ]
    empty = len(tested) + len(extra)
    summary = [
        _summary_line("Win/draw/lose", printed, empty, lambda variant: _by_means(cells, datasets, learner, variant)),
        _summary_line("The same, significant", printed, empty, lambda variant: ("", _tested(differences, variant))),
    ]
    place = f" (KPCA trick, Table {TABLES[learner]})" if learner in TABLES else ""
    title = f"{learner.upper()} and its kernel versions: 1-NN accuracy{place}."
    notes = [*_notes(cells, learner), _verdicts(cells, learner)]
    return PaperTable(table_name(learner), title, [*columns, *extra], [lines, summary], notes)


def _extra_columns(cells: Cells, learner: str, datasets: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what the paper's table does not hold, by title and data set; no column without a number."""
    columns: dict[str, dict[str, str]] = {}
    centred = {one: cells[one, learner, _CENTRED].ours.text for one in datasets if (one, learner, _CENTRED) in cells}
    if centred:
        columns[f"AK{learner.upper()}, centred"] = centred
    selected = {
        dataset: f"{cell.test_selected:.2f}"
        for (dataset, name, _), cell in cells.items()
        if name == learner and cell.test_selected is not None
    }
    if selected:
        columns["K by test samples"] = selected
    return columns


def _three(
    cells: Cells, differences: dict[tuple[str, str], Difference], dataset: str, learner: str, variant: str
) -> list[Entry]:
    cell = cells.get((dataset, learner, variant))
    if cell is None:
        return [Entry(NO_NUMBER)] * 3
    difference = differences.get((dataset, variant))
    better = difference is not None and difference.significant > 0
    why = cell.published.why if cell.published else ""
    verdict = "" if cell.verdict is Verdict.NOT_PUBLISHED else str(cell.verdict)
    return [
        Entry(cell.paper or NO_NUMBER),
        Entry(cell.ours.text, best=better, detail=cell.ours.note),
        Entry(verdict or NO_NUMBER, detail=why),
    ]


def _summary_line(
    title: str, printed: Sequence[str], empty: int, count: Callable[[str], tuple[str, str]]
) -> list[Entry]:
    line = [Entry(title)]
    for variant in printed:
        paper, ours = count(variant) if variant != PLAIN else ("", "")
        line += [Entry(paper), Entry(ours), Entry("")]
    return line + [Entry("")] * empty


def _by_means(cells: Cells, datasets: Sequence[str], learner: str, variant: str) -> tuple[str, str]:
    """Return wins, draws and losses against the plain learner by means of two digits, printed and ours."""
    both = [
        (cells[dataset, learner, variant], cells[dataset, learner, PLAIN])
        for dataset in datasets
        if {(dataset, learner, variant), (dataset, learner, PLAIN)} <= set(cells)
    ]
    printed = win_draw_lose([(one.printed, other.printed) for one, other in both])
    return printed, win_draw_lose([(one.rounded, other.rounded) for one, other in both])


def _tested(differences: dict[tuple[str, str], Difference], variant: str) -> str:
    signs: list[tuple[float | None, float | None]] = [
        (float(one.significant), 0.0) for one in differences.values() if one.variant == variant
    ]
    return win_draw_lose(signs)


def _p_text(difference: Difference | None) -> str:
    if difference is None:
        return NO_NUMBER
    return "< 0.001" if difference.p_holm < 0.001 else f"{difference.p_holm:.3f}"


def _notes(cells: Cells, learner: str) -> list[str]:
    unfinished = [
        f"{load_registry()[cell.dataset].label}, {method_name(learner, cell.variant).upper()}: {cell.ours.note}"
        for cell in cells.values()
        if cell.learner == learner and cell.ours.note
    ]
    splits = sorted({cell.ours.folds for cell in cells.values() if cell.learner == learner})
    return [
        f"Mean and standard deviation over {' or '.join(map(str, splits))} random splits.",
        "p: Wilcoxon's signed rank test over splits against the plain learner, by Holm corrected for the table; bold: "
        "better with p < 0.05. Splits of one data set overlap and make these p too small; kpca_tests allows for that.",
        "Win/draw/lose compares means of two digits with those of the plain learner.",
        *(f"{words}." for words in unfinished),
    ]


def _verdicts(cells: Cells, learner: str) -> str:
    found = Counter(
        cell.verdict for cell in cells.values() if cell.learner == learner and cell.verdict is not Verdict.NOT_PUBLISHED
    )
    parts = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
    return (
        f"Of {found.total()} printed numbers: {parts}." if found else "The paper prints no number of these data sets."
    )
