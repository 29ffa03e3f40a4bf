"""The page of every published number beside ours."""

from __future__ import annotations

from importlib.resources import files

from kdrbench.reports.comparison import Comparison, shares, unexplained
from kdrbench.reports.layout import METRIC_TITLES, dataset_label, kernel_label, method_label
from kdrbench.reports.lowrank import PAPER as LOWRANK
from kdrbench.reports.lowrank import label_of as lowrank_label
from kdrbench.reports.published import paper_label

_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}


def named(one: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(one.kernel.replace("+", "_")) if one.kernel else "-"
    of_lowrank = one.paper == LOWRANK["paper"]
    method = lowrank_label(one.method) if of_lowrank else _METHODS.get(one.method) or method_label(one.method)
    return dataset_label(one.dataset), kernel, method


def comparison_html(comparisons: list[Comparison], verdict_rules: str) -> str:
    """Return the list as one self-contained page."""
    import jinja2

    source = files("kdrbench.reports").joinpath("comparison.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(source)
    return template.render(
        comparisons=comparisons,
        shares=list(shares(comparisons)),
        unexplained=unexplained(comparisons),
        verdict_rules=verdict_rules,
        named=named,
        paper=paper_label,
        metrics=METRIC_TITLES,
    )
