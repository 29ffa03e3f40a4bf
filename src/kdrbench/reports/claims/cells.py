"""Cells of two solvers side by side: the same experiment, data set and kernel, over the folds that both have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.reports.records import NO_KERNEL, is_scaling
from kdrbench.reports.tables.cells import COMPLETED
from kdrbench.reports.tables.labels import dataset_label, kernel_label, method_label

RIVALS = ("dg", "sm", "gm")


@dataclass(frozen=True)
class PairOfCells:
    """Numbers of ``ours`` and of ``rival`` on the same folds; ``ended`` says where both came to their own end."""

    experiment: str
    dataset: str
    kernel: str
    rival: str
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    ended: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The cell in words."""
        return (
            f"{self.experiment}: {dataset_label(self.dataset)}, {kernel_label(self.kernel)}, {method_label(self.rival)}"
        )


def cells_of(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield experiment, data set and kernel of each cell with its runs; scaling series and baselines are left out."""
    if runs.empty:
        return
    chosen = runs[(runs["kernel"] != NO_KERNEL) & ~runs["experiment"].map(is_scaling)]
    for (experiment, dataset, kernel), group in chosen.groupby(["experiment", "dataset", "kernel"], sort=False):
        yield (str(experiment), str(dataset), str(kernel)), group


def beside(runs: pd.DataFrame, metric: str, solver: str, rivals: tuple[str, ...]) -> list[PairOfCells]:
    """Return each cell in which ``solver`` and a rival have numbers for the same folds."""
    found = []
    for place, group in cells_of(runs):
        ours = group[group["method"] == solver].set_index("run")
        for rival in rivals:
            theirs = group[group["method"] == rival].set_index("run")
            columns, names = [metric, "status"], ("", "_rival")
            both = ours[columns].merge(theirs[columns], left_index=True, right_index=True, suffixes=names)
            both = both.dropna(subset=[metric, f"{metric}_rival"])
            if both.empty:
                continue
            done = [*map(str, COMPLETED)]
            ended = both["status"].isin(done) & both["status_rival"].isin(done)
            numbers = both[metric].to_numpy(float), both[f"{metric}_rival"].to_numpy(float)
            found.append(PairOfCells(*place, rival, *numbers, ended.to_numpy(bool)))
    return found
