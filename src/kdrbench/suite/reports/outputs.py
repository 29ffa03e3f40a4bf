"""What reports exist for a configuration: its tables and figures, what they are made of, and their files.

All of it is a function of the frozen configuration, so that the workflow and the commands agree. Systems declare their
reports (:meth:`.System.reports`); this module collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.archive import manifest_of
from kdrbench.suite.engine.system import DATA, OPTIMA, PICTURES, Report
from kdrbench.suite.experiments.results import charted_by
from kdrbench.suite.reports.records import Config, experiments_of, of_papers, systems_of, table_of
from kdrbench.suite.systems import system_of

TABLE_KINDS = ("tex", "html", "csv", "json")
FIGURE_KINDS = ("pdf", "png", "json", "txt")
# The pages of a summary: those on papers, and each other page with the table that it shows.
_PAGES_ON_PAPERS = ("what_we_found",)
SUMMARY_PAGES = (*_PAGES_ON_PAPERS, "metric_learning", "low_rank", "league", "atlas", "noise")
Paths = Callable[[str, str], list[str]]


def report_folder(config: Config) -> str:
    """Return the folder of the configuration's reports: that of all, or one of its own where it has a name."""
    return f"reports/{config['name']}" if config.get("name") else "reports"


def result_folder(config: Config) -> str:
    """Return the folder of the configuration's merged tables and frozen file."""
    return f"results/{config['name']}" if config.get("name") else "results"


def tables_of(config: Config) -> dict[str, Report]:
    """Return the tables of a configuration by name: those of each experiment, then those of several."""
    return _named(_reports(config), is_figure=False)


def figures_of(config: Config) -> dict[str, Report]:
    """Return the figures of a configuration by name: those of each experiment, then those of several."""
    return _named(_reports(config), is_figure=True)


def _named(reports: Iterable[Report], *, is_figure: bool) -> dict[str, Report]:
    return {report.name: report for report in reports if report.is_figure == is_figure}


def _reports(config: Config) -> Iterator[Report]:
    for name in config["run"]:
        yield from system_of(config["experiments"][name]).reports(name, config)
    for system in systems_of(config):
        names = experiments_of(config, system)
        yield from system_of(config["experiments"][names[0]]).joint_reports(names, config)


def experiment_tables(config: Config, name: str) -> list[Report]:
    """Return the tables of one experiment."""
    reports = system_of(config["experiments"][name]).reports(name, config)
    return list(_named(reports, is_figure=False).values())


def experiment_figures(config: Config, name: str) -> list[Report]:
    """Return the figures of one experiment."""
    return list(_named(system_of(config["experiments"][name]).reports(name, config), is_figure=True).values())


def awaited_experiments(config: Config, report: Report) -> frozenset[str]:
    """Return the experiments whose runs a table or figure waits for: those shown, and providers of its needs."""
    providers = [
        name for need in report.needs for name in providers_of(config, need) if _concerns(config, name, report)
    ]
    return frozenset((*report.experiments, *providers))


def providers_of(config: Config, need: str) -> list[str]:
    """Return the experiments whose systems store what reports of other systems need."""
    return [name for name in config["run"] if need in system_of(config["experiments"][name]).provides]


def _concerns(config: Config, atlas: str, report: Report) -> bool:
    """Return whether an atlas may chart a problem of a report: one of the same data and paradigm."""
    defined = config["experiments"]
    paradigms = {one.get("paradigm") for one in charted_by(defined[atlas], defined).values()}
    shown = [one for name in report.experiments if (one := defined[name]).get("paradigm") in paradigms]
    return any(set(one["datasets"]) & set(defined[atlas]["datasets"]) for one in shown)


def optima_file(name: str) -> str:
    """Return the file of the best solutions of an atlas."""
    return f"results/{OPTIMA}/{name}.npz"


def system_tables(config: Config) -> list[str]:
    """Return the merged tables of all systems that are run."""
    return [f"{result_folder(config)}/{table_of(system)}.csv" for system in systems_of(config)]


def report_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a table or figure is made of beside the merged tables.

    ``paths(experiment, need)`` are the files of traces or findings of an experiment; ``stored`` are those of best known
    solutions that earlier workflows have left.
    """
    registry, sources = load_registry(), []
    datasets = [dataset for name in report.experiments for dataset in config["experiments"][name].get("datasets", ())]
    for need in report.needs:
        if need == OPTIMA:
            atlases = {optima_file(name): _concerns(config, name, report) for name in providers_of(config, OPTIMA)}
            sources += [path for path in (*atlases, *stored) if atlases.get(path, True)]
        elif need == DATA:
            sources += [f"results/{DATA}/{dataset}.npz" for dataset in datasets]
        elif need == PICTURES:
            pictures = [name for name in datasets if name in registry and is_picture(registry[name])]
            sources += [f"results/{DATA}/{dataset}.png" for dataset in pictures]
        else:
            sources += [path for name in report.experiments for path in paths(name, need)]
    return list(dict.fromkeys(sources))


def shown_data(config: Config, report: Report) -> list[str]:
    """Return the files of data that a figure shows, below the folder of results."""
    sources = report_sources(config, report, lambda *_: [])
    return [path.removeprefix("results/") for path in sources if path.startswith(f"results/{DATA}/")]


def table_files(config: Config, names: Iterable[str]) -> list[str]:
    """Return the files of tables."""
    return [f"{report_folder(config)}/{name}.{kind}" for name in names for kind in TABLE_KINDS]


def figure_files(config: Config, names: Iterable[str]) -> list[str]:
    """Return the files of figures."""
    return [f"{report_folder(config)}/figures/{name}.{kind}" for name in names for kind in FIGURE_KINDS]


def experiment_outputs(config: Config, name: str) -> list[str]:
    """Return the files of all tables and figures of one experiment."""
    tables = [report.name for report in experiment_tables(config, name)]
    figures = [report.name for report in experiment_figures(config, name)]
    return table_files(config, tables) + figure_files(config, figures)


def included(config: Config) -> list[str]:
    """Return the manifest of the packed record whose rows reports show beside one's own, if there is one."""
    return [str(manifest_of(config["include"]))] if config.get("include") else []


def outputs(config: Config) -> list[str]:
    """Return all report files of a configuration but the dashboard, which shows them."""
    tables, figures = table_files(config, tables_of(config)), figure_files(config, figures_of(config))
    return tables + figures + [f"{report_folder(config)}/{name}" for name in ("published_vs_ours.csv", "claims.json")]


def dashboard_parts(config: Config) -> list[str]:
    """Return the tables, figures and claims that the dashboard shows, as the files that hold their data."""
    return [path for path in outputs(config) if path.endswith(".json")]


def summary_pages(config: Config) -> list[str]:
    """Return the summary's pages: those on papers where an experiment names one, then those on tables."""
    on_tables = {report.summary for report in _reports(config)}
    on_papers = _PAGES_ON_PAPERS if of_papers(config)["run"] else ()
    return [page for page in SUMMARY_PAGES if page in (*on_papers, *on_tables)]


def summary_files(config: Config) -> list[str]:
    """Return the files of the summary of a configuration."""
    return [f"{report_folder(config)}/summary/{page}.md" for page in summary_pages(config)]
