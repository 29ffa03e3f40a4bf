"""Whether kernels help a metric learner: each variant against the learner without a kernel, over the same splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p
from kdrbench.suite.reports.tables.kpca_cells import PLAIN
from kdrbench.suite.reports.tables.labels import NO_CELL, VARIANTS, dataset_label, learner_name
from kdrbench.suite.reports.tables.numbers import interval
from kdrbench.suite.reports.tables.significance import SIGNIFICANT, meaning
from kdrbench.suite.reports.tables.table import Entry, Table, entries

if TYPE_CHECKING:
    import pandas as pd

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
        return ("accuracy", self.dataset, "", learner_name(self.learner, self.variant))

    @property
    def best(self) -> bool:
        """Whether it is better than the plain learner, by splits none of which is missing."""
        return self.complete and self.significant > 0

    @property
    def significant(self) -> int:
        """1 for better, -1 for worse than the plain learner, 0 where no difference is shown."""
        return int(np.sign(self.mean)) if self.p_holm <= SIGNIFICANT else 0


def differences_of(runs: pd.DataFrame, learner: str) -> dict[tuple[str, str], Difference]:
    """Return each variant of the learner against itself without a kernel, by (data set, variant).

    Wilcoxon's test over splits, by Holm corrected for all comparisons of the learner's table; beside it the t test that
    allows for overlapping training sets.
    """
    of_learner = runs[runs["learner"] == learner]
    compared: list[tuple[str, str, np.ndarray, float, bool]] = []
    for dataset, group in of_learner.groupby("dataset", sort=False):
        wide = group.pivot(index="run", columns="variant", values="accuracy")
        test_share = float(group["n_test"].iloc[0]) / float(group["n_train"].iloc[0])
        for variant in (name for name in VARIANTS if name != PLAIN and {name, PLAIN} <= set(wide.columns)):
            differences = wide[variant] - wide[PLAIN]
            known = differences.dropna().to_numpy(dtype=float)
            if known.size:
                compared.append((str(dataset), variant, known, test_share, bool(differences.notna().all())))
    # In units of rounding: shares of the same samples that differ by the same count are tied.
    p_values = [signed_rank_p(np.round(difference, 12)) for _, _, difference, *_ in compared]
    corrected = holm(p_values)
    return {
        (dataset, variant): Difference(
            dataset,
            learner,
            variant,
            len(difference),
            float(difference.mean()),
            p_values[place],
            corrected[place],
            corrected_t_p(difference, test_share),
            *corrected_t_interval(difference, test_share),
            complete,
        )
        for place, (dataset, variant, difference, test_share, complete) in enumerate(compared)
    }


def p_entry(one: Difference | None) -> Entry:
    """Return the corrected p of a comparison, as tables of accuracies print it."""
    if one is None:
        return Entry(NO_CELL)
    text = "< 0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}"
    return Entry(text, one.p_holm, detail=_said(one, f"p {_WILCOXON}, by Holm corrected for the table"), axes=one.axes)


def tests_table(name: str, differences: dict[str, dict[tuple[str, str], Difference]]) -> Table:
    """Return every comparison with the plain learner and its p values."""
    blocks = [[_test_line(one) for one in of_learner.values()] for of_learner in differences.values()]
    columns = ["Data set", "Method", "Splits", "Mean difference", "p, Wilcoxon", "p, Holm", "p, corrected t"]
    notes = [
        "Differences of accuracy to the plain learner on the same splits; bold: better with p < 0.05 by Holm, over the "
        "comparisons of one learner, and no split stopped at a limit.",
        "Corrected t: its variance allows for overlapping training sets (Nadeau and Bengio 2003), far too much where "
        "most samples are for testing; without Holm.",
    ]
    return Table(name, "Do kernels help? Tests over splits.", columns, blocks, notes, n_labels=2)


def _test_line(one: Difference) -> list[Entry]:
    overlap = NO_CELL if one.p_overlap is None else f"{one.p_overlap:.2g}"
    width = interval(one.low, one.high) if one.splits > 1 else ""
    numbers = [
        (str(one.splits), "splits that both ended on", ""),
        (f"{one.mean:+.4f}", "difference of accuracy to the plain learner, mean", width),
        (f"{one.p:.2g}", f"p {_WILCOXON}, without correction", ""),
        (f"{one.p_holm:.2g}", f"p {_WILCOXON}, corrected by Holm over the comparisons of the learner", ""),
        (overlap, "p of the t test that allows for overlapping training sets, without Holm", ""),
    ]
    labels = entries([dataset_label(one.dataset), learner_name(one.learner, one.variant).upper()])
    best = [False, one.best, False, False, False]
    return labels + [
        Entry(text, bold=bold, detail=_said(one, what, width), axes=one.axes)
        for (text, what, width), bold in zip(numbers, best, strict=True)
    ]


def _said(one: Difference, what: str, width: str = "") -> str:
    return meaning(what, counted(one.splits, "split"), width)
