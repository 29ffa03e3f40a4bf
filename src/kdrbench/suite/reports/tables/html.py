"""A table as one self-contained HTML page, with what a reader should know of the runs behind it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import pandas as pd

from kdrbench.datasets.card import facts_of
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import counted
from kdrbench.suite.findings.outcome import n_drifted, n_unaccounted, n_untimed
from kdrbench.suite.reports.records import n_runs
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, endings_found
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.reports.tables.table import Entry, Table, entries

_BY_RULE = "Converged means that the method's own rule was met."
_ENDING = "ending"
# Digits that tell commits apart; the records have all.
_COMMIT = 10
_OPTIMALITY = (
    "Of the final projections, evaluated exactly: whether they are stationary to 1e-6, and, where it is known, whether "
    "a direction of ascent is left (a saddle)."
)


@dataclass(frozen=True)
class Section:
    """A part of a page below its table: any of a table, a PNG picture, descriptions of data sets, and paragraphs."""

    title: str
    table: Table | None = None
    picture: bytes = b""
    cards: list[tuple[str, Any]] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


def render_html(table: Table, sections: Iterable[Section] = ()) -> str:
    """Return the page: the table, then the sections."""
    return render("table.html.j2", table=table, sections=list(sections))


def render(template: str, **values: Any) -> str:
    """Return a template of the reports, filled in; words that are given are no markup."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read_template), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(base64=lambda data: base64.b64encode(data).decode("ascii"))
    return environment.get_template(template).render(**values)


def _read_template(name: str) -> str:
    return files("kdrbench.suite.reports").joinpath("templates", name).read_text(encoding="utf-8")


def sections_of_runs(runs: pd.DataFrame) -> list[Section]:
    """Return what the page of any system tells about its runs: the data, how runs ended, where they were made."""
    registry = load_registry()
    registered = [registry[name] for name in dict.fromkeys(runs["dataset"]) if name in registry]
    cards = [(entry.title, facts_of(entry)) for entry in registered]
    sections = [
        Section("The data", cards=cards),
        Section(
            "How the runs ended",
            _counted(runs.assign(**{_ENDING: endings_found(runs)}), _ENDING),
            paragraphs=[CONVERGED_MEANS if "optimality" in runs else _BY_RULE, provenance(runs)],
        ),
    ]
    if "optimality" in runs and len(
        judged := runs[runs["optimality"].notna() & (runs["optimality"].astype(str) != "")]
    ):
        sections.append(Section("What the referee found", _counted(judged, "optimality"), paragraphs=[_OPTIMALITY]))
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

    def each(column: str) -> str:
        values = {f"{value:g}" if isinstance(value, float) else str(value) for value in runs[column].dropna()}
        return ", ".join(sorted(values)) or "unknown"

    commits = ", ".join(commit[:_COMMIT] for commit in each("git_commit").split(", "))
    changed = (runs["git_dirty"].astype(str) == "True").any()
    contaminated = int((runs["contaminated"].astype(str) == "True").sum())
    return (
        f"{counted(n_runs(runs), 'run')} on {each('processor')}, BLAS threads {each('blas_threads')}, "
        f"{each('blas')}; Python "
        f"{each('python_version')}, NumPy {each('numpy_version')}, SciPy {each('scipy_version')}; kdrbench "
        f"{each('kdrbench_version')} at commit {commits}{', with changes' if changed else ''}. "
        f"Limits: {each('time_limit_s')} s, "
        f"{each('memory_limit_mib')} MiB a run. Runs that shared their core with other work: {contaminated}; "
        f"whose cores were not as fast (10 %) as for other methods on the same problem: {n_drifted(runs)}; "
        f"that did not own their cores: {n_untimed(runs)}; "
        f"that worked while their clock was stopped: {n_unaccounted(runs)}."
    )
