"""The lines of the ledger: each published number beside ours, with two verdicts, reasons and the published protocol.

Tables of IKDR, of the KPCA trick and of low-rank kernels give numbers and effects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from kdrbench.suite.findings.effects import (
    NO_EFFECT,
    Effect,
    EffectFound,
    difference_of_cells,
    effect_of,
    our_difference,
)
from kdrbench.suite.reports.protocol import departure
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, Config, Metric, experiments_of
from kdrbench.suite.reports.tables.cells import TIMES, summarise
from kdrbench.suite.reports.tables.labels import CONVERGED
from kdrbench.suite.reports.tables.numbers import percentage
from kdrbench.suite.reports.tables.published_numbers import (
    find_published,
    printed_table,
    published_numbers,
)
from kdrbench.suite.reports.tables.significance import interval_of
from kdrbench.suite.reports.tables.verdicts import Compared, Verdict
from kdrbench.suite.systems.ikdr.partitions import Partitions
from kdrbench.suite.systems.ikdr.tables import IkdrCell, compared_cells, published_axes
from kdrbench.suite.systems.kpca_trick.cells import (
    METRIC,
    PAPER,
    PLAIN,
    SETTING,
    TABLES,
    KpcaCell,
    kpca_cells,
)
from kdrbench.suite.systems.kpca_trick.system import VARIANTS
from kdrbench.suite.systems.low_rank import tables as low_rank

NO_EXPERIMENT = "no experiment that was run has this cell"
# What is written where a number differs, or is only close, and readings.toml gives no reason.
UNEXPLAINED = "no reason is known"
# Where folds were drawn once.
NO_SPREAD = "how this mean varies is not known: no experiment with partitions was run"
Axes = dict[str, str]
# Of which the others' difference is taken.
_REFERENCE, _GAUSSIAN, _LINEAR = "ism", "gaussian", "linear"
_KERNELS_COMPARED = ("neurips2019", "5")
TRAINING = "training accuracy"
_TRAINING_COLUMN = "train_accuracy"
_QUALITY = frozenset(map(str, Metric))
Place = tuple[str, ...]
_ALIGNED, _CENTRED = "aligned", "centred"
# Rows by experiment, data set, kernel and method.
_Groups = Mapping[tuple[Hashable, ...], pd.DataFrame]
_NOTHING, _LEARNED, _VON_NEUMANN = "none", "learned", "von_neumann"


@dataclass(frozen=True)
class Ours:
    """Our number for a published one, from the experiment or method ``label``.

    ``effect`` is the second verdict, ``converged`` that of the same methods run until they converge. ``protocol`` holds
    what comes out by the published protocol: (label, cell) of each run that follows it. A ``stand_in`` for data that
    are not to be had is shown, and judged by nothing.
    """

    label: str
    compared: Compared
    effect: EffectFound = NO_EFFECT
    converged: EffectFound = NO_EFFECT
    protocol: Sequence[tuple[str, Compared]] = ()
    stand_in: bool = False


@dataclass(frozen=True)
class Comparison:
    """One published number, the experiment that has its cell, and how ours compares.

    A number of which several experiments have the cell is listed once for each, in the order of the configuration;
    ``first`` marks the one that counts. ``low`` to ``high`` is the interval of :mod:`.significance` for our mean,
    ``error`` its standard error by redrawn partitions or draws. ``protocol`` is what comes out by the published
    protocol, ``fitted`` what of our settings was chosen because it meets the printed numbers.
    """

    paper: str
    table: str
    setting: str
    dataset: str
    kernel: str
    method: str
    metric: str
    published: str
    published_value: float | None
    ours: str = ""
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    runs: int = 0
    verdict: Verdict = Verdict.NOT_RUN
    effect: Effect = Effect.UNKNOWN
    effect_words: str = ""
    converged_effect: Effect = Effect.UNKNOWN
    converged_words: str = ""
    protocol: str = ""
    protocol_verdict: str = ""
    fitted: str = ""
    why: str = NO_EXPERIMENT
    experiment: str = ""
    first: bool = True


def printed_line(axes: Axes) -> Comparison:
    """Return the line of a published number of which no experiment has the cell."""
    number, verdict = find_published(**axes), Verdict.NOT_JUDGED if axes["metric"] in TIMES else Verdict.NOT_RUN
    words = (number.text, number.value, number.fitted) if number else ("", None, "")
    values: dict[str, Any] = {**axes, "published": words[0], "published_value": words[1], "fitted": words[2]}
    return Comparison(**values, verdict=verdict)


def compared_line(axes: Axes, ours: Ours) -> Comparison:
    """Return the line of a published number beside ours."""
    compared, cell, number = ours.compared, ours.compared.ours, find_published(**axes)
    low, high = interval_of(axes["metric"], cell)
    unit = number.scale if number else 1.0
    return replace(
        printed_line(axes),
        ours=cell.text,
        mean=cell.mean,
        std=cell.std,
        low=low,
        high=high,
        error=compared.error,
        runs=cell.runs,
        verdict=Verdict.NOT_JUDGED if ours.stand_in else compared.verdict,
        effect=ours.effect.effect,
        effect_words=ours.effect.words,
        converged_effect=ours.converged.effect,
        converged_words=ours.converged.words,
        protocol="; ".join(f"{in_unit(other, unit)} ({label})" for label, other in ours.protocol),
        protocol_verdict="; ".join(str(other.verdict) for _, other in ours.protocol),
        why=_why(compared),
        experiment=ours.label,
    )


def in_unit(compared: Compared, unit: float) -> str:
    """Return our number, in the unit in which the paper prints it where that is not ours."""
    mean = compared.ours.mean
    return compared.ours.text if unit == 1.0 or mean is None else f"{mean / unit:.5g}, in the unit of the print"


def _why(compared: Compared) -> str:
    """Return the reason of what differs or is only close, and what is to be known of our runs."""
    ours, number = compared.ours, compared.published
    notes = [compared.departure, ours.note, ours.warning]
    if compared.departure:
        return "; ".join(filter(None, notes))
    if compared.verdict in (Verdict.DIFFERS, Verdict.CLOSE):
        notes.insert(0, number.why if number and number.why else UNEXPLAINED)
        notes.append(NO_SPREAD if compared.error is None and ours.counted > 1 else "")
    elif compared.verdict is not Verdict.REPRODUCED:
        notes.append(number.why if number else "")
    return "; ".join(filter(None, notes))


# Cells with their experiments, by the axes of a published number.
_Cells = dict[Place, list[tuple[str, IkdrCell]]]


def ikdr_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield every number of the tables that experiments name, with ours from each experiment that has its cell."""
    partitions, tables = Partitions(runs, config), []
    ours: _Cells = defaultdict(list)
    by_protocols: _Cells = defaultdict(list)
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
            if not by_protocol:
                ours[place].append((name, cell))
            elif cell.ours.mean is not None and not cell.departure:
                by_protocols[place].append((name, cell))
    groups = dict(list(runs.groupby(["experiment", "dataset", "kernel", "method"])))
    for table in tables:
        for axes in published_numbers(**table):
            others = by_protocols[tuple(axes.values())]
            if (number := find_published(**axes)) and number.runs_of:
                others = others + ours[tuple({**axes, **number.runs_of}.values())]
            # Of several experiments one by the paper's protocol counts.
            cells = sorted(ours[tuple(axes.values())], key=lambda pair: bool(pair[1].departure))
            yield axes, [_ours(axes, name, cell, groups, others, partitions, config) for name, cell in cells]


