"""Cells that the evidence of claims names, and where their runs are on the dashboard."""

from __future__ import annotations

from collections.abc import Iterator

from kdrbench.reports.claims.accuracies import RULES_OF_Q
from kdrbench.reports.ledger.comparison import Comparison
from kdrbench.reports.ledger.published_vs_ours import labels_of, place_label
from kdrbench.reports.records import LOW_RANK
from kdrbench.reports.summary.source import Source
from kdrbench.reports.tables.labels import CONVERGED, dataset_label, low_rank_label
from kdrbench.reports.tables.published_numbers import paper_label

_ISM, _LABELLED, _LEARNT = "ism", "supervised", "classification"


def named_cells(source: Source, papers: str) -> dict[str, str]:
    """Return addresses by the names that the evidence of a claim of ``papers`` may give to cells.

    They are table, data set, kernel and method, the latter converged as well. Where a claim is on one table, it leaves
    out the table: "Cancer by Multiquadric", "Car, ISM", "Pima KLMNN", "Wine, supervised".
    """
    found: dict[str, str] = {}
    for one in source.comparisons:
        if one.first and one.experiment in source.experiments:
            for name, address in _long_names(source, one):
                found.setdefault(name, address)
            if paper_label(one.paper) in papers.split(", "):
                # Of the tables with a data set and setting the last has most kernels.
                found |= _short_names(source, one)
    if paper_label("ismplus") == papers:
        found |= _of_rules(source)
    return found | _of_low_rank(source)


def _long_names(source: Source, one: Comparison) -> Iterator[tuple[str, str]]:
    dataset, kernel, method = labels_of(one)
    place = f"{paper_label(one.paper)}, {place_label(one.table)}, {one.setting}: {dataset}, {kernel}, "
    for variant in (method, f"{method}, {CONVERGED}"):
        state = {"experiment": one.experiment, "data": dataset, "kernel": kernel, "method": variant}
        yield place + variant, source.address("runs", **state)


def _short_names(source: Source, one: Comparison) -> dict[str, str]:
    dataset, kernel, method = labels_of(one)
    alone = source.address_of_runs(one)
    if one.setting == _LEARNT:
        return {f"{dataset} {method}": alone}
    if one.method != _ISM:
        return {}
    state = {"experiment": one.experiment, "data": dataset, "method": method}
    of_setting = {f"{dataset}, {one.setting}": source.address("runs", **state)}
    cell = {f"{dataset} by {kernel}": alone, f"{dataset}, {method}": alone}
    return of_setting | (cell if one.setting == _LABELLED else {})


def _of_rules(source: Source) -> dict[str, str]:
    """Return the cells in which the largest eigengap chose q."""
    return {
        f"{label}, {setting}": source.address("runs", experiment=rule, data=label)
        for rule, setting in RULES_OF_Q.items()
        if rule in source.experiments
        for label in map(dataset_label, map(str, source.runs(rule)["dataset"].unique()))
    }


def _of_low_rank(source: Source) -> dict[str, str]:
    runs = source.rows_of(LOW_RANK)
    cells = runs[["experiment", "method"]].drop_duplicates() if len(runs) else runs
    return {
        f"{name}, {method}": source.address("runs", experiment=name, method=low_rank_label(method))
        for name, method in cells.itertuples(index=False)
    }
