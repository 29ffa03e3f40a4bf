"""What Snakemake's report (``snakemake --report``) says of tables and figures: caption, chapter and labels of each."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

_TABLES, _FIGURES = "Tables", "Figures"
_EXPERIMENT = "{experiment}"
# By caption: chapter, what it is of, and what it shows. Braces are wildcards of the rule.
_SHOWN = {
    "table": (_TABLES, _EXPERIMENT, "time, cost and quality"),
    "lowrank": (_TABLES, "lowrank", "low-rank kernels"),
    "kpca_tables": (_TABLES, "kpca", "KPCA trick"),
    "paired_tests": (_TABLES, "all", "paired tests"),
    "complexity": (_TABLES, "scaling", "measured exponents"),
    "cost_against_time": (_FIGURES, _EXPERIMENT, "cost against time"),
    "cost_against_calls": (_FIGURES, _EXPERIMENT, "cost against oracle calls"),
    "loadings": (_FIGURES, _EXPERIMENT, "features and stability"),
    "scatter": (_FIGURES, _EXPERIMENT, "projected samples"),
    "segmentation": (_FIGURES, _EXPERIMENT, "segments and mean faces"),
    "performance_profile": (_FIGURES, "all", "performance profile"),
    "scaling": (_FIGURES, "scaling", "time against size"),
    "kpca_figure": (_FIGURES, "kpca", "Figure {number}"),
    "lowrank_figure": (_FIGURES, "{task}", "accuracy, agreement or time"),
    "published_vs_ours": ("Published and ours", "all", "every published number"),
    "claims": ("Published and ours", "all", "claims of the papers"),
    "dashboard": ("Dashboard", "all", "everything on one page"),
}


def shown(name: str) -> dict[str, Any]:
    """Return what Snakemake's ``report`` takes beside a file: ``name`` is that of the caption."""
    category, of, shows = _SHOWN[name]
    caption = files("kdrbench.reports").joinpath("captions", f"{name}.rst")
    return {"caption": str(caption), "category": category, "labels": {"of": of, "shows": shows}}
