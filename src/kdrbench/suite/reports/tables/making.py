"""From the name of a table to its files: which runs it shows, who lays it out, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from kdrbench.errors import InputError, unknown_name
from kdrbench.files import write_text
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.findings.nearness import gaps_of, known_beside, traces_of
from kdrbench.suite.reports.outputs import (
    COMPLEXITY,
    FINDINGS,
    LOW_RANK_TEXT,
    PAIRED_TESTS,
    TRACES,
    TUNING,
    Report,
    experiment_tables,
    tables_of,
)
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_TRICK,
    LEAGUE,
    LOW_RANK,
    NOISE,
    Config,
    controls_of,
    is_redrawn,
    read_runs,
    settings_of,
    stage_table,
    system_of,
)
from kdrbench.suite.reports.tables.atlas import atlas_page
from kdrbench.suite.reports.tables.html import Section, render_html, sections_of_runs
from kdrbench.suite.reports.tables.ikdr import beside_published, ikdr_table
from kdrbench.suite.reports.tables.ikdr_cells import compared_cells
from kdrbench.suite.reports.tables.kpca_trick import kpca_tables
from kdrbench.suite.reports.tables.latex import render_latex
from kdrbench.suite.reports.tables.league.tables import league_table
from kdrbench.suite.reports.tables.league.tuning import Tuning, tuning_table
from kdrbench.suite.reports.tables.low_rank import low_rank_table, measured_table
from kdrbench.suite.reports.tables.noise import noise_table
from kdrbench.suite.reports.tables.paired_tests import paired_table, paired_tests
from kdrbench.suite.reports.tables.partitions import Partitions, spread_table
from kdrbench.suite.reports.tables.published_numbers import printed_table
from kdrbench.suite.reports.tables.significance import meaning_of_mean
from kdrbench.suite.reports.tables.size_series import complexity_table, size_series
from kdrbench.suite.reports.tables.table import Entry, Table, entries

# Numbers of the provenance, which a plain table leaves out.
_NO_RESULTS = {"schema_version", "run", "seed", "wall_s", "unclocked_s", "evaluation_s", "memory_mib", "cores", "load"}
_NO_RESULTS |= {"drift", "blas_threads"}
Page = tuple[Table, list[Section]]


def reports_named(name: str, config: Config) -> list[Report]:
    """Return the table called ``name``, or all tables of the experiment of that name.

    Raises ``InputError`` for a name of neither.
    """
    tables = tables_of(config)
    if name in tables:
        return [tables[name]]
    if name in config["run"]:
        return experiment_tables(config, name) or [Report(name, system_of(config["experiments"][name]), (name,))]
    raise InputError(unknown_name("table", name, sorted({*tables, *config["run"]})))


def make_table(report: Report, config: Config, results: Path, store: Path = Path("results")) -> Page:
    """Return a table and the sections below it on its page.

    ``results`` is the folder of merged tables, ``store`` that of traces and findings.
    """
    runs = pd.concat([read_runs(results / "merged" / f"{name}.csv") for name in report.experiments], ignore_index=True)
    makers: dict[str, Callable[[Report, pd.DataFrame, Config], Page]] = {
        IKDR: partial(_ikdr, store / TRACES),
        KPCA_TRICK: _kpca_trick,
        LOW_RANK: _low_rank,
        LEAGUE: partial(_league, store / FINDINGS),
        ATLAS: partial(_atlas, store / FINDINGS),
        NOISE: _noise,
        TUNING: _tuning,
        PAIRED_TESTS: lambda _, runs, config: (paired_table(paired_tests(runs, settings=settings_of(config))), []),
        COMPLEXITY: lambda _, runs, config: (complexity_table(size_series(runs, config)), []),
        LOW_RANK_TEXT: lambda report, runs, config: (
            low_rank_table(report.name, compare({LOW_RANK: runs}, config)),
            [],
        ),
    }
    return makers.get(report.kind, _any)(report, runs, config)


def _ikdr(folder: Path, report: Report, runs: pd.DataFrame, config: Config) -> Page:
    experiment, own = config["experiments"][report.name], runs[runs["experiment"] == report.name]
    controls, partitions = controls_of(report.name, config), Partitions(runs, config)
    traces = traces_of(own, folder)
    gaps = gaps_of(own, traces, known_beside(traces, config))
    cells = compared_cells(own, experiment, controls, partitions, settings_of(config), config, gaps)
    sections = [beside_published(cells)] if printed_table(experiment) else []
    if is_redrawn(experiment):
        alone = Partitions(own, {**config, "run": [report.name]})
        sections.append(Section("How the means vary", spread_table(alone)))
    return ikdr_table(report.name, cells, experiment), [*sections, *sections_of_runs(own)]


def _kpca_trick(report: Report, runs: pd.DataFrame, config: Config) -> Page:
    tables = {table.name: table for table in kpca_tables(runs, report.experiments[0], config)}
    return tables[report.name], sections_of_runs(runs)


def _low_rank(report: Report, runs: pd.DataFrame, config: Config) -> Page:
    return measured_table(report.name, runs, config["experiments"][report.name]), sections_of_runs(runs)


def _league(findings: Path, report: Report, runs: pd.DataFrame, config: Config) -> Page:
    name = report.experiments[0]
    return league_table(report.name, name, runs, config["experiments"][name], findings), sections_of_runs(runs)


def _tuning(report: Report, runs: pd.DataFrame, config: Config) -> Page:
    tuned, fixed = (runs[runs["experiment"] == name] for name in report.experiments)
    title = config["experiments"][report.experiments[0]]["title"]
    return tuning_table(report.name, title, Tuning(fixed, tuned)), sections_of_runs(tuned)


def _atlas(findings: Path, report: Report, runs: pd.DataFrame, config: Config) -> Page:
    table, sections = atlas_page(report.name, runs, config, findings)
    return table, [*sections, *sections_of_runs(runs)]


def _noise(report: Report, runs: pd.DataFrame, config: Config) -> Page:
    return noise_table(report.name, runs, config["experiments"][report.name]), sections_of_runs(runs)


def _any(report: Report, runs: pd.DataFrame, config: Config) -> Page:
    experiment = config["experiments"][report.name]
    table = stage_table(runs, report.name, experiment) or plain_table(report.name, runs, experiment)
    return table, sections_of_runs(runs)


def plain_table(name: str, runs: pd.DataFrame, experiment: Config) -> Table:
    """Return the means of all numeric results by data set and method, for a system without a table of its own."""
    axes = [column for column in ("dataset", "kernel", "method", "learner", "variant") if column in runs]
    measured = [
        column
        for column in runs.select_dtypes("number").columns
        if (column not in (*axes, *_NO_RESULTS) and not column.endswith(("_s", "_mib"))) or column == "time_s"
    ]
    rows = []
    for labels, group in runs.groupby(axes, sort=False, dropna=False):
        named = dict(zip(axes, map(str, labels), strict=True))
        of_runs = ("", named["dataset"], "", named.get("method", ""))
        numbers = [_mean(group[column], of_runs) for column in measured]
        rows.append([*entries(labels), Entry(str(len(group))), *numbers])
    columns = [*(axis.capitalize() for axis in axes), "Runs", *measured]
    return Table(name, experiment["title"], columns, [rows], ["Means over runs."], n_labels=len(axes))


def _mean(values: pd.Series, axes: tuple[str, ...]) -> Entry:
    mean = float(values.mean())
    # In the unit of the column, as the mean is.
    words = meaning_of_mean(f"{values.name}: mean", "", values)
    return Entry("-" if pd.isna(mean) else f"{mean:.4g}", value=mean, detail=words, axes=axes)


def write_table(table: Table, stem: Path, sections: Iterable[Section] = ()) -> None:
    """Write ``stem`` as .tex, .html, .csv and .json; each appears whole."""
    texts = {
        "tex": render_latex(table),
        "html": render_html(table, sections),
        "csv": table.to_csv(),
        "json": table.to_json(),
    }
    for kind, text in texts.items():
        write_text(stem.parent / f"{stem.name}.{kind}", text)
