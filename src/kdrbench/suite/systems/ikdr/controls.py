"""Which solvers lose to a random projection: what no result of a sound benchmark shows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from kdrbench.errors import counted
from kdrbench.solvers.registry import METHODS, build_solver, method_of
from kdrbench.status import Status
from kdrbench.suite.engine.system import Config
from kdrbench.suite.systems.ikdr.scores import Metric

# Costs as near as this, relative to the larger one, are the same cost.
_SAME_COST = 1e-9
# A quality is lower only beyond this many standard errors of the difference over folds; in one run by any amount.
_ERRORS = 2.0


def losing_cells(rows: Iterable[Any], config: Config) -> list[str]:
    """Return in words the cells in which a solver that is no control loses to a random projection, cost first.

    ``rows`` are records, or rows of the merged table as ``itertuples`` gives them. Random projections are the solvers
    of the configuration whose method is ``start_alone`` with ``start: random``, their own or their experiment's. Folds
    that both have are compared. A cost loses if its mean is higher, quality if its mean is worse by more than two
    standard errors of the paired differences. Runs that failed have no result to compare.
    """
    cells: dict[tuple[str, str, str, str], dict[int, Any]] = defaultdict(dict)
    for row in rows:
        if row.status != Status.FAILED:
            cells[row.experiment, row.dataset, row.kernel, row.method][row.run] = row
    found = []
    for (experiment, dataset, kernel, solver), runs in cells.items():
        # Baselines have no kernel, so no random projection is compared with them.
        if solver not in config["solvers"] or _is_control(solver, config):
            continue
        for random in random_ones(experiment, config):
            theirs = cells.get((experiment, dataset, kernel, random), {})
            for what in ("cost", "quality"):
                if compared := _compare(what, runs, theirs):
                    found.append(
                        f"{experiment}/{dataset}/{kernel}/{solver}: {what} {compared[0]:.6g} is worse than "
                        f"{compared[1]:.6g} of the random projection {random!r}, over {counted(compared[2], 'fold')}"
                    )
    return found


def random_ones(experiment: str, config: Config) -> list[str]:
    """Return the solvers of an experiment that take the random start for the result."""
    chosen = config["experiments"][experiment]
    defined = {name: config["solvers"][name] for name in chosen["solvers"]}
    alone = {name: one.get("start", chosen["start"]) for name, one in defined.items() if one["method"] == "start_alone"}
    return [name for name, start in alone.items() if start == "random"]


def controls_of(experiment: str, config: Config) -> frozenset[str]:
    """Return the solvers of an experiment that are controls: with them others are compared, they do not compete.

    Those of the user's own are none: reports load nothing that a record names.
    """
    return frozenset(name for name in config["experiments"][experiment]["solvers"] if _is_control(name, config))


def _is_control(solver: str, config: Config) -> bool:
    method = method_of(config["solvers"][solver])
    return method.get("method") in METHODS and bool(getattr(build_solver(method), "control", False))


def _compare(what: str, ours: dict[int, Any], theirs: dict[int, Any]) -> tuple[float, float, int] | None:
    pairs = [(getattr(ours[fold], what), getattr(theirs[fold], what)) for fold in ours if fold in theirs]
    # What is unknown is None in a record, and NaN in a table.
    known = np.array(pairs, dtype=float).reshape(-1, 2)
    known = known[~np.isnan(known).any(axis=1)]
    if not len(known):
        return None
    mine, random = (float(mean) for mean in known.mean(axis=0))
    lower_is_better = what == "cost" or next(iter(ours.values())).quality_metric == Metric.ERROR
    behind = (mine - random) if lower_is_better else (random - mine)
    margin = _SAME_COST * max(abs(mine), abs(random))
    if what == "quality" and len(known) > 1:
        margin = _ERRORS * float(np.std(known[:, 0] - known[:, 1], ddof=1)) / math.sqrt(len(known))
    return (mine, random, len(known)) if behind > margin else None