def _ours(
    axes: Axes,
    name: str,
    cell: IkdrCell,
    groups: _Groups,
    others: Sequence[tuple[str, IkdrCell]],
    partitions: Partitions,
    config: Config,
) -> Ours:
    if cell.departure:
        return Ours(name, cell)
    protocol = [
        (f"{runner}, {other.kernel}, {other.method}", Compared(other.ours, cell.published, other.error))
        for runner, other in others
    ]
    if cell.published and cell.published.protocol == TRAINING and axes["metric"] == Metric.ACCURACY:
        protocol = [
            (f"{TRAINING}, {runner}, {other.kernel}, {other.method}", replace(compared, published=cell.published))
            for runner, other in ((name, cell), *others)
            if (compared := _training(runner, other, groups, partitions, config))
        ] + protocol
    return Ours(name, cell, *_effects(axes, name, cell, groups), protocol)


def _training(name: str, cell: IkdrCell, groups: _Groups, partitions: Partitions, config: Config) -> Compared | None:
    """Return the accuracy on the rows that were fitted to, beside the printed one."""
    runs = groups.get((name, cell.dataset, cell.kernel, cell.method))
    if runs is None or _TRAINING_COLUMN not in runs or runs[_TRAINING_COLUMN].isna().all():
        return None
    trained = summarise("quality", runs, _TRAINING_COLUMN, percentage, unit="folds")
    experiment = config["experiments"][name]
    spread = partitions.of(experiment, cell.dataset, cell.kernel, cell.method, _TRAINING_COLUMN)
    return Compared(trained, cell.published, spread.error if spread else None)


def _effects(axes: Axes, name: str, cell: IkdrCell, groups: _Groups) -> tuple[EffectFound, EffectFound]:
    """Return the difference to the reference as published, and between the converged variants of both."""
    reference = reference_of(axes)
    if reference is None:
        return NO_EFFECT, NO_EFFECT
    numbers = find_published(**axes), find_published(**reference)
    column = "quality" if axes["metric"] in _QUALITY else axes["metric"]
    effects = []
    for variant in ("", f"_{CONVERGED}"):
        # Kernels of references have the same names here and in print.
        ours = groups.get((name, cell.dataset, cell.kernel, f"{cell.method}{variant}"))
        theirs = groups.get((name, cell.dataset, reference["kernel"], f"{reference['method']}{variant}"))
        if ours is None:
            effects.append(NO_EFFECT)
            continue
        difference = None if theirs is None else our_difference(ours, theirs, column, axes["metric"])
        effects.append(effect_of(*numbers, difference, axes["metric"]))
    return effects[0], effects[1]


