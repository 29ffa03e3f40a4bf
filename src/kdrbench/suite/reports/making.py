"""From the name of a table or figure to what it shows: its runs, the function that makes it, and the parts of its page.

Each report names its function (:class:`.Report`); no other module is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from kdrbench.datasets.registry import facts_of, load_registry
from kdrbench.errors import DamagedError, InputError, counted, in_words, unknown_name
from kdrbench.suite.engine.system import DATA, FINDINGS, TRACES, Report, plain_table_report
from kdrbench.suite.findings.outcome import MARKS, marked
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.outputs import figures_of, reports_of, shown_data, tables_of, word_of
from kdrbench.suite.reports.records import Config, n_runs, read_runs
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, endings_found
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.reports.tables.significance import meaning_of_mean
from kdrbench.suite.reports.tables.table import Entry, Section, Table, entries, measured
from kdrbench.suite.systems import system_of
from kdrbench.suite.systems.atlas.optima import BestKnown

# Where figures that show samples are kept below a folder of results, and the digits of their numbers.
_CHARTS, _DIGITS = "charts", 6
# Numbers of the provenance, which a plain table leaves out.
_NO_RESULTS = {"schema_version", "run", "seed", "wall_s", "unclocked_s", "evaluation_s", "memory_mib", "cores", "load"}
_NO_RESULTS |= {"drift", "blas_threads"}
_ENDING = "ending"
# Digits that tell commits apart; the records have all.
_COMMIT = 10
Page = tuple[Table, list[Section]]


@dataclass(frozen=True)
class Source:
    """What a report is made of: the configuration, its runs, and the folder with traces, findings and data."""

    report: Report
    runs: pd.DataFrame
    config: Config
    store: Path

    @property
    def name(self) -> str:
        """The name of the experiment of a report on one."""
        return self.report.experiments[0]

    @property
    def experiment(self) -> Config:
        """The experiment of a report on one."""
        experiment: Config = self.config["experiments"][self.name]
        return experiment

    @property
    def traces(self) -> Path:
        """The folder of traces."""
        return self.store / TRACES

    @property
    def known(self) -> BestKnown:
        """The best solutions known of problems."""
        return BestKnown.of(self.store, self.config)

    @property
    def stored(self) -> tuple[Path, Path]:
        """The folders of findings and of prepared data."""
        return self.store / FINDINGS, self.store / DATA


def reports_named(name: str, config: Config) -> list[Report]:
    """Return the table or figure of a word of `kdrbench reports`, or all tables of the experiment of that name.

    Raises ``InputError`` for any other word.
    """
    reports = {word_of(report): report for report in reports_of(config)}
    if name in reports:
        return [reports[name]]
    if name in config["run"]:
        return list(tables_of(config, name).values()) or [plain_table_report(name)]
    raise InputError(unknown_name("report", name, sorted({*reports, *config["run"]})))


def make(report: Report, config: Config, results: Path, store: Path = Path("results")) -> Any:
    """Return a figure, or a table with the sections below it on its page.

    ``results`` is the folder of merged tables, ``store`` that of traces and findings.
    """
    runs = pd.concat([read_runs(results / "merged" / f"{name}.csv") for name in report.experiments], ignore_index=True)
    module, _, function = report.maker.partition(":")
    maker: Callable[[Source], Any] = getattr(import_module(module), function)
    return maker(Source(report, runs, config, store))


def make_chart(report: Report, config: Config, results: Path, store: Path) -> Chart:
    """Return a figure; one without panels, saying so, where the runs have left nothing to show.

    Where data that it shows are not prepared it is the one that is stored (:func:`charts_to_store`), if any is.
    """
    stored = store / _CHARTS / f"{report.name}.json"
    if stored.is_file() and _lacks_data(config, report, store):
        return read_chart(stored)
    chart: Chart | None = make(report, config, results, store)
    empty = f"No run of {', '.join(report.experiments)} has left what this figure shows."
    return chart or Chart(report.name, "", empty, [])


def read_chart(path: Path) -> Chart:
    """Return a figure that is stored; ``DamagedError`` for what is none."""
    try:
        return Chart.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise DamagedError(f"{path} is no figure ({in_words(error)}); take the record again") from error


def charts_to_store(config: Config, results: Path, store: Path) -> tuple[dict[str, str], list[str]]:
    """Return as JSON the figures that show samples of data, and what is to be said of those that cannot be drawn.

    With them figures of a record are drawn without data. Their numbers have six digits, far less than a pixel.
    """
    charts, missing = {}, []
    for name, report in figures_of(config).items():
        merged = (results / "merged" / f"{experiment}.csv" for experiment in report.experiments)
        if not shown_data(config, report) or not all(path.is_file() for path in merged):
            continue
        if not can_be_drawn(report, config, store):
            missing.append(f"the figure {name} is not stored: data that it shows are not in {store / DATA}")
            continue
        text = make_chart(report, config, results, store).to_json()
        charts[name] = json.dumps(json.loads(text, parse_float=lambda word: float(f"{float(word):.{_DIGITS}g}")))
    return charts, missing


def can_be_drawn(report: Report, config: Config, store: Path) -> bool:
    """Return whether the traces, findings and data that a figure shows are there, or the figure is stored."""
    return (store / _CHARTS / f"{report.name}.json").is_file() or not _lacks_data(config, report, store)


def _lacks_data(config: Config, report: Report, store: Path) -> bool:
    needed = [store / need for need in report.needs if need in (FINDINGS, TRACES)]
    return not all(path.exists() for path in (*needed, *(store / path for path in shown_data(config, report))))


def plain_page(source: Source) -> Page:
    """Return the table that a system of the user's own lays out, or one of means."""
    name, runs, experiment = source.name, source.runs, source.experiment
    table = system_of(experiment).table(runs, name, experiment) or plain_table(name, runs, experiment)
    return table, sections_of_runs(runs)


