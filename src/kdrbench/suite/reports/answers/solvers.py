"""The answers of IKDR in sentences: who reaches the best known cost, how often, how much sooner, and where not."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from kdrbench.errors import counted, joined
from kdrbench.suite.findings.outcome import ENDED, clean_times
from kdrbench.suite.reports.answers.matrix import Matrix, Standing
from kdrbench.suite.reports.answers.nearness import FINE, PROBLEM, accuracy_text, column, ratios
from kdrbench.suite.reports.records import NO_KERNEL, Config, Metric, Settings, is_redrawn
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.cells import FORMATS, summarise
from kdrbench.suite.reports.tables.labels import METRIC_TITLES, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.numbers import duration

# More places than these are counted, not listed.
_MOST_PLACES = 3
# Times whose ratio is below this count as equal in sentences.
EQUALLY_FAST = 1.05


def solver_sentences(
    runs: pd.DataFrame, near: pd.DataFrame, matrix: Matrix | None, experiment: Config, settings: dict[str, Settings]
) -> list[str]:
    """Return what an experiment's records say, one thought each: of costs, of published settings, of quality.

    ``runs`` are without those of controls, ``near`` the same rows as :func:`.nearness.nearness` returns them.
    """
    if is_redrawn(experiment):
        return _spread_over_partitions(runs)
    found = [] if matrix is None else [_race(matrix, near), _quicker(matrix), _published(matrix, settings)]
    return [sentence for sentence in (*found, _quality(runs)) if sentence]


def _race(matrix: Matrix, near: pd.DataFrame) -> str:
    leader = matrix.overall[0]
    if not leader.fine:
        return _unreached(matrix)
    sentence = (
        f"{method_label(leader.solver)} reaches the best known cost within {accuracy_text(FINE)} in {leader.fine} of "
        f"{counted(leader.runs, 'run')}{_stopped(leader)}{_sooner(matrix, near)}"
    )
    return f"{sentence}; {missed}." if (missed := _missed(matrix)) else f"{sentence}."


def _stopped(standing: Standing) -> str:
    """Return how many of the runs that came so near a limit then stopped; nothing for none."""
    return f", {standing.fine_stopped} of them when they were stopped" if standing.fine_stopped else ""


def _unreached(matrix: Matrix) -> str:
    """Return how near the nearest solver came where the best known cost is an atlas's alone."""
    nearest = min(matrix.overall, key=lambda one: np.inf if one.gap is None else one.gap)
    gap = "" if nearest.gap is None else f", in the median {numbers.gap(nearest.gap)} above it, relative"
    return (
        f"No solver reaches the best known cost within {accuracy_text(FINE)}; the nearest is "
        f"{method_label(nearest.solver)}{gap}."
    )


def _sooner(matrix: Matrix, near: pd.DataFrame) -> str:
    """Return by what factor of time the leader is ahead of the next, or behind it, where both got there."""
    leader, following = matrix.overall[:2]
    next_one = f"{method_label(following.solver)} ({following.fine} of {following.runs}{_stopped(following)})"
    wide = ratios(near).pivot(index=PROBLEM, columns="method", values=column("ratio", FINE))
    both = wide.loc[:, [leader.solver, following.solver]]
    both = both.replace(np.inf, np.nan).dropna()
    if both.empty:
        return f"; the next is {next_one}"
    ratio = float((both[following.solver] / both[leader.solver]).median())
    word, times = ("sooner", ratio) if ratio >= 1 else ("later", 1 / ratio)
    doubt = " (by disturbed times, an indication)" if matrix.disturbed else ""
    if times < EQUALLY_FAST:
        return f", in the median as fast as the next{doubt}, {next_one}"
    return f", in the median {factor(times)} times {word}{doubt} than the next, {next_one}"


def _quicker(matrix: Matrix) -> str:
    """Return the solver of the least times to the best known cost, where it came there less often than the leader."""
    leader = matrix.overall[0]
    quickest = min(matrix.overall, key=lambda one: one.fine_ratio or np.inf)
    if leader.fine_ratio is None or quickest.fine_ratio is None:
        return ""
    if leader.fine_ratio < EQUALLY_FAST * quickest.fine_ratio:
        return ""
    return (
        f"{method_label(quickest.solver)}, which reaches it in {quickest.fine} of {counted(quickest.runs, 'run')}"
        f"{_stopped(quickest)}, is "
        f"quicker: in the median it takes {_multiple(quickest.fine_ratio)}the least time of any solver, and "
        f"{method_label(leader.solver)} {factor(leader.fine_ratio)} times that."
    )


def factor(ratio: float) -> str:
    """Return a ratio in three significant digits, without a power of ten."""
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:.0f}"


def _multiple(ratio: float) -> str:
    return "" if ratio < EQUALLY_FAST else f"{factor(ratio)} times "


def _missed(matrix: Matrix) -> str:
    """Return where the leader ends above the best known cost, by kernel where one kernel is all of it."""
    cells = [cell for cell in matrix.cells if cell.solver == matrix.reference]
    missed = [cell for cell in cells if cell.fine < cell.runs]
    kernels = {cell.kernel for cell in cells}
    if not missed:
        return ""
    if len(missed) > _MOST_PLACES or len({cell.kernel for cell in missed}) == 1 < len(kernels):
        missing, runs = sum(cell.runs - cell.fine for cell in missed), sum(cell.runs for cell in missed)
        where = " and ".join(_kernel(name) for name in dict.fromkeys(cell.kernel for cell in missed))
        return f"it misses it in {missing} of {counted(runs, 'run')} with {where} kernels"
    places = [
        f"{cell.runs - cell.fine} of {counted(cell.runs, 'run')} on {dataset_label(cell.dataset)}, "
        f"{_kernel(cell.kernel)} kernel"
        for cell in missed
    ]
    return f"it misses it in {' and in '.join(places)}"


