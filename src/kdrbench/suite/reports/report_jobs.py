"""Which tables and figures one job of the workflow makes: all that wait for the same runs.

A process takes longer to load pandas and matplotlib than to make most reports, so it makes several. The rows of an
experiment are merged by the job of those reports that wait for that experiment alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from kdrbench.suite.reports.outputs import (
    Paths,
    Report,
    figure_files,
    figure_sources,
    figures_of,
    optima_file,
    report_folder,
    result_folder,
    table_files,
    table_sources,
    tables_of,
)
from kdrbench.suite.reports.records import ATLAS, Config, experiments_of
from kdrbench.suite.reports.targets import awaited_experiments

# Words of `kdrbench reports` that name figures begin like their files among the reports.
FIGURE_FOLDER = "figures/"


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
    for table in tables_of(config).values():
        _job_of(table, config, jobs).tables.append(table)
    for figure in figures_of(config).values():
        _job_of(figure, config, jobs).figures.append(figure)
    return list(jobs.values())


def _job_of(report: Report, config: Config, jobs: dict[frozenset[str], ReportJob]) -> ReportJob:
    return jobs.setdefault(awaited_experiments(config, report), ReportJob(f"compared_{report.name}"))


def merged_table(config: Config, name: str) -> str:
    """Return the merged table of an experiment."""
    return f"{result_folder(config)}/merged/{name}.csv"


def stored_optima(config: Config, job: ReportJob) -> list[str]:
    """Return the file of best known solutions that a job stores: that of the atlas whose rows it merges."""
    return [optima_file(job.merged)] if job.merged in experiments_of(config, ATLAS) else []


def job_sources(config: Config, job: ReportJob, paths: Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return the files that a job waits for; arguments as those of :func:`.figure_sources`."""
    sources = paths(job.merged, "records") if job.merged else []
    sources += [path for _ in stored_optima(config, job) for path in paths(job.merged, "findings")]
    reports = [*job.tables, *job.figures]
    sources += [merged_table(config, name) for one in reports for name in one.experiments if name != job.merged]
    sources += [path for table in job.tables for path in table_sources(config, table, paths, stored)]
    sources += [path for figure in job.figures for path in figure_sources(config, figure, paths, stored)]
    own = {figure.name for figure in job.figures}
    shown = [name for table in job.tables for name in table.figures if name not in own]
    sources += [f"{report_folder(config)}/{FIGURE_FOLDER}{name}.png" for name in shown]
    return list(dict.fromkeys(sources))


def job_files(config: Config, job: ReportJob, *, typeset: bool = False) -> list[str]:
    """Return the files that a job makes; ``typeset`` as in :func:`.table_files`."""
    merged = [merged_table(config, job.merged), *stored_optima(config, job)] if job.merged else []
    tables = table_files(config, [one.name for one in job.tables], typeset=typeset)
    return merged + tables + figure_files(config, [one.name for one in job.figures])


def job_words(config: Config, job: ReportJob, *, typeset: bool = False) -> str:
    """Return the words of `kdrbench reports` that name what it makes, figures first: pages of tables show them."""
    words = [f"{FIGURE_FOLDER}{one.name}" for one in job.figures] + [one.name for one in job.tables]
    words += ["--merge", job.merged] if job.merged else []
    words += [word for path in stored_optima(config, job) for word in ("--optima", path)]
    return shlex.join([*words, *(["--typeset"] if typeset else [])])
