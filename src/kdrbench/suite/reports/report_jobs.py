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

from kdrbench.suite.reports import outputs
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    Config,
    experiments_of,
    is_scaling,
    system_name,
)
from kdrbench.suite.systems.kpca_trick.cells import TABLES as KPCA_TABLES

# Words of `kdrbench reports` that name figures begin like their files among the reports.
FIGURE_FOLDER = "figures/"
# Papers whose targets have other names than their published numbers.
_PAPERS = {"lowrank2006": "lowrank", "kpca_trick": "kpca"}
# Pages on all that is run in Snakemake's report: chapter, what it shows.
_PAGES = {
    "published_vs_ours": ("Published and ours", "every published number"),
    "claims": ("Published and ours", "claims of the papers"),
    "dashboard": ("Dashboard", "everything on one page"),
}


@dataclass
class _Target:
    """The names of the tables and figures of a target, each once."""

    tables: dict[str, None] = field(default_factory=dict)
    figures: dict[str, None] = field(default_factory=dict)

    def add(self, tables: Iterable[str] = (), figures: Iterable[str] = ()) -> None:
        self.tables |= dict.fromkeys(tables)
        self.figures |= dict.fromkeys(figures)


def targets(config: Config, *, typeset: bool = False) -> dict[str, list[str]]:
    """Return what can be asked for by name, with the files that it makes."""
    return {
        name: outputs.table_files(config, target.tables, typeset=typeset) + outputs.figure_files(config, target.figures)
        for name, target in _targets(config).items()
    }


def experiments_by_target(config: Config) -> dict[str, list[str]]:
    """Return for each target the experiments whose runs it waits for, in the order of ``run``.

    Beside an experiment these can be others: those whose partitions its table shows, and atlases of best known costs.
    """
    tables, figures = outputs.tables_of(config), outputs.figures_of(config)
    by_target = {}
    for name, target in _targets(config).items():
        awaited = [outputs.awaited_experiments(config, tables[table], outputs.TABLES) for table in target.tables]
        # The page of a table shows figures.
        on_pages = [figure for table in target.tables for figure in tables[table].figures]
        shown = [figures[name] for name in (*target.figures, *on_pages)]
        awaited += [outputs.awaited_experiments(config, figure, outputs.FIGURES) for figure in shown]
        behind = frozenset[str]().union(*awaited)
        by_target[name] = [experiment for experiment in config["run"] if experiment in behind]
    return by_target


def _targets(config: Config) -> dict[str, _Target]:
    named: dict[str, _Target] = {name: _Target() for name in config["run"]}
    for name in config["run"]:
        # A target that is called like an experiment is that experiment.
        papers = [one for one in _paper_targets(name, config["experiments"][name]) if one not in config["run"]]
        for target in (name, *papers):
            named.setdefault(target, _Target()).add(
                [report.name for report in outputs.experiment_tables(config, name)],
                [report.name for report in outputs.experiment_figures(config, name)],
            )
    tables, figures = outputs.tables_of(config), outputs.figures_of(config)
    for number in KPCA_TABLES.values():
        of_kpca = [name for name, report in tables.items() if report.kind == KPCA_TRICK]
        if chosen := [name for name in of_kpca if name.endswith(f"table{number}")]:
            named.setdefault(f"kpca_table{number}", _Target()).add(chosen)
    if outputs.COMPLEXITY in tables:
        named.setdefault("ismplus_table4", _Target()).add([outputs.COMPLEXITY])
        named.setdefault("neurips2019_figure1b", _Target()).add(figures=[outputs.SCALING, outputs.FIGURE_1B])
    if outputs.LOW_RANK_TEXT in tables:
        named.setdefault("lowrank_text", _Target()).add([outputs.LOW_RANK_TEXT])
    if outputs.PROFILE in figures:
        named.setdefault(outputs.PROFILE, _Target()).add(figures=[outputs.PROFILE])
    return named


def _paper_targets(name: str, experiment: Config) -> list[str]:
    """Return the tables and figures of papers that an experiment makes, as targets are named."""
    published, system = experiment.get("published", {}), system_name(experiment)
    paper = _PAPERS.get(published.get("paper", ""), published.get("paper", ""))
    names = [f"{paper}_{part}{published[part]}" for part in ("table", "figure") if part in published]
    if system == KPCA_FIGURES:
        names.append(f"kpca_figure{experiment['figure']}")
    if system == IKDR and is_scaling(name):
        names.append("neurips2019_figure1b")
    return list(dict.fromkeys(names))


@dataclass
class ReportJob:
    """Tables and figures that one process makes; ``merged`` is the experiment whose rows it merges before, if any."""

    name: str
    merged: str = ""
    tables: list[outputs.Report] = field(default_factory=list)
    figures: list[outputs.Report] = field(default_factory=list)


