"""How the workflow makes reports: by which names they are asked for, which one process makes, and their captions.

A process takes longer to load pandas and matplotlib than to make most reports, so one job makes all that wait for the
same runs. The rows of an experiment are merged by the job of those reports that wait for that experiment alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from kdrbench.suite.engine.system import OPTIMA, Report
from kdrbench.suite.reports import outputs
from kdrbench.suite.reports.records import Config
from kdrbench.suite.systems import system_of

# Words of `kdrbench reports` that name figures begin like their files among the reports.
FIGURE_FOLDER = "figures/"


def targets(config: Config) -> dict[str, list[str]]:
    """Return what can be asked for by name, with the files that it makes."""
    return {
        target: outputs.table_files(config, _names(reports, is_figure=False))
        + outputs.figure_files(config, _names(reports, is_figure=True))
        for target, reports in _targets(config).items()
    }


def experiments_by_target(config: Config) -> dict[str, list[str]]:
    """Return for each target the experiments whose runs it waits for, in the order of ``run``.

    Beside an experiment these can be others: those whose partitions its table shows, and atlases of best known costs.
    """
    figures, by_target = outputs.figures_of(config), {}
    for target, reports in _targets(config).items():
        # The page of a table shows figures.
        shown = [*reports, *(figures[name] for report in reports for name in report.figures)]
        awaited = frozenset[str]().union(*(outputs.awaited_experiments(config, report) for report in shown))
        by_target[target] = [experiment for experiment in config["run"] if experiment in awaited]
    return by_target


def _names(reports: Iterable[Report], *, is_figure: bool) -> list[str]:
    return [report.name for report in reports if report.is_figure == is_figure]


def _targets(config: Config) -> dict[str, dict[Report, None]]:
    """Return the reports of each target. A target that is called like an experiment is that experiment."""
    named: dict[str, dict[Report, None]] = {name: {} for name in config["run"]}
    for name in config["run"]:
        experiment = config["experiments"][name]
        papers = [target for target in _paper_targets(experiment) if target not in config["run"]]
        for target in (name, *papers):
            named.setdefault(target, {}).update(dict.fromkeys(system_of(experiment).reports(name, config)))
    for report in (*outputs.tables_of(config).values(), *outputs.figures_of(config).values()):
        for target in report.targets:
            named.setdefault(target, {})[report] = None
    return named


def _paper_targets(experiment: Config) -> list[str]:
    """Return the tables and figures of papers that an experiment makes, as targets are named."""
    published = experiment.get("published", {})
    paper = system_of(experiment).papers.get(published.get("paper", ""), published.get("paper", ""))
    return [f"{paper}_{part}{published[part]}" for part in ("table", "figure") if part in published]


@dataclass
class ReportJob:
    """Tables and figures that one process makes; ``merged`` is the experiment whose rows it merges before, if any."""

    name: str
    merged: str = ""
    tables: list[Report] = field(default_factory=list)
    figures: list[Report] = field(default_factory=list)


def report_jobs(config: Config) -> list[ReportJob]:
    """Return the jobs of a configuration: one for each experiment, and those whose reports wait for several."""
    jobs = {frozenset({name}): ReportJob(f"experiment_{name}", name) for name in config["run"]}

    for report in (*outputs.tables_of(config).values(), *outputs.figures_of(config).values()):
        awaited = outputs.awaited_experiments(config, report)
        job = jobs.setdefault(awaited, ReportJob(f"compared_{report.name}"))
        (job.figures if report.is_figure else job.tables).append(report)
    return list(jobs.values())


def merged_table(config: Config, name: str) -> str:
    """Return the merged table of an experiment."""
    return f"{outputs.result_folder(config)}/merged/{name}.csv"


def stored_optima(config: Config, job: ReportJob) -> list[str]:
    """Return the file of best known solutions that a job stores: that of the atlas whose rows it merges."""
    return [outputs.optima_file(job.merged)] if job.merged in outputs.providers_of(config, OPTIMA) else []


def job_sources(config: Config, job: ReportJob, paths: outputs.Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return the files that a job waits for; arguments as those of :func:`.report_sources`."""
    sources = paths(job.merged, "records") if job.merged else []
    sources += [path for _ in stored_optima(config, job) for path in paths(job.merged, "findings")]
    reports = [*job.tables, *job.figures]
    sources += [merged_table(config, name) for one in reports for name in one.experiments if name != job.merged]
    sources += [path for one in reports for path in outputs.report_sources(config, one, paths, stored)]
    own = {figure.name for figure in job.figures}
    shown = [name for table in job.tables for name in table.figures if name not in own]
    sources += [f"{outputs.report_folder(config)}/{FIGURE_FOLDER}{name}.png" for name in shown]
    return list(dict.fromkeys(sources))


def job_files(config: Config, job: ReportJob) -> list[str]:
    """Return the files that a job makes."""
    merged = [merged_table(config, job.merged), *stored_optima(config, job)] if job.merged else []
    tables = outputs.table_files(config, [one.name for one in job.tables])
    return merged + tables + outputs.figure_files(config, [one.name for one in job.figures])


def job_words(config: Config, job: ReportJob) -> str:
    """Return the words of `kdrbench reports` that name what it makes, figures first: pages of tables show them."""
    words = [f"{FIGURE_FOLDER}{one.name}" for one in job.figures] + [one.name for one in job.tables]
    words += ["--merge", job.merged] if job.merged else []
    words += [word for path in stored_optima(config, job) for word in ("--optima", path)]
    return shlex.join(words)


def captioned(config: Config, job: ReportJob) -> dict[str, dict[str, Any]]:
    """Return what Snakemake's ``report`` takes beside each page and picture that a job makes, by its file."""
    folder = outputs.report_folder(config)
    flags = {f"{folder}/{table.name}.html": _flags_of("Tables", "table", table) for table in job.tables}
    files_of_figures = {f"{folder}/{FIGURE_FOLDER}{figure.name}.png": figure for figure in job.figures}
    return flags | {path: _flags_of("Figures", "figure", figure) for path, figure in files_of_figures.items()}


def dashboard_caption() -> dict[str, Any]:
    """Return what ``report`` takes beside the dashboard."""
    return _flags("Dashboard", "page_dashboard", "all", "everything on one page")


def _flags_of(category: str, prefix: str, report: Report) -> dict[str, Any]:
    alone = len(report.experiments) == 1 or report.name in report.experiments
    experiment = report.experiments[0] if alone else "all"
    package, caption = report.maker.partition(":")[0].rpartition(".")[0], f"{prefix}_{report.kind}"
    # A system of the user's own need not have captions.
    if not package or not files(package).joinpath("captions", f"{caption}.rst").is_file():
        package, caption = __package__, f"{prefix}_other"
    return _flags(category, caption, experiment, report.shows, package)


def _flags(category: str, caption: str, experiment: str, shows: str, package: str = __package__) -> dict[str, Any]:
    path = files(package).joinpath("captions", f"{caption}.rst")
    return {"caption": str(path), "category": category, "labels": {"of": experiment, "shows": shows}}
