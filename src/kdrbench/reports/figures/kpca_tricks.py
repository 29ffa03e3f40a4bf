"""Figures 4 and 5 of the KPCA trick: accuracy of one trick against the other's, and when their distances disagree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from kdrbench.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.tables.labels import dataset_label

# Methods of the rows: the KPCA trick, and the ways to solve the kernel trick.
KPCA, EXACT, RIDGE, QZ = "kpca", "exact", "ridge", "qz"
KERNEL_TRICK = (EXACT, RIDGE, QZ)
_LABELS = {EXACT: "exact", RIDGE: "ridge 1e-10", QZ: "QZ"}
_SYMBOLS = {EXACT: Symbol.DOT, RIDGE: Symbol.TRIANGLE, QZ: Symbol.CROSS}
# Of Figure 4: label, rows, symbol and line of each curve.
_CURVES = (
    ("KPCA trick", (KPCA,), Symbol.DOT, Line.SOLID),
    ("kernel trick", (EXACT, RIDGE), Symbol.SQUARE, Line.DASHED),
    ("by QZ", (QZ,), Symbol.CROSS, Line.DOTTED),
)
# Where distances agree to all digits a logarithmic axis would have no place for them.
_SMALLEST = 1e-16
# One setting of one draw, in which both tricks see the same samples.
_SETTING = ["dataset", "varied", "value", "run"]


def figure_4(name: str, runs: pd.DataFrame) -> Chart:
    """Return 1-NN accuracies of KDNE by both tricks over degree, number of samples and neighbours."""
    panels = [
        _over(f"{dataset_label(str(dataset))}: over {varied}", str(varied), group)
        for (dataset, varied), group in runs.groupby(["dataset", "varied"], sort=False)
    ]
    largest = runs[runs["varied"] == "n"].groupby("dataset", sort=False)["value"].max()
    sizes = " and ".join(dict.fromkeys(f"{size:g}" for size in largest))
    caption = (
        f"1-NN accuracy of KDNE, mean of {runs['run'].nunique()} random draws; bands: from the lowest to the highest "
        f"draw. Unless varied, the kernel has degree 2, k = 3, and n = {sizes} training samples. The kernel trick is "
        "solved exactly, or with a ridge of 1e-10 where K is singular; by QZ as if it were regular."
    )
    return Chart(name, "Accuracy of one trick against the other (KPCA trick, Figure 4)", caption, panels, 3)


def _over(title: str, varied: str, rows: pd.DataFrame) -> Panel:
    return Panel(title, Axis(varied, Scale.NAMES), Axis("1-NN accuracy"), [*_curves(rows)])


def _curves(rows: pd.DataFrame) -> Iterator[Series]:
    for colour, (label, methods, symbol, line) in enumerate(_CURVES):
        by_value = rows[rows["method"].isin(methods)].groupby("value", sort=False)["accuracy"]
        means, band = by_value.mean(), label != "kernel trick"
        yield Series(
            label,
            [f"{value:g}" for value in means.index],
            means.tolist(),
            symbol=symbol,
            colour=colour,
            line=line,
            lower=by_value.min().tolist() if band else None,
            upper=by_value.max().tolist() if band else None,
        )


def figure_5(name: str, runs: pd.DataFrame) -> Chart:
    """Return accuracy against accuracy, and the disagreement of distances against the condition number of K."""
    accuracy: list[Series] = []
    distance: list[Series] = []
    compared = beside_kpca(runs)
    for colour, (dataset, group) in enumerate(compared.groupby("dataset", sort=False)):
        for method in KERNEL_TRICK:
            rows = group[group["method"] == method]
            label = f"{dataset_label(str(dataset))}, {_LABELS[method]}"
            disagreements = np.maximum(rows["disagreement"], _SMALLEST)
            for series, x, y in (
                (accuracy, rows["accuracy_kpca"], rows["accuracy"]),
                (distance, rows["condition"], disagreements),
            ):
                points = x.tolist(), y.tolist()
                series.append(Series(label, *points, Mark.POINTS, _SYMBOLS[method], colour=colour))
    ends = [float(value) for one in accuracy for value in (*one.x, *one.y)]
    span = [min(ends), max(ends)]
    accuracy.append(Series("equal", span, span, line=Line.DASHED, faint=True, colour=BLACK))
    panels = [
        Panel("Accuracies", Axis("1-NN accuracy, KPCA trick"), Axis("1-NN accuracy, kernel trick"), accuracy),
        Panel(
            "Distances",
            Axis("condition number of K", Scale.LOG),
            Axis("relative disagreement of distances", Scale.LOG),
            distance,
        ),
    ]
    caption = (
        "KDNE by both tricks, one draw of each setting: polynomials of degree 1 to 5, n, k, and Gaussians with sigma "
        "from 0.1 to 16. The kernel trick is solved exactly where K is regular, with a ridge of 1e-10 where it is "
        "singular, and always by QZ. Left: accuracies. Right: the largest difference of learned squared distances, as "
        "a share of the largest."
    )
    title = "When both tricks disagree: the kernel's condition (KPCA trick, Figure 5)"
    return Chart(name, title, caption, panels, 2)


def beside_kpca(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the kernel trick, with the KPCA trick's accuracy in the same setting beside them."""
    primal = runs.loc[runs["method"] == KPCA, [*_SETTING, "accuracy"]]
    return runs[runs["method"] != KPCA].merge(primal, on=_SETTING, suffixes=("", "_kpca"))
