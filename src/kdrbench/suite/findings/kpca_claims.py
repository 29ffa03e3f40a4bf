"""Tests of claims on the KPCA trick (Chatpatanasiri et al. 2010): ten data sets, three learners, 40 splits, figures.

A learner without an accuracy for every split of a data set that was run counts as lost; one of which a limit stopped a
split is open, and so is a setting of a figure. Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    decided_by_rows,
    decision_of,
    listed,
    only_decision,
    open_in_words,
    reached,
    share_of,
    side_of,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, is_open
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name
from kdrbench.suite.reports.tables.published_numbers import published_numbers
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_trick.cells import FIGURE_DATA, PAPER, TABLES

SPLITS = 40
PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# Of the figures.
VARIED = {"degree": (2, 3, 4, 5), "n": (50, 100, 150), "k": (1, 2, 3, 4, 5)}
# Of Figure 2: made sets, and the degrees of the plain learner and of the kernel.
MADE_SETS, DEGREES = ("disc-and-ring", "cone"), (1.0, 2.0)
SMALLEST_GAIN = 1e-9
_CELL = ["dataset", "learner"]


def papers_datasets() -> list[str]:
    """Return the data sets of the paper's tables."""
    printed = [axes for axes in published_numbers(paper=PAPER) if axes["table"] in TABLES.values()]
    return sorted({axes["dataset"] for axes in printed})


