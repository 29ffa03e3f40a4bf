"""Claims on how well projections of ISM classify and cluster, on its kernels, and on the rule that chooses q."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import (
    NEURIPS,
    PLUS,
    PLUS_5,
    TABLE_4,
    TABLE_4_CLUSTERS,
    TABLE_5,
    TABLE_5_CLUSTERS,
    Coverage,
    Records,
    claim_on,
    decided_on,
    experiment_cells,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.finding import Decision, Finding, claim, decided_by_share, listed, share_of, undecided
from kdrbench.suite.findings.time_claims import factor
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.records import Metric, Split
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import find_published, our_name, published_numbers

LEAST_ACCURACY = 0.95
_CLASSIFIERS = ("ism", "svm", "lda", "pca_svm")
# Half a unit of the last digit that the papers print of a share.
LEVEL = 5e-4
# The experiments that run the rule, and the setting of ISM+ whose q fits the printed costs.
RULES_OF_Q = {"ismplus_eigengap": "supervised", "ismplus_eigengap_clusters": "unsupervised"}
# The combination whose weights are those of centred alignment, as in the paper.
CONIC, GAUSSIAN, MULTIQUADRIC = "gaussian_polynomial", "gaussian", "multiquadric"
# "Alike", in words of ours: shares within five points, times within a factor of ten.
ALIKE, WITHIN = 0.05, 10.0
_SETTINGS = {"supervised": (TABLE_4, TABLE_5), "unsupervised": (TABLE_4_CLUSTERS, TABLE_5_CLUSTERS)}
LOST = "for missing or failed runs"
# Means by kernel or method; ``None`` where runs are missing.
Means = dict[str, float | None]


@claim_on(
    "Supervised accuracy is never below 95 %.",
    NEURIPS,
    "Tables 4 and 5",
    lambda records: printed_cells(records, (TABLE_4, TABLE_5), Metric.ACCURACY, ("ism",), ("quality",)),
)
def accuracy_above(coverage: Coverage) -> Finding:
    """Take ISM's mean over the ten test folds of each cell.

    The note names printed accuracies below 95 %, and what comes out by training samples where these are recorded.
    """
    means = {cell.name: cell.mean() for cell in coverage.cells}
    below = [
        f"{name} " + (f"lost {LOST}" if mean is None else f"{mean:.1%}")
        for name, mean in means.items()
        if mean is None or mean < LEAST_ACCURACY
    ]
    above = len(means) - len(below)
    evidence = f"{share_of(above, len(means), 'cell')} reach 95 % on test folds"
    evidence += f"; below: {listed(below)}" if below else ""
    extreme = f"at least {min(_known(means)):.1%}" if _known(means) else ""
    printed = list(_printed_below())
    notes = [f"The paper itself prints less: {listed(printed)}."] if printed else []
    fitted = {cell.name: cell.mean("train_accuracy") for cell in coverage.cells if "train_accuracy" in cell.runs}
    if known := _known(fitted):
        above_fitted = sum(mean >= LEAST_ACCURACY for mean in known)
        notes.append(f"On training samples {share_of(above_fitted, len(known), 'cell')} do.")
    return decided_by_share(above, len(means), evidence, " ".join(notes), extreme=extreme)


def _printed_below() -> Iterator[str]:
    """Yield the accuracies of the papers' own tables that are below 95 %."""
    for table in (TABLE_4, TABLE_5):
        place = {"paper": table.paper, "table": table.table, "setting": table.setting}
        for axes in published_numbers(**place, metric=Metric.ACCURACY):
            number = find_published(**axes)
            if number is not None and number.value is not None and number.value < LEAST_ACCURACY:
                data, kernel = (our_name(axis, axes[axis], table.paper) for axis in ("dataset", "kernel"))
                yield f"{method_label(axes['method'])} on {dataset_label(data)}, {kernel_label(kernel)}, {number.text}"


def _known(means: Means) -> list[float]:
    return [mean for mean in means.values() if mean is not None]


