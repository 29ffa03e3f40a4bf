"""Which rows a configuration asks for, as far as it says so itself: nothing that it names is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.stage import Config
from kdrbench.suite.experiments.results import Results, charted_by
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL
from kdrbench.suite.systems.ikdr.sampling import runs_of
from kdrbench.suite.systems.registry import DEFAULT, system_of

# What multiplies to the number of runs of a cell, by system.
_FACTORS = {
    "kpca_trick": ("splits",),
    "kpca_figures": ("draws",),
    "low_rank": ("runs",),
    "league": ("folds", "repeats"),
    "noise": ("draws",),
}
_ATLAS = "atlas"


def not_asked_for(results: Results) -> list[Record]:
    """Return the rows with a number of a run that no cell of their experiment has; of IKDR also those of other cells.

    Rows of systems of somebody's own are not looked at.
    """
    defined = results.config["experiments"]
    return [
        record
        for name, records in results.records.items()
        for record in records
        if not _is_asked_for(record, defined[name], defined)
    ]


def _is_asked_for(record: Record, experiment: Config, defined: Mapping[str, Config]) -> bool:
    system = system_of(experiment)
    if system == DEFAULT and not _has_cell(record, experiment):
        return False
    count = _n_runs(record, system, experiment, defined)
    return count is None or 0 <= record.run < count


def _n_runs(record: Record, system: str, experiment: Config, defined: Mapping[str, Config]) -> int | None:
    """Return how many runs the cell of a row has; ``None`` where only the code of its system says."""
    if system == DEFAULT:
        return runs_of(experiment)
    if system == _ATLAS:
        charted = charted_by(experiment, defined).get(str(getattr(record, "cells_of", "")))
        return runs_of(charted) * int(experiment.get("draws", 1)) if charted else 0
    factors = _FACTORS.get(system)
    return None if factors is None else prod(int(experiment.get(key, 1)) for key in factors)


def _has_cell(record: Record, experiment: Config) -> bool:
    kernel, method = getattr(record, "kernel", None), getattr(record, "method", None)
    if kernel == NO_KERNEL:
        return method in experiment.get("baselines", [])
    return kernel in experiment["kernels"] and method in experiment["solvers"]
