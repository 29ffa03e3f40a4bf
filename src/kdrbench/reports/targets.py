"""What can be asked for by name: the experiments that are run, and the papers' tables and figures."""

from __future__ import annotations

from kdrbench.reports.outputs import (
    COMPLEXITY,
    FIGURE_1B,
    LOW_RANK_TEXT,
    PROFILE,
    SCALING,
    experiment_outputs,
    figure_files,
    figures_of,
    table_files,
    tables_of,
)
from kdrbench.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, Config, is_scaling, system_of
from kdrbench.reports.tables.kpca_cells import TABLES

# Papers whose targets have other names than their published numbers.
_PAPERS = {"lowrank2006": "lowrank", "kpca_trick": "kpca"}


def targets(config: Config, *, typeset: bool = False) -> dict[str, list[str]]:
    """Return what can be asked for by name: the experiments that are run, and the papers' tables and figures."""
    named = {name: experiment_outputs(config, name, typeset=typeset) for name in config["run"]}
    for name in config["run"]:
        for target in _paper_targets(name, config["experiments"][name]):
            if target not in config["run"]:
                named.setdefault(target, []).extend(experiment_outputs(config, name, typeset=typeset))
    tables, figures = tables_of(config), figures_of(config)
    for number in TABLES.values():
        of_kpca = [name for name, report in tables.items() if report.kind == KPCA_TRICK]
        if chosen := [name for name in of_kpca if name.endswith(f"table{number}")]:
            named[f"kpca_table{number}"] = table_files(config, chosen)
    if COMPLEXITY in tables:
        named["ismplus_table4"] = table_files(config, [COMPLEXITY])
        named.setdefault("neurips2019_figure1b", []).extend(figure_files(config, [SCALING, FIGURE_1B]))
    if LOW_RANK_TEXT in tables:
        named["lowrank_text"] = table_files(config, [LOW_RANK_TEXT])
    if PROFILE in figures:
        named[PROFILE] = figure_files(config, [PROFILE])
    return {name: list(dict.fromkeys(files)) for name, files in named.items()}


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
