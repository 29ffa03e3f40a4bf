"""Low-rank kernel learning: what the text of the paper says beside ours, and all that was measured, as tables.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from kdrbench.bench.experiment import Config
from kdrbench.reports.comparison import NO_EXPERIMENT, Comparison
from kdrbench.reports.interval import interval_of
from kdrbench.reports.numbers import agreement, duration, percentage
from kdrbench.reports.paper_table import Entry, PaperTable
from kdrbench.reports.published import find_published, published_numbers
from kdrbench.reports.summary import Cell
from kdrbench.reports.verdict import Verdict, judge
from kdrbench.solvers.status import Status

PAPER = {"paper": "lowrank2006", "table": "text", "setting": "learning"}
LABELS = {
    "none": "no constraints",
    "learned": "all constraints",
    "burg": "Burg",
    "von_neumann": "von Neumann",
    "burg_converged": "Burg, Newton",
    "von_neumann_converged": "von Neumann, Newton",
    "definite_boost": "DefiniteBoost, own eigenvalues",
    "definite_boost_symmetric": "DefiniteBoost, symmetric bound",
}
_METRICS = {
    "accuracy": "5-NN accuracy",
    "sweeps_least": "sweeps, fewest constraints",
    "sweeps_most": "sweeps, most constraints",
    "sweeps": "sweeps, all numbers of constraints",
}
_MEASURED = (
    *("Task", "Method", "Constraints", "Solved", "Sweeps", "KKT residual"),
    *("5-NN", "NMI, 1 start", "NMI, best of 10", "CPU time"),
)


def label_of(method: str) -> str:
    """Return a method's name in words."""
    return LABELS.get(method, method)


@dataclass(frozen=True)
class _Source:
    """Where our number for a published one comes from: rows of a task and a method, at which numbers of constraints."""

    task: str
    method: str
    rows: pd.DataFrame


def compare_lowrank(rows: pd.DataFrame, section: Config) -> list[Comparison]:
    """Return the numbers of the paper's text, each beside ours from every task and method that has it."""
    found = []
    for axes in published_numbers(**PAPER):
        sources = list(_sources(axes, rows, section))
        if not sources:
            found.append(_comparison(axes, None, first=True))
        found += [_comparison(axes, source, first=place == 0) for place, source in enumerate(sources)]
    return found


def _sources(axes: dict[str, str], rows: pd.DataFrame, section: Config) -> Iterator[_Source]:
    # Of the same data, or their stand-in.
    tasks = {name: section["tasks"][name] for name in section["run"]}
    tasks = {name: task for name, task in tasks.items() if task["dataset"].startswith(axes["dataset"])}
    wanted = axes["method"]
    for name, task in tasks.items():
        counts = sorted(task["constraints"])
        some = [count for count in counts if count > 0]
        chosen = {
            "none": [count for count in counts if count == 0],
            "learned": some[-1:],
        }.get(wanted, {"sweeps_least": some[:1], "sweeps_most": some[-1:]}.get(axes["metric"], some))
        for method in task["methods"]:
            fits = wanted == method or (wanted == "definite_boost" and method.startswith(wanted))
            if not fits and not (wanted in ("none", "learned") and method in ("burg", "von_neumann")):
                continue
            of_method = rows[(rows["task"] == name) & (rows["method"] == method) & rows["n_constraints"].isin(chosen)]
            if len(of_method):
                yield _Source(name, method, of_method)
            if wanted == "none":
                # Without constraints the method does not matter.
                break


def _comparison(axes: dict[str, str], source: _Source | None, *, first: bool) -> Comparison:
    number = find_published(**axes)
    cell = _cell(axes["metric"], source.rows) if source else None
    low, high = interval_of(axes["metric"], cell) if cell else (None, None)
    return Comparison(
        **axes,
        published=number.text if number else "",
        published_value=number.value if number else None,
        ours=cell.text if cell else "",
        mean=cell.mean if cell else None,
        std=cell.std if cell else None,
        low=low,
        high=high,
        runs=cell.folds if cell else 0,
        verdict=judge(number, cell) if cell else Verdict.NOT_RUN,
        why="; ".join(filter(None, [cell.note if cell else NO_EXPERIMENT, number.why if number else ""])),
        experiment=f"{source.task}, {label_of(source.method)}" if source else "",
        first=first,
    )


