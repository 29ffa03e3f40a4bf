"""Published numbers of IKDR beside ours: numbers, the effects that the tables show, and the published protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from kdrbench.suite.reports.ledger.comparison import Axes, Ours
from kdrbench.suite.reports.ledger.effects import EffectFound, effect_of, our_difference
from kdrbench.suite.reports.records import IKDR, Config, Metric, experiments_of
from kdrbench.suite.reports.tables.cells import summarise
from kdrbench.suite.reports.tables.ikdr import IkdrCell, compared_cells, published_axes
from kdrbench.suite.reports.tables.labels import CONVERGED
from kdrbench.suite.reports.tables.numbers import percentage
from kdrbench.suite.reports.tables.partitions import Partitions
from kdrbench.suite.reports.tables.published_numbers import find_published, printed_table, published_numbers
from kdrbench.suite.reports.tables.verdicts import Compared

# Of which the others' difference is taken.
_REFERENCE, _GAUSSIAN, _LINEAR = "ism", "gaussian", "linear"
_KERNELS_COMPARED = ("neurips2019", "5")
TRAINING = "training accuracy"
_TRAINING_COLUMN = "train_accuracy"
_QUALITY = frozenset(map(str, Metric))
Place = tuple[str, ...]


# Rows by experiment, data set, kernel and method.
_Groups = Mapping[tuple[Hashable, ...], pd.DataFrame]


@dataclass
class _Found:
    """Our cells of a published number, and those by the published protocol."""

    cells: list[tuple[str, IkdrCell]] = field(default_factory=list)
    protocol: list[tuple[str, Compared]] = field(default_factory=list)


def ikdr_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield every number of the tables that experiments name, with ours from each experiment that has its cell."""
    partitions, tables = Partitions(runs, config), []
    found: dict[Place, _Found] = {}
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        table = printed_table(experiment)
        if table is None:
            continue
        by_protocol = experiment["published"].get("protocol", False)
        if table not in tables and not by_protocol:
            tables.append(table)
        of_experiment = runs[runs["experiment"] == name]
        for cell in compared_cells(of_experiment, experiment, partitions=partitions, config=config):
            # A protocol may ask for the converged variant of a printed method.
            method = cell.method.removesuffix(f"_{CONVERGED}") if by_protocol else cell.method
            names = published_axes({"dataset": cell.dataset, "kernel": cell.kernel, "method": method})
            place = (*table.values(), *names.values(), cell.metric)
            entry = found.setdefault(place, _Found())
            if not by_protocol:
                entry.cells.append((name, cell))
            elif cell.ours.mean is not None and not cell.departure:
                entry.protocol.append((f"{name}, {cell.kernel}, {cell.method}", cell))
    groups = dict(list(runs.groupby(["experiment", "dataset", "kernel", "method"])))
    for table in tables:
        for axes in published_numbers(**table):
            entry = found.get(tuple(axes.values()), _Found())
            # Of several experiments one by the paper's protocol counts.
            cells = sorted(entry.cells, key=lambda pair: bool(pair[1].departure))
            yield axes, [_ours(axes, name, cell, groups, entry, partitions, config) for name, cell in cells]


def _ours(
    axes: Axes, name: str, cell: IkdrCell, groups: _Groups, entry: _Found, partitions: Partitions, config: Config
) -> Ours:
    if cell.departure:
        return Ours(name, cell)
    number = cell.published
    protocol = [(label, Compared(one.ours, number, one.error)) for label, one in entry.protocol]
    if number and number.protocol == TRAINING and axes["metric"] == Metric.ACCURACY:
        trained = _training(
            groups.get((name, cell.dataset, cell.kernel, cell.method)), cell, config["experiments"][name], partitions
        )
        protocol = [(TRAINING, trained), *protocol] if trained else protocol
    effects = _effects(axes, name, cell, groups)
    return Ours(name, cell, *effects, protocol)


def _training(runs: pd.DataFrame | None, cell: IkdrCell, experiment: Config, partitions: Partitions) -> Compared | None:
    """Return the accuracy on the rows that were fitted to, beside the printed one."""
    if runs is None or _TRAINING_COLUMN not in runs or runs[_TRAINING_COLUMN].isna().all():
        return None
    trained = summarise("quality", runs, _TRAINING_COLUMN, percentage, unit="folds")
    spread = partitions.of(experiment, cell.dataset, cell.kernel, cell.method, _TRAINING_COLUMN)
    return Compared(trained, cell.published, spread.error if spread else None)


def _effects(axes: Axes, name: str, cell: IkdrCell, groups: _Groups) -> tuple[EffectFound, EffectFound]:
    """Return the difference to the reference as published, and between the converged variants of both."""
    reference = reference_of(axes)
    if reference is None:
        return EffectFound(), EffectFound()
    numbers = find_published(**axes), find_published(**reference)
    # Kernels of references have the same names here and in print.
    base = (reference["kernel"], reference["method"])
    pairs = [((cell.kernel, cell.method), base)]
    pairs.append(((cell.kernel, f"{cell.method}_{CONVERGED}"), (base[0], f"{base[1]}_{CONVERGED}")))
    column = "quality" if axes["metric"] in _QUALITY else axes["metric"]
    found = [[groups.get((name, cell.dataset, *one)) for one in pair] for pair in pairs]
    effects = []
    for ours, theirs in found:
        difference = None
        if ours is not None and theirs is not None:
            difference = our_difference(ours, theirs, column, axes["metric"])
        effects.append(effect_of(*numbers, difference, axes["metric"]))
    return effects[0], effects[1] if found[1][0] is not None else EffectFound()


def reference_of(axes: Axes) -> Axes | None:
    """Return the printed number that another is compared with: of ISM, with the same kernel if that is possible.

    Where a table has ISM alone, its kernels are compared with the linear one.
    """
    for kernel in _kernels_of_reference(axes):
        reference = {**axes, "kernel": kernel, "method": _REFERENCE}
        if reference != axes and find_published(**reference):
            return reference
    return None


def _kernels_of_reference(axes: Axes) -> tuple[str, ...]:
    if axes["method"] != _REFERENCE:
        return (axes["kernel"] or _GAUSSIAN,)
    # Costs of several kernels have several units.
    comparable = (axes["paper"], axes["table"]) == _KERNELS_COMPARED and axes["metric"] != "cost"
    return (_LINEAR,) if comparable else ()
