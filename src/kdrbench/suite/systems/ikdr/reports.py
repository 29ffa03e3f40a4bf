"""The tables and figures of IKDR: those of one experiment, and those that compare several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.engine.system import DATA, FINDINGS, OPTIMA, PICTURES, TRACES, Config, Report
from kdrbench.suite.systems.ikdr.config import is_redrawn, is_scaling, runs_of, split_of
from kdrbench.suite.systems.ikdr.definition import ALTERNATIVE, SUPERVISED
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.registry import DEFAULT, system_name

PROFILE, FIGURE_1B = "performance_profile", "figure1b"
_HERE = "kdrbench.suite.systems.ikdr"
_FIGURE_1B_TARGET = ("neurips2019_figure1b",)
_TABLE = partial(
    Report, kind="ikdr", shows="time, cost and quality", maker=f"{_HERE}.tables:page", needs=(TRACES, OPTIMA)
)
_TESTS = partial(Report, kind="paired_tests", shows="paired tests", maker=f"{_HERE}.paired_tests:page")
_COMPLEXITY = partial(Report, kind="complexity", shows="measured exponents", maker=f"{_HERE}.size_series:page")


def _figure(kind: str, shows: str, maker: str, *needs: str, targets: tuple[str, ...] = ()) -> partial[Report]:
    maker = f"{_HERE}.{maker}"
    return partial(Report, kind=kind, shows=shows, maker=maker, needs=needs, is_figure=True, targets=targets)


_FIGURES = (
    _figure("cost_against_time", "cost against time", "cost_against_time:chart_of", TRACES, OPTIMA),
    _figure("scatter", "projected samples", "projections:scatter", FINDINGS, DATA),
    _figure("cost_against_calls", "cost against oracle calls", "cost_against_time:chart_of", TRACES, OPTIMA),
    _figure("loadings", "features and stability", "projections:loadings", FINDINGS, DATA),
    _figure("segmentation", "segments and mean faces", "segmentation:segmentation", FINDINGS, DATA, PICTURES),
)
_PROFILE = _figure(
    PROFILE, "performance profile", "cost_against_time:profile_chart", TRACES, OPTIMA, targets=(PROFILE,)
)
_SCALING = _figure("scaling", "time against size", "size_series:chart_of", targets=_FIGURE_1B_TARGET)
_FIGURE_1B = _figure(FIGURE_1B, "time against samples", "size_series:figure_1b", targets=_FIGURE_1B_TARGET)


def reports_of_experiment(name: str, config: Config) -> list[Report]:
    """Return the table of one experiment and its figures.

    Calls of oracles are counted where there is one problem a run; projections are compared where there are several
    runs; segments are shown where the experiment has an image. Redrawn partitions have no figures, only means.
    """
    experiment, registry = config["experiments"][name], load_registry()
    has_picture = any(one in registry and is_picture(registry[one]) for one in experiment["datasets"])
    shown = {
        "cost_against_calls": experiment["paradigm"] == SUPERVISED,
        "loadings": runs_of(experiment) > 1,
        "segmentation": has_picture and experiment["paradigm"] == ALTERNATIVE,
    }
    figures = [kind(f"{name}_{kind.keywords['kind']}", (name,)) for kind in _FIGURES]
    figures = [] if is_redrawn(experiment) else [figure for figure in figures if shown.get(figure.kind, True)]
    table = _TABLE(name, (name, *_redrawn_beside(name, config)), figures=tuple(one.name for one in figures[:1]))
    targets = _FIGURE_1B_TARGET if is_scaling(name) else ()
    return [replace(report, targets=targets) for report in (table, *figures)]


def reports_of_several(names: Sequence[str], config: Config) -> list[Report]:
    """Return the tables and figures that compare methods over experiments, and those of time against size.

    Redrawn partitions compare no methods: each of their folds would count many times.
    """
    compared = tuple(name for name in names if not is_redrawn(config["experiments"][name]))
    sizes = tuple(filter(is_scaling, names))
    reports = [_TESTS("paired_tests", compared), _COMPLEXITY("complexity", sizes, targets=("ismplus_table4",))]
    reports += [_PROFILE(PROFILE, compared), _SCALING("scaling", sizes), _FIGURE_1B(FIGURE_1B, sizes)]
    return [report for report in reports if report.experiments]


def _redrawn_beside(name: str, config: Config) -> list[str]:
    """Return the other experiments that redraw the folds of one whose numbers are compared with published ones."""
    experiments = config["experiments"]
    if "table" not in experiments[name].get("published", {}) or split_of(experiments[name]) is not Split.FOLDS:
        return []
    others = [other for other in config["run"] if other != name and system_name(experiments[other]) == DEFAULT]
    return [other for other in others if is_redrawn(experiments[other])]
