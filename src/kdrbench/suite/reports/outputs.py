"""What reports exist for a configuration: its tables and figures, the pages on all of it, and the targets by name.

Everything here is a function of the frozen configuration, so that the workflow and the commands agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.archive import manifest_of
from kdrbench.suite.reports.leagues import LEAGUE_TABLES, fixed_beside
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
    experiments_of,
    is_redrawn,
    is_scaling,
    of_papers,
    runs_of,
    split_of,
    system_of,
    systems_of,
    table_of,
)
from kdrbench.suite.reports.tables.kpca_cells import table_names

TABLE_KINDS = ("tex", "html", "csv", "json")
# The pages of a summary: those on papers, and each other page with the table that it shows, and the system of that.
_PAGES_ON_PAPERS = ("what_we_found", "experiments")
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
# What each kind of figure and table is made of, beside the merged tables.
_NEEDS: dict[str, tuple[str, ...]] = {
    "cost_against_time": (TRACES,),
    "cost_against_calls": (TRACES,),
    "loadings": (FINDINGS, DATA),
    "scatter": (FINDINGS, DATA),
    "segmentation": (FINDINGS, DATA),
    **dict.fromkeys((PROFILE, IKDR), (TRACES,)),
    **dict.fromkeys((LEAGUE, ATLAS), (FINDINGS,)),
    **dict.fromkeys((SCALING, FIGURE_1B, LOW_RANK, KPCA_FIGURE, NOISE), ()),
}
# Figures that the page of their experiment's table shows.
_ON_PAGES = ("cost_against_time", LOW_RANK, LEAGUE, ATLAS, NOISE)
# Figures and tables of costs above the best known, which an atlas of optima may have stored.
ABOVE_BEST = (IKDR, "cost_against_time", "cost_against_calls", PROFILE)
Paths = Callable[[str, str], list[str]]


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
    if ikdr := _compared(config):
        reports.append(Report(PAIRED_TESTS, PAIRED_TESTS, ikdr))
    if scaling := _scaling(config):
        reports.append(Report(COMPLEXITY, COMPLEXITY, scaling))
    if low_rank := experiments_of(of_papers(config), LOW_RANK):
        reports.append(Report(LOW_RANK_TEXT, LOW_RANK_TEXT, tuple(low_rank)))
    return {report.name: report for report in reports}


def experiment_tables(config: Config, name: str) -> list[Report]:
    """Return the tables of one experiment: several of the KPCA trick and the league, none of figures, one of others."""
    experiment, of_one = config["experiments"][name], (name,)
    system = system_of(experiment)
    if system == KPCA_FIGURES:
        return []
    if system == KPCA_TRICK:
        return [Report(table, KPCA_TRICK, of_one) for table in table_names(name, experiment["learners"])]
    figures = tuple(figure.name for figure in experiment_figures(config, name) if figure.kind in _ON_PAGES)
    first = Report(name, system, of_one + (_redrawn(config, name) if system == IKDR else ()), figures)
    league = [Report(f"{name}_{part}", system, of_one) for part in LEAGUE_TABLES if system == LEAGUE]
    fixed = fixed_beside(config, name)
    return [first, *league, *([Report(f"{name}_{TUNING}", TUNING, (name, fixed))] if fixed else [])]


def _redrawn(config: Config, name: str) -> tuple[str, ...]:
    """Return the other experiments that redraw the folds of one whose numbers are compared with published ones."""
    experiments = config["experiments"]
    if "table" not in experiments[name].get("published", {}) or split_of(experiments[name]) is not Split.FOLDS:
        return ()
    return tuple(one for one in experiments_of(config, IKDR) if one != name and is_redrawn(experiments[one]))


def figures_of(config: Config) -> dict[str, Report]:
    """Return the figures of a configuration by name: those of each experiment, then those of several."""
    reports = [report for name in config["run"] for report in experiment_figures(config, name)]
    if ikdr := _compared(config):
        reports.append(Report(PROFILE, PROFILE, ikdr))
    if scaling := _scaling(config):
        reports += [Report(name, name, scaling) for name in (SCALING, FIGURE_1B)]
    return {report.name: report for report in reports}


def experiment_figures(config: Config, name: str) -> list[Report]:
    """Return the figures of one experiment.

    Calls of oracles are counted where there is one problem a run; projections are compared where there are several
    runs; segments are shown where the experiment has an image. Redrawn partitions have none: their means are wanted.
    """
    experiment = config["experiments"][name]
    system = system_of(experiment)
    if system == KPCA_FIGURES:
        return [Report(name, KPCA_FIGURE, (name,))]
    if system in (LEAGUE, ATLAS, NOISE) or (system == LOW_RANK and len(experiment["constraints"]) > 1):
        return [Report(name, system, (name,))]
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


def optima_file(name: str) -> str:
    """Return the file of the best solutions of an atlas."""
    return f"results/{OPTIMA}/{name}.npz"


def system_tables(config: Config) -> list[str]:
    """Return the merged tables of all systems that are run."""
    return [f"{result_folder(config)}/{table_of(system)}.csv" for system in systems_of(config)]


def table_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a table is made of beside the merged tables; arguments as those of :func:`figure_sources`."""
    made_of = [path for kind in _NEEDS.get(report.kind, ()) for path in paths(report.experiments[0], kind)]
    return made_of + (_optima(config, stored) if report.kind in ABOVE_BEST else [])


def _optima(config: Config, stored: Iterable[str]) -> list[str]:
    """Return the files of best known solutions: those of the atlases that are run, and those ``stored`` before."""
    made = [optima_file(name) for name in experiments_of(config, ATLAS)]
    return list(dict.fromkeys([*made, *stored]))


def figure_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a figure is drawn from beside the merged tables.

    ``paths(experiment, kind)`` are the files of traces or findings of an experiment; ``stored`` are those of best known
    solutions that earlier workflows have left. Of the KPCA trick's figures only the second and the third show arrays,
    and the third the names of classes.
    """
    kinds = _NEEDS[report.kind]
    if report.kind == KPCA_FIGURE:
        kinds = {2: (FINDINGS,), 3: (FINDINGS, DATA)}.get(config["experiments"][report.name]["figure"], ())
    drawn = [path for kind in kinds if kind != DATA for name in report.experiments for path in paths(name, kind)]
    shown = [config["experiments"][name] for name in report.experiments if DATA in kinds]
    drawn += _optima(config, stored) if report.kind in ABOVE_BEST else []
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


def overall_outputs(config: Config) -> list[str]:
    """Return the lists of published numbers and of claims."""
    folder, lists = report_folder(config), {"published_vs_ours": ("csv", "html"), "claims": ("html", "json")}
    return [f"{folder}/{name}.{kind}" for name, kinds in lists.items() for kind in kinds]


def included(config: Config) -> list[str]:
    """Return the manifest of the packed record whose rows reports show beside one's own, if there is one."""
    return [str(manifest_of(config["include"]))] if config.get("include") else []


def outputs(config: Config, *, typeset: bool = False) -> list[str]:
    """Return all report files of a configuration but the dashboard, which shows them."""
    tables, figures = table_files(config, tables_of(config), typeset=typeset), figure_files(config, figures_of(config))
    return tables + figures + overall_outputs(config)


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
