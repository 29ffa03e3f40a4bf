"""Lines of the ledger for what papers state in words: wins, iterations, exponents of time, a drawn figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.ledger_lines import UNEXPLAINED, UNLIKE, Axes, Comparison, printed_line
from kdrbench.suite.findings.outcome import steady_times
from kdrbench.suite.reports.protocol import comparable, departures_in_words
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, Config, Metric, experiments_of, is_scaling
from kdrbench.suite.reports.tables.numbers import agreement
from kdrbench.suite.reports.tables.published_numbers import (
    find_published,
    published_numbers,
)
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.size_series import ALL_PAIRS, PowerLaw, SizeSeries, size_series
from kdrbench.suite.systems.kpca_trick.cells import (
    PAPER,
    SETTING,
    TABLES,
    kpca_cells,
    kpca_published_wdl,
)

# Of an exponent: what an interval may miss the printed one by, and what is called close.
_NEAR, _CLOSE, _WIDEST = 0.1, 0.25, 1.0
# Shares of runs within a range of iterations.
_NEARLY_ALL, _HALF = 0.9, 0.5
_AXES = {"exponent_n": "n_train", "exponent_d": "n_features", "exponent_q": "n_components"}
_OF_CELLS = "a count of the table's cells; what is known of their differences is said of each"
# Papers, and experiments of ours whose runs decide what their text says.
_TEXT = "text"


def text_lines(tables: Mapping[str, pd.DataFrame], config: Config) -> Iterator[Comparison]:
    """Yield a line for each such statement of a paper of which an experiment is run."""
    if KPCA_TRICK in tables:
        yield from _counts(tables[KPCA_TRICK], config)
    if IKDR not in tables:
        return
    runs = tables[IKDR]
    by_protocol, left_out = comparable(runs, config)
    for axes in published_numbers(table=_TEXT):
        if names := _printed_experiments(axes["paper"], config):
            yield _iterations_line(axes, runs, by_protocol, names, left_out)
    if any(is_scaling(name) for name in experiments_of(config, IKDR)):
        series = size_series(steady_times(by_protocol), config)
        for axes in (*published_numbers(paper="ismplus", table="4"), *published_numbers(table="complexity")):
            yield _exponent_line(axes, series)
    for axes in published_numbers(table="figure 1a"):
        for name in _drawn(config):
            yield _drawn_line(axes, runs[runs["experiment"] == name], name)


def _counts(runs: pd.DataFrame, config: Config) -> Iterator[Comparison]:
    """Yield how often each version with a kernel is above, level with and below the plain learner."""
    for name in experiments_of(config, KPCA_TRICK):
        cells = kpca_cells(runs[runs["experiment"] == name], config)
        departs = next((cell.departure for cell in cells.values() if cell.departure), "")
        for counts in kpca_published_wdl(cells):
            axes = {"paper": PAPER, "table": TABLES[counts.learner], "setting": SETTING, "dataset": "all"}
            axes |= {"kernel": counts.variant, "method": counts.name, "metric": "win_draw_lose"}
            words, verdict = f"{counts.ours} of {counts.n_cells} data sets", Verdict.NOT_RUN
            if counts.n_cells == counts.n_printed:
                pairs = zip(counts.printed.split("/"), counts.ours.split("/"), strict=True)
                apart = max(abs(int(printed) - int(ours)) for printed, ours in pairs)
                # Close is a data set more or less in each count.
                close = Verdict.CLOSE if apart == 1 else Verdict.DIFFERS
                words, verdict = counts.ours, Verdict.REPRODUCED if apart == 0 else close
            verdict = Verdict.NOT_COMPARABLE if departs else verdict
            why = departs or (_OF_CELLS if verdict in UNLIKE else "")
            line = _line(axes, words, None, counts.n_cells, verdict, name)
            yield replace(line, published=counts.printed, why=why or line.why)


def _line(axes: Axes, words: str, mean: float | None, runs: int, verdict: Verdict, experiment: str) -> Comparison:
    """Return the line of a statement beside what comes out of ``runs`` runs, or points of a law."""
    if not runs:
        return printed_line(axes, verdict=verdict, experiment=experiment)
    number, why = find_published(**axes), ""
    if verdict in UNLIKE:
        why = number.why if number and number.why else UNEXPLAINED
    return printed_line(axes, verdict=verdict, experiment=experiment, ours=words, mean=mean, runs=runs, why=why)


def _printed_experiments(paper: str, config: Config) -> list[str]:
    """Return the supervised experiments that make a printed table of a paper."""
    experiments = {name: config["experiments"][name] for name in experiments_of(config, IKDR)}
    published = {name: one["published"] for name, one in experiments.items() if one["paradigm"] == "supervised"}
    return [
        name
        for name, place in published.items()
        if "table" in place and place["paper"] == paper and not place.get("protocol")
    ]


def _iterations_line(
    axes: Axes, runs: pd.DataFrame, by_protocol: pd.DataFrame, names: list[str], left_out: Sequence[tuple[str, str]]
) -> Comparison:
    """Return how many runs ended within the printed range; by runs of another protocol where there are no others.

    What was left out or not made is said: without the cells of slow runs, those of the quick ones are compared with
    nothing.
    """
    of_method, kept = (
        rows[rows["experiment"].isin(names) & (rows["method"] == axes["method"])] for rows in (runs, by_protocol)
    )
    line = _within(axes, kept, names)
    left_out = [reason for reason in left_out if reason[0] in names]
    reasons = [reason for reason in left_out if reason[1].startswith(f"{axes['method']} on ")]
    if not line.runs:
        line, reasons = _within(axes, of_method, names), left_out
    skipped = of_method[of_method["status"] == str(Status.SKIPPED)]
    cells, of_kept, of_skipped = (
        set(zip(rows["dataset"], rows["kernel"], strict=True)) for rows in (of_method, kept, skipped)
    )
    if not line.runs or cells <= of_kept - of_skipped:
        return line
    if len(skipped):
        reasons.append((", ".join(skipped["experiment"].unique()), "runs were not made, since the budget was used up"))
    return replace(line, verdict=Verdict.NOT_COMPARABLE, why=departures_in_words(reasons or left_out))


def _within(axes: Axes, rows: pd.DataFrame, names: list[str]) -> Comparison:
    """Return how many runs ended within the printed range, which ``value`` and ``std`` of the number hold."""
    number = find_published(**axes)
    counts = rows.loc[rows["status"] != str(Status.FAILED), "iterations"].dropna()
    if counts.empty or number is None:
        return printed_line(axes)
    # What was stopped took at least as many, and ends nowhere within.
    own_end = rows.loc[counts.index, "status"] == str(Status.CONVERGED)
    inside = int((counts.between(number.value or 0.0, number.std or 0.0) & own_end).sum())
    share = inside / len(counts)
    verdict = Verdict.REPRODUCED if share >= _NEARLY_ALL else Verdict.CLOSE if share >= _HALF else Verdict.DIFFERS
    words = f"median {counts.median():g} ({counts.min():g} to {counts.max():g}), {inside} of {len(counts)} within"
    return _line(axes, words, float(counts.median()), len(counts), verdict, ", ".join(names))


def _exponent_line(axes: Axes, series: Sequence[SizeSeries]) -> Comparison:
    """Return the exponent of one iteration, summed over all pairs: that of an analysis of complexity."""
    wanted, number = (_AXES[axes["metric"]], ALL_PAIRS, axes["method"]), find_published(**axes)
    own = [each for each in series if (each.axis, each.evaluation, each.method) == wanted]
    law = own[0].law_of_an_iteration if own else None
    if law is None or number is None or number.value is None:
        return printed_line(axes, experiment="scaling")
    words = f"{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})"
    return _line(axes, words, law.exponent, law.n_points, _of_exponent(number.value, law), "scaling")


def _of_exponent(printed: float, law: PowerLaw) -> Verdict:
    # An interval that holds every exponent shows none.
    if law.high - law.low > _WIDEST:
        return Verdict.NOT_JUDGED
    if law.low - _NEAR <= printed <= law.high + _NEAR:
        return Verdict.REPRODUCED
    return Verdict.CLOSE if law.low - _CLOSE <= printed <= law.high + _CLOSE else Verdict.DIFFERS


def _drawn(config: Config) -> list[str]:
    """Return the experiments that draw a figure of the paper."""
    published = {name: config["experiments"][name].get("published", {}) for name in experiments_of(config, IKDR)}
    return [name for name, place in published.items() if place.get("figure") == "1a"]


def _drawn_line(axes: Axes, runs: pd.DataFrame, name: str) -> Comparison:
    """Return how clusters agree with the labelling that is sought, where there is one; a picture has no verdict."""
    of_data = runs[(runs["dataset"] == axes["dataset"]) & (runs["status"] != str(Status.FAILED))]
    if of_data.empty:
        return printed_line(axes, experiment=name)
    highest = of_data["quality"].max()
    known = None if pd.isna(highest) else float(highest)
    words = "drawn" if known is None else f"{Metric.NMI.upper()} {agreement(known)} with what is sought"
    return _line(axes, words, known, len(of_data), Verdict.NOT_JUDGED, name)
