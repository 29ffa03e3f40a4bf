"""What reports exist for a configuration: its tables and figures, what they are made of, and their files.

All of it is a function of the frozen configuration, so that the workflow and the commands agree. ``TABLES`` and
``FIGURES`` hold what is known of each kind of report; nothing else asks for the system of an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.archive import manifest_of
from kdrbench.suite.reports.records import (
    ALTERNATIVE,
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    LEAGUE,
    LOW_RANK,
    NOISE,
    OPTIMA,
    Config,
    Split,
    draws_figure,
    experiments_of,
    is_redrawn,
    is_scaling,
    of_papers,
    runs_of,
    split_of,
    system_name,
    systems_of,
    table_of,
)
from kdrbench.suite.systems.kpca_trick.cells import table_names
from kdrbench.suite.systems.league.rules import FIXED, TUNED

TABLE_KINDS = ("tex", "html", "csv", "json")
# The pages of a summary: those on papers, and each other page with the table that it shows, and the system of that.
_PAGES_ON_PAPERS = ("what_we_found",)
_PAGES_OF_TABLES = {
    "metric_learning": ("kpca_table1", KPCA_TRICK),
    "low_rank": ("low_rank_text", "low_rank_text"),
    "league": ("league_small", LEAGUE),
    "atlas": ("atlas", ATLAS),
    "noise": ("noise", NOISE),
}
SUMMARY_PAGES = (*_PAGES_ON_PAPERS, *_PAGES_OF_TABLES)
FIGURE_KINDS = ("pdf", "png", "json", "txt")
PAIRED_TESTS, COMPLEXITY, LOW_RANK_TEXT, TUNING = "paired_tests", "complexity", "low_rank_text", "tuning"
SCALING, PROFILE, KPCA_FIGURE, FIGURE_1B = "scaling", "performance_profile", "kpca_figure", "figure1b"
TRACES, FINDINGS, DATA = "traces", "findings", "data"
LEAGUE_TABLES = ("duels", "sets")
# Two leagues with the same values of the first two have the same folds.
_SAME_FOLDS, _SHARED = ("folds", "most_rows"), ("datasets", "methods", "components")
Paths = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Kind:
    """A kind of table or figure: what it shows, the function that makes it, and what it needs beside merged tables.

    ``maker`` is "module:function" below :mod:`kdrbench.suite`; the function takes a
    :class:`~kdrbench.suite.reports.making.Source`. One with costs ``above_best`` waits for the best known costs that an
    atlas stores. A figure that is ``on_page`` is shown by the page of its experiment's table.
    """

    shows: str
    maker: str
    needs: tuple[str, ...] = ()
    above_best: bool = False
    on_page: bool = False


TABLES: Mapping[str, Kind] = {
    IKDR: Kind("time, cost and quality", "systems.ikdr.tables:page", (TRACES,), above_best=True),
    KPCA_TRICK: Kind("KPCA trick", "systems.kpca_trick.tables:page"),
    LOW_RANK: Kind("low-rank kernels", "systems.low_rank.tables:page"),
    LEAGUE: Kind("league", "systems.league.tables:page", (FINDINGS,)),
    TUNING: Kind("tuned beside defaults", "systems.league.tuning:page"),
    ATLAS: Kind("atlas of optima", "systems.atlas.tables:page", (FINDINGS,)),
    NOISE: Kind("noise", "systems.noise.tables:page"),
    LOW_RANK_TEXT: Kind("low-rank kernels", "systems.low_rank.tables:text_page"),
    PAIRED_TESTS: Kind("paired tests", "systems.ikdr.paired_tests:page"),
    COMPLEXITY: Kind("measured exponents", "systems.ikdr.size_series:page"),
}
# Of a system of the user's own.
OTHER_TABLE, OTHER_FIGURE = Kind("results", "reports.making:plain_page"), "other"
FIGURES: Mapping[str, Kind] = {
    "cost_against_time": Kind(
        "cost against time", "systems.ikdr.cost_against_time:chart_of", (TRACES,), above_best=True, on_page=True
    ),
    "cost_against_calls": Kind(
        "cost against oracle calls", "systems.ikdr.cost_against_time:chart_of", (TRACES,), above_best=True
    ),
    "loadings": Kind("features and stability", "systems.ikdr.projections:loadings_chart", (FINDINGS, DATA)),
    "scatter": Kind("projected samples", "systems.ikdr.projections:scatter_chart", (FINDINGS, DATA)),
    "segmentation": Kind("segments and mean faces", "systems.ikdr.projections:segmentation_chart", (FINDINGS, DATA)),
    PROFILE: Kind("performance profile", "systems.ikdr.cost_against_time:profile_chart", (TRACES,), above_best=True),
    SCALING: Kind("time against size", "systems.ikdr.size_series:chart_of"),
    FIGURE_1B: Kind("time against samples", "systems.ikdr.size_series:figure_1b"),
    KPCA_FIGURE: Kind("KPCA trick", "systems.kpca_figures.figures:chart_of"),
    LEAGUE: Kind("mean ranks, time and stability", "systems.league.figures:chart_of", (FINDINGS,), on_page=True),
    ATLAS: Kind("atlas of optima", "systems.atlas.tables:chart_of", (FINDINGS,), on_page=True),
    NOISE: Kind("noise", "systems.noise.tables:chart_of", on_page=True),
    LOW_RANK: Kind("accuracy, agreement or sweeps", "systems.low_rank.tables:chart_of", on_page=True),
    OTHER_FIGURE: Kind("results", "reports.making:system_chart", on_page=True),
}
# Of the KPCA trick's figures only the second and the third show arrays, and the third the names of classes.
_KPCA_NEEDS = {2: (FINDINGS,), 3: (FINDINGS, DATA)}


@dataclass(frozen=True)
class Report:
    """A table or figure: its file's name, what kind it is, and the experiments whose runs it shows.

    ``figures`` are those that the page of a table shows.
    """

    name: str
    kind: str
    experiments: tuple[str, ...]
    figures: tuple[str, ...] = ()


def report_folder(config: Config) -> str:
    """Return the folder of the configuration's reports: that of all, or one of its own where it has a name."""
    return f"reports/{config['name']}" if config.get("name") else "reports"


