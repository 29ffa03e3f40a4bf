"""What a reader sees first: how much was run, how it ended, how much of the papers is met, and what went wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.finding import Decision
from kdrbench.suite.findings.ledger import COUNTED, EFFECTS, judged, place_label
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.findings.outcome import LIMITS
from kdrbench.suite.reports.dashboard.rendering import run_labels
from kdrbench.suite.reports.dashboard.runs import run_name
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.making import software_of
from kdrbench.suite.reports.records import IKDR, NO_KERNEL, Config, experiments_of, n_runs
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, ENDINGS, NOT_STATIONARY, endings_found
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.config import settings_of
from kdrbench.suite.systems.ikdr.controls import losing_cells, random_ones

_ASKED_AGAIN = "The same question in other experiments"


class Bar(NamedTuple):
    """What a bar is of, and how often each name comes: names choose colours, and there are those of no part too."""

    title: str
    total: int
    parts: dict[str, int]


def touched(comparisons: list[Comparison]) -> list[Comparison]:
    """Return the lines of those papers of which an experiment that was run has a number."""
    papers = {line.paper for line in comparisons if line.verdict is not Verdict.NOT_RUN and line.experiment}
    return [line for line in comparisons if line.paper in papers]


def shares_of(comparisons: list[Comparison]) -> list[Bar]:
    """Return the published numbers by verdict: of each paper, then of each table of which something was run.

    Times have no verdict.
    """
    lines, verdicts = judged(line for line in comparisons if line.first), [str(verdict) for verdict in COUNTED]
    found, papers = [str(line.verdict) for line in lines], [paper_label(line.paper) for line in lines]
    places = (f"{place_label(line.table)}, {line.setting}" for line in lines)
    tables = _bars(map(", ".join, zip(papers, places, strict=True)), found, verdicts)
    return _bars(papers, found, verdicts) + [bar for bar in tables if bar.parts[Verdict.NOT_RUN] < bar.total]


def effects_of(comparisons: list[Comparison]) -> list[Bar]:
    """Return whether the differences that the papers' tables show come out, a paper at a time."""
    shown = [line for line in comparisons if line.first and line.effect]
    kinds = ("ratios of times" if line.metric == "time_s" else "other effects" for line in shown)
    titles = [f"{paper_label(line.paper)}, {kind}" for line, kind in zip(shown, kinds, strict=True)]
    return _bars(titles, (str(line.effect) for line in shown), [str(effect) for effect in EFFECTS])


def claims_of(claims: list[dict[str, str]]) -> list[Bar]:
    """Return the claims by decision: all, then a paper at a time."""
    titles = ["All claims"] * len(claims) + [paper_label(claim["paper"]) for claim in claims]
    return _bars(titles, [claim["verdict"] for claim in claims] * 2, [str(decision) for decision in Decision])


def _bars(titles: Iterable[str], names: Iterable[str], order: list[str]) -> list[Bar]:
    """Return for each title how often the names beside it come, in this order."""
    groups: dict[str, list[str]] = {}
    for title, name in zip(titles, names, strict=True):
        groups.setdefault(title, []).append(name)
    return [Bar(title, len(found), {name: found.count(name) for name in order}) for title, found in groups.items()]


def counts_of(runs: pd.DataFrame) -> list[str]:
    """Return what there is, as "2 runs"; results are rows, of which a run may leave several."""
    of_ikdr = runs[runs["system"] == IKDR]
    is_baseline = of_ikdr["kernel"] == NO_KERNEL
    numbers = {
        "run": n_runs(runs),
        "result": len(runs),
        "experiment": runs["experiment"].nunique(),
        "data set": runs["dataset"].nunique(),
        "kernel": of_ikdr.loc[~is_baseline, "kernel"].nunique(),
        "solver": of_ikdr.loc[~is_baseline, "method"].nunique(),
        "baseline": of_ikdr.loc[is_baseline, "method"].nunique(),
    }
    return [counted(number, name) for name, number in numbers.items() if number]


def endings_of(runs: pd.DataFrame) -> list[Bar]:
    """Return how the runs ended: all of them, then an experiment at a time."""
    endings = list(endings_found(runs))
    order = [name for name in ENDINGS if name in endings]
    return _bars(["All results"] * len(endings) + list(runs["experiment"]), endings * 2, order)


def questions_of(answers: list[Answer], leading: Answer | None) -> dict[str, list[Answer]]:
    """Return each question once with its answers, without the leading one, which pages show above the others."""
    asked: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer is not leading:
            asked.setdefault(answer.question, []).append(answer)
    repeated = leading.question if leading else ""
    return {_ASKED_AGAIN if words == repeated else words: found for words, found in asked.items()}


