"""The table of measured exponents of time in n, d and q, beside what is expected."""

from __future__ import annotations

from kdrbench.reports.tables.labels import NO_CELL, method_label
from kdrbench.reports.tables.power_law import MANY_SAMPLES, exponent_text
from kdrbench.reports.tables.size_series import ALL_PAIRS, LETTERS, SizeSeries, fixed_sizes
from kdrbench.reports.tables.table import Entry, Table, blocks_by, entries

# Exponents of one iteration, see the note below the table.
_OF_PAIRS = {"n_train": "2", "n_features": "at most 1", "n_components": "at most 1"}
_OF_FACTORS = {"n_train": "1", "n_features": "at most 1", "n_components": "at most p - 1"}
_COLUMNS = ["Varied", "Others", "Method", "Sizes", "Ended", "Stopped", "Run", "95 %", "Iteration", "95 %", "Expected"]
_NOTES = [
    "Run: exponent of the time of a whole run; iteration: of time over iterations, which is what an analysis of "
    "complexity counts. 95 %: interval of Student's t for the slope of log2 time against log2 size.",
    "Expected, an iteration: n^2 for sums over all pairs, as the papers state for every solver (NeurIPS 2019, Figure "
    "1b), and n for sums in factors; in d and q by counting operations: over all pairs a surrogate takes n^2 (d + q) "
    "and a gradient n^2 q + n d q, and in factors of a polynomial of degree p the features grow as q^(p-1).",
    f"Laws in n are fitted from {MANY_SAMPLES:g} samples on where three such sizes ended, else with all that did. Runs "
    "that were stopped at a limit, or failed, enter no fit.",
]


def complexity_table(series: list[SizeSeries]) -> Table:
    """Return measured exponents of time, whole runs and iterations, with 95 % intervals, beside what is expected."""
    blocks = list(blocks_by((one.place, _row(one)) for one in series))
    title = "Measured exponents of time in n, d and q."
    return Table("complexity", title, _COLUMNS, blocks, _NOTES, n_labels=3)


def _row(one: SizeSeries) -> list[Entry]:
    sizes = sorted({size for size, _ in one.ended + one.stopped})
    span = f"{sizes[0]:g} to {sizes[-1]:g}" if sizes else NO_CELL
    words = [
        f"{LETTERS[one.axis]}, {one.evaluation}",
        fixed_sizes(one),
        method_label(one.method),
        span,
        str(len(one.ended)),
        str(len(one.stopped) + one.lost),
    ]
    for law in (one.law, one.law_of_an_iteration):
        interval = NO_CELL if law is None else f"{law.low:.2f} to {law.high:.2f}"
        words += [exponent_text(law), interval]
    return entries([*words, _expected(one)])


def _expected(one: SizeSeries) -> str:
    return (_OF_PAIRS if one.evaluation == ALL_PAIRS else _OF_FACTORS)[one.axis]
