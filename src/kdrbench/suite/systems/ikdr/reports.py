"""The tables and figures of IKDR: those of one experiment, and those that compare several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.engine.system import DATA, FINDINGS, OPTIMA, PICTURES, TRACES, Config, Report
from kdrbench.suite.systems.ikdr.config import is_scaling
from kdrbench.suite.systems.ikdr.definition import ALTERNATIVE, SUPERVISED
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.sampling import is_redrawn, runs_of, split_of
from kdrbench.suite.systems.registry import DEFAULT, system_name

PROFILE, FIGURE_1B = "performance_profile", "figure1b"
_HERE = "kdrbench.suite.systems.ikdr"
_TABLE = partial(
    Report,
    kind="ikdr",
    shows="time, cost and quality",
    maker=f"{_HERE}.tables:page",
    needs=(TRACES, OPTIMA),
    typeset=True,
)
# Of each figure of one experiment: label, maker and needs.
_FIGURES = {
    "cost_against_time": ("cost against time", "cost_against_time:chart_of", (TRACES, OPTIMA)),
    "scatter": ("projected samples", "projections:scatter_chart", (FINDINGS, DATA)),
    "cost_against_calls": ("cost against oracle calls", "cost_against_time:chart_of", (TRACES, OPTIMA)),
    "loadings": ("features and stability", "projections:loadings_chart", (FINDINGS, DATA)),
    "segmentation": ("segments and mean faces", "projections:segmentation_chart", (FINDINGS, DATA, PICTURES)),
}
_ON_PAGE = "cost_against_time"
_FIGURE_1B_TARGET = ("neurips2019_figure1b",)


def reports_of_experiment(name: str, config: Config) -> list[Report]:
    """Return the table of one experiment and its figures.

    Calls of oracles are counted where there is one problem a run; projections are compared where there are several
    runs; segments are shown where the experiment has an image. Redrawn partitions have no figures, only means.
    """
    experiment = config["experiments"][name]
    shown = {
        _ON_PAGE: True,
        "scatter": True,
        "cost_against_calls": experiment["paradigm"] == SUPERVISED,
        "loadings": runs_of(experiment) > 1,
        "segmentation": experiment["paradigm"] == ALTERNATIVE and _has_picture(experiment),
    }
    kinds = [] if is_redrawn(experiment) else [kind for kind in _FIGURES if shown[kind]]
    table = _TABLE(name, (name, *_redrawn_beside(name, config)), figures=(f"{name}_{_ON_PAGE}",) if kinds else ())
    figures = [_figure(f"{name}_{kind}", (name,), kind, *_FIGURES[kind]) for kind in kinds]
    targets = _FIGURE_1B_TARGET if is_scaling(name) else ()
    return [replace(report, targets=targets) for report in (table, *figures)]


def reports_of_several(names: Sequence[str], config: Config) -> list[Report]:
    """Return the tables and figures that compare methods over experiments, and those of time against size.

    Redrawn partitions compare no methods: each of their folds would count many times.
    """
    compared = tuple(name for name in names if not is_redrawn(config["experiments"][name]))
    sizes = tuple(filter(is_scaling, names))
    makers = ("cost_against_time:profile_chart", "size_series:chart_of", "size_series:figure_1b")
    reports = [
        Report("paired_tests", compared, "paired_tests", "paired tests", f"{_HERE}.paired_tests:page"),
        Report(
            *("complexity", sizes, "complexity", "measured exponents", f"{_HERE}.size_series:page"),
            targets=("ismplus_table4",),
        ),
        _figure(PROFILE, compared, PROFILE, "performance profile", makers[0], (TRACES, OPTIMA), (PROFILE,)),
        _figure("scaling", sizes, "scaling", "time against size", makers[1], (), _FIGURE_1B_TARGET),
        _figure(FIGURE_1B, sizes, FIGURE_1B, "time against samples", makers[2], (), _FIGURE_1B_TARGET),
    ]
    return [report for report in reports if report.experiments]


def _figure(
    name: str,
    experiments: tuple[str, ...],
    kind: str,
    shows: str,
    maker: str,
    needs: tuple[str, ...],
    targets: tuple[str, ...] = (),
) -> Report:
    return Report(name, experiments, kind, shows, f"{_HERE}.{maker}", needs, is_figure=True, targets=targets)


def _has_picture(experiment: Config) -> bool:
    registry = load_registry()
    return any(name in registry and is_picture(registry[name]) for name in experiment["datasets"])


def _redrawn_beside(name: str, config: Config) -> list[str]:
    """Return the other experiments that redraw the folds of one whose numbers are compared with published ones."""
    experiments = config["experiments"]
    if "table" not in experiments[name].get("published", {}) or split_of(experiments[name]) is not Split.FOLDS:
        return []
    others = [other for other in config["run"] if other != name and system_name(experiments[other]) == DEFAULT]
    return [other for other in others if is_redrawn(experiments[other])]
