"""Whether two methods differ, by pairs: both ran on the same folds from the same data.

Wilcoxon's signed ranks, two-sided and exact, corrected by Holm over all tests of one cell and metric; beside it the t
test that allows for overlapping training sets. Ten folds give no p below 2/1024, so a family of more than 25 tests
could find nothing. :data:`_NOTES` says what is tied and which times are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.outcome import clean_times
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p
from kdrbench.suite.reports.records import NO_KERNEL
from kdrbench.suite.reports.tables.labels import (
    DEFINITIONS,
    FORMATS,
    METRIC_TITLES,
    TIMES_MEAN,
    dataset_label,
    kernel_label,
    method_alone,
    method_label,
)
from kdrbench.suite.reports.tables.numbers import quantity
from kdrbench.suite.reports.tables.significance import P_OVERLAP, SIGNIFICANT, meaning, p_text, share_tested
from kdrbench.suite.reports.tables.table import Column, Entry, Table, lay_out
from kdrbench.suite.systems.ikdr.config import Settings, settings_of

if TYPE_CHECKING:
    from kdrbench.kernels.family import FloatArray
    from kdrbench.suite.reports.making import Page, Source

# Of five pairs even the most extreme signs have p = 1/16.
FEWEST_PAIRS = 6
_OURS = "ISM"
_WILCOXON = "of Wilcoxon's signed ranks"
CELL = ["experiment", "dataset", "kernel"]
# Costs nearer than this, relative to the larger one, are the same cost: rounding decides no win.
SAME_COST = 1e-6
# What is tested.
TESTED = ("time_s", "cost", "quality")


@dataclass(frozen=True)
class PairedTest:
    """``difference`` is the median over runs of first minus second, ``p`` uncorrected, ``p_holm`` corrected.

    ``p_overlap`` is that of the corrected resampled t test; ``low`` to ``high`` is its interval for the mean
    difference, of costs relative to the second one's.
    """

    experiment: str
    dataset: str
    kernel: str
    metric: str
    first: str
    second: str
    pairs: int
    mean_first: float
    mean_second: float
    difference: float
    p: float
    p_holm: float
    p_overlap: float | None
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the methods differ."""
        return self.p_holm <= SIGNIFICANT

    @property
    def lower(self) -> str:
        """The method that is lower, where they differ."""
        return "" if not self.differs else self.first if self.difference < 0 else self.second


def compared(methods: Sequence[str], settings: Mapping[str, Settings]) -> list[tuple[str, str]]:
    """Return the pairs worth a test: a method's variants, and ISM against each rival of like settings.

    A solver that declares no settings is compared with ISM as published and converged.
    """
    pairs = []
    declared = {name: settings.get(name, Settings.OTHER) for name in methods}
    ordered = sorted(methods, key=lambda name: (method_alone(name) != _OURS, declared[name] is Settings.CONVERGED))
    for first, second in combinations(ordered, 2):
        same_method = method_alone(first) == method_alone(second)
        alike = declared[second] in (declared[first], Settings.OTHER)
        if same_method or (method_alone(first) == _OURS and alike):
            pairs.append((first, second))
    return pairs


def paired_tests(
    runs: pd.DataFrame,
    *,
    settings: Mapping[str, Settings] | None = None,
    chosen: tuple[str, str] | None = None,
) -> list[PairedTest]:
    """Return the tests of every experiment, data set, kernel and metric where both methods have six runs or more.

    Tested are the pairs of :func:`compared` by the ``settings`` that solvers declare; or two ``chosen`` methods,
    however few runs they share, and Holm then corrects over all cells of a metric.
    """
    results: list[PairedTest] = []
    usable = runs[(runs["status"] != str(Status.FAILED)) & (runs["kernel"] != NO_KERNEL)]
    for metric in TESTED:
        cells = usable.groupby(CELL, sort=False)
        families = [list(_tests(place, cell, metric, settings or {}, chosen)) for place, cell in cells]  # type: ignore[arg-type]
        for tests in [list(chain(*families))] if chosen else families:
            corrected = holm([test.p for test in tests])
            results += [replace(test, p_holm=p) for test, p in zip(tests, corrected, strict=True)]
    return results


