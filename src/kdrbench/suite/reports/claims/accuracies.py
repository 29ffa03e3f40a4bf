"""Claims on how well projections of ISM classify, and on the rule that chooses q (NeurIPS 2019 and ISM+)."""

from __future__ import annotations

from collections.abc import Iterator

from kdrbench.suite.reports.claims.claim import Claim, Found, Records, decided_by_share, listed, share_of
from kdrbench.suite.reports.claims.coverage import Coverage, OwnCell, decided_on, experiment_cells, printed_cells
from kdrbench.suite.reports.claims.printed_tables import PLUS_5, TABLE_4, TABLE_5
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.records import Metric, Split
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import find_published, our_name, published_numbers

LEAST_ACCURACY = 0.95
# Half a unit of the last digit that the papers print of a share.
LEVEL = 5e-4
_BASELINES = ("svm", "lda", "pca_svm")
# The experiments that run the rule, and the setting of ISM+ whose q fits the printed costs.
RULES_OF_Q = {"ismplus_eigengap": "supervised", "ismplus_eigengap_clusters": "unsupervised"}


def accuracy_above(records: Records) -> Found:
    """Decide "supervised accuracy is never below 95 %" by ISM's mean over the ten test folds of each cell.

    The note names printed accuracies below 95 %, and what comes out by training samples where these are recorded.
    """
    coverage = printed_cells(records, (TABLE_4, TABLE_5), Metric.ACCURACY, ("ism",), ("quality",))

    def judge() -> Found:
        means = {cell.name: mean_of(cell) for cell in coverage.cells}
        below = [_percent(name, mean) for name, mean in means.items() if mean is None or mean < LEAST_ACCURACY]
        reached = len(means) - len(below)
        evidence = f"{share_of(reached, len(means), 'cell')} reach 95 % on test folds"
        evidence += f"; below: {listed(below)}" if below else ""
        known = [mean for mean in means.values() if mean is not None]
        extreme = f"at least {min(known):.1%}" if known else ""
        note = f"{_printed_below()} {_of_training(coverage)}".strip()
        return decided_by_share(reached, len(means), evidence, note, extreme=extreme)

    return decided_on(coverage, judge)


def mean_of(cell: OwnCell, column: str = "quality") -> float | None:
    """Return the mean over the runs of the protocol; ``None`` for a cell that lacks some of them."""
    return float(cell.numbers(column).mean()) if cell.complete(column) else None


def _percent(name: str, mean: float | None) -> str:
    return f"{name} " + ("lost for missing or failed runs" if mean is None else f"{mean:.1%}")


def _printed_below() -> str:
    """Name the accuracies of the papers' own tables that are below 95 %."""
    found = [text for table in (TABLE_4, TABLE_5) for text in _below(table.paper, table.table, table.setting)]
    return f"The paper itself prints less: {listed(found)}." if found else ""


def _below(paper: str, table: str, setting: str) -> Iterator[str]:
    for axes in published_numbers(paper=paper, table=table, setting=setting, metric=Metric.ACCURACY):
        number = find_published(**axes)
        if number is not None and number.value is not None and number.value < LEAST_ACCURACY:
            data, kernel = (our_name(axis, axes[axis], paper) for axis in ("dataset", "kernel"))
            yield f"{method_label(axes['method'])} on {dataset_label(data)}, {kernel_label(kernel)}, {number.text}"


def _of_training(coverage: Coverage) -> str:
    means = [mean_of(cell, "train_accuracy") for cell in coverage.cells if "train_accuracy" in cell.runs]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    return f"On training samples {share_of(sum(mean >= LEAST_ACCURACY for mean in known), len(known), 'cell')} do."