def reference_of(axes: Axes) -> Axes | None:
    """Return the printed number that another is compared with: of ISM, with the same kernel if that is possible.

    Where a table has ISM alone, its kernels are compared with the linear one, but for costs, which differ in unit.
    """
    kernel = axes["kernel"] or _GAUSSIAN
    if axes["method"] == _REFERENCE:
        if (axes["paper"], axes["table"]) != _KERNELS_COMPARED or axes["metric"] == "cost":
            return None
        kernel = _LINEAR
    reference = {**axes, "kernel": kernel, "method": _REFERENCE}
    return reference if reference != axes and find_published(**reference) else None


def kpca_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each accuracy of Tables 1 to 3 with ours; effects are gains over the learner without a kernel."""
    parts = [(name, runs[runs["experiment"] == name]) for name in experiments_of(config, KPCA_TRICK)]
    groups = [(name, rows, kpca_cells(rows, config)) for name, rows in parts]
    for learner, table in TABLES.items():
        for axes in published_numbers(paper=PAPER, table=table, setting=SETTING):
            variant = axes["kernel"] or PLAIN
            if axes["metric"] == METRIC and variant in VARIANTS:
                key = (axes["dataset"], learner, variant)
                there = [(name, rows, cells[key]) for name, rows, cells in groups if key in cells]
                there.sort(key=lambda found: bool(found[2].departure))
                others = _centred(key, groups) if variant == _ALIGNED else []
                yield axes, [Ours(name, cell, _gain(axes, cell, rows), protocol=others) for name, rows, cell in there]


def _centred(key: tuple[str, str, str], groups: Sequence[tuple[str, Any, Any]]) -> list[tuple[str, Compared]]:
    """Return accuracies with alignment of centred kernels, which the paper leaves open, beside those without."""
    there = [
        (name, cells[key], cells[*key[:2], _CENTRED]) for name, _, cells in groups if (*key[:2], _CENTRED) in cells
    ]
    return [
        (f"{name}, centred alignment", Compared(cell.ours, aligned.published, cell.error))
        for name, aligned, cell in there
        if not cell.departure
    ]


def _gain(axes: Axes, cell: KpcaCell, runs: pd.DataFrame) -> EffectFound:
    if cell.variant == PLAIN or cell.departure:
        return NO_EFFECT
    of_learner = runs[(runs["dataset"] == axes["dataset"]) & (runs["learner"] == cell.learner)]
    ours, plain = (of_learner[of_learner["variant"] == name] for name in (cell.variant, PLAIN))
    printed = find_published(**{**axes, "kernel": "", "method": cell.learner})
    return effect_of(find_published(**axes), printed, our_difference(ours, plain, METRIC, METRIC), METRIC)


def low_rank_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each number of the paper's text with ours; effects are gains of learning, and factors between sweeps."""
    found = list(low_rank.published_and_sources(runs, config))
    cells = {(*axes.values(), source.experiment): source for axes, sources in found for source in sources[:1]}
    for axes, sources in found:
        number = find_published(**axes)
        lines = []
        for source in sources:
            experiment = config["experiments"][source.experiment]
            stand_in = axes["dataset"] not in experiment["datasets"]
            departs = "" if stand_in else departure(experiment, config, axes["dataset"], method=source.method)
            effect = NO_EFFECT if stand_in or departs else _effect(axes, source, cells)
            cell = source.cell
            # The standard error of a mean over independent draws.
            error = cell.std / (cell.counted - 1) ** 0.5 if cell.std is not None and cell.counted > 1 else None
            compared = Compared(cell, number, error, departs)
            lines.append(Ours(source.label, compared, effect, stand_in=stand_in))
        yield axes, sorted(lines, key=lambda line: bool(line.compared.departure))


def _effect(axes: Axes, source: low_rank.Source, cells: dict[tuple[str, ...], low_rank.Source]) -> EffectFound:
    base = {_LEARNED: _NOTHING}.get(axes["method"], _VON_NEUMANN)
    reference = {**axes, "method": base}
    theirs = cells.get((*reference.values(), source.experiment))
    if axes["method"] == _NOTHING or base == axes["method"] or theirs is None:
        return NO_EFFECT
    difference = difference_of_cells(source.cell, theirs.cell, axes["metric"])
    return effect_of(find_published(**axes), find_published(**reference), difference, axes["metric"])
