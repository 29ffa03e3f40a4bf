"""Published numbers of the KPCA trick and of low-rank kernels beside ours, with the effects that they show."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from kdrbench.suite.reports.ledger.comparison import Axes, Ours
from kdrbench.suite.reports.ledger.effects import EffectFound, difference_of_cells, effect_of, our_difference
from kdrbench.suite.reports.protocol import departure
from kdrbench.suite.reports.records import KPCA_TRICK, Config, experiments_of
from kdrbench.suite.reports.tables import low_rank
from kdrbench.suite.reports.tables.kpca_cells import METRIC, PAPER, PLAIN, SETTING, TABLES, KpcaCell, kpca_cells
from kdrbench.suite.reports.tables.labels import VARIANTS
from kdrbench.suite.reports.tables.low_rank import Source
from kdrbench.suite.reports.tables.published_numbers import find_published, published_numbers
from kdrbench.suite.reports.tables.verdicts import Compared

_NOTHING, _LEARNED, _VON_NEUMANN = "none", "learned", "von_neumann"


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
                yield axes, [Ours(name, cell, _gain(axes, cell, rows)) for name, rows, cell in there]


def _gain(axes: Axes, cell: KpcaCell, runs: pd.DataFrame) -> EffectFound:
    if cell.variant == PLAIN or cell.departure:
        return EffectFound()
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
        for one in sources:
            experiment = config["experiments"][one.experiment]
            stand_in = axes["dataset"] not in experiment["datasets"]
            departs = "" if stand_in else departure(experiment, config, axes["dataset"], method=one.method)
            effect = EffectFound() if stand_in or departs else _effect(axes, one, cells)
            compared = Compared(one.cell, number, _error(one), departs)
            lines.append(Ours(one.label, compared, effect, stand_in=stand_in))
        yield axes, sorted(lines, key=lambda one: bool(one.compared.departure))


def _error(source: Source) -> float | None:
    """Return the standard error of a mean over independent draws."""
    cell = source.cell
    return cell.std / (cell.counted - 1) ** 0.5 if cell.std is not None and cell.counted > 1 else None


def _effect(axes: Axes, source: Source, cells: dict[tuple[str, ...], Source]) -> EffectFound:
    base = {_LEARNED: _NOTHING}.get(axes["method"], _VON_NEUMANN)
    reference = {**axes, "method": base}
    theirs = cells.get((*reference.values(), source.experiment))
    if axes["method"] == _NOTHING or base == axes["method"] or theirs is None:
        return EffectFound()
    difference = difference_of_cells(source.cell, theirs.cell, axes["metric"])
    return effect_of(find_published(**axes), find_published(**reference), difference, axes["metric"])
