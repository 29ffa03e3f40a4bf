"""Captions, chapters and labels of tables and figures in Snakemake's report (``snakemake --report``).

A rule marks a page or picture with ``report(path, **flags)``. The captions are in ``templates/captions``, a file for
each kind of table, figure and page.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from kdrbench.suite.reports.outputs import (
    COMPLEXITY,
    FIGURE_1B,
    KPCA_FIGURE,
    LOW_RANK_TEXT,
    PAIRED_TESTS,
    PROFILE,
    SCALING,
    TUNING,
    Report,
    report_folder,
)
from kdrbench.suite.reports.records import ATLAS, IKDR, KPCA_TRICK, LEAGUE, LOW_RANK, NOISE, Config
from kdrbench.suite.reports.report_jobs import FIGURE_FOLDER, ReportJob

_TABLES, _FIGURES, _BESIDE = "Tables", "Figures", "Published and ours"
# What tables and figures of a kind show; that of a user's own stage is not among them.
_OF_TABLES = {
    IKDR: "time, cost and quality",
    KPCA_TRICK: "KPCA trick",
    LOW_RANK: "low-rank kernels",
    LEAGUE: "league",
    TUNING: "tuned beside defaults",
    ATLAS: "atlas of optima",
    NOISE: "noise",
    LOW_RANK_TEXT: "low-rank kernels",
    PAIRED_TESTS: "paired tests",
    COMPLEXITY: "measured exponents",
}
_OTHER, _OTHER_SHOWS = "other", "results"
_OF_FIGURES = {
    "cost_against_time": "cost against time",
    "cost_against_calls": "cost against oracle calls",
    "loadings": "features and stability",
    "scatter": "projected samples",
    "segmentation": "segments and mean faces",
    PROFILE: "performance profile",
    SCALING: "time against size",
    FIGURE_1B: "time against samples",
    KPCA_FIGURE: "KPCA trick",
    LEAGUE: "mean ranks, time and stability",
    ATLAS: "atlas of optima",
    NOISE: "noise",
    LOW_RANK: "accuracy, agreement or sweeps",
}
# Pages on all that is run: chapter, what it shows.
_PAGES = {
    "published_vs_ours": (_BESIDE, "every published number"),
    "claims": (_BESIDE, "claims of the papers"),
    "dashboard": ("Dashboard", "everything on one page"),
}


def captioned(config: Config, job: ReportJob) -> dict[str, dict[str, Any]]:
    """Return what ``report`` takes beside each page and picture that a job makes, by its file."""
    folder = report_folder(config)
    tables = {f"{folder}/{one.name}.html": table_caption(one) for one in job.tables}
    return tables | {f"{folder}/{FIGURE_FOLDER}{one.name}.png": figure_caption(one) for one in job.figures}


def table_caption(table: Report) -> dict[str, Any]:
    """Return what ``report`` takes beside a table's page."""
    kind = table.kind if table.kind in _OF_TABLES else _OTHER
    return _flags(_TABLES, f"table_{kind}", _experiment(table), _OF_TABLES.get(kind, _OTHER_SHOWS))


def figure_caption(figure: Report) -> dict[str, Any]:
    """Return what ``report`` takes beside a figure."""
    return _flags(_FIGURES, f"figure_{figure.kind}", _experiment(figure), _OF_FIGURES[figure.kind])


def page_caption(name: str) -> dict[str, Any]:
    """Return what ``report`` takes beside one of the pages on all that is run."""
    chapter, shows = _PAGES[name]
    return _flags(chapter, f"page_{name}", "all", shows)


def _experiment(report: Report) -> str:
    alone = len(report.experiments) == 1 or report.name in report.experiments
    return report.experiments[0] if alone else "all"


def _flags(category: str, caption: str, experiment: str, shows: str) -> dict[str, Any]:
    path = files("kdrbench.suite.reports").joinpath("templates", "captions", f"{caption}.rst")
    return {"caption": str(path), "category": category, "labels": {"of": experiment, "shows": shows}}
