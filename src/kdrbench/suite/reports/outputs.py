"""What reports exist for a configuration: tables, figures and pages, what they are made of, their files and jobs.

All of it is a function of the frozen configuration, so that the workflow and the commands agree. Systems declare their
reports (:meth:`.System.reports`).

A process takes longer to load pandas and matplotlib than to make most reports, so one job makes all that wait for the
same runs. The rows of an experiment are merged by the job of those reports that wait for that experiment alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.archive import manifest_of
from kdrbench.suite.engine.system import DATA, OPTIMA, PICTURES, Report
from kdrbench.suite.experiments.results import charted_by
from kdrbench.suite.reports.records import Config, experiments_of, of_papers, systems_of, table_of
from kdrbench.suite.systems import system_of

# Words of `kdrbench reports` that name figures begin like their files among the reports.
FIGURE_FOLDER = "figures/"
_TABLE_KINDS = ("tex", "html", "csv", "json")
_FIGURE_KINDS = ("pdf", "png", "json")
# The pages of a summary: two on papers, and each other page with the table that it shows.
_ON_PAPERS = ("what_we_found", "behind_what_we_found")
SUMMARY_PAGES = (*_ON_PAPERS, "metric_learning", "low_rank", "league", "atlas", "noise")
Paths = Callable[[str, str], list[str]]


def report_folder(config: Config) -> str:
    """Return the folder of the configuration's reports: that of all, or one of its own where it has a name."""
    return f"reports/{config['name']}" if config.get("name") else "reports"


def result_folder(config: Config) -> str:
    """Return the folder of the configuration's merged tables and frozen file."""
    return f"results/{config['name']}" if config.get("name") else "results"


def tables_of(config: Config, experiment: str = "") -> dict[str, Report]:
    """Return the tables among :func:`reports_of` by name."""
    return {report.name: report for report in reports_of(config, experiment) if not report.is_figure}


def figures_of(config: Config, experiment: str = "") -> dict[str, Report]:
    """Return the figures among :func:`reports_of` by name."""
    return {report.name: report for report in reports_of(config, experiment) if report.is_figure}


def reports_of(config: Config, experiment: str = "") -> Iterator[Report]:
    """Yield the tables and figures of one experiment, or those of each experiment, then those of several."""
    for name in [experiment] if experiment else config["run"]:
        yield from system_of(config["experiments"][name]).reports(name, config)
    for system in [] if experiment else systems_of(config):
        names = experiments_of(config, system)
        yield from system_of(config["experiments"][names[0]]).joint_reports(names, config)


def word_of(report: Report) -> str:
    """Return the word of `kdrbench reports` that names a report; its files begin so in the folder of reports."""
    return f"{FIGURE_FOLDER}{report.name}" if report.is_figure else report.name


def report_files(config: Config, reports: Iterable[Report]) -> list[str]:
    """Return the files of tables and figures."""
    kinds = {report: _FIGURE_KINDS if report.is_figure else _TABLE_KINDS for report in reports}
    return [f"{report_folder(config)}/{word_of(report)}.{kind}" for report in kinds for kind in kinds[report]]


def outputs(config: Config) -> list[str]:
    """Return all report files of a configuration but the dashboard, which shows them."""
    on_papers = [f"{report_folder(config)}/{name}" for name in ("published_vs_ours.csv", "claims.json")]
    return report_files(config, reports_of(config)) + on_papers


def dashboard_parts(config: Config) -> list[str]:
    """Return the tables, figures and claims that the dashboard shows, as the files that hold their data."""
    return [path for path in outputs(config) if path.endswith(".json")]


def summary_pages(config: Config) -> list[str]:
    """Return the summary's pages: those on papers where an experiment names one, then those on tables."""
    there = {report.summary for report in reports_of(config)}
    there |= set(_ON_PAPERS) if of_papers(config)["run"] else set()
    return [page for page in SUMMARY_PAGES if page in there]


def summary_files(config: Config) -> list[str]:
    """Return the files of the summary of a configuration."""
    return [f"{report_folder(config)}/summary/{page}.md" for page in summary_pages(config)]


def included(config: Config) -> list[str]:
    """Return the manifest of the packed record whose rows reports show beside one's own, if there is one."""
    return [str(manifest_of(config["include"]))] if config.get("include") else []


def merged_table(config: Config, name: str) -> str:
    """Return the merged table of an experiment."""
    return f"{result_folder(config)}/merged/{name}.csv"


def system_tables(config: Config) -> list[str]:
    """Return the merged tables of all systems that are run."""
    return [f"{result_folder(config)}/{table_of(system)}.csv" for system in systems_of(config)]


def optima_file(name: str) -> str:
    """Return the file of the best solutions of an atlas."""
    return f"results/{OPTIMA}/{name}.npz"


def _atlases(config: Config) -> list[str]:
    """Return the experiments whose systems store the best solutions that reports of other systems need."""
    return [name for name in config["run"] if OPTIMA in system_of(config["experiments"][name]).provides]


def awaited_experiments(config: Config, report: Report) -> frozenset[str]:
    """Return the experiments whose runs a table or figure waits for: those shown, and atlases that it needs."""
    atlases = _atlases(config) if OPTIMA in report.needs else []
    return frozenset((*report.experiments, *(name for name in atlases if _concerns(config, name, report))))