def _cell(metric: str, rows: pd.DataFrame) -> Cell:
    """Return mean and spread of a share or of sweeps; sweeps that were used up are a bound and no number."""
    column, kind = ("accuracy", "quality") if metric == "accuracy" else ("sweeps", "sweeps")
    values = rows.loc[rows["status"] != str(Status.FAILED), column].dropna().to_numpy(dtype=float)
    ended = int(rows["status"].isin([str(Status.CONVERGED), str(Status.STALLED)]).sum())
    if not values.size:
        return Cell(kind, None, None, "N/A", _endings(rows), len(rows), 0, complete=False)
    mean, std = float(values.mean()), float(values.std())
    bound = kind == "sweeps" and ended < len(rows)
    text = percentage(mean, std) if kind == "quality" else f"{'> ' if bound else ''}{mean:.0f} \u00b1 {std:.0f}"
    note = _endings(rows) if bound else ""
    return Cell(kind, mean, std, text, note, len(rows), int(values.size), complete=not bound)


def _endings(rows: pd.DataFrame) -> str:
    others = rows.loc[rows["status"] != str(Status.CONVERGED), "status"].value_counts()
    return "; ".join(
        f"{count} of {len(rows)} runs: {str(status).replace('_', ' ')}" for status, count in others.items()
    )


def text_table(comparisons: list[Comparison]) -> PaperTable:
    """Return the numbers of the paper's text: paper, ours, verdict, why."""
    blocks: dict[str, list[list[Entry]]] = {}
    for one in comparisons:
        words = (
            _METRICS[one.metric],
            label_of(one.method),
            one.experiment,
            one.published,
            one.ours,
            one.verdict,
            one.why,
        )
        blocks.setdefault(one.dataset, []).append([Entry(one.dataset), *(Entry(str(word)) for word in words)])
    return PaperTable(
        name="lowrank",
        title="Low-rank kernel learning: numbers in the text of the paper, and ours",
        columns=["Data", "Number", "Method", "Ours from", "Paper", "Ours", "Verdict", "Why"],
        blocks=list(blocks.values()),
        notes=[
            "Mean and standard deviation over draws of the constraints. The published rule ends when the duals come to "
            "rest: |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2) < 1e-3."
        ],
        n_labels=4,
    )


def measured_table(rows: pd.DataFrame, section: Config) -> PaperTable:
    """Return a line for each task, method and number of constraints."""
    blocks = []
    for task in section["run"]:
        for method in section["tasks"][task]["methods"]:
            of_method = rows[(rows["task"] == task) & (rows["method"] == method)]
            lines = [_line(task, method, count, group) for count, group in of_method.groupby("n_constraints")]
            if lines:
                blocks.append(lines)
    return PaperTable(
        name="lowrank_measured",
        title="Low-rank kernel learning: all that was measured.",
        columns=list(_MEASURED),
        blocks=blocks,
        notes=[
            "Means over draws of the constraints; the KKT residual is the largest. Solved: the method's own stopping "
            "rule holds. CPU time is that of the method alone, with machine code loaded before."
        ],
        n_labels=2,
    )


def _line(task: str, method: str, count: object, group: pd.DataFrame) -> list[Entry]:
    def mean(column: str) -> float | None:
        values = group[column].dropna()
        return float(values.mean()) if len(values) else None

    solved = int((group["status"] == str(Status.CONVERGED)).sum())
    largest, accuracy, seconds = group["kkt_residual"].max(), mean("accuracy"), mean("cpu_s")
    shares = [mean("nmi_one_start"), mean("nmi_ten_starts")]
    texts = [
        task,
        label_of(method),
        str(count),
        f"{solved} of {len(group)}",
        "" if mean("sweeps") is None else f"{mean('sweeps'):.0f}",
        "" if pd.isna(largest) else f"{largest:.1e}",
        "" if accuracy is None else percentage(accuracy),
        *("" if share is None else agreement(share) for share in shares),
        "" if seconds is None else duration(seconds),
    ]
    return [Entry(text) for text in texts]
