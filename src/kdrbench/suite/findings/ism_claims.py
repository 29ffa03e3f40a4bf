"""Tests of claims on ISM: costs, runs, times and their growth; how its projections classify and cluster; its kernels.

Methods are compared run by run; a difference of costs below 1e-6 is a tie. Times are first solves that nothing
disturbed. How they grow is decided by series of made data, which are this project's own: the papers do not name theirs.
Cells and keyword arguments are those of claims.toml.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.solvers.registry import eigengap_components
from kdrbench.suite.findings.claim_rows import (
    LOST,
    PLACE,
    Coverage,
    Records,
    Tables,
    authors_cells,
    decided_in_lanes,
    decided_on,
    gaps,
    lanes_of,
    means,
    paired_rows,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.effects import TIE
from kdrbench.suite.findings.finding import (
    CONFIRMED,
    CONTRADICTED,
    INDISTINCT,
    MOSTLY,
    UNDECIDED,
    WORST_FIRST,
    Decision,
    Finding,
    decided_by_rows,
    decision_of,
    evaluated,
    only_decision,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, numbers_by_run, steady_times, stopped
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.systems.ikdr.scores import Metric
from kdrbench.suite.systems.ikdr.size_series import ALL_PAIRS, LETTERS, PowerLaw, SizeSeries, fit_power_law, size_series

# Half a unit of the last digit that the papers print of a share; costs that are nearer, in per cent, are tied.
LEVEL, _TIED = 5e-4, 100 * TIE
_SETTING = ["setting", "dataset"]


def pairs_hold(rows: pd.DataFrame, **declared: Any) -> Finding:
    """Count the runs of a solver in which a claim holds beside its rival's."""
    return decided_by_rows(paired_rows(rows), **declared)


def gaps_hold(rows: pd.DataFrame, *, column: str = "quality", place: Sequence[str] = PLACE, **declared: Any) -> Finding:
    """Count the cells in which a claim on ISM's mean number beside another method's holds."""
    pairs = gaps(rows, column, place=place)
    return decided_by_rows(pairs.rename(columns={"cell": "name"}), **declared)


def costs_hold(rows: pd.DataFrame, *, by: Sequence[str] = (), somewhere: bool = False) -> Finding:
    """Count the cells of rivals, or the places, in which ISM's mean cost is lower or tied.

    A cost at which a run was stopped is not where its method ends. If it must be lower ``somewhere``, the claim fails
    where it is so in no cell.
    """
    pairs = gaps(rows, "cost")
    if pairs.empty:
        return undecided("cells of both")
    ends = ["gap", "low", "high"]
    percent = 100 * pairs[ends].div(pairs["theirs"].abs(), axis=0)
    words = [
        f"{cell} by {gap:.2g} %{'' if ended else ' (stopped)'}" if complete else f"{cell} ({LOST})"
        for cell, gap, complete, ended in zip(
            pairs["cell"], percent["gap"], pairs["complete"], pairs["both_ended"], strict=True
        )
    ]
    known = percent.where(pairs["complete"] & ~pairs["open"])
    finding = decided_by_rows(
        pairs.assign(name=words, **known),
        holds=f"complete and both_ended and (abs(gap) <= {_TIED} or high <= {_TIED})",
        fails=f"not complete or not both_ended or low > {_TIED}",
        number="gap",
        by=by,
        unit="cell",
        intervals=not by,
        shown="{:.2g} %",
        extreme="at most {most:.2g} % higher",
        above=_TIED,
    )
    if finding.decision is CONTRADICTED or not somewhere or (known["gap"] < -_TIED).any():
        return finding
    # Open cells may turn out lower.
    decision = UNDECIDED if pairs["open"].any() else CONTRADICTED
    measure = finding.measure if pairs["open"].any() else f"lower in {share_of(0, len(pairs), 'cell')}"
    return replace(finding, decision=decision, measure=measure)


