"""The table of paired tests."""

from __future__ import annotations

from kdrbench.reports.layout import METRIC_TITLES, dataset_label, kernel_label, solver_label
from kdrbench.reports.numbers import quantity
from kdrbench.reports.paired import FEWEST_PAIRS, SIGNIFICANT, PairedTest
from kdrbench.reports.paper_table import Entry, PaperTable
from kdrbench.reports.summary import FORMATS


def paired_table(tests: list[PairedTest]) -> PaperTable:
    """Return one line a test, in blocks by experiment and metric; significant p values in bold."""
    columns = ["Experiment", "Metric", "Data", "Kernel", "First", "Second", "Pairs", "Mean of first", "Of second"]
    columns += ["Median difference", "p", "p (Holm)", "Lower"]
    blocks = [
        [_line(test) for test in tests if (test.experiment, test.metric) == place]
        for place in dict.fromkeys((test.experiment, test.metric) for test in tests)
    ]
    differing = sum(test.differs for test in tests)
    return PaperTable(
        "paired_tests",
        f"Paired tests: {differing} of {len(tests)} differ.",
        columns,
        blocks,
        [
            "Wilcoxon's signed ranks over the folds that both methods have, two-sided and exact; p corrected by Holm "
            f"over the tests of one cell and metric; said to differ at {SIGNIFICANT:g} (bold). Cells with "
            f"fewer than {FEWEST_PAIRS} common folds are not tested: no p below {SIGNIFICANT:g} is possible there.",
            "A stopped run counts with its last iterate and with its limit as time. Folds share training rows, so "
            "their differences are not independent: a small p is an indication, no proof.",
        ],
        n_labels=6,
    )


def _line(test: PairedTest) -> list[Entry]:
    names = [solver_label(test.first), solver_label(test.second)]
    words = [
        test.experiment,
        METRIC_TITLES[test.metric],
        dataset_label(test.dataset),
        kernel_label(test.kernel),
        *names,
    ]
    shown = FORMATS.get(test.metric, quantity)
    words += [str(test.pairs), *(shown(value, None) for value in (test.mean_first, test.mean_second, test.difference))]
    lower = solver_label(test.lower) if test.lower else "-"
    return [Entry(text) for text in [*words, f"{test.p:.2g}"]] + [
        Entry(f"{test.p_holm:.2g}", best=test.differs),
        Entry(lower),
    ]
