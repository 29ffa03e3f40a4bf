"""Claims on how time grows with the number of samples, features and components (NeurIPS 2019 and ISM+).

They are decided by the series of made data, which are this project's own: the papers do not name theirs.
"""

from __future__ import annotations

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.claim import Claim, Found, Records, decided_by_share, undecided
from kdrbench.suite.reports.claims.coverage import TIME_COLUMNS
from kdrbench.suite.reports.claims.printed_tables import RIVALS
from kdrbench.suite.reports.clean_times import steady_times
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.reports.tables.size_series import (
    ALL_PAIRS,
    LETTERS,
    MANY_SAMPLES,
    PowerLaw,
    SizeSeries,
    fit_large,
    size_series,
)

# How near an exponent must come, and how wide an interval may be to say anything.
_NEAR, _WIDEST = 0.25, 1.0


def series_of(records: Records) -> list[SizeSeries]:
    """Return the series over size of undisturbed first solves; none where the records do not hold these apart."""
    runs = records.runs
    if runs.empty or not {*TIME_COLUMNS, "iterations"} <= set(runs.columns):
        return []
    clean = steady_times(runs)
    return [] if clean.empty else size_series(clean, records.config)


def quadratic_time(records: Records) -> Found:
    """Decide "time grows as n^2 for every solver, with like slopes" by the series over all pairs of samples.

    It holds for a solver if the 95 % interval of its exponent comes within 0.25 of 2, and the exponent within 0.25 of
    the middle of all. Undecided if ISM or a rival was not run, if some solver ended at fewer than three sizes of 1000
    or more, below which a run is made of calls, or if its interval is wider than 1.
    """
    in_n = [one for one in series_of(records) if one.axis == "n_train"]
    pairs = [one for one in in_n if one.evaluation == ALL_PAIRS]
    if not pairs:
        return undecided("first solves of a scaling experiment that sums over all pairs, at three sizes or more")
    evidence, note = "; ".join(_slope(one, one.law) for one in pairs), _factored(in_n)
    if missing := [method_label(name) for name in ("ism", *RIVALS) if name not in {one.method for one in pairs}]:
        return undecided(f"first solves of {', '.join(missing)} that sum over all pairs: {evidence}", note)
    laws = [law for one in pairs if (law := one.law) is not None and _says_something("n_train", law)]
    if len(laws) < len(pairs):
        return undecided(
            f"sizes enough, of {MANY_SAMPLES:g} and more, for an exponent of every solver: {evidence}", note
        )
    exponents = [law.exponent for law in laws]
    middle = 0.5 * (min(exponents) + max(exponents))
    like = sum(_within(law, 2.0) and abs(law.exponent - middle) <= _NEAR for law in laws)
    extreme = f"n^{min(exponents):.2f} to n^{max(exponents):.2f}"
    return decided_by_share(like, len(laws), evidence, note, "solver", extreme=extreme)


def complexity(records: Records) -> Found:
    """Decide the exponents of an iteration: 2 in n for all; at most 1 in d; in q 2 for the rivals, at most 1 for ISM.

    It holds for an exponent of 2 if the 95 % interval comes within 0.25 of it, and for one of at most 1 if it is not
    above 1.25. Every solver must have all three.
    """
    laws = {
        (one.axis, one.method): law
        for one in series_of(records)
        if one.evaluation == ALL_PAIRS
        if (law := one.law_of_an_iteration) is not None and _says_something(one.axis, law)
    }
    wanted = [(axis, method) for axis in LETTERS for method in ("ism", *RIVALS)]
    found = [(axis, method, laws[axis, method]) for axis, method in wanted if (axis, method) in laws]
    evidence = "; ".join(_exponent(axis, method, law) for axis, method, law in found)
    if missing := [
        f"{LETTERS[axis]} of {method_label(method)}" for axis, method in wanted if (axis, method) not in laws
    ]:
        note = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"an iteration's first solves at three sizes of {', '.join(missing)}", note)
    holding = sum(_as_printed(*one) for one in found)
    largest = {letter: max(law.exponent for one, _, law in found if one == axis) for axis, letter in LETTERS.items()}
    extreme = "at most " + ", ".join(f"{letter}^{exponent:.2f}" for letter, exponent in largest.items())
    return decided_by_share(holding, len(found), evidence, unit="exponent", extreme=extreme)


def _says_something(axis: str, law: PowerLaw) -> bool:
    """Return whether the interval is narrow enough, and a law in n is of sizes at which sums take the time."""
    return law.high - law.low <= _WIDEST and (axis != "n_train" or law.smallest >= MANY_SAMPLES)


def _as_printed(axis: str, method: str, law: PowerLaw) -> bool:
    square = axis == "n_train" or (axis == "n_components" and method != "ism")
    return _within(law, 2.0) if square else law.exponent <= 1 + _NEAR


def _within(law: PowerLaw, exponent: float) -> bool:
    """Return whether the interval comes near an exponent."""
    return law.low <= exponent + _NEAR and law.high >= exponent - _NEAR


def _slope(one: SizeSeries, law: PowerLaw | None) -> str:
    if law is None:
        return f"{method_label(one.method)} ended at {counted(len(one.ended), 'size')}"
    return _exponent(one.axis, one.method, law)


def _exponent(axis: str, method: str, law: PowerLaw) -> str:
    return f"{method_label(method)} {LETTERS[axis]}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"


def _factored(series: list[SizeSeries]) -> str:
    others = [_slope(one, one.law) for one in series if one.evaluation != ALL_PAIRS]
    return f"With the library's own evaluation, which needs no pairs: {'; '.join(others)}." if others else ""


def law_along(table: pd.DataFrame, axis: str, other: str, column: str, least: float) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs, from ``least`` on where enough are."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    longest = max(groups, key=lambda group: group[axis].nunique())
    means = longest.groupby(axis)[column].median()
    return fit_large([float(size) for size in means.index], [float(time) for time in means], least)


CLAIMS = (
    Claim(
        "quadratic_time",
        "Time grows as n^2 for every solver, with like slopes.",
        "NeurIPS 2019",
        "Figure 1b",
        quadratic_time,
    ),
    Claim(
        "complexity",
        "An iteration costs n^2 in samples and at most d in features; in components q^2 for the rivals, less for ISM.",
        "ISM+",
        "Table 4",
        complexity,
    ),
)