def times_faster(rows: pd.DataFrame, *, least: float, uncertain: float) -> Finding:
    """Take the largest ratio of mean first solves in a cell.

    Times of runs that shared their cores may be wrong by a factor ``uncertain``. A rival that was stopped gives a lower
    bound of its ratio, and the measure says the limit that would decide. Where ISM itself was stopped, the ratio is
    bounded from above, or not at all.
    """
    pairs = gaps(rows, "time_s")
    known = pairs[pairs["ours"] > 0].assign(ratio=pairs["theirs"] / pairs["ours"]) if len(pairs) else pairs
    if known.empty or not known["ended"].any():
        return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
    ended = known[known["ended"]]
    best, ratios = ended.sort_values("ratio", ascending=False, kind="stable").iloc[0], ended["ratio"]
    words = (
        f"{factor_text(best['ratio'])} times (from {factor_text(ratios.min())}, median {factor_text(ratios.median())})"
    )
    bounds = least * ended.loc[ended["bounded"], "ours"]
    if len(bounds):
        words += f", lower bounds in {counted(len(bounds), 'cell')}, which a limit of {bounds.max():.2g} s decides"
    evidence = f"the largest of {best['cell']}"
    if n_stopped := len(known) - len(ended):
        evidence += f"; left out: {counted(n_stopped, 'cell')} in which ISM itself was stopped"
    timed = rows[rows["time_s"].notna()]
    is_clean = len(clean_times(timed)) == len(timed)
    wrong_by = 1.0 if is_clean else uncertain
    most = known["ratio"].where(~known["bounded"], math.inf).max()
    possible = {best["ratio"] / wrong_by, max(best["ratio"], most) * wrong_by}
    decision = only_decision({decision_of(ratio / least) for ratio in possible})
    power = "" if is_clean else f"wrong by at most a factor of {wrong_by:g}, since runs shared their cores"
    return Finding(decision, evidence, "", words, power)