def lowest_error(records: Records) -> Found:
    """Decide "ISM + SVM always has the lowest error" among SVM, LDA and PCA + SVM, on the rows they were fitted to."""
    coverage = printed_cells(records, (PLUS_5,), Metric.ERROR, ("ism", *_BASELINES), ("quality",))

    def judge() -> Found:
        errors: dict[str, dict[str, float | None]] = {}
        for cell in coverage.cells:
            errors.setdefault(cell.dataset, {})[cell.method] = mean_of(cell)
        beaten = [text for dataset, found in errors.items() if (text := _beaten(dataset, found))]
        behind = max((_behind(found) for found in errors.values()), default=0.0)
        lowest = len(errors) - len(beaten)
        evidence = f"lowest or level in {share_of(lowest, len(errors), 'data set')}"
        evidence += f"; not on {listed(beaten)}" if beaten else ""
        note = "Errors are of the samples that were fitted, as the table prints them."
        extreme = f"at most {100 * behind:.1f} points higher" if behind >= LEVEL else ""
        return decided_by_share(lowest, len(errors), evidence, note, "data set", extreme=extreme)

    return decided_on(coverage, judge)


def _behind(errors: dict[str, float | None]) -> float:
    """Return how far ISM's error is above the lowest; 0 where its own is lost."""
    ours = errors.get("ism")
    return 0.0 if ours is None else ours - min(error for error in errors.values() if error is not None)


def _beaten(dataset: str, errors: dict[str, float | None]) -> str:
    """Say which baseline has a lower error than ISM, or whose run is lost; empty where ISM is lowest."""
    ours = errors.get("ism")
    if ours is None:
        return f"{dataset_label(dataset)}, where ISM has no error"
    known = {name: error for name, error in errors.items() if error is not None}
    best = min(known, key=lambda name: known[name])
    if known[best] >= ours - LEVEL:
        lost = [method_label(name) for name, error in errors.items() if error is None]
        return f"{dataset_label(dataset)}, where {' and '.join(lost)} has no error" if lost else ""
    return f"{dataset_label(dataset)}, ISM {ours:.1%} against {known[best]:.1%} of {method_label(best)}"


def rule_of_q(records: Records) -> Found:
    """Decide "the maximum eigengap chooses q": by the Gaussian kernel it is the q that the printed costs fit."""
    coverage = Coverage()
    asked: dict[tuple[str, str], int] = {}
    for rule, setting in RULES_OF_Q.items():
        components = printed_components("ismplus", setting)
        wanted = [(dataset, "gaussian", "ism") for dataset in components]
        coverage += experiment_cells(records, rule, wanted, (Split.NONE, 1), ("n_components",))
        asked |= {(rule, dataset): q for dataset, q in components.items()}

    def judge() -> Found:
        found = {(cell.source, cell.dataset): mean_of(cell, "n_components") for cell in coverage.cells}
        equal = sum(q == asked[place] for place, q in found.items())
        others = [
            f"{dataset_label(place[1])}, {RULES_OF_Q[place[0]]}: {'lost' if q is None else f'{q:g}'} for {asked[place]}"
            for place, q in found.items()
            if q != asked[place]
        ]
        evidence = f"equal in {share_of(equal, len(found), 'case')}"
        off = max((abs(q - asked[place]) for place, q in found.items() if q is not None), default=0.0)
        evidence += f"; {listed(others, 8)}" if others else ""
        extreme = f"off by at most {off:g}" if off else ""
        return decided_by_share(equal, len(found), evidence, unit="case", extreme=extreme)

    return decided_on(coverage, judge)


CLAIMS = (
    Claim(
        "accuracy_above", "Supervised accuracy is never below 95 %.", "NeurIPS 2019", "Tables 4 and 5", accuracy_above
    ),
    Claim(
        "lowest_error",
        "ISM followed by an SVM always has the lowest error, beside SVM, LDA and PCA.",
        "ISM+",
        "Table 5",
        lowest_error,
    ),
    Claim(
        "rule_of_q",
        "The largest eigengap of Phi_0 chooses the number of components.",
        "ISM+",
        "Eq. 50; Tables 5 and 6",
        rule_of_q,
    ),
)