def _best_on_each(
    cases: Mapping[str, Means], ours: str, sign: int, label: Callable[[str], str], beaten: str
) -> tuple[int, str, float]:
    """Return on how many data sets a candidate is best or level, where it is not, and how far it is behind at most.

    ``sign`` is 1 where a higher mean is better, else -1. ``beaten`` is the text on a better one, by its name ``best``
    and both means. A data set on which runs are missing is lost.
    """
    texts, behind = [], 0.0
    for dataset, means in cases.items():
        known, mean = {name: mean for name, mean in means.items() if mean is not None}, means.get(ours)
        best = max(known, key=lambda name: sign * known[name], default="")
        gap = sign * (known[best] - mean) if best and mean is not None else 0.0
        behind = max(behind, gap)
        lost = [label(name) for name in means if name not in known]
        if gap > LEVEL:
            texts.append(dataset_label(dataset) + beaten.format(best=label(best), theirs=known[best], ours=mean))
        elif mean is None or lost:
            texts.append(f"{dataset_label(dataset)} {LOST}" + (f" of {', '.join(lost)}" if mean is not None else ""))
    return len(cases) - len(texts), listed(texts), behind


@claim_on(
    "ISM followed by an SVM always has the lowest error, beside SVM, LDA and PCA.",
    PLUS,
    "Table 5",
    lambda records: printed_cells(records, (PLUS_5,), Metric.ERROR, _CLASSIFIERS, ("quality",)),
)
def lowest_error(coverage: Coverage) -> Finding:
    """Compare the errors on the rows that each method was fitted to."""
    errors: dict[str, Means] = {}
    for cell in coverage.cells:
        errors.setdefault(cell.dataset, {})[cell.method] = cell.mean()
    text = ", ISM {ours:.1%} against {theirs:.1%} of {best}"
    lowest, beaten, behind = _best_on_each(errors, "ism", -1, method_label, text)
    evidence = f"lowest or level in {share_of(lowest, len(errors), 'data set')}"
    evidence += f"; not on {beaten}" if beaten else ""
    note = "Errors are of the samples that were fitted, as the table prints them."
    extreme = f"at most {100 * behind:.1f} points higher" if behind >= LEVEL else ""
    return decided_by_share(lowest, len(errors), evidence, note, "data set", extreme=extreme)


def _cells_of_rules(records: Records) -> Coverage:
    coverage = Coverage()
    for rule, setting in RULES_OF_Q.items():
        cells = [(dataset, "gaussian", "ism") for dataset in printed_components("ismplus", setting)]
        coverage += experiment_cells(records, rule, cells, (Split.NONE, 1), ("n_components",))
    return coverage


@claim_on(
    "The largest eigengap of Phi_0 chooses the number of components.", PLUS, "Eq. 50; Tables 5 and 6", _cells_of_rules
)
def rule_of_q(coverage: Coverage) -> Finding:
    """Compare the q that it chooses by the Gaussian kernel with that which the printed costs fit."""
    others, off = [], 0.0
    for cell in coverage.cells:
        setting, q = RULES_OF_Q[cell.source], cell.mean("n_components")
        printed = printed_components("ismplus", setting)[cell.dataset]
        off = max(off, 0.0 if q is None else abs(q - printed))
        if q != printed:
            chosen = "lost" if q is None else f"{q:g}"
            others.append(f"{dataset_label(cell.dataset)}, {setting}: {chosen} for {printed}")
    n_cells = len(coverage.cells)
    equal = n_cells - len(others)
    evidence = f"equal in {share_of(equal, n_cells, 'case')}" + (f"; {listed(others, 8)}" if others else "")
    return decided_by_share(equal, n_cells, evidence, unit="case", extreme=f"off by at most {off:g}" if off else "")


@claim_on(
    "The conic combination Gaussian + polynomial is the best kernel.",
    NEURIPS,
    "Table 5",
    lambda records: _qualities(records, "supervised"),
)
def conic_is_best(coverage: Coverage) -> Finding:
    """Count the data sets on which no other kernel has a higher test accuracy.

    Supervised cells only, since the paper prints the combination for these. Half the last printed digit is level.
    """
    cases = {dataset: means for (_, dataset), means in _by_kernel(coverage).items() if CONIC in means}
    text = " by {best}, {theirs:.3f} against {ours:.3f}"
    best, beaten, behind = _best_on_each(cases, CONIC, 1, kernel_label, text)
    evidence = f"best or level in {share_of(best, len(cases), 'data set')}" if cases else "no combination was run"
    evidence += f"; beaten on {beaten}" if beaten else ""
    extreme = f"at most {behind:.3f} behind" if behind > LEVEL else ""
    return decided_by_share(best, len(cases), evidence, unit="data set", extreme=extreme)


