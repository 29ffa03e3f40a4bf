"""The dashboard's page, from the frozen configuration, the table of runs, and the tables and charts made of them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from kdrbench.suite.findings.answers import Answer, answers_of, leading_of
from kdrbench.suite.findings.ledger import not_comparable
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.findings.pairwise import DISTURBED
from kdrbench.suite.reports.dashboard import overview
from kdrbench.suite.reports.dashboard.overview import check_of_plugins, checks_of
from kdrbench.suite.reports.dashboard.rendering import Cells, environment
from kdrbench.suite.reports.dashboard.runs import run_data
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.figures.draw_plotly import legend_of, plotly_panels
from kdrbench.suite.reports.making import conditions
from kdrbench.suite.reports.outputs import figures_of, tables_of
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.cells import endings_found
from kdrbench.suite.reports.tables.labels import abbreviations_in
from kdrbench.suite.reports.tables.table import Table
from kdrbench.suite.systems.ikdr.system import PROFILE

_CHAPTERS = ("overview", "tables", "figures", "published", "claims", "runs", "quality")


@dataclass(frozen=True)
class Parts:
    """What other steps have made for the page to show."""

    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    claims: list[dict[str, str]] = field(default_factory=list)
    plugins: list[dict[str, Any]] = field(default_factory=list)


def read_parts(paths: Iterable[Path]) -> Parts:
    """Read charts, tables, claims and findings of plug-ins from their JSON; keys tell them apart, claims are a list."""
    parts = Parts()
    for text in (path.read_text(encoding="utf-8") for path in paths):
        part = json.loads(text)
        if isinstance(part, list):
            parts.claims.extend(part)
        elif "panels" in part:
            parts.charts.append(Chart.from_json(text))
        elif "blocks" in part:
            parts.tables.append(Table.from_json(text))
        else:
            parts.plugins.append(part)
    return parts


def render_dashboard(
    runs: pd.DataFrame,
    config: Config,
    traces: Path,
    comparisons: list[Comparison],
    parts: Parts,
    answers: list[Answer] | None = None,
) -> str:
    """Return the page, with all its scripts, styles and data inside; ``answers`` are found unless they are given."""
    # Tables that have no row and figures that have nothing to show are left out.
    charts = [chart for chart in parts.charts if any(not panel.is_empty for panel in chart.panels)]
    parts = replace(parts, charts=charts, tables=[table for table in parts.tables if table.rows])
    comparisons = overview.touched(comparisons)
    answers = answers_of(runs, config, traces) if answers is None else answers
    leading, data = leading_of(answers), run_data(runs.assign(status=endings_found(runs)))
    profile = next((chart for chart in parts.charts if chart.name == PROFILE), None)
    shown = {"tables": parts.tables, "figures": parts.charts, "published": comparisons, "claims": parts.claims}
    titles = {name: str(one["title"]) for name, one in config["experiments"].items()}
    drawn = {chart.name: {"panels": plotly_panels(chart)} for chart in parts.charts}
    template = environment().get_template("page.html.j2")
    return template.render(
        chapters=[name for name in _CHAPTERS if shown.get(name, True)],
        tables_of=lambda answer: _named(parts.tables, tables_of(config, answer.experiment)),
        charts_of=lambda answer: _named(parts.charts, figures_of(config, answer.experiment)),
        not_run=overview.not_run_of(runs, config, comparisons),
        questions=overview.questions_of(answers, leading),
        leading=leading,
        profile=profile,
        titles=titles,
        profile_legend=legend_of(profile, 1) if profile else [],
        abbreviations=abbreviations_in(*data["names"][-1].get("words", ())),
        disturbed=DISTURBED,
        cells=Cells(config),
        pack=pack,
        late={},
        counts=overview.counts_of(runs),
        endings=overview.endings_of(runs),
        shares=overview.shares_of(comparisons),
        not_comparable=not_comparable(comparisons),
        effects=overview.effects_of(comparisons),
        claims=overview.claims_of(parts.claims),
        machines=overview.machines_of(runs),
        conditions=conditions(runs),
        comparisons=comparisons,
        parts=parts,
        legends={chart.name: legend_of(chart) for chart in parts.charts},
        checks=[*checks_of(runs, config), check_of_plugins(parts.plugins)],
        packs={**packed_libraries(), "data": pack({"charts": drawn, "runs": {**data, "titles": titles}})},
    )


def _named(parts: Iterable[Any], names: Container[str]) -> list[Any]:
    return [part for part in parts if part.name in names]


def pack(content: Any) -> str:
    """Return a text, or other content as JSON, compressed in base64; the same for the same content always."""
    text = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


@cache
def packed_libraries() -> dict[str, str]:
    """Return Plotly's script, and the module and the style sheet of DataTables that itables ships, compressed."""
    from plotly.offline import get_plotlyjs

    shipped = {"tables": "dt_bundle.js", "style": "dt_bundle.css"}
    folder = files("itables").joinpath("html")
    texts = {name: folder.joinpath(file).read_text(encoding="utf-8") for name, file in shipped.items()}
    return {name: pack(text) for name, text in {"plotly": str(get_plotlyjs()), **texts}.items()}