def result_folder(config: Config) -> str:
    """Return the folder of the configuration's merged tables and frozen file."""
    return f"results/{config['name']}" if config.get("name") else "results"


def tables_of(config: Config) -> dict[str, Report]:
    """Return the tables of a configuration by name: those of each experiment, then those of several."""
    reports = [report for name in config["run"] for report in experiment_tables(config, name)]
    of_several = {
        PAIRED_TESTS: _compared(config),
        COMPLEXITY: _scaling(config),
        LOW_RANK_TEXT: tuple(experiments_of(of_papers(config), LOW_RANK)),
    }
    reports += [Report(name, name, experiments) for name, experiments in of_several.items() if experiments]
    return {report.name: report for report in reports}


def experiment_tables(config: Config, name: str) -> list[Report]:
    """Return the tables of one experiment: several of the KPCA trick and the league, none of figures, one of others."""
    experiment, of_one = config["experiments"][name], (name,)
    system = system_name(experiment)
    if system == KPCA_FIGURES:
        return []
    if system == KPCA_TRICK:
        return [Report(table, KPCA_TRICK, of_one) for table in table_names(name, experiment["learners"])]
    figures = tuple(one.name for one in experiment_figures(config, name) if FIGURES[one.kind].on_page)
    first = Report(name, system, of_one + (_redrawn(config, name) if system == IKDR else ()), figures)
    league = [Report(f"{name}_{part}", system, of_one) for part in LEAGUE_TABLES if system == LEAGUE]
    fixed = fixed_beside(config, name)
    return [first, *league, *([Report(f"{name}_{TUNING}", TUNING, (name, fixed))] if fixed else [])]


