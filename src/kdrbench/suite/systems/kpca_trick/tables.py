"""Tables 1 to 3 of the KPCA trick beside the paper's, tests of whether kernels help, and what choosing one costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.protocol import is_imitation
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label, learner_name
from kdrbench.suite.reports.tables.numbers import interval
from kdrbench.suite.reports.tables.significance import (
    P_OVERLAP,
    SIGNIFICANT,
    meaning,
    meaning_of_cell,
    meaning_of_mean,
    p_text,
)
from kdrbench.suite.reports.tables.table import Column, Entry, Table, lay_out
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.kpca_trick.cells import PLAIN, TABLES, KpcaCell, axes_of, kpca_cells, win_draw_lose
from kdrbench.suite.systems.kpca_trick.system import VARIANTS, table_names

_WILCOXON = "of Wilcoxon's signed ranks against the plain learner"


@dataclass(frozen=True)
class Difference:
    """A variant against the plain learner over the splits both ended on; ``p_holm`` is over one learner's table.

    ``low`` to ``high`` is the 95 % interval of the mean that belongs to ``p_overlap``. ``complete`` says that both have
    a number for every split: that none was stopped at a limit, or failed.
    """

    dataset: str
    learner: str
    variant: str
    splits: int
    mean: float
    p: float
    p_holm: float
    p_overlap: float | None
    low: float
    high: float
    complete: bool

    @property
    def axes(self) -> tuple[str, ...]:
        """Metric, data set, kernel and method of the variant's runs."""
        return axes_of(self.dataset, self.learner, self.variant)

    @property
    def best(self) -> bool:
        """Whether it is better than the plain learner, by splits none of which is missing."""
        return self.complete and self.significant > 0

    @property
    def significant(self) -> int:
        """1 for better, -1 for worse than the plain learner, 0 where no difference is shown."""
        return int(np.sign(self.mean)) if self.p_holm <= SIGNIFICANT else 0


# The cells of a learner by data set and variant, and its differences.
Cells = dict[tuple[str, str], KpcaCell]
Differences = dict[tuple[str, str], Difference]


def differences_of(runs: pd.DataFrame, learner: str) -> Differences:
    """Return each variant of the learner against itself without a kernel, by (data set, variant).

    Wilcoxon's test over splits, by Holm corrected for all comparisons of the learner's table; beside it the t test that
    allows for overlapping training sets.
    """
    of_learner = runs[runs["learner"] == learner]
    compared: list[Difference] = []
    for dataset, group in of_learner.groupby("dataset", sort=False):
        wide = group.pivot(index="run", columns="variant", values="accuracy")
        share = float(group["n_test"].iloc[0]) / float(group["n_train"].iloc[0])
        for variant in (name for name in VARIANTS if name != PLAIN and {name, PLAIN} <= set(wide.columns)):
            differences = wide[variant] - wide[PLAIN]
            known = differences.dropna().to_numpy(dtype=float)
            if known.size:
                # In units of rounding: shares of the same samples that differ by the same count are tied.
                p, mean = signed_rank_p(np.round(known, 12)), float(known.mean())
                overlap = corrected_t_p(known, share), *corrected_t_interval(known, share)
                axes, complete = (str(dataset), learner, variant), bool(differences.notna().all())
                compared.append(Difference(*axes, len(known), mean, p, p, *overlap, complete))
    corrected = zip(compared, holm([one.p for one in compared]), strict=True)
    return {(one.dataset, one.variant): replace(one, p_holm=p) for one, p in corrected}


def _p_entry(one: Difference | None) -> Entry:
    if one is None:
        return Entry(NO_CELL)
    text = "< 0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}"
    return replace(_number(one, text, f"p {_WILCOXON}, by Holm corrected for the table"), value=one.p_holm)


def _number(one: Difference, text: str, what: str, width: str = "", *, bold: bool = False) -> Entry:
    return Entry(text, bold=bold, detail=meaning(what, counted(one.splits, "split"), width), axes=one.axes)