def _published(matrix: Matrix, settings: dict[str, Settings]) -> str:
    """Return the best of the solvers as published, ties included, where none of the first two is one of them."""
    published = [one for one in matrix.overall if settings.get(one.solver) is Settings.PUBLISHED]
    if not published or published[0] in matrix.overall[:2]:
        return ""
    best = published[0]
    if not best.fine:
        return "As published, no solver does so."
    ties = [method_label(one.solver) for one in published if (one.fine, one.runs) == (best.fine, best.runs)]
    word, each = ("do", "each ") if len(ties) > 1 else ("does", "")
    often = f"{each}in {best.fine} of {counted(best.runs, 'run')}"
    return f"Of the solvers as published, {joined(ties)} {word} so most often: {often}."


def largest_sentences(runs: pd.DataFrame) -> list[str]:
    """Return the quickest and the slowest solver on the largest problem, by clean times where there are any."""
    largest = runs[runs["n_train"] == runs["n_train"].max()]
    largest = largest[largest["status"].isin(ENDED)]
    counted_times = clean_times(largest)
    times = (largest if counted_times.empty else counted_times).groupby("method", sort=False)["time_s"].median()
    times = times.dropna().sort_values()
    if len(times) < 2:
        return []
    doubt = " (disturbed times, an indication)" if counted_times.empty else ""
    name = dataset_label(str(largest["dataset"].iloc[0]))
    return [f"On the largest problem, {name}, a first solve takes {_range(times)}{doubt}."]


def _range(times: pd.Series) -> str:
    least, most = (duration(times.iloc[end]) for end in (0, -1))
    if least == most:
        return f"{least} with every solver"
    quickest, slowest = (method_label(str(times.index[end])) for end in (0, -1))
    return f"from {least} ({quickest}) to {most} ({slowest})"


def _quality(runs: pd.DataFrame) -> str:
    """Return the method of the highest mean quality on each data set, solvers and baselines alike.

    Of equal means the first method is named, and the others are counted.
    """
    found, metric = [], str(runs["quality_metric"].iloc[0])
    if metric == Metric.ERROR:
        return ""
    for dataset, of_set in runs.groupby("dataset", sort=False):
        cells = {
            (str(kernel), str(method)): summarise("quality", group, "quality", FORMATS[metric])
            for (kernel, method), group in of_set.groupby(["kernel", "method"], sort=False)
        }
        means = {place: cell.mean for place, cell in cells.items() if cell.mean is not None and cell.complete}
        if len(means) > 1:
            best = max(means, key=lambda place: means[place])
            equal = sum(math.isclose(mean, means[best], rel_tol=1e-12) for mean in means.values()) - 1
            share = FORMATS[metric](means[best], None) + (f", like {counted(equal, 'other')}" if equal else "")
            found.append(f"{_named(*best)} on {dataset_label(str(dataset))} ({share})")
    if not found:
        return ""
    mean = "mean " if (runs.groupby(["dataset", "kernel", "method"]).size() > 1).any() else ""
    more = f" and {len(found) - _MOST_PLACES} more" if len(found) > _MOST_PLACES else ""
    return f"Highest {mean}{_lower(METRIC_TITLES[metric])}: {'; '.join(found[:_MOST_PLACES])}{more}."


def _spread_over_partitions(runs: pd.DataFrame) -> list[str]:
    """Return between what means over folds lie with redrawn folds; of many means those that move least and most."""
    metric = str(runs["quality_metric"].iloc[0])
    spreads = [
        (f"{_named(str(kernel), str(method))} on {dataset_label(str(dataset))}", means)
        for (dataset, kernel, method), cell in runs.groupby(["dataset", "kernel", "method"], sort=False)
        if len(means := cell.groupby("partition")["quality"].mean().dropna()) > 1
    ]

    def span(means: pd.Series) -> str:
        return " to ".join(FORMATS[metric](float(one), None) for one in (means.min(), means.max()))

    if len(spreads) <= _MOST_PLACES:
        mean = f"mean {_lower(METRIC_TITLES[metric])}"
        return [f"{name}: {mean} from {span(means)} over {len(means)} partitions." for name, means in spreads]
    spreads.sort(key=lambda one: float(one[1].max() - one[1].min()))
    (steadiest, least), (loosest, most) = spreads[0], spreads[-1]
    counts = sorted({len(means) for _, means in spreads})
    return [
        f"Of {len(spreads)} means, each over {'-'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} partitions, "
        f"the {_lower(METRIC_TITLES[metric])} of {steadiest} moves least (from {span(least)}), and that of {loosest} "
        f"most (from {span(most)})."
    ]


def _named(kernel: str, method: str) -> str:
    return method_label(method) if kernel == NO_KERNEL else f"{method_label(method)} with {_kernel(kernel)}"


def _kernel(name: str) -> str:
    """Return a kernel's label within a sentence, where Gauss alone keeps a capital."""
    return kernel_label(name).lower().replace("gaussian", "Gaussian")


def _lower(title: str) -> str:
    return title if title.isupper() else title.lower()
