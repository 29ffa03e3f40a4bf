"""Captions, chapters and labels of tables and figures in Snakemake's report (``snakemake --report``).

A rule marks its page or picture with ``report(path, **caption(...))`` and gives the caption's text as the parameter
``caption``, which the one caption file prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from kdrbench.reports.outputs import (
    COMPLEXITY,
    FIGURE_1B,
    KPCA_FIGURE,
    LOW_RANK_TEXT,
    PAIRED_TESTS,
    PROFILE,
    SCALING,
    TUNING,
    Report,
)
from kdrbench.reports.records import ATLAS, IKDR, KPCA_TRICK, LEAGUE, LOW_RANK, NOISE

_TABLES, _FIGURES, _BESIDE = "Tables", "Figures", "Published and ours"
# Labels and captions of tables by kind: what it shows, and how it is to be read.
_OF_TABLES = {
    IKDR: (
        "time, cost and quality",
        "Time, cost and quality of each method in the layout of the paper, each cell beside the published one, with a "
        "verdict and what is known of the reason.",
    ),
    KPCA_TRICK: (
        "KPCA trick",
        "Tables 1 to 3 of the KPCA trick: accuracy of each learner plain, with the kernel of its cross validation (K-) "
        "and with aligned kernels (AK-), with wins, draws and losses against the plain one; and what choosing the "
        "kernel costs.",
    ),
    LOW_RANK: ("low-rank kernels", "Sweeps, time and quality of low-rank kernels learned from constraints."),
    LEAGUE: (
        "league",
        "Methods that reduce dimensions at an equal number of components: mean ranks by each judge, what a fit takes, "
        "how often a kernel projection beats its rivals, and what to use when.",
    ),
    TUNING: (
        "tuned beside defaults",
        "What each method with parameters to tune gains by tuning in the same runs, and what that costs.",
    ),
    ATLAS: (
        "atlas of optima",
        "Distinct certified optima of each cell from many random starts, the best cost known, how often one start "
        "finds it, how far the printed cost is above it, and whether lower cost means better accuracy.",
    ),
    NOISE: (
        "noise",
        "What each method makes of labels that mean nothing, on its own samples and on others, and how often the "
        "permutation test calls that real.",
    ),
    LOW_RANK_TEXT: (
        "low-rank kernels",
        "Accuracies and sweeps that the text of the paper on low-rank kernels names, each beside ours.",
    ),
    PAIRED_TESTS: (
        "paired tests",
        "Which methods differ: Wilcoxon's signed-rank test over folds for each pair, with Holm's correction over all "
        "tests of a cell.",
    ),
    COMPLEXITY: (
        "measured exponents",
        "Exponents of time in the number of samples, features and components, fitted to made data, beside the papers' "
        "analysis.",
    ),
}
_OF_FIGURES = {
    "cost_against_time": (
        "cost against time",
        "How far each solver is above the best cost known of its problem, as its time passes. Thin lines "
        "are runs, the thick line is their median, dashed for converged variants; a dot ends a run that came to its "
        "own end, a cross one that was stopped.",
    ),
    "cost_against_calls": (
        "cost against oracle calls",
        "How far each solver is above the best cost known of its problem, as it calls its oracles: "
        "values, gradients, surrogates, Hessians and products with them, one each. Thin lines are runs, thick ones "
        "their median, bands their quartiles; a cross ends a run that was stopped.",
    ),
    "loadings": (
        "features and stability",
        "How much each feature counts in the learned projections, sqrt(diag(WW')), with its range over folds; and the "
        "principal angles between the spaces learned on different folds, beside those of random spaces.",
    ),
    "scatter": (
        "projected samples",
        "Projected samples in their two principal axes. Pale points are training samples, full ones those of the fold "
        "left out.",
    ),
    "segmentation": (
        "segments and mean faces",
        "NeurIPS 2019, Figure 1a. The colours of Flower, clustered first and differently; of Face, given the persons, "
        "the mean image of each alternative cluster.",
    ),
    PROFILE: (
        "performance profile",
        "Share of the problems that a solver solves within a factor of the fastest (Dolan and More 2002); solved is a "
        "cost within the stated share of the best known.",
    ),
    SCALING: (
        "time against size",
        "Solver time against size on made data (NeurIPS 2019, Figure 1b), with fitted slopes; runs that hit a limit "
        "are marked and take no part in the fit.",
    ),
    FIGURE_1B: (
        "time against samples",
        "NeurIPS 2019, Figure 1b: solver time against the number of samples on made data, both as powers of two, with "
        "all pairs of samples summed as the paper does.",
    ),
    KPCA_FIGURE: ("KPCA trick", "A figure of the KPCA trick (Chatpatanasiri et al. 2010)."),
    LEAGUE: (
        "mean ranks, time and stability",
        "Mean ranks of methods that reduce dimensions, with lines below those between which Nemenyi's test finds no "
        "difference; accuracy against time; and principal angles between the projections of different folds.",
    ),
    ATLAS: (
        "atlas of optima",
        "How often one random start finds the best cost known, how far above it starts end, and what each distinct "
        "optimum is worth.",
    ),
    NOISE: (
        "noise",
        "Accuracy on the samples that methods learned from and on others, where labels mean nothing, and the p-values "
        "of the permutation test.",
    ),
    LOW_RANK: (
        "accuracy, agreement or sweeps",
        "Quality of low-rank kernels against the number of constraints: median over draws of the constraints, bands "
        "are the quartiles.",
    ),
}
# Pages on all that is run: chapter, what it shows, caption.
_PAGES = {
    "published_vs_ours": (
        _BESIDE,
        "every published number",
        "Every published number of the tables that were run, ours, its confidence interval, and a verdict: reproduced, "
        "close, differs, stopped or not run.",
    ),
    "claims": (
        _BESIDE,
        "claims of the papers",
        "Claims of the four papers, each confirmed, mostly confirmed, contradicted or undecided by the records, with "
        "its measure and evidence.",
    ),
    "dashboard": (
        "Dashboard",
        "everything on one page",
        "All tables, figures and runs on one page that needs no network: sorted, filtered, zoomed, and with the "
        "message, trace and provenance of each run.",
    ),
}
# A table that only a stage knows.
_OTHER = ("results", "Results of each method.")


def table_caption(tables: Mapping[str, Report]) -> dict[str, Any]:
    """Return what ``report`` takes beside a table's page, whose wildcard is ``table``."""
    return _flags(_TABLES, lambda wildcards: _labels(tables[wildcards.table], _OF_TABLES))