def system_chart(source: Source) -> Chart | None:
    """Return the figure that a system of the user's own draws."""
    chart: Chart | None = system_of(source.experiment).figure(source.runs, source.name, source.experiment)
    return chart


def plain_table(name: str, runs: pd.DataFrame, experiment: Config) -> Table:
    """Return the means of all numeric results by data set and method, for a system without a table of its own."""
    axes = [column for column in ("dataset", "kernel", "method", "learner", "variant") if column in runs]
    numbers = [column for column in runs.select_dtypes("number").columns if column not in (*axes, *_NO_RESULTS)]
    shown = [column for column in numbers if column == "time_s" or not column.endswith(("_s", "_mib"))]
    rows = []
    for labels, group in runs.groupby(axes, sort=False, dropna=False):
        named = dict(zip(axes, map(str, labels), strict=True))
        of_runs = ("", named["dataset"], "", named.get("method", ""))
        row = [*entries(labels), Entry(str(len(group)))]
        for column in shown:
            # In the unit of the column, as the mean is.
            words = meaning_of_mean(f"{column}: mean", "", group[column])
            row.append(replace(measured(group[column].mean(), "{:.4g}", words), axes=of_runs))
        rows.append(row)
    columns = [*map(str.capitalize, axes), "Runs", *shown]
    return Table(name, experiment["title"], columns, [rows], ["Means over runs."], n_labels=len(axes))


def sections_of_runs(runs: pd.DataFrame) -> list[Section]:
    """Return what the page of any system tells about its runs: the data, how runs ended, where they were made."""
    registry, words = load_registry(), declared("words")
    registered = [registry[name] for name in dict.fromkeys(runs["dataset"]) if name in registry]
    cards = [(entry.title, facts_of(entry)) for entry in registered]
    means = CONVERGED_MEANS if "optimality" in runs else words["converged_by_rule"]
    endings = _counted(runs.assign(**{_ENDING: endings_found(runs)}), _ENDING)
    sections = [Section("The data", cards=cards)]
    sections.append(Section("How the runs ended", endings, paragraphs=[means, provenance(runs)]))
    found = runs.get("optimality", pd.Series(dtype=object)).dropna()
    if len(judged := runs.loc[found.index[found.astype(str) != ""]]):
        sections.append(Section("Final projections", _counted(judged, "optimality"), paragraphs=[words["optimality"]]))
    return sections


def _counted(runs: pd.DataFrame, column: str) -> Table:
    """Return how many runs of each method have each word of a column."""
    # A system without methods or learners is divided by its data sets.
    axis = next(column for column in ("method", "learner", "dataset") if column in runs)
    statuses = sorted(map(str, runs[column].unique()))
    rows = [
        [Entry(method_label(str(method))), *entries(int((group[column] == status).sum()) for status in statuses)]
        for method, group in runs.groupby(axis, sort=False)
    ]
    titles = [status.replace("_", " ") for status in statuses]
    return Table(column, "How the runs ended", [axis.capitalize(), *titles], [rows])


def provenance(runs: pd.DataFrame) -> str:
    """Return one paragraph on where, with what and within what limits the runs were made."""
    commits = ", ".join(commit[:_COMMIT] for commit in each(runs, "git_commit").split(", "))
    changed = ", with changes" if (runs["git_dirty"].astype(str) == "True").any() else ""
    made = f"{counted(n_runs(runs), 'run')} on {each(runs, 'processor')}, {software_of(runs)}"
    return f"{made} at commit {commits}{changed}. {conditions(runs)}"


def each(runs: pd.DataFrame, column: str) -> str:
    """Return the values of a column, each once; numbers in their order, not in that of their digits."""
    values = sorted(runs[column].dropna().unique(), key=lambda value: (isinstance(value, str), value))
    words = dict.fromkeys(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    return ", ".join(words) or "unknown"


def software_of(runs: pd.DataFrame) -> str:
    """Return the versions of what the runs were made with."""
    return (
        f"BLAS threads {each(runs, 'blas_threads')}, {each(runs, 'blas')}; Python {each(runs, 'python_version')}, "
        f"NumPy {each(runs, 'numpy_version')}, SciPy {each(runs, 'scipy_version')}; "
        f"kdrbench {each(runs, 'kdrbench_version')}"
    )


def conditions(runs: pd.DataFrame) -> str:
    """Return within what limits the runs were made, and how many were disturbed."""
    untimed, contaminated, drifted, unaccounted = (int(marked(runs, mark).sum()) for mark in MARKS)
    return (
        f"Limits: {each(runs, 'time_limit_s')} s, {each(runs, 'memory_limit_mib')} MiB a run. Runs that shared their "
        f"core with other work: {contaminated}; whose cores were not as fast (10 %) as for other methods on the same "
        f"problem: {drifted}; that did not own their cores: {untimed}; that worked while their clock was stopped: "
        f"{unaccounted}."
    )
