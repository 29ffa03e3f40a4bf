"""Claims that compare the kernels of ISM with each other (NeurIPS 2019, Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterator

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.accuracies import LEVEL, mean_of
from kdrbench.suite.reports.claims.claim import (
    Claim,
    Decision,
    Found,
    Records,
    decided_by_share,
    listed,
    share_of,
    undecided,
)
from kdrbench.suite.reports.claims.coverage import Coverage, decided_on, printed_cells, timed_cells
from kdrbench.suite.reports.claims.printed_tables import (
    TABLE_4,
    TABLE_4_CLUSTERS,
    TABLE_5,
    TABLE_5_CLUSTERS,
    PrintedTable,
)
from kdrbench.suite.reports.claims.times import factor
from kdrbench.suite.reports.records import Metric
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label

# The combination whose weights are those of centred alignment, as in the paper.
CONIC = "gaussian_polynomial"
GAUSSIAN, MULTIQUADRIC = "gaussian", "multiquadric"
# "Alike", in words of ours: shares within five points, times within a factor of ten.
ALIKE, WITHIN = 0.05, 10.0
_SETTINGS = {"supervised": (TABLE_4, TABLE_5), "unsupervised": (TABLE_4_CLUSTERS, TABLE_5_CLUSTERS)}
# Means by kernel; ``None`` where runs are missing.
Means = dict[str, float | None]


def conic_is_best(records: Records) -> Found:
    """Decide "the conic combination is the best kernel": on no data set another kernel has a higher test accuracy.

    Supervised cells only, since the paper prints the combination for these. Half the last printed digit is level.
    """
    coverage = _qualities(records, "supervised")

    def judge() -> Found:
        cases = [(place, means) for place, means in _by_kernel(coverage).items() if CONIC in means]
        beaten = [text for (_, dataset), means in cases if (text := _beaten(dataset, means))]
        best = len(cases) - len(beaten)
        evidence = f"best or level in {share_of(best, len(cases), 'data set')}" if cases else "no combination was run"
        evidence += f"; beaten on {listed(beaten)}" if beaten else ""
        behind = max((_behind(means) for _, means in cases), default=0.0)
        extreme = f"at most {behind:.3f} behind" if behind > LEVEL else ""
        return decided_by_share(best, len(cases), evidence, unit="data set", extreme=extreme)

    return decided_on(coverage, judge)


def _behind(means: Means) -> float:
    """Return how far the combination is behind the best kernel; 0 where its own mean is lost."""
    ours = means[CONIC]
    return 0.0 if ours is None else max(mean for mean in means.values() if mean is not None) - ours


def _beaten(dataset: str, means: Means) -> str:
    ours = means[CONIC]
    if ours is None:
        return f"{dataset_label(dataset)} for missing or failed runs"
    known = {kernel: mean for kernel, mean in means.items() if mean is not None}
    best = max(known, key=lambda kernel: known[kernel])
    if known[best] - ours <= LEVEL:
        lost = [kernel_label(kernel) for kernel, mean in means.items() if mean is None]
        return f"{dataset_label(dataset)} for missing or failed runs of {', '.join(lost)}" if lost else ""
    return f"{dataset_label(dataset)} by {kernel_label(best)}, {known[best]:.3f} against {ours:.3f}"


def multiquadric_often_better(records: Records) -> Found:
    """Decide "the multiquadric kernel is often better than the Gaussian", by accuracy or NMI.

    Confirmed if it is better in more than half of the cells, mostly if it is more often better than worse.
    """
    coverage = _qualities(records, "supervised") + _qualities(records, "unsupervised")

    def judge() -> Found:
        both = [
            (means[MULTIQUADRIC], means[GAUSSIAN])
            for means in _by_kernel(coverage).values()
            if {MULTIQUADRIC, GAUSSIAN} <= set(means)
        ]
        if not both:
            return undecided("cells of both kernels")
        # A cell that lacks runs is no win.
        whole = [(first, second) for first, second in both if first is not None and second is not None]
        better = sum(first - second > LEVEL for first, second in whole)
        worse = sum(second - first > LEVEL for first, second in whole) + len(both) - len(whole)
        evidence = (
            f"better in {better} of {counted(len(both), 'cell')}, level in {len(both) - better - worse}, "
            f"worse in {worse}"
        )
        evidence += " or incomplete" if len(whole) < len(both) else ""
        weaker = Decision.MOSTLY if better > worse else Decision.CONTRADICTED
        decision = Decision.CONFIRMED if better > len(both) / 2 else weaker
        return Found(decision, evidence, measure=f"better in {share_of(better, len(both), 'cell')}; worse in {worse}")

    return decided_on(coverage, judge)


def kernels_alike(records: Records) -> Found:
    """Decide "kernels are alike in accuracy and time", for each data set, with and without labels.

    It holds where the means of all kernels lie within 0.05 and their mean first solves within a factor of ten.
    """
    coverage, timed = Coverage(), Coverage()
    for setting, tables in _SETTINGS.items():
        coverage += _qualities(records, setting)
        timed += timed_cells(records, tables, ("ism",))

    def judge() -> Found:
        seconds = _by_kernel(timed, "time_s", whole=False)
        lines = [
            _spread(place, means, seconds[place]) for place, means in _by_kernel(coverage).items() if place in seconds
        ]
        alike = sum(holds for holds, _ in lines)
        extreme = _widest(
            [(means, seconds[place]) for place, means in _by_kernel(coverage).items() if place in seconds]
        )
        evidence = f"alike in {share_of(alike, len(lines), 'case')}" if lines else "no case has both"
        evidence += "".join(f"; {text}" for holds, text in lines if not holds)
        return decided_by_share(alike, len(lines), evidence, unit="case", extreme=extreme)

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    return decided_on(Coverage(coverage.cells, missing), judge)


def _widest(cases: list[tuple[Means, Means]]) -> str:
    """Say how far apart means and times of a case are at most, of cases without missing runs; empty without any."""
    whole = [[_known(one) for one in case] for case in cases if None not in case[0].values()]
    if not whole:
        return ""
    spread = max(max(shares) - min(shares) for shares, _ in whole)
    return f"at most {spread:.3f} apart, times {factor(max(_ratio(times) for _, times in whole))} to 1"


def _known(means: Means) -> list[float]:
    return [mean for mean in means.values() if mean is not None]


def _ratio(times: list[float]) -> float:
    positive = [time for time in times if time]
    return max(positive) / min(positive) if positive else float("inf")


def _spread(place: tuple[str, str], means: Means, seconds: Means) -> tuple[bool, str]:
    """Return whether the kernels of a data set are alike, and the spreads in words."""
    setting, dataset = place
    if None in means.values():
        return False, f"{dataset_label(dataset)}, {setting}, lost for missing or failed runs"
    shares = _known(means)
    spread, ratio = max(shares) - min(shares), _ratio(_known(seconds))
    text = f"{dataset_label(dataset)}, {setting}: {spread:.3f} apart, times {factor(ratio)} to 1"
    return spread <= ALIKE and ratio <= WITHIN, text


def _qualities(records: Records, setting: str) -> Coverage:
    metric = Metric.ACCURACY if setting == "supervised" else Metric.NMI
    return printed_cells(records, _SETTINGS[setting], metric, ("ism",), ("quality",))


def _by_kernel(coverage: Coverage, column: str = "quality", *, whole: bool = True) -> dict[tuple[str, str], Means]:
    """Return means by kernel, for each setting and data set; ``None`` where a ``whole`` cell is asked and runs lack."""
    settings: dict[str, str] = {table.label: setting for setting, table in _tables()}
    found: dict[tuple[str, str], Means] = {}
    for cell in coverage.cells:
        mean = mean_of(cell, column) if whole else float(cell.numbers(column).mean())
        found.setdefault((settings[cell.source], cell.dataset), {})[cell.kernel] = mean
    return found


def _tables() -> Iterator[tuple[str, PrintedTable]]:
    return ((setting, table) for setting, tables in _SETTINGS.items() for table in tables)


CLAIMS = (
    Claim(
        "conic_is_best",
        "The conic combination Gaussian + polynomial is the best kernel.",
        "NeurIPS 2019",
        "Table 5",
        conic_is_best,
    ),
    Claim(
        "multiquadric_often_better",
        "The multiquadric kernel is often better than the Gaussian.",
        "NeurIPS 2019",
        "Table 5",
        multiquadric_often_better,
    ),
    Claim("kernels_alike", "Kernels are alike in accuracy and in time.", "NeurIPS 2019", "Table 5", kernels_alike),
)