def figure_caption(figures: Mapping[str, Report]) -> dict[str, Any]:
    """Return what ``report`` takes beside a figure, whose wildcard is ``figure``."""
    return _flags(_FIGURES, lambda wildcards: _labels(figures[wildcards.figure], _OF_FIGURES))


def page_caption(name: str) -> dict[str, Any]:
    """Return what ``report`` takes beside one of the pages on all that is run."""
    chapter, shows, _ = _PAGES[name]
    return _flags(chapter, {"of": "all", "shows": shows})


def table_text(report: Report) -> str:
    """Return the text of a table's caption."""
    return _OF_TABLES.get(report.kind, _OTHER)[1]


def figure_text(report: Report) -> str:
    """Return the text of a figure's caption."""
    return _OF_FIGURES[report.kind][1]


def page_text(name: str) -> str:
    """Return the text of a page's caption."""
    return _PAGES[name][2]


def _labels(report: Report, texts: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    alone = len(report.experiments) == 1 or report.name in report.experiments
    of = report.experiments[0] if alone else "all"
    return {"of": of, "shows": texts.get(report.kind, _OTHER)[0]}


def _flags(category: str, labels: Any) -> dict[str, Any]:
    path = files("kdrbench.reports").joinpath("templates", "caption.rst")
    return {"caption": str(path), "category": category, "labels": labels}