def _mean_difference(one: Difference) -> Entry:
    width = interval(one.low, one.high) if one.splits > 1 else ""
    what = "difference of accuracy to the plain learner, mean"
    return _number(one, f"{one.mean:+.4f}", what, width, bold=one.best)


_HOLM = f"p {_WILCOXON}, corrected by Holm over the comparisons of the learner"
_TESTS = (
    Column("Data set", lambda one: dataset_label(one.dataset)),
    Column("Method", lambda one: learner_name(one.learner, one.variant).upper()),
    Column("Splits", lambda one: one.splits, "splits that both ended on"),
    Column("Mean difference", _mean_difference),
    Column("p, Wilcoxon", lambda one: p_text(one.p), f"p {_WILCOXON}, without correction"),
    Column("p, Holm", lambda one: p_text(one.p_holm), _HOLM),
    Column("p, corrected t", lambda one: p_text(one.p_overlap), f"{P_OVERLAP}, without Holm"),
)


def tests_table(name: str, differences: dict[str, Differences]) -> Table:
    """Return every comparison with the plain learner and its p values."""
    rows = [one for of_learner in differences.values() for one in of_learner.values()]
    notes = [
        "Differences of accuracy to the plain learner on the same splits; bold: better with p < 0.05 by Holm, over the "
        "comparisons of one learner, and no split stopped at a limit.",
        "Corrected t: its variance allows for overlapping training sets (Nadeau and Bengio 2003), far too much where "
        "most samples are for testing; without Holm.",
    ]
    title = "Do kernels help? Tests over splits."
    return lay_out(name, title, _TESTS, rows, number=_number, block=attrgetter("learner"), notes=notes, n_labels=2)


# The variants in which the paper chooses a kernel.
KERNELISED = ("cross_validated", "aligned")
# What is timed of a split.
_CHOOSING = "tuning_wall_s"
_SECONDS = {_CHOOSING: "seconds of choosing the kernel", "learning_wall_s": "seconds of learning with the kernel"}
_ORACLE, _BY_ORACLE = "K by an oracle", "the kernel that is best on the test samples of each split: a bound, no result"
_SELECTED = "accuracy with the kernel that is best on the test samples, in the mean over all splits: a bound, no result"
_ACCURACY = "Accuracy: share of the test samples that 1-NN labels rightly"


def page(source: Source) -> Page:
    """Return one of an experiment's tables."""
    tables = {table.name: table for table in kpca_tables(source.runs, source.name, source.config)}
    table, experiment = tables[source.report.name], source.experiment
    if is_imitation(experiment):
        # Another reading is none of the paper's tables.
        table = replace(table, title=f"{table.title.partition(' (')[0].rstrip('.')}. {experiment['title']}")
    return table, sections_of_runs(source.runs)


def kpca_tables(runs: pd.DataFrame, experiment: str, config: Config | None = None) -> list[Table]:
    """Return all tables that the runs of an experiment give: one a learner, the tests, the times."""
    cells = kpca_cells(runs, config)
    learners = [str(learner) for learner in dict.fromkeys(runs["learner"])]
    *names, tests, times = table_names(experiment, learners)
    differences = {learner: differences_of(runs, learner) for learner in learners}
    tables = []
    for name, learner in zip(names, learners, strict=True):
        own = {(dataset, variant): cell for (dataset, one, variant), cell in cells.items() if one == learner}
        tables.append(accuracy_table(name, own, learner, differences[learner]))
    return [*tables, tests_table(tests, differences), times_table(times, runs, learners)]