def _tests(
    place: tuple[str, str, str],
    cell: pd.DataFrame,
    metric: str,
    settings: Mapping[str, Settings],
    chosen: tuple[str, str] | None,
) -> Iterator[PairedTest]:
    methods = list(chosen or dict.fromkeys(cell["method"]))
    counted = clean_times(cell) if metric == "time_s" else cell
    table = counted.pivot(index="run", columns="method", values=metric).reindex(columns=methods)
    shown = metric if metric != "quality" else str(cell["quality_metric"].iloc[0])
    for first, second in [chosen] if chosen else compared(methods, settings):
        both = table[[first, second]].astype(float).dropna()
        if len(both) < (1 if chosen else FEWEST_PAIRS):
            continue
        one, other = both[first].to_numpy(), both[second].to_numpy()
        differences = without_ties(one, other) if metric == "cost" else one - other
        p, share = signed_rank_p(differences), share_tested(cell)
        means = float(one.mean()), float(other.mean()), float(np.median(differences))
        gaps = differences / np.maximum(np.abs(one), np.abs(other)) if metric == "cost" else differences
        overlap = corrected_t_p(gaps, share), *corrected_t_interval(gaps, share)
        yield PairedTest(*place, shown, first, second, len(both), *means, p, p, *overlap)


def without_ties(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return the differences of costs, zero where they are the same cost."""
    differences = ours - theirs
    return np.where(np.abs(differences) <= SAME_COST * np.maximum(np.abs(ours), np.abs(theirs)), 0.0, differences)


def page(source: Source) -> Page:
    """Return the table of all tests."""
    return paired_table(paired_tests(source.runs, settings=settings_of(source.config))), []


def _number(test: PairedTest, text: str, what: str, *, method: str = "", bold: bool = False) -> Entry:
    """Return a number with what it is; a mean leads to its method's runs, the others to the first's."""
    words = f"{METRIC_TITLES[test.metric]}: {what}"
    detail = meaning(words, counted(test.pairs, "pair"), said=DEFINITIONS.get(test.metric, ""))
    axes = (test.metric, test.dataset, test.kernel, method or test.first)
    return Entry(text, bold=bold, detail=detail, axes=axes, experiment=test.experiment)


def _in_unit(test: PairedTest, value: float) -> str:
    return FORMATS.get(test.metric, quantity)(value, None)


def _interval(test: PairedTest) -> Entry:
    gap = "mean difference relative to the larger objective" if test.metric == "cost" else "mean difference"
    return _number(test, f"{test.low:+.2g} to {test.high:+.2g}", f"95 % interval of the {gap}")


_COLUMNS = (
    Column("Experiment", lambda test: test.experiment),
    Column("Metric", lambda test: METRIC_TITLES[test.metric]),
    Column("Data", lambda test: dataset_label(test.dataset)),
    Column("Kernel", lambda test: kernel_label(test.kernel)),
    Column("First", lambda test: method_label(test.first)),
    Column("Second", lambda test: method_label(test.second)),
    Column("Pairs", lambda test: test.pairs),
    Column("Mean of first", lambda test: _in_unit(test, test.mean_first), "mean of the first method"),
    Column(
        "Of second",
        lambda test: _number(test, _in_unit(test, test.mean_second), "mean of the second method", method=test.second),
    ),
    Column("Median difference", lambda test: _in_unit(test, test.difference), "median of first minus second"),
    Column("p", lambda test: f"{test.p:.2g}", f"p {_WILCOXON}, without correction"),
    Column(
        "p (Holm)",
        lambda test: _number(test, f"{test.p_holm:.2g}", f"p {_WILCOXON}, corrected by Holm", bold=test.differs),
    ),
    Column("p (t, overlap)", lambda test: p_text(test.p_overlap), f"{P_OVERLAP}, without correction"),
    Column("95 % of the gap", _interval),
    Column("Lower value", lambda test: method_label(test.lower) if test.lower else "-"),
)
_NOTES = (
    "Wilcoxon's signed ranks over the folds that both methods have, two-sided and exact; p corrected by Holm "
    "over the tests of one cell and metric (kdrbench compare A B: over all cells); differing at "
    f"{SIGNIFICANT:g} (bold). Cells with fewer than {FEWEST_PAIRS} common folds are not tested: no p below "
    f"{SIGNIFICANT:g} is possible there.",
    "A stopped run counts with its last iterate and with its limit as time. Folds share training rows, so "
    "their differences are not independent: a small p is an indication, no proof. Beside it, p of the t test "
    "that allows for overlapping training sets, and its interval: of the gap between objectives relative to "
    "the larger one, else of the mean difference.",
    f"Costs within {SAME_COST:g} of each other, relatively, are tied. Times are compared of runs on "
    "cores of their own whose speed did not drift; cells with fewer of them than that have no test of time.",
    TIMES_MEAN,
)


def paired_table(tests: list[PairedTest]) -> Table:
    """Return one line a test, in blocks by experiment and metric; significant p values in bold."""
    title = f"Paired tests: {sum(test.differs for test in tests)} of {len(tests)} differ."
    block = attrgetter("experiment", "metric")
    return lay_out("paired_tests", title, _COLUMNS, tests, number=_number, block=block, notes=_NOTES, n_labels=6)