@claim_on(
    "The multiquadric kernel is often better than the Gaussian.",
    NEURIPS,
    "Table 5",
    lambda records: _qualities(records, "supervised") + _qualities(records, "unsupervised"),
)
def multiquadric_often_better(coverage: Coverage) -> Finding:
    """Compare accuracy or NMI: confirmed if better in most cells, mostly if more often better than worse."""
    cases = [means for means in _by_kernel(coverage).values() if {MULTIQUADRIC, GAUSSIAN} <= set(means)]
    if not cases:
        return undecided("cells of both kernels")
    pairs = [(means[MULTIQUADRIC], means[GAUSSIAN]) for means in cases]
    gains = [first - second for first, second in pairs if first is not None and second is not None]
    better = sum(gain > LEVEL for gain in gains)
    # A cell that lacks runs is no win.
    worse = sum(-gain > LEVEL for gain in gains) + len(cases) - len(gains)
    evidence = f"better in {better} of {counted(len(cases), 'cell')}, level in {len(cases) - better - worse}, worse in "
    evidence += f"{worse}" + (" or incomplete" if len(gains) < len(cases) else "")
    weaker = Decision.MOSTLY if better > worse else Decision.CONTRADICTED
    decision = Decision.CONFIRMED if better > len(cases) / 2 else weaker
    return Finding(decision, evidence, measure=f"better in {share_of(better, len(cases), 'cell')}; worse in {worse}")


@claim("Kernels are alike in accuracy and in time.", NEURIPS, "Table 5")
def kernels_alike(records: Records) -> Finding:
    """Count the data sets, with and without labels, on which the means of all kernels lie within 0.05.

    Their mean first solves must lie within a factor of ten.
    """
    coverage, timed = Coverage(), Coverage()
    for setting, tables in _SETTINGS.items():
        coverage += _qualities(records, setting)
        timed += timed_cells(records, tables, ("ism",))

    def judge(_: Coverage) -> Finding:
        seconds, unlike, spreads, ratios = _by_kernel(timed, "time_s", whole=False), [], [], []
        cases = {place: means for place, means in _by_kernel(coverage).items() if place in seconds}
        for (setting, dataset), means in cases.items():
            if None in means.values():
                unlike.append(f"{dataset_label(dataset)}, {setting}, lost {LOST}")
                continue
            times = [time for time in _known(seconds[setting, dataset]) if time]
            spreads.append(max(_known(means)) - min(_known(means)))
            ratios.append(max(times) / min(times) if times else float("inf"))
            if spreads[-1] > ALIKE or ratios[-1] > WITHIN:
                apart = f"{spreads[-1]:.3f} apart, times {factor(ratios[-1])} to 1"
                unlike.append(f"{dataset_label(dataset)}, {setting}: {apart}")
        alike = len(cases) - len(unlike)
        evidence = f"alike in {share_of(alike, len(cases), 'case')}" if cases else "no case has both"
        evidence += "".join(f"; {text}" for text in unlike)
        extreme = f"at most {max(spreads):.3f} apart, times {factor(max(ratios))} to 1" if spreads else ""
        return decided_by_share(alike, len(cases), evidence, unit="case", extreme=extreme)

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    return decided_on(Coverage(coverage.cells, missing), judge)


def _qualities(records: Records, setting: str) -> Coverage:
    metric = Metric.ACCURACY if setting == "supervised" else Metric.NMI
    return printed_cells(records, _SETTINGS[setting], metric, ("ism",), ("quality",))


def _by_kernel(coverage: Coverage, column: str = "quality", *, whole: bool = True) -> dict[tuple[str, str], Means]:
    """Return means by kernel for each setting and data set; ``None`` where a ``whole`` cell lacks runs."""
    settings = {table.label: setting for setting, tables in _SETTINGS.items() for table in tables}
    by_kernel: dict[tuple[str, str], Means] = {}
    for cell in coverage.cells:
        mean = cell.mean(column) if whole else float(cell.numbers(column).mean())
        by_kernel.setdefault((settings[cell.source], cell.dataset), {})[cell.kernel] = mean
    return by_kernel
