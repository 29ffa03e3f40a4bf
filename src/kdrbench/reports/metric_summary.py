"""From the rows of the KPCA trick to cells: accuracies, comparisons with the plain learner, times."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.bench.metric_batch import VARIANTS
from kdrbench.bench.metric_config import TABLES
from kdrbench.reports.numbers import PLUS_MINUS
from kdrbench.reports.overlap import corrected_t_p
from kdrbench.reports.paired import SIGNIFICANT, holm, signed_rank_p
from kdrbench.reports.published import PublishedNumber, find_published
from kdrbench.reports.summary import Cell
from kdrbench.reports.verdict import Verdict, judge
from kdrbench.solvers.status import Status

PAPER, SETTING, METRIC = "kpca_trick", "classification", "accuracy"
PLAIN = "plain"


@dataclass(frozen=True)
class MetricCell:
    """One learner in one variant on one data set: what the paper prints, ours over all splits, a verdict."""

    dataset: str
    learner: str
    variant: str
    published: PublishedNumber | None
    ours: Cell
    verdict: Verdict
    test_selected: float | None

    @property
    def paper(self) -> str:
        """What is printed, or nothing."""
        return self.published.text if self.published else ""

    @property
    def printed(self) -> float | None:
        """The printed mean, if there is one."""
        return self.published.value if self.published else None

    @property
    def rounded(self) -> float | None:
        """Our mean with two digits, as the paper compares."""
        return None if self.ours.mean is None else round(self.ours.mean, 2)


@dataclass(frozen=True)
class Difference:
    """A variant against the plain learner over the splits both ended on; ``p_holm`` is over one learner's table."""

    dataset: str
    learner: str
    variant: str
    splits: int
    mean: float
    p: float
    p_holm: float
    p_overlap: float | None

    @property
    def significant(self) -> int:
        """1 for better, -1 for worse than the plain learner, 0 where they cannot be told apart."""
        return int(np.sign(self.mean)) if self.p_holm <= SIGNIFICANT else 0


def read_metric_rows(path: Path) -> pd.DataFrame:
    """Read the merged table."""
    return pd.read_csv(path, dtype={"message": str, "cores": str, "test_selected": str, "kernel": str})


def method_name(learner: str, variant: str) -> str:
    """Return ``klmnn`` for LMNN by cross validation, as the published numbers say."""
    return VARIANTS[variant] + learner


def find_printed(dataset: str, learner: str, variant: str) -> PublishedNumber | None:
    """Return the number that the paper prints, if there is one."""
    if learner not in TABLES:
        return None
    return find_published(
        paper=PAPER,
        table=TABLES[learner],
        setting=SETTING,
        dataset=dataset,
        kernel="" if variant == PLAIN else variant,
        method=method_name(learner, variant),
        metric=METRIC,
    )


def metric_cells(rows: pd.DataFrame) -> dict[tuple[str, str, str], MetricCell]:
    """Return the cells by (data set, learner, variant), in the order of the rows."""
    groups = rows.groupby(["dataset", "learner", "variant"], sort=False)
    return {
        (str(dataset), str(learner), str(variant)): _cell(str(dataset), str(learner), str(variant), group)
        for (dataset, learner, variant), group in groups
    }


def _cell(dataset: str, learner: str, variant: str, group: pd.DataFrame) -> MetricCell:
    values = group["accuracy"].dropna().to_numpy(dtype=float)
    ours = _over_splits(values, group)
    published = find_printed(dataset, learner, variant)
    tried = [json.loads(text) for text in group["test_selected"].dropna()]
    # Kernel by kernel the mean over splits, then the best one.
    selected = float(np.mean(tried, axis=0).max()) if tried and len(tried) == len(group) else None
    return MetricCell(dataset, learner, variant, published, ours, judge(published, ours), selected)


def _over_splits(values: np.ndarray, group: pd.DataFrame) -> Cell:
    endings = group.loc[group["status"] != str(Status.CONVERGED), "status"].value_counts()
    note = "; ".join(
        f"{count} of {len(group)} splits: {str(name).replace('_', ' ')}" for name, count in endings.items()
    )
    if not values.size:
        return Cell("quality", None, None, str(group["status"].iloc[0]).replace("_", " "), note, len(group), 0, False)
    mean, std = float(values.mean()), float(values.std())
    text = f"{mean:.2f} {PLUS_MINUS} {std:.2f}"
    return Cell("quality", mean, std, text, note, len(group), len(values), len(values) == len(group))


def differences_of(rows: pd.DataFrame, learner: str) -> dict[tuple[str, str], Difference]:
    """Return each variant of the learner against itself without a kernel, by (data set, variant).

    Wilcoxon's test over splits, by Holm corrected for all comparisons of the learner's table; beside it the t test that
    allows for overlapping training sets.
    """
    own = rows[rows["learner"] == learner]
    found: list[tuple[str, str, np.ndarray, float]] = []
    for dataset, group in own.groupby("dataset", sort=False):
        wide = group.pivot(index="split", columns="variant", values="accuracy")
        share = float(group["n_test"].iloc[0]) / float(group["n_train"].iloc[0])
        for variant in (name for name in VARIANTS if name != PLAIN and {name, PLAIN} <= set(wide.columns)):
            difference = (wide[variant] - wide[PLAIN]).dropna().to_numpy(dtype=float)
            if difference.size:
                found.append((str(dataset), variant, difference, share))
    # In units of rounding: shares of the same samples that differ by the same count are tied.
    p_values = [signed_rank_p(np.round(difference, 12)) for _, _, difference, _ in found]
    corrected = holm(p_values)
    return {
        (dataset, variant): Difference(
            dataset,
            learner,
            variant,
            len(difference),
            float(difference.mean()),
            p_values[place],
            corrected[place],
            corrected_t_p(difference, share),
        )
        for place, (dataset, variant, difference, share) in enumerate(found)
    }


def win_draw_lose(pairs: list[tuple[float | None, float | None]]) -> str:
    """Return how often the first of a pair is above, equal to and below the second; unknown ones do not count."""
    signs = [int(np.sign(first - second)) for first, second in pairs if first is not None and second is not None]
    return "/".join(str(signs.count(sign)) for sign in (1, 0, -1))
