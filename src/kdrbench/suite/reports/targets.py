"""What can be asked for by name: the experiments that are run, and the papers' tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kdrbench.suite.reports.outputs import (
    ABOVE_BEST,
    COMPLEXITY,
    FIGURE_1B,
    LOW_RANK_TEXT,
    PROFILE,
    SCALING,
    Report,
    experiment_figures,
    experiment_tables,
    figure_files,
    figures_of,
    table_files,
    tables_of,
)
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    Config,
    experiments_of,
    is_scaling,
    system_of,
)
from kdrbench.suite.reports.tables.kpca_cells import TABLES

# Papers whose targets have other names than their published numbers.
_PAPERS = {"lowrank2006": "lowrank", "kpca_trick": "kpca"}


@dataclass
class _Reports:
    """The names of the tables and figures of a target, each once."""

    tables: dict[str, None] = field(default_factory=dict)
    figures: dict[str, None] = field(default_factory=dict)

    def add(self, tables: Iterable[str] = (), figures: Iterable[str] = ()) -> None:
        self.tables |= dict.fromkeys(tables)
        self.figures |= dict.fromkeys(figures)


def targets(config: Config, *, typeset: bool = False) -> dict[str, list[str]]:
    """Return what can be asked for by name, with the files that it makes."""
    return {
        name: table_files(config, reports.tables, typeset=typeset) + figure_files(config, reports.figures)
        for name, reports in _reports_by_target(config).items()
    }


def experiments_by_target(config: Config) -> dict[str, list[str]]:
    """Return for each target the experiments whose runs it waits for, in the order of ``run``.

    Beside an experiment these can be others: those whose partitions its table shows, and atlases of best known costs.
    """
    tables, figures = tables_of(config), figures_of(config)
    found = {}
    for name, reports in _reports_by_target(config).items():
        shown = [tables[one] for one in reports.tables]
        # The page of a table shows figures.
        on_pages = [one for table in shown for one in table.figures]
        shown += [figures[one] for one in [*reports.figures, *on_pages]]
        behind = frozenset[str]().union(*(awaited_experiments(config, report) for report in shown))
        found[name] = [experiment for experiment in config["run"] if experiment in behind]
    return found


def awaited_experiments(config: Config, report: Report) -> frozenset[str]:
    """Return the experiments whose runs a table or figure waits for: those it shows, and atlases of best costs."""
    atlases = experiments_of(config, ATLAS) if report.kind in ABOVE_BEST else ()
    return frozenset((*report.experiments, *atlases))


def _reports_by_target(config: Config) -> dict[str, _Reports]:
    named: dict[str, _Reports] = {name: _Reports() for name in config["run"]}
    for name in config["run"]:
        # A target that is called like an experiment is that experiment.
        papers = [one for one in _paper_targets(name, config["experiments"][name]) if one not in config["run"]]
        for target in (name, *papers):
            named.setdefault(target, _Reports()).add(
                [report.name for report in experiment_tables(config, name)],
                [report.name for report in experiment_figures(config, name)],
            )
    tables, figures = tables_of(config), figures_of(config)
    for number in TABLES.values():
        of_kpca = [name for name, report in tables.items() if report.kind == KPCA_TRICK]
        if chosen := [name for name in of_kpca if name.endswith(f"table{number}")]:
            named.setdefault(f"kpca_table{number}", _Reports()).add(chosen)
    if COMPLEXITY in tables:
        named.setdefault("ismplus_table4", _Reports()).add([COMPLEXITY])
        named.setdefault("neurips2019_figure1b", _Reports()).add(figures=[SCALING, FIGURE_1B])
    if LOW_RANK_TEXT in tables:
        named.setdefault("lowrank_text", _Reports()).add([LOW_RANK_TEXT])
    if PROFILE in figures:
        named.setdefault(PROFILE, _Reports()).add(figures=[PROFILE])
    return named


def _paper_targets(name: str, experiment: Config) -> list[str]:
    """Return the tables and figures of papers that an experiment makes, as targets are named."""
    published, system = experiment.get("published", {}), system_of(experiment)
    paper = _PAPERS.get(published.get("paper", ""), published.get("paper", ""))
    names = [f"{paper}_{part}{published[part]}" for part in ("table", "figure") if part in published]
    if system == KPCA_FIGURES:
        names.append(f"kpca_figure{experiment['figure']}")
    if system == IKDR and is_scaling(name):
        names.append("neurips2019_figure1b")
    return list(dict.fromkeys(names))