def fixed_beside(config: Config, name: str) -> str | None:
    """Return the first league with default parameters that is run on the folds of the tuned league ``name``.

    ``None`` where there is none that shares a data set, a method and a number of components with it, or ``name`` is no
    tuned league.
    """
    experiments = config["experiments"]
    tuned = experiments[name]
    if tuned.get("rules") != TUNED:
        return None
    for other in experiments_of(config, LEAGUE):
        fixed = experiments[other]
        alike = fixed["rules"] == FIXED and all(fixed.get(key) == tuned.get(key) for key in _SAME_FOLDS)
        if alike and all(set(fixed[key]) & set(tuned[key]) for key in _SHARED):
            return other
    return None


def _redrawn(config: Config, name: str) -> tuple[str, ...]:
    """Return the other experiments that redraw the folds of one whose numbers are compared with published ones."""
    experiments = config["experiments"]
    if "table" not in experiments[name].get("published", {}) or split_of(experiments[name]) is not Split.FOLDS:
        return ()
    return tuple(one for one in experiments_of(config, IKDR) if one != name and is_redrawn(experiments[one]))


def figures_of(config: Config) -> dict[str, Report]:
    """Return the figures of a configuration by name: those of each experiment, then those of several."""
    reports = [report for name in config["run"] for report in experiment_figures(config, name)]
    of_several = {PROFILE: _compared(config), SCALING: _scaling(config), FIGURE_1B: _scaling(config)}
    reports += [Report(name, name, experiments) for name, experiments in of_several.items() if experiments]
    return {report.name: report for report in reports}


def experiment_figures(config: Config, name: str) -> list[Report]:
    """Return the figures of one experiment.

    Calls of oracles are counted where there is one problem a run; projections are compared where there are several
    runs; segments are shown where the experiment has an image. Redrawn partitions have none: their means are wanted.
    """
    experiment = config["experiments"][name]
    system = system_name(experiment)
    if system == KPCA_FIGURES:
        return [Report(name, KPCA_FIGURE, (name,))]
    if system in (LEAGUE, ATLAS, NOISE) or (system == LOW_RANK and len(experiment["constraints"]) > 1):
        return [Report(name, system, (name,))]
    if draws_figure(experiment):
        return [Report(name, OTHER_FIGURE, (name,))]
    if system != IKDR or is_redrawn(experiment):
        return []
    kinds = ["cost_against_time", "scatter"]
    kinds += ["cost_against_calls"] if experiment["paradigm"] == "supervised" else []
    kinds += ["loadings"] if runs_of(experiment) > 1 else []
    kinds += ["segmentation"] if experiment["paradigm"] == ALTERNATIVE and pictures_of(experiment) else []
    return [Report(f"{name}_{kind}", kind, (name,)) for kind in kinds]


def pictures_of(experiment: Config) -> list[str]:
    """Return the data sets of an experiment whose samples are the colours of an image."""
    registry = load_registry()
    return [name for name in experiment["datasets"] if name in registry and is_picture(registry[name])]


def _compared(config: Config) -> tuple[str, ...]:
    """Return the experiments of IKDR that compare methods: on redrawn partitions each fold would count many times."""
    return tuple(name for name in experiments_of(config, IKDR) if not is_redrawn(config["experiments"][name]))


def _scaling(config: Config) -> tuple[str, ...]:
    return tuple(filter(is_scaling, experiments_of(config, IKDR)))


def awaited_experiments(config: Config, report: Report, kinds: Mapping[str, Kind]) -> frozenset[str]:
    """Return the experiments whose runs a table or figure waits for: those it shows, and atlases of best costs."""
    kind = kinds.get(report.kind)
    return frozenset((*report.experiments, *(experiments_of(config, ATLAS) if kind and kind.above_best else ())))


def optima_file(name: str) -> str:
    """Return the file of the best solutions of an atlas."""
    return f"results/{OPTIMA}/{name}.npz"


def system_tables(config: Config) -> list[str]:
    """Return the merged tables of all systems that are run."""
    return [f"{result_folder(config)}/{table_of(system)}.csv" for system in systems_of(config)]