def report_jobs(config: Config) -> list[ReportJob]:
    """Return the jobs of a configuration: one for each experiment, and those whose reports wait for several."""
    jobs = {frozenset({name}): ReportJob(f"experiment_{name}", name) for name in config["run"]}

    def job_of(report: outputs.Report, awaited: frozenset[str]) -> ReportJob:
        return jobs.setdefault(awaited, ReportJob(f"compared_{report.name}"))

    for table in outputs.tables_of(config).values():
        job_of(table, outputs.awaited_experiments(config, table, outputs.TABLES)).tables.append(table)
    for figure in outputs.figures_of(config).values():
        job_of(figure, outputs.awaited_experiments(config, figure, outputs.FIGURES)).figures.append(figure)
    return list(jobs.values())


def merged_table(config: Config, name: str) -> str:
    """Return the merged table of an experiment."""
    return f"{outputs.result_folder(config)}/merged/{name}.csv"


def stored_optima(config: Config, job: ReportJob) -> list[str]:
    """Return the file of best known solutions that a job stores: that of the atlas whose rows it merges."""
    return [outputs.optima_file(job.merged)] if job.merged in experiments_of(config, ATLAS) else []


def job_sources(config: Config, job: ReportJob, paths: outputs.Paths, stored: Iterable[str] = ()) -> list[str]:
    """Return the files that a job waits for; arguments as those of :func:`.figure_sources`."""
    sources = paths(job.merged, "records") if job.merged else []
    sources += [path for _ in stored_optima(config, job) for path in paths(job.merged, "findings")]
    reports = [*job.tables, *job.figures]
    sources += [merged_table(config, name) for one in reports for name in one.experiments if name != job.merged]
    sources += [path for table in job.tables for path in outputs.table_sources(config, table, paths, stored)]
    sources += [path for figure in job.figures for path in outputs.figure_sources(config, figure, paths, stored)]
    own = {figure.name for figure in job.figures}
    shown = [name for table in job.tables for name in table.figures if name not in own]
    sources += [f"{outputs.report_folder(config)}/{FIGURE_FOLDER}{name}.png" for name in shown]
    return list(dict.fromkeys(sources))


def job_files(config: Config, job: ReportJob, *, typeset: bool = False) -> list[str]:
    """Return the files that a job makes; ``typeset`` as in :func:`.table_files`."""
    merged = [merged_table(config, job.merged), *stored_optima(config, job)] if job.merged else []
    tables = outputs.table_files(config, [one.name for one in job.tables], typeset=typeset)
    return merged + tables + outputs.figure_files(config, [one.name for one in job.figures])


def job_words(config: Config, job: ReportJob, *, typeset: bool = False) -> str:
    """Return the words of `kdrbench reports` that name what it makes, figures first: pages of tables show them."""
    words = [f"{FIGURE_FOLDER}{one.name}" for one in job.figures] + [one.name for one in job.tables]
    words += ["--merge", job.merged] if job.merged else []
    words += [word for path in stored_optima(config, job) for word in ("--optima", path)]
    return shlex.join([*words, *(["--typeset"] if typeset else [])])


def captioned(config: Config, job: ReportJob) -> dict[str, dict[str, Any]]:
    """Return what Snakemake's ``report`` takes beside each page and picture that a job makes, by its file."""
    flags = {}
    folder = outputs.report_folder(config)
    for table in job.tables:
        kind = table.kind if table.kind in outputs.TABLES else "other"
        shows = outputs.TABLES.get(table.kind, outputs.OTHER_TABLE).shows
        flags[f"{folder}/{table.name}.html"] = _flags("Tables", f"table_{kind}", _shown(table), shows)
    for figure in job.figures:
        file, caption = f"{folder}/{FIGURE_FOLDER}{figure.name}.png", f"figure_{figure.kind}"
        flags[file] = _flags("Figures", caption, _shown(figure), outputs.FIGURES[figure.kind].shows)
    return flags


def page_caption(name: str) -> dict[str, Any]:
    """Return what ``report`` takes beside one of the pages on all that is run."""
    chapter, shows = _PAGES[name]
    return _flags(chapter, f"page_{name}", "all", shows)


def _shown(report: outputs.Report) -> str:
    alone = len(report.experiments) == 1 or report.name in report.experiments
    return report.experiments[0] if alone else "all"


def _flags(category: str, caption: str, experiment: str, shows: str) -> dict[str, Any]:
    path = files("kdrbench.suite.reports").joinpath("templates", "captions", f"{caption}.rst")
    return {"caption": str(path), "category": category, "labels": {"of": experiment, "shows": shows}}
