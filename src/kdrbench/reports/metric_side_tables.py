"""Beside the KPCA trick's tables: tests of whether kernels help, and what choosing one costs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from kdrbench.datasets.registry import load_registry
from kdrbench.reports.metric_summary import Difference, method_name
from kdrbench.reports.paper_table import Entry, PaperTable

# The variants in which the paper chooses a kernel.
KERNELISED = ("cross_validated", "aligned")
NO_NUMBER = "-"
_SECONDS = ["tuning_cpu_s", "learning_cpu_s"]


def tests_table(differences: dict[str, dict[tuple[str, str], Difference]]) -> PaperTable:
    """Return every comparison with the plain learner and its p values."""
    blocks = [[_test_line(one) for one in of_learner.values()] for of_learner in differences.values()]
    columns = ["Data set", "Method", "Splits", "Mean difference", "p, Wilcoxon", "p, Holm", "p, corrected t"]
    notes = [
        "Differences of accuracy to the plain learner on the same splits; bold: better with p < 0.05 by Holm, over the "
        "comparisons of one learner.",
        "Corrected t: its variance allows for overlapping training sets (Nadeau and Bengio 2003), far too much where "
        "most samples are for testing; without Holm.",
    ]
    return PaperTable("kpca_tests", "Do kernels help? Tests over splits.", columns, blocks, notes, n_labels=2)


def _test_line(one: Difference) -> list[Entry]:
    return [
        Entry(load_registry()[one.dataset].label),
        Entry(method_name(one.learner, one.variant).upper()),
        Entry(str(one.splits)),
        Entry(f"{one.mean:+.4f}", best=one.significant > 0),
        Entry(f"{one.p:.2g}"),
        Entry(f"{one.p_holm:.2g}"),
        Entry(NO_NUMBER if one.p_overlap is None else f"{one.p_overlap:.2g}"),
    ]


def times_table(rows: pd.DataFrame, learners: Sequence[str]) -> PaperTable:
    """Return CPU seconds of choosing the kernel and of learning with it, a split, and summed over all splits."""
    methods = [(learner, variant) for learner in learners for variant in KERNELISED]
    columns = ["Data set"]
    for learner, variant in methods:
        name = method_name(learner, variant).upper()
        columns += [f"{name}, choosing", f"{name}, learning"]
    lines = [
        _times_line(
            load_registry()[str(dataset)].label, group.groupby(["learner", "variant"])[_SECONDS].mean(), methods
        )
        for dataset, group in rows.groupby("dataset", sort=False)
    ]
    last = _times_line("All splits", rows.groupby(["learner", "variant"])[_SECONDS].sum(), methods)
    notes = [
        "Mean CPU seconds of a split; the last line is their sum over all. A method is charged for all it would need "
        "alone: distances, kernels and coordinates that are shared count for every one."
    ]
    title = "What choosing the kernel costs, and learning with it."
    return PaperTable("kpca_times", title, [*columns, "Choosing, K / AK"], [lines, [last]], notes)


def _times_line(title: str, seconds: pd.DataFrame, methods: Sequence[tuple[str, str]]) -> list[Entry]:
    """Return the seconds of each method, and the lowest and highest ratio of choosing by validation and alignment."""
    known = {key: (float(one[_SECONDS[0]]), float(one[_SECONDS[1]])) for key, one in seconds.iterrows()}
    cells = [Entry(f"{value:.3g}") for key in methods for value in known.get(key, (float("nan"),) * 2)]
    ratios = [
        known[learner, "cross_validated"][0] / known[learner, "aligned"][0]
        for learner in dict.fromkeys(learner for learner, _ in methods)
        if {(learner, "cross_validated"), (learner, "aligned")} <= set(known)
    ]
    return [Entry(title), *cells, Entry(f"{min(ratios):.0f} to {max(ratios):.0f}" if ratios else NO_NUMBER)]
