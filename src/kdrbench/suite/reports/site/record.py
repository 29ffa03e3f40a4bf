"""One record as the site shows it: its tables, its figures, what it says of the papers, and its answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from kdrbench.errors import DamagedError, InputError, in_words
from kdrbench.suite.findings.answers import Answer, answers_of
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import claims_json, decided_of_papers
from kdrbench.suite.findings.ledger import compare, comparisons_from_csv
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.findings.nearness import gaps_of, known_beside, traces_of
from kdrbench.suite.reports.dashboard.page import Parts, shown_parts
from kdrbench.suite.reports.dashboard.runs import all_runs
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.outputs import TRACES, Report, figures_of, tables_of
from kdrbench.suite.reports.records import IKDR, Config, Results, read_runs, table_of, without_code, write_results
from kdrbench.suite.reports.tables.making import make_table
from kdrbench.suite.reports.tables.table import Entry, Table

# What tells runs of IKDR apart.
_RUN = ["experiment", "dataset", "kernel", "method", "partition", "run"]


@dataclass(frozen=True)
class SiteRecord:
    """A record under the ``name`` that the site gives it; ``folder`` holds its merged tables, as the site offers them.

    ``gaps`` are the distances of the ``runs``' final costs above the best known ones. ``tables`` and ``charts`` are by
    name, without those that have nothing to show; ``papers`` says which paper each experiment reproduces. ``claims``
    are as the dashboard reads them. ``remarks`` say what of the record is not shown, and why.
    """

    name: str
    folder: Path
    results: Results
    config: Config
    runs: pd.DataFrame
    gaps: pd.Series
    tables: dict[str, Table]
    charts: dict[str, Chart]
    comparisons: list[Comparison]
    claims: list[dict[str, str]]
    answers: list[Answer]
    remarks: tuple[str, ...] = ()

    @property
    def papers(self) -> dict[str, str]:
        """The paper of each experiment that names one."""
        experiments = self.config["experiments"]
        named = {name: experiments[name].get("published", {}).get("paper", "") for name in self.config["run"]}
        return {name: paper for name, paper in named.items() if paper}

    def shown(self, reports: Mapping[str, Report], paper: str) -> list[str]:
        """Return the names of those reports whose experiments reproduce a paper; "" for all that reproduce none."""
        papers = self.papers
        return [
            name
            for name, report in reports.items()
            if (paper in found if (found := {papers.get(one, "") for one in report.experiments} - {""}) else not paper)
        ]

    def tables_of(self, paper: str) -> list[Table]:
        """Return the tables of a paper, or of none."""
        return [self.tables[name] for name in self.shown(tables_of(self.config), paper) if name in self.tables]

    def charts_of(self, paper: str) -> dict[str, Chart]:
        """Return the figures of a paper, or of none, by name."""
        names = self.shown(figures_of(self.config), paper)
        return {name: self.charts[name] for name in names if name in self.charts}


def site_record(
    name: str,
    results: Results,
    folder: Path,
    reports: Path | None = None,
    answers: list[Answer] | None = None,
    gaps: pd.Series | None = None,
) -> SiteRecord:
    """Return a record whose merged tables are written into ``folder``, from which all reports are made.

    Figures are those of the folder ``reports``, or of that which the workflow has beside the results; traces are read
    where they are. With the ``answers`` of reports that were just made of the same rows, these are shown, and tables,
    claims and published numbers are taken from ``reports`` too: they would take several times as long as the rest. So
    are ``gaps``, those of :func:`gaps_by_run`.
    """
    write_results(folder, results)
    config = without_code(results.config)
    systems = {system: read_runs(folder / f"{table_of(system)}.csv") for system in results.systems}
    runs = all_runs(systems)
    charts, remarks = _charts((reports or _reports(results)) / "figures", config)
    if results.left_out:
        remarks.append(f"Left out, being of systems of its own: {', '.join(results.left_out)}.")
    done = None if answers is None else reports
    return SiteRecord(
        name=name,
        folder=folder,
        results=results,
        config=config,
        runs=runs,
        gaps=_gaps(systems, config, _store(results) / TRACES, gaps),
        tables={table.name: table for table in _tables(config, folder, _store(results), done) if table.rows},
        charts={name: chart for name, chart in charts.items() if shown_parts(Parts(charts=[chart])).charts},
        comparisons=_comparisons(systems, config, done),
        claims=_claims(systems, config, done),
        answers=_answers(systems, config, _store(results) / TRACES) if answers is None else answers,
        remarks=tuple(remarks),
    )


def _of_papers(config: Config) -> bool:
    return any("published" in config["experiments"][name] for name in config["run"])


def _comparisons(systems: Mapping[str, pd.DataFrame], config: Config, done: Path | None) -> list[Comparison]:
    if done is None:
        return compare(dict(systems), config)
    return comparisons_from_csv((done / "published_vs_ours.csv").read_text(encoding="utf-8"))


def _claims(systems: Mapping[str, pd.DataFrame], config: Config, done: Path | None) -> list[dict[str, str]]:
    if not _of_papers(config):
        return []
    if done is None:
        text = claims_json(decided_of_papers(Records.of(dict(systems), config)))
    else:
        text = (done / "claims.json").read_text(encoding="utf-8")
    decided: list[dict[str, str]] = json.loads(text)
    return decided


def _tables(config: Config, folder: Path, store: Path, done: Path | None) -> Iterable[Table]:
    for name, report in tables_of(config).items():
        if done is None:
            table = make_table(report, config, folder, store)[0]
        else:
            table = Table.from_json((done / f"{name}.json").read_text(encoding="utf-8"))
        # Cells are links to their runs where the page holds these, which is the dashboard.
        blocks = [[[replace(entry, axes=Entry("").axes) for entry in row] for row in block] for block in table.blocks]
        yield replace(table, blocks=blocks)


def _answers(systems: Mapping[str, pd.DataFrame], config: Config, folder: Path) -> list[Answer]:
    found = [one for runs in systems.values() for one in answers_of(runs, config, traces_of(runs, folder))]
    answers = {one.experiment: one for one in found}
    return [answers[name] for name in config["run"]]


def gaps_by_run(runs: pd.DataFrame, config: Config, folder: Path) -> pd.Series:
    """Return the gap of each run of IKDR by its axes; ``folder`` has the traces."""
    traces = traces_of(runs, folder)
    return gaps_of(runs, traces, known_beside(traces, config)).set_axis(pd.MultiIndex.from_frame(runs[_RUN]))


def _gaps(systems: Mapping[str, pd.DataFrame], config: Config, folder: Path, found: pd.Series | None) -> pd.Series:
    """Return the gap of each run of all systems, in their order; only those of IKDR have any."""

    def of(system: str, runs: pd.DataFrame) -> pd.Series:
        if system != IKDR:
            return pd.Series(float("nan"), runs.index)
        gaps = gaps_by_run(runs, config, folder) if found is None else found
        return pd.Series(gaps.reindex(pd.MultiIndex.from_frame(runs[_RUN])).to_numpy(), runs.index)

    return pd.concat([of(*one) for one in systems.items()], ignore_index=True)


def _store(results: Results) -> Path:
    """Return the folder of traces and findings of a folder of results, whether or not that has a name."""
    places = (results.place, results.place.parent) if results.place.is_dir() else ()
    return next((place for place in places if (place / "traces").is_dir()), results.place)


def _charts(folder: Path, config: Config) -> tuple[dict[str, Chart], list[str]]:
    """Return the figures that are beside the results, by name, and what is to be said of those that are not."""
    wanted = list(figures_of(config))
    found = {name: folder / f"{name}.json" for name in wanted}
    charts = {name: _chart(path) for name, path in found.items() if path.is_file()}
    missing = len(wanted) - len(charts)
    if not missing:
        return charts, []
    some = f"{missing} of {len(wanted)} figures are not shown: they were not drawn."
    return charts, [some if charts else "No figures are shown: there are none beside these tables."]


def _reports(results: Results) -> Path:
    """Return the folder of reports that the workflow has for a folder of results."""
    place = results.place.absolute()
    beside = place.parent.parent / "reports" / place.name
    return beside if results.config.get("name") and beside.is_dir() else place.parent / "reports"


def _chart(path: Path) -> Chart:
    try:
        return Chart.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        raise DamagedError(
            f"{path} is no figure of kdrbench ({in_words(error)}); draw it again where its runs are, or remove it"
        ) from error