def factor_text(ratio: float) -> str:
    """Return a ratio in two digits, or whole with its thousands apart."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def days_and_seconds(
    records: Records, *, tables: Tables, dataset: str, rival: str, rival_least_s: float, most_s: float, uncertain: float
) -> Finding:
    """Compare the time of ISM on a data set with ``most_s``, and that of a rival with ``rival_least_s``."""
    rows = authors_cells(records, tables, ("ism", rival)).rows
    rows = rows[rows["dataset"] == dataset] if len(rows) else rows
    # Of several experiments the last counts.
    cells = {cell["method"].iloc[0]: cell for _, cell in rows.groupby("cell", sort=False)} if len(rows) else {}
    if not {"ism", rival} <= set(cells) or stopped(cells["ism"]).any():
        return undecided(f"runs of ISM and of {method_label(rival)} by the authors' code on {dataset_label(dataset)}")
    ours, theirs = (float(numbers_by_run(cells[name], "time_s").mean()) for name in ("ism", rival))
    longest = math.inf if stopped(cells[rival]).any() else theirs * uncertain
    sides = {
        side_of(ours / uncertain, ours * uncertain, most=most_s),
        side_of(theirs / uncertain, longest, least=rival_least_s),
    }
    times = f"ISM {ours:.2g} s, {method_label(rival)} {theirs:.2g} s on {dataset_label(dataset)}"
    power = f"times may be wrong by a factor of {uncertain:g}"
    return Finding(min(sides, key=WORST_FIRST.index), times, "", times, power)


# Exponents by method and the letter of the size in which time grows; ``None`` where none could be fitted.
Laws = Mapping[tuple[str, str], PowerLaw | None]


def decided_by_exponents(
    laws: Laws,
    regions: Mapping[str, Mapping[str, Any]],
    lacking: str,
    unit: str = "exponent",
    note: str = "",
) -> Finding:
    """Return a claim on exponents, decided by the sides of their 95 % intervals; undecided unless all are there.

    ``regions`` has for each letter ``least``, ``most`` and ``asymptotic``: then an interval below the region says that
    sizes were too small for the law to show.
    """
    fitted = {place: law for place, law in laws.items() if law is not None}
    own = {(name, letter): regions.get(f"{name} {letter}") or regions[letter] for name, letter in laws}
    evidence = "; ".join(
        f"{method_label(name)} {letter}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"
        for (name, letter), law in fitted.items()
    )
    small = [place for place, law in laws.items() if law is None or law.smallest < own[place].get("smallest", 0.0)]
    if small:
        missing = ", ".join(f"{letter} of {method_label(name)}" for name, letter in small)
        known = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"exponents by {lacking} at three sizes: {missing}", f"{known} {note}".strip())
    anything = {"least": -math.inf, "most": math.inf, "asymptotic": False}
    rows = pd.DataFrame(
        [{**anything, **own[place], **asdict(law), "letter": place[1]} for place, law in fitted.items()]
    )
    finding = decided_by_rows(
        rows,
        holds="low >= least and high <= most",
        fails="low > most or (high < least and not asymptotic)",
        unit=unit,
        evidence=evidence,
        note=note,
        power=f"exponents are known to within {0.5 * (rows['high'] - rows['low']).max():.2f}",
    )
    ranges = rows.groupby("letter", sort=False)["exponent"].agg(["min", "max"])
    extreme = ", ".join(
        f"{letter}^{low:.2f}" + (f" to {letter}^{high:.2f}" if high > low else "")
        for letter, low, high in ranges.itertuples()
    )
    return replace(finding, measure=f"{finding.measure}; {extreme}")


def exponents(
    records: Records, *, of: str, methods: Sequence[str], regions: Mapping[str, Mapping[str, Any]], **declared: Any
) -> Finding:
    """Fit time against each size for which ``regions`` has a letter, over all pairs of samples.

    ``of`` is the time of a whole ``run``, that of an ``iteration``, or the ``ratio`` of a run's to that of ISM. Stopped
    runs enter no law. Every method must have all laws.
    """
    runs = steady_times(records.runs) if len(records.runs) else records.runs
    all_series = size_series(runs, records.config) if len(runs) else []
    series = {(each.method, LETTERS[each.axis]): each for each in all_series if each.evaluation == ALL_PAIRS}

    def law(name: str, letter: str) -> PowerLaw | None:
        own, ism = series.get((name, letter)), series.get(("ism", letter))
        if own is None or of == "ratio":
            return _law_of_ratio(own, ism)
        return own.law if of == "run" else own.law_of_an_iteration

    letters = [letter for letter in LETTERS.values() if letter in regions]
    laws = {(name, letter): law(name, letter) for letter in letters for name in methods}
    return decided_by_exponents(laws, regions, **declared)


def _law_of_ratio(theirs: SizeSeries | None, ours: SizeSeries | None) -> PowerLaw | None:
    if theirs is None or ours is None or theirs.place != ours.place:
        return None
    seconds = dict(ours.ended)
    return fit_power_law((size, time / seconds[size]) for size, time in theirs.ended if size in seconds)


def accuracy_above(rows: pd.DataFrame, *, least: float) -> Finding:
    """Take ISM's mean over the ten test folds of each cell; the note says what comes out by training samples."""
    cells, fitted = means(rows), means(rows, "train_accuracy")["mean"].dropna()
    percent = [LOST if math.isnan(mean) else f"{mean:.1%}" for mean in cells["mean"]]
    note = f"On training samples {share_of(int((fitted >= least).sum()), len(fitted), 'cell')} do."
    return decided_by_rows(
        cells.assign(name=cells["cell"] + " (" + percent + ")").rename(columns={"mean": "accuracy"}),
        holds=f"accuracy >= {least}",
        number="accuracy",
        unit="cell",
        intervals=True,
        extreme="at least {least:.1%}",
        note=note if len(fitted) else "",
    )


def best(rows: pd.DataFrame, *, kernel: str = "", lower: bool = False, normally: bool = False) -> Finding:
    """Count the data sets on which no other has a better mean quality than ISM, or than a ``kernel`` of ISM's."""
    axis, ours, label = ("kernel", kernel, kernel_label) if kernel else ("method", "ism", method_label)
    pairs = gaps(rows, ours=ours, axis=axis, place=["dataset"] if kernel else ["source", "dataset"])
    if pairs.empty:
        return undecided("cells of others")
    if not kernel:
        # Of two experiments of the authors' code on a data set the last counts.
        pairs = pairs[pairs["source"] == pairs.groupby("dataset")["source"].transform("last")]
    if not lower:
        pairs = pairs.assign(gap=-pairs["gap"], low=-pairs["high"], high=-pairs["low"])
    number = ".1%" if lower else ".3f"
    others = pairs[axis].map(label)
    words = [
        f"{row.ours:{number}} against {row.theirs:{number}} of {other}" if row.complete else f"{LOST} beside {other}"
        for row, other in zip(pairs.itertuples(), others, strict=True)
    ]
    return decided_by_rows(
        pairs.assign(name=pairs["dataset"].map(dataset_label) + ", " + words, open=False),
        holds=f"complete and gap <= {LEVEL}",
        fails=f"not complete or (gap > {LEVEL} and low > 0)",
        number="gap",
        by=["dataset"],
        unit="data set",
        intervals=True,
        normally=normally,
        extreme=f"at most {{most:{number}}} behind",
        above=LEVEL,
    )


