"""Counts as bars: how much of the papers is met, whether their effects come out, how claims are decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kdrbench.suite.findings.finding import Decision
from kdrbench.suite.findings.ledger import COUNTED, EFFECTS, judged, place_label
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.verdicts import Verdict


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


def touched(comparisons: list[Comparison]) -> list[Comparison]:
    """Return the lines of those papers of which an experiment that was run has a number."""
    papers = {one.paper for one in comparisons if one.verdict is not Verdict.NOT_RUN and one.experiment}
    return [one for one in comparisons if one.paper in papers]


def shares_of(comparisons: list[Comparison]) -> list[Bar]:
    """Return a paper's published numbers by verdict: all, then a table at a time. Times have no verdict.

    Tables of which nothing was run have no bar, and a paper's only table none beside the paper's.
    """
    counted = judged(one for one in comparisons if one.first)
    verdicts = [str(verdict) for verdict in COUNTED]
    bars = []
    for paper in dict.fromkeys(one.paper for one in counted):
        name = paper_label(paper)
        groups = {name: [one for one in counted if one.paper == paper]}
        for one in groups[name]:
            groups.setdefault(f"{name}, {place_label(one.table)}, {one.setting}", []).append(one)
        run = {title: group for title, group in groups.items() if any(_is_run(one) for one in group)}
        shown = {name: groups[name]} | (run if len(groups) > 2 else {})
        bars += [bar_of(title, [str(one.verdict) for one in group], verdicts) for title, group in shown.items()]
    return bars


def _is_run(one: Comparison) -> bool:
    return one.verdict is not Verdict.NOT_RUN


def effects_of(comparisons: list[Comparison]) -> list[Bar]:
    """Return whether the differences that the papers' tables show come out, a paper at a time."""
    shown = [one for one in comparisons if one.first and one.effect]
    order = [str(effect) for effect in EFFECTS]
    groups: dict[str, list[str]] = {}
    for one in shown:
        what = "ratios of times" if one.metric == "time_s" else "other effects"
        groups.setdefault(f"{paper_label(one.paper)}, {what}", []).append(str(one.effect))
    return [bar_of(title, effects, order) for title, effects in groups.items()]


def claims_of(claims: list[dict[str, str]]) -> list[Bar]:
    """Return the claims by decision: all, then a paper at a time."""
    groups: dict[str, list[str]] = {"All claims": []} if claims else {}
    for claim in claims:
        groups["All claims"].append(claim["verdict"])
        groups.setdefault(paper_label(claim["paper"]), []).append(claim["verdict"])
    order = [str(decision) for decision in Decision]
    return [bar_of(title, verdicts, order) for title, verdicts in groups.items()]


def percent_label(percent: float) -> str:
    """Return a share of what is there: of something never nothing, of a part never all."""
    if 0 < percent < 1:
        return "< 1 %"
    return f"{percent:.0f} %" if percent <= 99 or percent == 100 else "> 99 %"


def bar_of(title: str, names: list[str], order: list[str]) -> Bar:
    """Return a bar of how often each name of ``order`` comes."""
    counts = Counter(names)
    total = len(names)
    return Bar(title, total, [Share(name, counts[name], 100 * counts[name] / max(1, total)) for name in order])
