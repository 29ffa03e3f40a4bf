"""What a reader must know before trusting the numbers: runs that are missing, did not end well, or were disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from kdrbench.bench.config import NO_KERNEL
from kdrbench.bench.experiment import Config, runs_of
from kdrbench.bench.quality import Metric
from kdrbench.reports.dashboard.runs import run_name
from kdrbench.reports.layout import dataset_label, kernel_label, solver_label
from kdrbench.solvers import Status

_LIMITS = {str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT)}
# Solvers and references of such names choose without looking.
_CONTROL = "random"


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


def checks_of(runs: pd.DataFrame, config: Config) -> list[Check]:
    """Return all checks, those of results first, then those of timing."""
    status = runs["status"].astype(str)
    return [
        Check("missing", "Missing", "Runs of the configuration without a record.", list(_missing(runs, config))),
        _of_runs(runs, status == Status.FAILED, "failed", "Failed", "Runs that ended with an error or were killed."),
        _of_runs(runs, status.isin(_LIMITS), "limited", "Stopped at a limit", "Tables give a bound, not a number."),
        _of_runs(runs, status == Status.SKIPPED, "skipped", "Skipped", "Runs that were not begun."),
        _of_runs(
            runs,
            status.isin({str(Status.STALLED), str(Status.MAX_ITERATIONS)}),
            "unconverged",
            "Ended without converging",
            "Runs that came to their solver's own end, but not to its tolerance.",
        ),
        Check(
            "control",
            "No better than random",
            "Cells whose mean cost or quality is no better than that of a random projection.",
            list(_below_control(runs)),
            asked=bool(runs["solver"].str.startswith(_CONTROL).any()),
        ),
        _flagged(
            runs, "contaminated", "Shared their core", "Runs whose wall time exceeds their CPU time by over a tenth."
        ),
        _flagged(
            runs,
            "drifted",
            "Drifted timing",
            "Runs beside which a fixed piece of work took over a tenth longer or shorter than usual.",
        ),
        Check(
            "changed",
            "Made by changed sources",
            "Runs of a checkout that differed from its commit.",
            list(_changed(runs)),
            asked=bool(runs["git_dirty"].notna().any()),
        ),
    ]


def _of_runs(runs: pd.DataFrame, chosen: pd.Series, name: str, title: str, meaning: str) -> Check:
    places = chosen.to_numpy().nonzero()[0].tolist()
    findings = [
        Finding(row["experiment"], run_name(row), "" if pd.isna(row["message"]) else row["message"], place)
        for place, row in zip(places, runs[chosen].to_dict("records"), strict=True)
    ]
    return Check(name, title, meaning, findings)


def _flagged(runs: pd.DataFrame, column: str, title: str, meaning: str) -> Check:
    if column not in runs or runs[column].isna().all():
        return Check(column, title, meaning, asked=False)
    return _of_runs(runs, runs[column].astype(str) == "True", column, title, meaning)


def _changed(runs: pd.DataFrame) -> Iterator[Finding]:
    changed = runs[runs["git_dirty"].astype(str) == "True"]
    for (experiment, commit), group in changed.groupby(["experiment", "git_commit"], sort=False):
        yield Finding(str(experiment), f"commit {str(commit)[:10]}", f"{len(group)} runs")


def _missing(runs: pd.DataFrame, config: Config) -> Iterator[Finding]:
    axes = ["experiment", "dataset", "kernel", "solver", "fold"]
    there = set(runs[axes].itertuples(index=False, name=None))
    for name in config["run"]:
        experiment = config["experiments"][name]
        methods = [(kernel, solver) for kernel in experiment["kernels"] for solver in experiment["solvers"]]
        methods += [(NO_KERNEL, reference) for reference in experiment.get("references", [])]
        for dataset in experiment["datasets"]:
            for kernel, solver in methods:
                absent = [
                    fold for fold in range(runs_of(experiment)) if (name, dataset, kernel, solver, fold) not in there
                ]
                if absent:
                    subject = _cell_name(dataset, kernel, solver)
                    yield Finding(name, subject, f"{len(absent)} of {runs_of(experiment)} runs")


def _below_control(runs: pd.DataFrame) -> Iterator[Finding]:
    """Yield the cells whose mean is no better than that of a control with the same problem.

    A control without a kernel, as references are, has only a quality, and stands beside every kernel.
    """
    axes = ["experiment", "dataset", "kernel", "solver", "quality_metric"]
    cells = runs.groupby(axes)[["cost", "quality"]].mean().reset_index().to_dict("records")
    controls = [cell for cell in cells if cell["solver"].startswith(_CONTROL)]
    for cell in cells:
        for control in controls:
            same = all(cell[axis] == control[axis] for axis in ("experiment", "dataset"))
            if cell in controls or not same or control["kernel"] not in (cell["kernel"], NO_KERNEL):
                continue
            sign = -1 if cell["quality_metric"] == Metric.ERROR else 1
            lost = ["cost"] if cell["cost"] >= control["cost"] else []
            lost += [cell["quality_metric"]] if sign * cell["quality"] <= sign * control["quality"] else []
            if lost:
                subject = _cell_name(cell["dataset"], cell["kernel"], cell["solver"])
                yield Finding(cell["experiment"], subject, f"{' and '.join(lost)} against {control['solver']}")


def _cell_name(dataset: str, kernel: str, solver: str) -> str:
    return f"{solver_label(solver)}, {dataset_label(dataset)}, {kernel_label(kernel)}"
