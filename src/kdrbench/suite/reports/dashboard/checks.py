"""What to know before trusting the numbers: runs that are missing, did not end well, or were disturbed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.dashboard.runs import run_name
from kdrbench.suite.reports.records import (
    IKDR,
    NO_KERNEL,
    OWN_RULE,
    REFERENCE,
    Config,
    Settings,
    experiments_of,
    losing_cells,
    random_ones,
    runs_of,
    settings_of,
)
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, endings_found
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label

_LIMITS = {str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT)}


@dataclass(frozen=True)
class Finding:
    """One line of a check; ``run`` is the place of the run it is about, if it is about one."""

    experiment: str
    subject: str
    words: str
    run: int | None = None


@dataclass(frozen=True)
class Check:
    """What was looked for, and what was found; ``asked`` is false where the records cannot tell."""

    name: str
    title: str
    meaning: str
    findings: list[Finding] = field(default_factory=list)
    asked: bool = True


_SHARED = "Runs whose wall time exceeds their CPU time by over a tenth."
_OFF_THE_CLOCK = "Runs whose process took more than their clocks and the referee account for."
_DRIFTED = (
    "Runs beside which a fixed piece of work took over a tenth longer or shorter than beside the other methods on the "
    "same problem."
)
_AUDITED = f"Runs whose solver, which declares no published settings, says converged. {CONVERGED_MEANS}"
_UNCONVERGED = "Runs that came to their method's own end, but not to its tolerance."
_RANDOM = "Cells whose mean cost or quality is worse than that of a random projection."


def checks_of(runs: pd.DataFrame, config: Config) -> list[Check]:
    """Return all checks, those of results first, then those of timing."""
    status = runs["status"].astype(str)
    ended = {str(Status.STALLED), str(Status.MAX_ITERATIONS)}
    has_control = any(random_ones(name, config) for name in experiments_of(config, IKDR))
    recorded = bool(runs["git_dirty"].notna().any())
    sources = "Rows made in a checkout that differed from its commit."
    return [
        Check("missing", "Missing", "Runs of the configuration without a record.", list(_missing(runs, config))),
        _of_runs(runs, status == Status.FAILED, "failed", "Failed", "Runs that ended with an error or were killed."),
        _of_runs(runs, status.isin(_LIMITS), "limited", "Stopped at a limit", "Tables give a bound, not a number."),
        _of_runs(runs, status == Status.SKIPPED, "skipped", "Skipped", "Runs that were not begun."),
        _of_runs(runs, status.isin(ended), "unconverged", "Ended without converging", _UNCONVERGED),
        _of_runs(runs, _wrongly_converged(runs, config), "audited", "Says converged, is not", _AUDITED),
        Check("control", "Worse than random", _RANDOM, list(_losing(runs, config)), asked=has_control),
        _flagged(runs, "contaminated", "Shared their core", _SHARED),
        _flagged(runs, "unaccounted", "Worked off the clock", _OFF_THE_CLOCK),
        _flagged(runs, "drifted", "Drifted timing", _DRIFTED),
        Check("changed", "Made by changed sources", sources, list(_changed(runs)), asked=recorded),
    ]


def _wrongly_converged(runs: pd.DataFrame, config: Config) -> pd.Series:
    published = {name for name, settings in settings_of(config).items() if settings is Settings.PUBLISHED}
    return (endings_found(runs) == OWN_RULE) & ~runs["method"].isin(published)


def check_of_plugins(plugins: Iterable[Mapping[str, Any]]) -> Check:
    """Return what ``kdrbench check`` found of the plug-ins that were run, from the files of its findings."""
    findings = [
        Finding("", f"{plugin['kind']} {plugin['plugin']}, {one['check']}", f"{one['fault']}; {one['advice']}")
        for plugin in plugins
        for one in plugin["findings"]
        if one["fault"]
    ]
    return Check("plugins", "Faults of plug-ins", "What kdrbench check found of the plug-ins that were run.", findings)


def _of_runs(runs: pd.DataFrame, chosen: pd.Series, name: str, title: str, meaning: str) -> Check:
    findings = [
        Finding(row["experiment"], run_name(row), "" if pd.isna(row["message"]) else row["message"], place)
        for place, row in _rows(runs, chosen)
    ]
    return Check(name, title, meaning, findings)


def _rows(runs: pd.DataFrame, chosen: pd.Series) -> Iterator[tuple[int, dict[Hashable, Any]]]:
    """Yield the place and the row of each chosen run."""
    return zip(chosen.to_numpy().nonzero()[0].tolist(), runs[chosen].to_dict("records"), strict=True)


def _flagged(runs: pd.DataFrame, column: str, title: str, meaning: str) -> Check:
    if column not in runs or runs[column].isna().all():
        return Check(column, title, meaning, asked=False)
    return _of_runs(runs, runs[column].astype(str) == "True", column, title, meaning)


def _changed(runs: pd.DataFrame) -> Iterator[Finding]:
    for place, row in _rows(runs, runs["git_dirty"].astype(str) == "True"):
        yield Finding(row["experiment"], run_name(row), f"commit {str(row['git_commit'])[:10]}", place)


def _missing(runs: pd.DataFrame, config: Config) -> Iterator[Finding]:
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
                    words = f"{absent} of {counted(runs_of(experiment), 'run')}"
                    yield Finding(name, _cell_name(dataset, *cell), words)


def _losing(runs: pd.DataFrame, config: Config) -> Iterator[Finding]:
    of_ikdr = runs[runs["system"] == IKDR]
    for experiment, dataset, kernel, method, random, what, mean, of_random, _ in losing_cells(
        of_ikdr.itertuples(), config
    ):
        yield Finding(experiment, _cell_name(dataset, kernel, method), f"{what} {mean:.6g}, {random} {of_random:.6g}")


def _cell_name(dataset: str, kernel: str, method: str) -> str:
    return f"{method_label(method)}, {dataset_label(dataset)}, {kernel_label(kernel)}"
