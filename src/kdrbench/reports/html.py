"""The table as one self-contained HTML page."""

from __future__ import annotations

import base64
from importlib.resources import files

import pandas as pd

from kdrbench.datasets.card import facts_of
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.reports.cautions import n_drifted, n_untimed
from kdrbench.reports.layout import METRIC_TITLES, NO_CELL, TableLayout, dataset_label, kernel_label, solver_label
from kdrbench.reports.ledger import LedgerRow

VERDICT_RULES = (
    "Reproduced: within the rounding of the printed number, or the means differ by no more than two standard errors of "
    "their difference. Close: costs within 5 %, "
    "shares within 0.05, times and sweeps within a factor of 3. Not run: nothing to compare, since runs are missing, "
    "failed, hit a limit, or were timed on shared cores."
)


def render_html(layout: TableLayout, ledger: list[LedgerRow], runs: pd.DataFrame, figure_png: bytes) -> str:
    """Return the page: the table in the paper's layout, the ledger, the figure, how the runs ended."""
    import jinja2

    source = files("kdrbench.reports").joinpath("table.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(dataset=dataset_label, kernel=kernel_label, solver=solver_label)
    endings = {
        str(solver): {str(status): int(count) for status, count in group["status"].value_counts().items()}
        for solver, group in runs.groupby("solver", sort=False)
    }
    return environment.from_string(source).render(
        layout=layout,
        ledger=ledger,
        metric_titles=METRIC_TITLES,
        no_cell=NO_CELL,
        verdict_rules=VERDICT_RULES,
        figure=base64.b64encode(figure_png).decode("ascii"),
        statuses=sorted(runs["status"].unique()),
        endings=endings,
        surroundings=surroundings(runs),
        cards=[(entry.title, facts_of(entry)) for entry in _entries(layout)],
    )


def _entries(layout: TableLayout) -> list[DatasetEntry]:
    """Return what is registered of the data sets; of those of the user's own nothing is."""
    names = dict.fromkeys(dataset for dataset, _, _ in layout.lines)
    return [load_registry()[name] for name in names if name in load_registry()]


def surroundings(runs: pd.DataFrame) -> str:
    """Return one paragraph on where, with what and within what limits the runs were made."""

    def each(column: str) -> str:
        values = {f"{value:g}" if isinstance(value, float) else str(value) for value in runs[column].dropna()}
        return ", ".join(sorted(values)) or "unknown"

    changed = (runs["git_dirty"].astype(str) == "True").any()
    contaminated = int((runs["contaminated"].astype(str) == "True").sum())
    return (
        f"{len(runs)} runs on {each('processor')}, {each('blas_threads')} BLAS thread(s), {each('blas')}; Python "
        f"{each('python_version')}, NumPy {each('numpy_version')}, SciPy {each('scipy_version')}; kdrbench "
        f"{each('kdrbench_version')} at commit {each('git_commit')}{', with changes' if changed else ''}. "
        f"Limits: {each('time_limit_s')} s, "
        f"{each('memory_limit_mib')} MiB a run. {contaminated} run(s) shared their core with other work; "
        f"of {n_drifted(runs)} the speed of the cores drifted by more than 10 %; "
        f"{n_untimed(runs)} did not own their cores."
    )