def accuracy_table(table: str, cells: Cells, learner: str, differences: Differences) -> Table:
    """Return a learner's table: paper, ours and verdict for each variant that the paper has, and what it has not."""
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    printed = [variant for variant in (PLAIN, *KERNELISED) if any(variant == name for _, name in cells)]
    columns = ["Data set"]
    for variant in printed:
        name = learner_name(learner, variant).upper()
        columns += [f"{name}, paper", name, f"{name}, verdict"]
    tested = [variant for variant in printed if variant != PLAIN]
    columns += [f"p, {learner_name(learner, variant).upper()}" for variant in tested]
    extra = _extra_columns(cells, learner)
    lines = []
    for one in datasets:
        places = [(one, variant) for variant in printed]
        shown = [part for place in places for part in _three(cells.get(place), differences.get(place))]
        p_values = [_p_entry(differences.get((one, variant))) for variant in tested]
        others = [values.get(one, Entry(NO_CELL)) for values in extra.values()]
        lines.append([Entry(dataset_label(one)), *shown, *p_values, *others])
    counts, significant = [Entry("Win/draw/lose")], [Entry("The same, significant")]
    for variant in printed:
        signs = [(float(one.significant), 0.0) for one in differences.values() if one.variant == variant]
        ours = win_draw_lose([*signs]) if variant != PLAIN else ""
        significant += [Entry(""), Entry(ours), Entry("")]
        counts += [*(_by_means(cells, variant) if variant != PLAIN else [Entry("")] * 2), Entry("")]
    empty = [Entry("")] * (len(tested) + len(extra))
    place = f" (KPCA trick, Table {TABLES[learner]})" if learner in TABLES else ""
    title = f"{learner.upper()} and its kernel versions: 1-NN accuracy{place}."
    notes = [*_notes(cells), _verdicts(cells)]
    return Table(table, title, [*columns, *extra], [lines, [counts + empty, significant + empty]], notes)


def _extra_columns(cells: Cells, learner: str) -> dict[str, dict[str, Entry]]:
    """Return what the paper's table does not hold, by title and data set; no column without a number."""
    centred, oracle = (
        {dataset: _ours(cell) for (dataset, variant), cell in cells.items() if variant == other}
        for other in ("centred", "oracle")
    )
    selected = {
        dataset: Entry(f"{cell.test_selected:.2f}", cell.test_selected, detail=_SELECTED, axes=cell.axes)
        for (dataset, _), cell in cells.items()
        if cell.test_selected is not None
    }
    oracle = {dataset: replace(entry, detail=f"{_BY_ORACLE}; {entry.detail}") for dataset, entry in oracle.items()}
    columns = {f"AK{learner.upper()}, centred": centred, "K by test samples": selected, _ORACLE: oracle}
    return {title: values for title, values in columns.items() if values}


def _three(cell: KpcaCell | None, difference: Difference | None) -> list[Entry]:
    if cell is None:
        return [Entry(NO_CELL)] * 3
    reading = cell.published.why if cell.published else ""
    why = cell.departure if cell.published and cell.departure else reading
    verdict = "" if cell.verdict is Verdict.NOT_PUBLISHED else str(cell.verdict)
    return [
        Entry(cell.paper or NO_CELL),
        replace(_ours(cell), bold=difference is not None and difference.best),
        Entry(verdict or NO_CELL, detail=why, verdict=verdict),
    ]


def _ours(cell: KpcaCell) -> Entry:
    ours = cell.ours
    # Printed as a share of one, not in per cent.
    detail = meaning_of_cell(_ACCURACY, "accuracy", ours, unit="split", shown="share", said=ours.note)
    return Entry(ours.text, ours.mean, ours.std, detail=detail, axes=cell.axes)


def _by_means(cells: Cells, variant: str) -> list[Entry]:
    """Return wins, draws and losses against the plain learner by means of two digits, printed and ours."""
    both = [
        (cell, cells[dataset, PLAIN])
        for (dataset, name), cell in cells.items()
        if name == variant and (dataset, PLAIN) in cells
    ]
    return [
        Entry(win_draw_lose((getattr(one, number), getattr(plain, number)) for one, plain in both))
        for number in ("printed", "rounded")
    ]


