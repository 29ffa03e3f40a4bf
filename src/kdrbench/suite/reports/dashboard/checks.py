"""What to know before trusting the numbers: runs that are missing, did not end well, or were disturbed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.outcome import LIMITS
from kdrbench.suite.reports.dashboard.runs import run_name
from kdrbench.suite.reports.records import (
    IKDR,
    NO_KERNEL,
    OWN_RULE,
    REFERENCE,
    Config,
    experiments_of,
    losing_cells,
    random_ones,
    runs_of,
    settings_of,
)
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, endings_found
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label


@dataclass(frozen=True)
class Check:
    """The cases in which something is wrong, in words; ``is_known`` is false where the records cannot tell."""

    title: str
    meaning: str
    cases: list[str] = field(default_factory=list)
    is_known: bool = True


_AUDITED = (
    "Runs that reported convergence without having converged, by solvers without a published stopping rule. "
    + CONVERGED_MEANS
)
# By column of the rows; they are known where the column is recorded.
_FLAGS = {
    "contaminated": ("Shared their core", "Runs whose wall time exceeds their CPU time by over a tenth."),
    "unaccounted": (
        "Work outside the clock",
        "Runs whose process took more than their clocks and the referee account for.",
    ),
    "drifted": (
        "Drifted timing",
        "Runs beside which a fixed piece of work took over a tenth longer or shorter than beside the other methods on "
        "the same problem.",
    ),
    "git_dirty": ("Uncommitted sources", "Rows made in a checkout that differed from its commit."),
}


def checks_of(runs: pd.DataFrame, config: Config) -> list[Check]:
    """Return all checks, those of results first, then those of timing."""
    status = runs["status"].astype(str)
    own_rule = {name for name, settings in settings_of(config).items() if settings.has_own_rule}
    has_control = any(random_ones(name, config) for name in experiments_of(config, IKDR))
    unconverged = "Runs that stopped by their method's own rule before reaching its tolerance."
    audited = (endings_found(runs) == OWN_RULE) & ~runs["method"].isin(own_rule)
    chosen = {
        ("Failed", "Runs that ended with an error or were killed."): status == Status.FAILED,
        ("Stopped at a limit", "Tables give a bound, not a number."): status.isin(LIMITS),
        ("Skipped", "Runs that were not started."): status == Status.SKIPPED,
        ("Ended without converging", unconverged): status.isin([str(Status.STALLED), str(Status.MAX_ITERATIONS)]),
        ("Reported as converged, not stationary", _AUDITED): audited,
    }
    losing = "Cells whose mean cost or quality is worse than that of a random projection."
    return [
        Check("Missing", "Runs of the configuration without a record.", list(_missing(runs, config))),
        *(Check(*words, _names(runs, rows)) for words, rows in chosen.items()),
        Check("Worse than random", losing, list(_losing(runs, config)), has_control),
        *(
            Check(*words, _names(runs, runs[column].astype(str) == "True"))
            if column in runs and runs[column].notna().any()
            else Check(*words, is_known=False)
            for column, words in _FLAGS.items()
        ),
    ]


def check_of_plugins(plugins: Iterable[Mapping[str, Any]]) -> Check:
    """Return what ``kdrbench check`` found of the plug-ins that were run, from the files of its findings."""
    cases = [
        f"{plugin['kind']} {plugin['plugin']}, {one['check']}: {one['fault']}; {one['advice']}"
        for plugin in plugins
        for one in plugin["findings"]
        if one["fault"]
    ]
    return Check("Faults of plug-ins", "What kdrbench check found of the plug-ins that were run.", cases)


def _names(runs: pd.DataFrame, chosen: pd.Series) -> list[str]:
    """Return the chosen runs by name, with their messages."""
    rows = runs[chosen].to_dict("records")
    return [run_name(row) + ("" if pd.isna(row["message"]) else f": {row['message']}") for row in rows]


def _missing(runs: pd.DataFrame, config: Config) -> Iterator[str]:
    axes = ["experiment", "dataset", "kernel", "method", "run"]
    there = set(runs[axes].itertuples(index=False, name=None))
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        methods = [(kernel, solver) for kernel in experiment["kernels"] for solver in experiment["solvers"]]
        methods += [(NO_KERNEL, baseline) for baseline in experiment.get("baselines", [])]
        # Of a reference there is what its record has of the same problems: no more is asked of it.
        methods = [cell for cell in methods if not cell[1].endswith(REFERENCE)]
        for dataset in experiment["datasets"]:
            for cell in methods:
                if absent := sum((name, dataset, *cell, run) not in there for run in range(runs_of(experiment))):
                    yield f"{_cell_name(dataset, *cell)}: {absent} of {counted(runs_of(experiment), 'run')}"


def _losing(runs: pd.DataFrame, config: Config) -> Iterator[str]:
    rows = runs[runs["system"] == IKDR].itertuples()
    for _, dataset, kernel, method, control, metric, mean, control_mean, _ in losing_cells(rows, config):
        yield f"{_cell_name(dataset, kernel, method)}: {metric} {mean:.6g}, {control} {control_mean:.6g}"


def _cell_name(dataset: str, kernel: str, method: str) -> str:
    return f"{method_label(method)}, {dataset_label(dataset)}, {kernel_label(kernel)}"