def not_run_of(runs: pd.DataFrame, config: Config, comparisons: list[Comparison]) -> list[str]:
    """Return which experiments have no run, and how many printed numbers belong to no experiment that was run."""
    lines = [f"No run of {name}." for name in config["run"] if name not in set(runs["experiment"])]
    for paper in dict.fromkeys(line.paper for line in comparisons):
        printed = [line for line in judged(comparisons) if line.paper == paper and line.first]
        if missing := sum(line.verdict is Verdict.NOT_RUN for line in printed):
            lines.append(f"{paper_label(paper)}: {missing} of {counted(len(printed), 'judged number')} not run.")
    return lines


class Machine(NamedTuple):
    """What runs were made on and with, and how many; ``commits`` are those of their sources, with their runs."""

    processor: str
    runs: int
    software: str
    commits: dict[str, int]


def machines_of(runs: pd.DataFrame) -> list[Machine]:
    """Return the machines, that of the most runs first."""
    machines = []
    for processor, rows in runs.groupby(runs["processor"].fillna("unknown"), sort=False):
        commits = {str(commit): n_runs(some) for commit, some in rows.groupby("git_commit", sort=False)}
        machines.append(Machine(str(processor), n_runs(rows), software_of(rows), commits))
    return sorted(machines, key=lambda machine: -machine.runs)


class Check(NamedTuple):
    """The cases in which something is wrong, in words; ``is_known`` is false where the records cannot tell."""

    title: str
    cases: list[str]
    is_known: bool = True

    @property
    def meaning(self) -> str:
        """What a case is."""
        return str(declared("words")["checks"][self.title]).format(converged=CONVERGED_MEANS)


# By column of the rows; they are known where the column is recorded.
_FLAGS = {
    "contaminated": "Shared their core",
    "unaccounted": "Work outside the clock",
    "drifted": "Drifted timing",
    "git_dirty": "Uncommitted sources",
}


def checks_of(runs: pd.DataFrame, config: Config) -> list[Check]:
    """Return all checks, those of results first, then those of timing."""
    status = runs["status"].astype(str)
    optimality = runs.get("optimality", status)
    reported_converged = (status == Status.CONVERGED) & (optimality == NOT_STATIONARY)
    own_rule = {name for name, settings in settings_of(config).items() if settings.has_own_rule}
    chosen = {
        "Failed": status == Status.FAILED,
        "Stopped at a limit": status.isin(LIMITS),
        "Skipped": status == Status.SKIPPED,
        "Ended without converging": status.isin([str(Status.STALLED), str(Status.MAX_ITERATIONS)]),
        "Reported as converged, not stationary": reported_converged & ~runs["method"].isin(own_rule),
    }
    losing = losing_cells(runs[runs["system"] == IKDR].itertuples(), config)
    has_control = any(random_ones(name, config) for name in experiments_of(config, IKDR))
    checks = [Check(title, _names(runs, rows)) for title, rows in chosen.items()]
    checks.append(Check("Worse than random", list(map(_labelled, losing)), has_control))
    for column, title in _FLAGS.items():
        is_known = column in runs and bool(runs[column].notna().any())
        flagged = runs[runs[column].astype(str) == "True"] if is_known else runs[:0]
        checks.append(Check(title, [_name(row) for row in flagged.to_dict("records")], is_known))
    return checks


def check_of_plugins(plugins: Iterable[Mapping[str, Any]]) -> Check:
    """Return what ``kdrbench check`` found of the plug-ins that were run, from the files of its findings."""
    cases = [
        f"{plugin['kind']} {plugin['plugin']}, {one['check']}: {one['fault']}; {one['advice']}"
        for plugin in plugins
        for one in plugin["findings"]
        if one["fault"]
    ]
    return Check("Faults of plug-ins", cases)


def _names(runs: pd.DataFrame, chosen: pd.Series) -> list[str]:
    """Return the chosen runs by name, with their messages, which say how they ended."""
    rows = runs[chosen].to_dict("records")
    return [_name(row) + ("" if pd.isna(row["message"]) else f": {row['message']}") for row in rows]


def _labelled(cell: str) -> str:
    """Return what is said of a cell, ``experiment/dataset/kernel/solver``, by its labels."""
    place, words = cell.split(": ", 1)
    experiment, *axes = place.split("/")
    dataset, kernel, method = run_labels(IKDR, *axes)
    return f"{experiment}, {method}, {dataset}, {kernel} kernel: {words}"


def _name(row: Mapping[Hashable, Any]) -> str:
    return f"{row['experiment']}, {run_name(row)}"
