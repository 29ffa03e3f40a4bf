"""Published numbers of the KPCA trick and of low-rank kernels beside ours, with the effects that they show."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from kdrbench.reports.ledger.comparison import Axes, Ours
from kdrbench.reports.ledger.effects import EffectFound, difference_of_cells, effect_of, our_difference
from kdrbench.reports.records import KPCA_TRICK, Config, experiments_of
from kdrbench.reports.tables import low_rank
from kdrbench.reports.tables.kpca_cells import METRIC, PAPER, PLAIN, SETTING, TABLES, kpca_cells
from kdrbench.reports.tables.labels import VARIANTS
from kdrbench.reports.tables.low_rank import Source
from kdrbench.reports.tables.published_numbers import find_published, published_numbers
from kdrbench.reports.tables.verdicts import Compared

_NOTHING, _LEARNED, _VON_NEUMANN = "none", "learned", "von_neumann"


def kpca_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each accuracy of Tables 1 to 3 with ours; effects are gains over the learner without a kernel."""
    parts = [(name, runs[runs["experiment"] == name]) for name in experiments_of(config, KPCA_TRICK)]
    groups = [(name, of_experiment, kpca_cells(of_experiment)) for name, of_experiment in parts]
    for learner, table in TABLES.items():
        for axes in published_numbers(paper=PAPER, table=table, setting=SETTING):
            variant = axes["kernel"] or PLAIN
            if axes["metric"] == METRIC and variant in VARIANTS:
                key = (axes["dataset"], learner, variant)
                yield (
                    axes,
                    [
                        Ours(name, cells[key], _gain(axes, of_experiment, learner, variant))
                        for name, of_experiment, cells in groups
                        if key in cells
                    ],
                )


def _gain(axes: Axes, runs: pd.DataFrame, learner: str, variant: str) -> EffectFound:
    if variant == PLAIN:
        return EffectFound()
    of_learner = runs[(runs["dataset"] == axes["dataset"]) & (runs["learner"] == learner)]
    ours, plain = (of_learner[of_learner["variant"] == name] for name in (variant, PLAIN))
    printed = find_published(**{**axes, "kernel": "", "method": learner})
    return effect_of(find_published(**axes), printed, our_difference(ours, plain, METRIC, METRIC), METRIC)


def low_rank_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each number of the paper's text with ours; effects are gains of learning, and factors between sweeps."""
    found = list(low_rank.published_and_sources(runs, config))
    cells = {(*axes.values(), source.experiment): source for axes, sources in found for source in sources[:1]}
    for axes, sources in found:
        number = find_published(**axes)
        lines = []
        for one in sources:
            stand_in = axes["dataset"] not in config["experiments"][one.experiment]["datasets"]
            effect = EffectFound() if stand_in else _effect(axes, one, cells)
            lines.append(Ours(one.label, Compared(one.cell, number, _error(one)), effect, stand_in=stand_in))
        yield axes, lines


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