def table_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a table is made of beside the merged tables; arguments as those of :func:`figure_sources`."""
    kind = TABLES.get(report.kind, OTHER_TABLE)
    made_of = [path for needed in kind.needs for path in paths(report.experiments[0], needed)]
    return made_of + (_optima(config, stored) if kind.above_best else [])


def _optima(config: Config, stored: Iterable[str]) -> list[str]:
    """Return the files of best known solutions: those of the atlases that are run, and those ``stored`` before."""
    return list(dict.fromkeys([*(optima_file(name) for name in experiments_of(config, ATLAS)), *stored]))


def figure_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a figure is drawn from beside the merged tables.

    ``paths(experiment, kind)`` are the files of traces or findings of an experiment; ``stored`` are those of best known
    solutions that earlier workflows have left.
    """
    kind, needs = FIGURES[report.kind], FIGURES[report.kind].needs
    if report.kind == KPCA_FIGURE:
        needs = _KPCA_NEEDS.get(config["experiments"][report.name]["figure"], ())
    drawn = [path for needed in needs if needed != DATA for name in report.experiments for path in paths(name, needed)]
    shown = [config["experiments"][name] for name in report.experiments if DATA in needs]
    drawn += _optima(config, stored) if kind.above_best else []
    drawn += [f"results/data/{dataset}.npz" for experiment in shown for dataset in experiment["datasets"]]
    pictures = shown if report.kind == "segmentation" else []
    return drawn + [f"results/data/{dataset}.png" for experiment in pictures for dataset in pictures_of(experiment)]


def shown_data(config: Config, report: Report) -> list[str]:
    """Return the files of data that a figure shows, below the folder of results."""
    sources = figure_sources(config, report, lambda *_: [])
    return [path.removeprefix("results/") for path in sources if path.startswith(f"results/{DATA}/")]


def table_files(config: Config, names: Iterable[str], *, typeset: bool = False) -> list[str]:
    """Return the files of tables; ``typeset`` adds the PDF of those of IKDR."""
    tables, folder = tables_of(config), report_folder(config)
    files = [f"{folder}/{name}.{kind}" for name in names for kind in TABLE_KINDS]
    return files + [f"{folder}/{name}.pdf" for name in names if typeset and tables[name].kind == IKDR]


def figure_files(config: Config, names: Iterable[str]) -> list[str]:
    """Return the files of figures."""
    return [f"{report_folder(config)}/figures/{name}.{kind}" for name in names for kind in FIGURE_KINDS]


def experiment_outputs(config: Config, name: str, *, typeset: bool = False) -> list[str]:
    """Return the files of all tables and figures of one experiment."""
    tables = [report.name for report in experiment_tables(config, name)]
    figures = [report.name for report in experiment_figures(config, name)]
    return table_files(config, tables, typeset=typeset) + figure_files(config, figures)


def included(config: Config) -> list[str]:
    """Return the manifest of the packed record whose rows reports show beside one's own, if there is one."""
    return [str(manifest_of(config["include"]))] if config.get("include") else []


def outputs(config: Config, *, typeset: bool = False) -> list[str]:
    """Return all report files of a configuration but the dashboard, which shows them."""
    tables, figures = table_files(config, tables_of(config), typeset=typeset), figure_files(config, figures_of(config))
    lists = {"published_vs_ours": ("csv", "html"), "claims": ("html", "json")}
    return tables + figures + [f"{report_folder(config)}/{name}.{kind}" for name in lists for kind in lists[name]]


def dashboard_parts(config: Config) -> list[str]:
    """Return the tables, figures and claims that the dashboard shows, as the files that hold their data."""
    return [path for path in outputs(config) if path.endswith(".json")]


def summary_pages(config: Config) -> list[str]:
    """Return the summary's pages of the experiments that are run: those on papers where one names a paper, then others.

    A table counts where it is of the system whose table the page shows.
    """
    kinds = {name: report.kind for name, report in tables_of(config).items()}
    tables = [page for page, (name, kind) in _PAGES_OF_TABLES.items() if kinds.get(name) == kind]
    return [*_PAGES_ON_PAPERS, *tables] if of_papers(config)["run"] else tables


def summary_files(config: Config) -> list[str]:
    """Return the files of the summary of a configuration."""
    return [f"{report_folder(config)}/summary/{page}.md" for page in summary_pages(config)]
