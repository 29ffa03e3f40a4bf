"""Claims on what ISM finds: iterations, accuracy, the best kernel, second order (NeurIPS 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from kdrbench.reports.claims.claim import Decision, Found, Records, cells_of, confirmed_if, listed, undecided
from kdrbench.reports.records import Metric, is_scaling
from kdrbench.reports.tables.labels import dataset_label, kernel_label
from kdrbench.status import Status

FEWER_THAN = 5
LEAST_ACCURACY = 0.95
CONIC = "gaussian_polynomial"
# Half a unit of the last digit that the papers print of a share.
_LEVEL = 5e-4
# ISM stops before it is stationary; a run nearer than this counts as a fixed point.
_FIXED = 1e-4
_ROUNDING = 1e-9


def few_iterations(records: Records) -> Found:
    """Decide "ISM needs fewer than 5 iterations" by every supervised run of ISM that ended by its own rule.

    Left out are alternations, whose iterations are over many solves, and made data of the series on size.
    """
    if records.runs.empty:
        return undecided("supervised runs of ism (results/ikdr.csv)")
    runs = records.runs[(records.runs["method"] == "ism") & (records.runs["paradigm"] == "supervised")]
    runs = runs[~runs["experiment"].map(is_scaling).astype(bool)]
    chosen = runs[runs["status"] == str(Status.CONVERGED)].dropna(subset=["iterations"])
    counts = chosen["iterations"]
    if counts.empty:
        return undecided("supervised runs of ism that converged")
    few = int((counts < FEWER_THAN).sum())
    most = chosen.iloc[int(counts.argmax())]
    evidence = (
        f"fewer than {FEWER_THAN} in {few} of {len(counts)} runs, median {counts.median():g}, at most {counts.max():g}"
    )
    evidence += f" ({dataset_label(most['dataset'])}, {kernel_label(most['kernel'])})"
    note = "The rule stops when eigenvalues change by less than 1 %, which is no proof of a stationary point."
    return confirmed_if(few == len(counts), evidence, note)


def accuracy_above(records: Records) -> Found:
    """Decide "supervised accuracy is never below 95 %" by ISM's mean over the test folds of each cell."""
    means = {
        f"{experiment}: {dataset_label(dataset)}, {kernel_label(kernel)}": float(runs["quality"].mean())
        for (experiment, dataset, kernel), runs in _cells_of_ism(records)
        if (runs["quality_metric"] == Metric.ACCURACY).all()
    }
    if not means:
        return undecided("accuracies of ism on test folds")
    below = [f"{name} {mean:.1%}" for name, mean in means.items() if mean < LEAST_ACCURACY]
    evidence = f"{len(means) - len(below)} of {len(means)} cells reach 95 %, the lowest has {min(means.values()):.1%}"
    note = "Of held-out samples; where the papers print accuracies of training samples, theirs are higher."
    return confirmed_if(not below, evidence + (f"; below: {listed(below)}" if below else ""), note)


def conic_is_best(records: Records) -> Found:
    """Decide "the conic combination is the best kernel": on each data set none is better than Gaussian + polynomial.

    By ISM's mean accuracy or NMI, in the setting (supervised or not) and on the data of one another; differences below
    half the last printed digit count as level.
    """
    means: dict[tuple[str, str, str], dict[str, float]] = {}
    for (_, dataset, kernel), runs in _cells_of_ism(records):
        metric = str(runs["quality_metric"].iloc[0])
        if metric in (Metric.ACCURACY, Metric.NMI):
            whole = f"{runs['n_train'].iloc[0]} rows"
            means.setdefault((dataset, metric, whole), {}).setdefault(kernel, float(runs["quality"].mean()))
    compared = {place: by_kernel for place, by_kernel in means.items() if CONIC in by_kernel and len(by_kernel) > 1}
    if not compared:
        return undecided("qualities of ism with Gaussian + polynomial and with other kernels on the same data")
    beaten = []
    for (dataset, metric, _), by_kernel in compared.items():
        best = max(by_kernel, key=lambda kernel: by_kernel[kernel])
        if by_kernel[best] - by_kernel[CONIC] > _LEVEL:
            numbers = f"{by_kernel[best]:.3f} against {by_kernel[CONIC]:.3f}"
            beaten.append(f"{dataset_label(dataset)} ({metric}) by {kernel_label(best)}, {numbers}")
    evidence = f"best or level in {len(compared) - len(beaten)} of {len(compared)} cases"
    return confirmed_if(not beaten, evidence + (f"; beaten on {listed(beaten)}" if beaten else ""))


def second_order(records: Records) -> Found:
    """Decide "a fixed point satisfies the second-order conditions when the eigengap holds" (Theorem 1).

    Over runs whose relative stationarity is below 1e-4 and whose eigengap is at least what the theorem needs there: the
    smallest curvature must not be negative beyond rounding.
    """
    solved = records.solved
    if solved.empty or "curvature" not in solved or solved["curvature"].isna().all():
        return undecided("curvatures and eigengaps of supervised runs")
    measured = solved.dropna(subset=["curvature", "eigengap", "eigengap_needed", "stationarity"])
    fixed = measured[measured["stationarity"] <= _FIXED]
    held = fixed[fixed["eigengap"] >= fixed["eigengap_needed"]]
    if held.empty:
        return Found(Decision.UNDECIDED, f"the eigengap suffices at none of {len(fixed)} fixed points")
    broken = int((held["curvature"] < -_ROUNDING).sum())
    silent = fixed.drop(held.index)
    saddles = int((silent["curvature"] < -_ROUNDING).sum())
    evidence = f"curvature negative at {broken} of {len(held)} fixed points where the eigengap suffices"
    note = (
        f"The theorem is silent at {len(silent)} of {len(fixed)} fixed points, whose eigengap is smaller than it asks; "
        f"{saddles} of these are saddles."
    )
    return confirmed_if(broken == 0, evidence, note)


def _cells_of_ism(records: Records) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield the cells of ISM as published that have a quality for every run."""
    solved = records.solved
    for place, runs in cells_of(solved[solved["method"] == "ism"] if not solved.empty else solved):
        if runs["quality"].notna().all():
            yield place, runs