def better_kernel(rows: pd.DataFrame, *, kernel: str, than: str) -> Finding:
    """Compare accuracy or NMI: confirmed if clearly better in most cells, mostly if more often better than worse."""
    pairs = gaps(rows[rows["kernel"].isin([kernel, than])], ours=kernel, axis="kernel", place=_SETTING)
    if pairs.empty:
        return undecided("cells of both kernels")
    # A cell that lacks runs is no win.
    n_cells, better = len(pairs), int(evaluated(pairs, f"complete and gap > {LEVEL} and low > 0").sum())
    worse = int(evaluated(pairs, f"not complete or (gap < -{LEVEL} and high < 0)").sum())
    unclear = int(evaluated(pairs, f"complete and abs(gap) > {LEVEL} and low <= 0 <= high").sum())
    # Each unclear cell is either of both.
    counts = [(better + more, worse + unclear - more) for more in range(unclear + 1)]
    possible = {CONFIRMED if 2 * won > n_cells else MOSTLY if won > lost else CONTRADICTED for won, lost in counts}
    measure = f"better in {share_of(better, n_cells, 'cell')}; worse in {worse}; unclear in {unclear}; level in "
    measure += str(n_cells - better - worse - unclear)
    power = smallest_shown(pairs[pairs["complete"]])
    return Finding(only_decision(possible, INDISTINCT), measure, "", measure, power)


def kernels_alike(records: Records, *, tables: Tables, apart: float, times_apart: float) -> Finding:
    """Count the data sets, with and without labels, on which all kernels are within bounds of each other.

    Qualities by the 95 % intervals of all differences, times by the ratio of mean first solves.
    """
    coverage, timed = qualities(records, tables), timed_cells(records, tables, ("ism",))

    def judge(rows: pd.DataFrame) -> Finding:
        seconds = timed.rows.groupby([*_SETTING, "kernel"])["time_s"].mean().groupby(level=_SETTING)
        ratio = (seconds.max() / seconds.min()).rename("ratio")
        pairs = pd.concat(
            [gaps(rows, ours=kernel, axis="kernel", place=_SETTING) for kernel in rows["kernel"].unique()]
        )
        pairs = pairs.join(ratio, on=_SETTING).reset_index(drop=True)
        labels = pairs["dataset"].map(dataset_label) + ", " + pairs["setting"]
        return decided_by_rows(
            pairs.assign(name=labels + [f": times {factor_text(each)} to 1" for each in pairs["ratio"]], open=False),
            holds=f"complete and low >= -{apart} and high <= {apart} and ratio <= {times_apart}",
            fails=f"not complete or low > {apart} or high < -{apart} or not ratio <= {times_apart}",
            number="abs(gap)",
            by=_SETTING,
            unit="case",
            extreme=f"at most {{most:.3f}} apart, times {factor_text(ratio.max())} to 1",
        )

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    if timed.rows.empty:
        return undecided("; ".join(missing))
    return decided_on(replace(coverage, missing=missing), judge)


def clusters_comparable(records: Records, *, tables: Tables, rivals: Sequence[str], apart: float) -> Finding:
    """Count the cells in which ISM's NMI is at most ``apart`` below that of each rival, and those where it is quickest.

    Both must hold. Times are those of methods as published, which nothing disturbed; a cell that lacks one is open.
    """
    methods, place = ("ism", *rivals), ["cell", "ours", "theirs"]
    within: dict[str, Any] = {"holds": f"gap >= -{apart}", "number": "-gap", "extreme": "at most {most:.3f} behind"}
    judge = partial(gaps_hold, among="complete", opened="not complete", unit="cell", **within)
    finding = decided_in_lanes(lanes_of(records, tables, Metric.NMI, methods, converged=False), judge)
    if finding.decision is UNDECIDED:
        return finding
    printed, timed = (
        gaps(coverage.rows, "time_s").reindex(columns=place)
        for coverage in (
            printed_cells(records, tables, "time_s", methods, bounds=True),
            timed_cells(records, tables, methods, bounds=True),
        )
    )
    cells = printed[["cell"]].merge(timed, on="cell", how="left")
    times = decided_by_rows(cells.assign(open=cells["theirs"].isna()), holds="theirs >= ours", unit="cell")
    weaker = max(finding.decision, times.decision, key=list(Decision).index)
    measure = f"{finding.measure}; ISM the quickest in {times.measure}"
    both = replace(finding, decision=weaker, measure=measure, evidence=f"NMI {finding.evidence}; time {times.evidence}")
    return both.with_note("Lanes are compared in NMI alone.")


