"""What a reader sees first: how much was run, how it ended, how much of the papers is met, which figures there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.reports.dashboard.bars import Bar, bar_of
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.records import (
    IKDR,
    NO_KERNEL,
    OWN_RULE,
    REFERENCE,
    Config,
    n_runs,
)
from kdrbench.suite.reports.tables.cells import endings_found
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.verdicts import Verdict

_OTHERS = [str(status) for status in Status if status is not Status.CONVERGED]
_LIMITS = {str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT)}

_ASKED_AGAIN = "The question above, of other experiments"


def counts_of(runs: pd.DataFrame) -> list[str]:
    """Return what there is, as "2 runs"; results are rows, of which a run may leave several.

    It is said how many of the runs, results and methods are of a reference beside them.
    """
    of_ikdr = runs[runs["system"] == IKDR]
    included = runs[runs["method"].astype(str).str.endswith(REFERENCE)]
    counts = [
        _with(included, counted(n_runs(runs), "run"), n_runs(included)),
        _with(included, counted(len(runs), "result"), len(included)),
        counted(runs["experiment"].nunique(), "experiment"),
        counted(runs["dataset"].nunique(), "data set"),
    ]
    if of_ikdr.empty:
        return counts
    baselines = of_ikdr["kernel"] == NO_KERNEL
    solvers, others = (of_ikdr.loc[chosen, "method"].unique() for chosen in (~baselines, baselines))
    return [
        *counts,
        counted(of_ikdr.loc[~baselines, "kernel"].nunique(), "kernel"),
        *(
            _with(included, counted(len(names), word), sum(str(name).endswith(REFERENCE) for name in names))
            for names, word in ((solvers, "solver"), (others, "baseline"))
        ),
    ]


def _with(included: pd.DataFrame, said: str, count: int) -> str:
    return said if included.empty else f"{said}, {count} of the reference"


def endings_of(runs: pd.DataFrame) -> list[Bar]:
    """Return how the runs ended: all of them, then an experiment at a time."""
    found = pd.DataFrame({"experiment": runs["experiment"], "ending": endings_found(runs)})
    groups = [("All results", found), *found.groupby("experiment", sort=False)]
    endings = [one for one in (str(Status.CONVERGED), OWN_RULE, *_OTHERS) if (found["ending"] == one).any()]
    return [bar_of(str(title), list(group["ending"]), endings) for title, group in groups]


@dataclass(frozen=True)
class Question:
    """A question in words, and the answers of the experiments that ask it."""

    words: str
    answers: list[Answer]


def questions_of(answers: list[Answer], leading: Answer | None) -> list[Question]:
    """Return each question once with its answers, without the leading one, which pages show above the others."""
    asked: dict[str, list[Answer]] = {}
    for one in answers:
        if one is not leading:
            asked.setdefault(one.question, []).append(one)
    repeated = leading.question if leading else ""
    return [Question(_ASKED_AGAIN if words == repeated else words, found) for words, found in asked.items()]


@dataclass(frozen=True)
class ContentsLine:
    """What the figures of a line are of, empty for a figure alone, and (words, name) of each."""

    title: str
    links: list[tuple[str, str]]


def contents_of(charts: list[Chart]) -> list[ContentsLine]:
    """Return the charts in the order they come; those whose titles have the same words after a colon together."""
    counts = Counter(_parts(chart)[1] for chart in charts)
    lines: dict[str, ContentsLine] = {}
    for chart in charts:
        kind, of = _parts(chart)
        if of and counts[of] > 1:
            lines.setdefault(of, ContentsLine(of, [])).links.append((kind, chart.name))
        else:
            lines[chart.name] = ContentsLine("", [(chart.title, chart.name)])
    return list(lines.values())


def repeated_captions(charts: list[Chart]) -> set[str]:
    """Return the names of the charts whose caption an earlier one has: on paper it is said once."""
    firsts: dict[str, str] = {}
    return {chart.name for chart in charts if firsts.setdefault(chart.caption, chart.name) != chart.name}


def _parts(chart: Chart) -> tuple[str, str]:
    kind, _, of = chart.title.partition(": ")
    return kind, of


def not_run_of(runs: pd.DataFrame, config: Config, comparisons: list[Comparison]) -> list[str]:
    """Return which experiments have no run, and how many printed numbers belong to no experiment that was run."""
    absent = [name for name in config["run"] if name not in set(runs["experiment"])]
    lines = [f"No run of {name}." for name in absent]
    for paper in dict.fromkeys(one.paper for one in comparisons):
        printed = [one for one in comparisons if one.paper == paper and one.first]
        missing = sum(one.verdict is Verdict.NOT_RUN for one in printed)
        if missing:
            lines.append(f"{paper_label(paper)}: {missing} of {counted(len(printed), 'printed number')} not run.")
    return lines