def _notes(cells: Cells) -> list[str]:
    unfinished = [
        f"{dataset_label(dataset)}, {learner_name(cell.learner, variant).upper()}: {cell.ours.note}."
        for (dataset, variant), cell in cells.items()
        if cell.ours.note
    ]
    splits = sorted({cell.ours.runs for cell in cells.values()})
    return [
        f"Mean and standard deviation over {' or '.join(map(str, splits))} random splits.",
        "p: Wilcoxon's signed rank test over splits against the plain learner, by Holm corrected for the table; bold: "
        "better with p < 0.05 and no split stopped at a limit. Splits of one data set overlap and make these p too "
        "small; the table of tests allows for that.",
        "Win/draw/lose compares means of two digits with those of the plain learner.",
        *unfinished,
    ]


def _verdicts(cells: Cells) -> str:
    counts = Counter(cell.verdict for cell in cells.values() if cell.verdict is not Verdict.NOT_PUBLISHED)
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    if not counts:
        return "The paper prints no number of these data sets."
    departing = {cell.departure for cell in cells.values() if cell.verdict is Verdict.NOT_COMPARABLE}
    reasons = f" Not comparable: {'; '.join(sorted(departing))}." if departing else ""
    return f"Of {counts.total()} printed numbers: {parts}.{reasons}"


def times_table(name: str, runs: pd.DataFrame, learners: Sequence[str]) -> Table:
    """Return seconds of choosing the kernel and of learning with it, a split, and summed over all splits."""
    methods = [(learner, variant) for learner in learners for variant in KERNELISED]
    names = [learner_name(*method).upper() for method in methods]
    columns = ["Data set", *(f"{name}, {part}" for name in names for part in ("choosing", "learning"))]
    lines = [_times_line(str(dataset), group, methods) for dataset, group in runs.groupby("dataset", sort=False)]
    last = _times_line("", runs, methods)
    notes = [
        "Mean seconds of a split; the last line is their sum over all. A method is charged for all it would need "
        "alone: distances, kernels and coordinates that are shared count for every one."
    ]
    title = "What choosing the kernel costs, and learning with it."
    return Table(name, title, [*columns, "Choosing, K / AK"], [lines, [last]], notes)


def _times_line(dataset: str, rows: pd.DataFrame, methods: Sequence[tuple[str, str]]) -> list[Entry]:
    """Return means of a split, or without a data set sums over all, and the range of ratios of both ways to choose."""
    runs: dict[Any, pd.DataFrame] = dict(list(rows.groupby(["learner", "variant"])))
    cells = [_seconds(dataset, key, column, runs.get(key)) for key in methods for column in _SECONDS]
    choosing = {key: _of_splits(dataset, of_method[_CHOOSING]) for key, of_method in runs.items()}
    ratios = [
        choosing[learner, "cross_validated"] / choosing[learner, "aligned"]
        for learner in dict.fromkeys(learner for learner, _ in methods)
        if {(learner, "cross_validated"), (learner, "aligned")} <= set(choosing)
    ]
    label = dataset_label(dataset) if dataset else "All splits"
    return [Entry(label), *cells, Entry(f"{min(ratios):.0f} to {max(ratios):.0f}" if ratios else NO_CELL)]


def _of_splits(dataset: str, seconds: pd.Series) -> float:
    return float(seconds.mean() if dataset else seconds.sum())


def _seconds(dataset: str, key: tuple[str, str], column: str, runs: pd.DataFrame | None) -> Entry:
    if runs is None:
        return Entry(NO_CELL)
    axes, value = ("", dataset, "", learner_name(*key)), _of_splits(dataset, runs[column])
    if dataset:
        detail = meaning_of_mean(_SECONDS[column], "time_s", runs[column], unit="split")
    else:
        detail = meaning(f"{_SECONDS[column]}, summed", counted(len(runs), "split"))
    return Entry(f"{value:.3g}", value, detail=detail, axes=axes)