def qualities(records: Records, tables: Tables) -> Coverage:
    """Return ISM's cells of some tables, with the accuracy of those with labels, the NMI of others."""
    metrics = {table: Metric.ACCURACY if table.setting == "supervised" else Metric.NMI for table in tables}
    parts = [printed_cells(records, (table,), metric, ("ism",)) for table, metric in metrics.items()]
    return sum(parts, Coverage())


def _on_wine(records: Records, tables: Tables, n_components: int) -> list[NDArray[np.float64]]:
    """Return Omega and Phi of :func:`wine_solution`; nothing where ISM was not run on Wine."""
    rows = printed_cells(records, tables, "cost", ("ism",), bounds=True).rows
    return [] if rows.empty or "wine" not in set(rows["dataset"]) else list(wine_solution(n_components)[1:])


def wine_solution(n_components: int) -> tuple[NDArray[np.float64], ...]:
    """Return W, Omega and Phi = X' Omega X at ISM's solution for Wine, Gaussian kernel.

    Omega = Psi - D with Psi = Gamma * K_XW, D its row sums, Gamma = HYY'H, the bandwidth the median distance of X.
    """
    from sklearn.datasets import load_wine
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import scale

    from kdrbench.estimators import InterpretableKDR
    from kdrbench.kernels import median_distance

    features, labels = load_wine(return_X_y=True)
    features, classes = scale(features), scale(np.eye(3)[labels], with_std=False)
    model = InterpretableKDR(n_components, sigma="median").fit(features, labels)
    projected = features @ model.components_.T
    psi = (classes @ classes.T) * rbf_kernel(projected, gamma=0.5 / median_distance(features) ** 2)
    omega = psi - np.diag(psi.sum(axis=1))
    return model.components_.T, omega, features.T @ omega @ features


def omega_semidefinite(records: Records, *, tables: Tables, n_components: int) -> Finding:
    """Count the eigenvalues of Omega at ISM's solution that are not negative, where the record has that solution."""
    spectra = [np.linalg.eigvalsh(matrix) for matrix in _on_wine(records, tables, n_components)]
    if not spectra:
        return undecided("a run of ISM on Wine")
    negative, of_phi = (int((values < -1e-9 * abs(values).max()).sum()) for values in spectra)
    omega, phi = map(len, spectra)
    evidence = f"negative are {negative} of {omega} eigenvalues of Omega, {of_phi} of {phi} of Phi, on Wine with the "
    decision = CONTRADICTED if negative else CONFIRMED
    return Finding(decision, f"{evidence}Gaussian kernel", "", f"{negative} of {omega} negative", "exact")


def rule_of_q(records: Records, *, tables: Tables) -> Finding:
    """Compare q with the number of eigenvalues above the largest gap of Phi at a solution.

    Rows hold the gap at their own q alone. The spectrum is made again on the bundled data set; the others are open.
    """
    printed = printed_components(tables[0].paper, tables[0].setting)
    matrices = _on_wine(records, tables, printed["wine"])
    if not matrices:
        return undecided("a run of ISM on Wine")
    chosen = eigengap_components(matrices[1])
    cases = pd.DataFrame({"q": [*printed.values()], "open": [name != "wine" for name in printed]})
    evidence = "of the other data sets rows hold no spectrum"
    finding = decided_by_rows(cases, holds=f"q == {chosen}", unit="case", evidence=evidence)
    return replace(finding, measure=f"{finding.measure}; {chosen} chosen on Wine, where {printed['wine']} is printed")
