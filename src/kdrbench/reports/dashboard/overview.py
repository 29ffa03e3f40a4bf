"""What a reader sees first: how much was run, how it ended, how much of the papers is met, which figures there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from kdrbench.reports.figures.chart import Chart
from kdrbench.reports.records import IKDR, NO_KERNEL, n_runs
from kdrbench.reports.tables.published_numbers import paper_label
from kdrbench.reports.tables.published_vs_ours import COUNTED, Comparison
from kdrbench.status import Status


@dataclass(frozen=True)
class Share:
    """A part of a bar: ``name`` chooses its colour, ``percent`` its width."""

    name: str
    count: int
    percent: float


@dataclass(frozen=True)
class Bar:
    """What a bar is of, and its parts, empty ones too."""

    title: str
    total: int
    shares: list[Share]


def counts_of(runs: pd.DataFrame) -> list[tuple[str, int]]:
    """Return what there is, in words and numbers; results are rows, of which a run may leave several."""
    of_ikdr = runs[runs["system"] == IKDR]
    counts = [
        ("runs", n_runs(runs)),
        ("results", len(runs)),
        ("experiments", runs["experiment"].nunique()),
        ("data sets", runs["dataset"].nunique()),
    ]
    if of_ikdr.empty:
        return counts
    baselines = of_ikdr["kernel"] == NO_KERNEL
    return [
        *counts,
        ("kernels", of_ikdr.loc[~baselines, "kernel"].nunique()),
        ("solvers", of_ikdr.loc[~baselines, "method"].nunique()),
        ("baselines", of_ikdr.loc[baselines, "method"].nunique()),
    ]


def endings_of(runs: pd.DataFrame) -> list[Bar]:
    """Return how the runs ended: all of them, then an experiment at a time."""
    groups = [("All results", runs), *runs.groupby("experiment", sort=False)]
    endings = [status for status in map(str, Status) if (runs["status"] == status).any()]
    return [_bar(str(title), [str(one) for one in group["status"]], endings) for title, group in groups]


def shares_of(comparisons: list[Comparison]) -> list[Bar]:
    """Return a paper's published numbers by verdict: all, without times, then a table at a time."""
    counted = [one for one in comparisons if one.first]
    verdicts = [str(verdict) for verdict in COUNTED]
    bars = []
    for paper in dict.fromkeys(one.paper for one in counted):
        of_paper = [one for one in counted if one.paper == paper]
        name = paper_label(paper)
        groups = {name: of_paper, f"{name}, without times": [one for one in of_paper if one.metric != "time_s"]}
        for one in of_paper:
            groups.setdefault(f"{name}, Table {one.table}, {one.setting}", []).append(one)
        bars += [_bar(title, [str(one.verdict) for one in group], verdicts) for title, group in groups.items()]
    return bars


def claims_of(claims: list[dict[str, str]]) -> list[Bar]:
    """Return the claims by decision: all, then a paper at a time."""
    groups: dict[str, list[str]] = {"All claims": []} if claims else {}
    for claim in claims:
        groups["All claims"].append(claim["verdict"])
        groups.setdefault(paper_label(claim["paper"]), []).append(claim["verdict"])
    order = ["confirmed", "contradicted", "undecided"]
    return [_bar(title, verdicts, order) for title, verdicts in groups.items()]


def percent_label(percent: float) -> str:
    """Return a share of what is there: of something never nothing, of a part never all."""
    if 0 < percent < 1:
        return "< 1 %"
    return f"{percent:.0f} %" if percent <= 99 or percent == 100 else "> 99 %"


def _bar(title: str, names: list[str], order: list[str]) -> Bar:
    counts = Counter(names)
    total = len(names)
    return Bar(title, total, [Share(name, counts[name], 100 * counts[name] / max(1, total)) for name in order])


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


def _parts(chart: Chart) -> tuple[str, str]:
    kind, _, of = chart.title.partition(": ")
    return kind, of
