"""The list of figures at the head of their chapter: those of one experiment are in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kdrbench.reports.figures.chart import Chart


@dataclass(frozen=True)
class Line:
    """What the figures of a line are of, empty for a figure alone, and (words, name) of each."""

    title: str
    links: list[tuple[str, str]]


def contents_of(charts: list[Chart]) -> list[Line]:
    """Return the charts in the order they come; those whose titles have the same words after a colon together."""
    counts = Counter(_parts(chart)[1] for chart in charts)
    lines: dict[str, Line] = {}
    for chart in charts:
        kind, of = _parts(chart)
        if of and counts[of] > 1:
            lines.setdefault(of, Line(of, [])).links.append((kind, chart.name))
        else:
            lines[chart.name] = Line("", [(chart.title, chart.name)])
    return list(lines.values())


def _parts(chart: Chart) -> tuple[str, str]:
    kind, _, of = chart.title.partition(": ")
    return kind, of