def _concerns(config: Config, atlas: str, report: Report) -> bool:
    """Return whether an atlas may chart a problem of a report: one of the same data and paradigm."""
    defined = config["experiments"]
    paradigms = {one.get("paradigm") for one in charted_by(defined[atlas], defined).values()}
    shown = [one for name in report.experiments if (one := defined[name]).get("paradigm") in paradigms]
    return any(set(one["datasets"]) & set(defined[atlas]["datasets"]) for one in shown)


def report_sources(config: Config, report: Report, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return what a table or figure is made of beside the merged tables.

    ``paths(experiment, need)`` are the files of traces or findings of an experiment; ``stored`` are those of best known
    solutions that earlier workflows have left.
    """
    registry, sources = load_registry(), []
    datasets = [dataset for name in report.experiments for dataset in config["experiments"][name].get("datasets", ())]
    for need in report.needs:
        if need == OPTIMA:
            atlases = {optima_file(name): _concerns(config, name, report) for name in _atlases(config)}
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


def targets(config: Config) -> dict[str, list[str]]:
    """Return what can be asked for by name, with the files that it makes."""
    return {target: report_files(config, reports) for target, reports in _targets(config).items()}


def experiments_by_target(config: Config) -> dict[str, list[str]]:
    """Return for each target the experiments whose runs it waits for, in the order of ``run``.

    Beside an experiment these can be others: those whose partitions its table shows, and atlases of best known costs.
    """
    figures, by_target = figures_of(config), {}
    for target, reports in _targets(config).items():
        # The page of a table shows figures.
        shown = [*reports, *(figures[name] for report in reports for name in report.figures)]
        awaited = frozenset[str]().union(*(awaited_experiments(config, report) for report in shown))
        by_target[target] = [experiment for experiment in config["run"] if experiment in awaited]
    return by_target


def _targets(config: Config) -> dict[str, dict[Report, None]]:
    """Return the reports of each target. A target that is called like an experiment is that experiment."""
    named: dict[str, dict[Report, None]] = {name: {} for name in config["run"]}
    for name in config["run"]:
        published, system = config["experiments"][name].get("published", {}), system_of(config["experiments"][name])
        paper = system.papers.get(published.get("paper", ""), published.get("paper", ""))
        # As tables and figures of papers are called that the experiment makes.
        papers = [f"{paper}_{part}{published[part]}" for part in ("table", "figure") if part in published]
        for target in (name, *(paper for paper in papers if paper not in config["run"])):
            named.setdefault(target, {}).update(dict.fromkeys(reports_of(config, name)))
    for report in reports_of(config):
        for target in report.targets:
            named.setdefault(target, {})[report] = None
    return named


@dataclass
class ReportJob:
    """Tables and figures that one process makes; ``merged`` is the experiment whose rows it merges before, if any."""

    name: str
    merged: str = ""
    reports: list[Report] = field(default_factory=list)


def report_jobs(config: Config) -> list[ReportJob]:
    """Return the jobs of a configuration: one for each experiment, and those whose reports wait for several.

    Figures come first in a job: pages of tables show them.
    """
    jobs = {frozenset({name}): ReportJob(f"experiment_{name}", name) for name in config["run"]}
    for report in (*tables_of(config).values(), *figures_of(config).values()):
        awaited = awaited_experiments(config, report)
        jobs.setdefault(awaited, ReportJob(f"compared_{report.name}")).reports.append(report)
    for job in jobs.values():
        job.reports.sort(key=lambda report: not report.is_figure)
    return list(jobs.values())


def stored_optima(config: Config, job: ReportJob) -> list[str]:
    """Return the file of best known solutions that a job stores: that of the atlas whose rows it merges."""
    return [optima_file(job.merged)] if job.merged in _atlases(config) else []


def job_sources(config: Config, job: ReportJob, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return the files that a job waits for; arguments as those of :func:`.report_sources`."""
    kinds = ["records"] * bool(job.merged) + ["findings"] * bool(stored_optima(config, job))
    sources = [path for kind in kinds for path in paths(job.merged, kind)]
    sources += [merged_table(config, name) for one in job.reports for name in one.experiments if name != job.merged]
    sources += [path for one in job.reports for path in report_sources(config, one, paths, stored)]
    own = {one.name for one in job.reports if one.is_figure}
    shown = [name for one in job.reports for name in one.figures if name not in own]
    sources += [f"{report_folder(config)}/{FIGURE_FOLDER}{name}.png" for name in shown]
    return list(dict.fromkeys(sources))


def job_files(config: Config, job: ReportJob) -> list[str]:
    """Return the files that a job makes."""
    merged = [merged_table(config, job.merged), *stored_optima(config, job)] if job.merged else []
    return merged + report_files(config, job.reports)


def job_words(config: Config, job: ReportJob) -> str:
    """Return the words of `kdrbench reports` that name what it makes."""
    words = [*map(word_of, job.reports), *(["--merge", job.merged] if job.merged else [])]
    return shlex.join(words + [word for path in stored_optima(config, job) for word in ("--optima", path)])


def report_flags(config: Config, job: ReportJob) -> dict[str, dict[str, Any]]:
    """Return what Snakemake's ``report`` takes beside each page and picture that a job makes, by its file."""
    flags: dict[str, dict[str, Any]] = {}
    for one in job.reports:
        alone = len(one.experiments) == 1 or one.name in one.experiments
        labels = {"of": one.experiments[0] if alone else "all", "shows": one.shows}
        shown = {"category": "Figures" if one.is_figure else "Tables", "labels": labels}
        flags |= {path: shown for path in report_files(config, [one]) if path.endswith((".html", ".png"))}
    return flags