def papers_rows(kpca: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Return the rows of the KPCA trick on the paper's data, learners and splits, each once."""
    chosen = kpca["dataset"].isin(papers_datasets()) & kpca["learner"].isin(TABLES)
    chosen &= kpca["variant"].isin(variants) & (kpca["run"] < SPLITS)
    return kpca[chosen].drop_duplicates([*_CELL, "variant", "run"])


def cells_of(kpca: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Return the mean accuracy of each variant in the 30 cells, NaN where a split has none.

    ``splits`` is how many were made of each variant at least, and ``open`` whether a limit stopped one.
    """
    index = pd.MultiIndex.from_product([papers_datasets(), TABLES], names=_CELL)
    rows, columns = papers_rows(kpca, *variants), list(variants)
    groups = rows.groupby([*_CELL, "variant"])
    means = groups["accuracy"].mean().where(groups["accuracy"].count() == SPLITS).unstack("variant")
    made = groups["run"].nunique().unstack("variant").reindex(index=index, columns=columns).fillna(0)
    opened = rows.assign(open=is_open(rows)).groupby(_CELL)["open"].any()
    cells = means.reindex(index=index, columns=columns).astype(float)
    return cells.assign(splits=made.min(axis=1), open=opened.reindex(index, fill_value=False))


def _missing_splits(cells: pd.DataFrame) -> str:
    """Return on which of the paper's data sets some learner was not run on all splits; empty if on none."""
    splits = cells["splits"].groupby("dataset").min().astype(int)
    short = splits[splits < SPLITS]
    return listed([f"{dataset_label(str(name))} has {count} of {SPLITS} splits" for name, count in short.items()])


def _names(index: pd.Index, variant: str = PLAIN) -> list[str]:
    return [f"{dataset_label(str(data))} {learner_name(str(learner), variant).upper()}" for data, learner in index]


def versions_win(records: Records, *, variant: str, least_won: int, most_lost: int) -> Finding:
    """Compare mean accuracies over the splits, rounded to two digits as the tables print them, with the plain learner.

    Confirmed with as many wins, and as few losses, as printed; mostly so with 80 % of the wins.
    """
    cells = cells_of(records.kpca, PLAIN, variant)
    gains = (cells[variant].round(2) - cells[PLAIN].round(2)).round(4)
    if missing := _missing_splits(cells):
        known = gains.dropna()
        return undecided(f"{missing} (kpca_trick.csv); of {len(known)} complete cells {(known > 0).sum()} are won")
    gains, n_open = gains[~cells["open"]], int(cells["open"].sum())
    won, level = int((gains > 0).sum()), int((gains == 0).sum())
    lost = len(gains) - won - level
    evidence = f"won {won}, level {level}, lost {lost} of {counted(len(cells), 'cell')}"
    if names := _names(gains[~(gains >= 0)].index, variant):
        evidence += f"; lost: {listed(names)}"

    def decision(wins: int, losses: int) -> Decision:
        by_wins = decision_of(reached(wins, least=least_won))
        return Decision.MOSTLY if by_wins is Decision.CONFIRMED and losses > most_lost else by_wins

    # At best all that are open are won, at worst all are lost.
    decided = only_decision({decision(won + n_open, lost), decision(won, lost + n_open)})
    measure = f"won {share_of(won, len(cells), 'cell')}; lost {lost}" + (f", and {n_open} open" if n_open else "")
    return Finding(decided, evidence + open_in_words(n_open, "cell"), "", measure, "means are compared to 0.01")


def slightly_better(records: Records, *, most: float) -> Finding:
    """Take the mean gain of cross-validated over aligned kernels over the 30 cells, with its 95 % interval."""
    gains, missing = _gains(records.kpca)
    if missing:
        return undecided(f"{missing} (kpca_trick.csv)")
    mean = f"{gains.mean():+.3f}"
    evidence = f"{mean} in the mean of {counted(len(gains), 'cell')}, better in {int((gains.round(2) > 0).sum())}"
    low, high = corrected_t_interval(gains, 0.0)
    # Better by the interval, slightly by the mean.
    decision = side_of(low, high, least=SMALLEST_GAIN) if gains.mean() <= most else Decision.CONTRADICTED
    return Finding(decision, evidence, "", mean, f"95 %: {low:+.3f} to {high:+.3f}")


def close_and_quick(records: Records, *, most: float, quicker: float) -> Finding:
    """Compare mean accuracies, by the 95 % interval of aligned kernels' loss, and the times of choosing the kernel.

    Times are of splits that were timed on cores of their own without drift.
    """
    gains, missing = _gains(records.kpca)
    if missing:
        return undecided(f"{missing} (kpca_trick.csv)")
    timed = papers_rows(clean_times(records.kpca), CROSS_VALIDATED, ALIGNED)
    spent = timed.pivot_table(index=_CELL, columns="variant", values="tuning_wall_s", aggfunc="mean")
    if not {CROSS_VALIDATED, ALIGNED} <= set(spent.columns) or not spent[ALIGNED].sum() > 0:
        return undecided("tuning times of both kinds of kernels that nothing disturbed (kpca_trick.csv)")
    seconds = spent.dropna().sum()
    ratio, lower = float(seconds[CROSS_VALIDATED] / seconds[ALIGNED]), f"{-gains.mean():+.3f}"
    evidence = f"accuracy {lower} over {counted(len(gains), 'cell')}; choosing takes {seconds[ALIGNED]:.3g} s against "
    evidence += f"{seconds[CROSS_VALIDATED]:.3g} s for a split of {counted(len(spent.dropna()), 'cell')}"
    low, high = corrected_t_interval(gains, 0.0)
    decision, power = side_of(low, high, most=most), f"95 % of the accuracy's loss: {low:+.3f} to {high:+.3f}"
    decision = decision_of(reached(ratio, least=quicker)) if decision is Decision.CONFIRMED else decision
    return Finding(decision, evidence, "", f"{lower}; {ratio:.3g} times as quick", power)


def _gains(kpca: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return the accuracy of cross-validated kernels less that of aligned ones by cell, and which splits are missing.

    A cell without either is left out.
    """
    cells = cells_of(kpca, CROSS_VALIDATED, ALIGNED)
    missing, opened = _missing_splits(cells), cells[cells["open"]]
    if not missing and len(opened):
        missing = f"splits that were not stopped at a limit, of {listed(_names(opened.index))}"
    return (cells[CROSS_VALIDATED] - cells[ALIGNED]).dropna(), missing


def kernels_succeed(records: Records, *, fails: float, succeeds: float) -> Finding:
    """Count made sets and learners by the accuracies along the leading direction, plain and with a kernel."""
    rows = records.tricks[(records.tricks["figure"] == 2) & records.tricks["dataset"].isin(MADE_SETS)]
    tried = rows[rows["series"].isin(TABLES) & rows["value"].isin(DEGREES)]
    if len(tried.groupby(["dataset", "series", "value"])) < len(MADE_SETS) * len(TABLES) * len(DEGREES):
        learners = ", ".join(map(str.upper, TABLES))
        return undecided(f"Figure 2 with {learners} on {_labels(MADE_SETS)} (kpca_figures.csv)")
    both = rows.pivot_table(index=["dataset", "series"], columns="value", values="accuracy", dropna=False)
    plain, squared = (both.reindex(columns=list(DEGREES))[degree] for degree in DEGREES)
    opened = both.index.isin(tried[is_open(tried)].set_index(["dataset", "series"]).index)
    evidence = f"plain at most {plain.max():.2f}, degree 2 at least {squared.min():.2f}"
    extreme = f"plain {plain.max():.2f}, degree 2 {squared.min():.2f}"
    return decided_by_rows((plain <= fails) & (squared >= succeeds), opened, evidence, "case", extreme)


def _figure_rows(tricks: pd.DataFrame, figure: int) -> pd.DataFrame:
    """Return the rows of a figure on the paper's data."""
    return tricks[(tricks["figure"] == figure) & tricks["dataset"].isin(FIGURE_DATA[figure])]


def same_plane(records: Records, *, most: float) -> Finding:
    """Compare distances, relative to the largest, and accuracies, which must be equal."""
    both = beside_kpca(_figure_rows(records.tricks, 3))
    if both.empty:
        return undecided(f"Figure 3 on {_labels(FIGURE_DATA[3])} (kpca_figures.csv)")
    opened = _either_open(both)
    n_open, both = int(opened.sum()), both[~opened]
    if both.empty:
        return undecided("Figure 3 by runs that were not stopped at a limit (kpca_figures.csv)")
    disagreement = float(both["disagreement"].fillna(float("inf")).max())
    apart = float((both["accuracy"] - both["accuracy_kpca"]).abs().fillna(1.0).max())
    evidence = f"distances differ by {disagreement:.1e} of the largest, accuracies by {apart:.3f}"
    decision = decision_of(min(reached(disagreement, most=most), reached(apart, most=0.0)))
    if n_open and decision is not Decision.CONTRADICTED:
        decision = Decision.UNDECIDED
    measure = f"{disagreement:.1e}; accuracies {apart:.3f}"
    return Finding(decision, evidence + open_in_words(n_open, "setting"), "", measure)


def tricks_agree(records: Records, *, condition: float, most_apart: float) -> Finding:
    """Compare accuracies of KDNE where K's condition number is not larger: beyond it rank and ridge decide.

    Over the paper's data, degrees, n and k of both figures, and each way to solve the kernel trick.
    """
    parts = {figure: _figure_rows(records.tricks, figure) for figure in (4, 5)}
    lacking = {figure: _missing_settings(rows, figure) for figure, rows in parts.items()}
    if missing := [f"Figure {figure}: {settings}" for figure, settings in lacking.items() if settings]:
        return undecided(f"{'; '.join(missing)} (kpca_figures.csv)")
    points = beside_kpca(pd.concat([rows[rows["varied"].isin(VARIED)] for rows in parts.values()]))
    apart, beyond = (points["accuracy"] - points["accuracy_kpca"]).abs(), points["condition"] > condition
    regular, opened = apart[~beyond], _either_open(points)[~beyond]
    if regular[~opened].empty:
        return undecided(f"kernels of condition {condition:g} or less, among {len(points)}")
    extreme = f"at most {regular[~opened].max():.3f}"
    evidence = f"accuracies differ by {extreme} up to condition {condition:g}"
    if beyond.any():
        differ = int((apart[beyond] > most_apart).sum())
        evidence += f", beyond it by up to {apart[beyond].max():.3f} (in {differ} of {int(beyond.sum())})"
    return decided_by_rows(regular <= most_apart, opened, evidence, "setting", extreme)


def _missing_settings(rows: pd.DataFrame, figure: int) -> str:
    """Return which of the paper's data sets lack settings; empty if none does."""
    wanted, lacking = {(varied, float(value)) for varied, values in VARIED.items() for value in values}, []
    for dataset in FIGURE_DATA[figure]:
        there = rows[rows["dataset"] == dataset]
        if absent := wanted - set(zip(there["varied"], there["value"], strict=True)):
            lacking.append(f"{len(absent)} of {len(wanted)} settings of {dataset_label(dataset)}")
    return listed(lacking)


def _either_open(points: pd.DataFrame) -> pd.Series:
    """Return which points of :func:`.beside_kpca` had a run, by either trick, that a limit stopped."""
    return pd.Series(is_open(points) | is_open(points, "status_kpca"), points.index)


def _labels(names: Iterable[str]) -> str:
    return " and ".join(map(dataset_label, names))
