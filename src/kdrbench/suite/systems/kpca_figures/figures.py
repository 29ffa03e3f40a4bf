"""Figures 2 to 5 of the KPCA trick.

2 where a kernel of degree two helps; 3 the plane that both tricks find; 4 accuracy of one trick against the other's;
5 when their distances disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.datasets import load_prepared
from kdrbench.errors import counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.records import stored_arrays
from kdrbench.suite.reports.tables.labels import dataset_label
from kdrbench.suite.systems.kpca_figures.run import EXACT, KPCA, QZ, RIDGE
from kdrbench.suite.systems.kpca_trick.cells import data_beside_the_papers

# The ways to solve the kernel trick.
KERNEL_TRICK = (EXACT, RIDGE, QZ)
_LABELS = {EXACT: "exact", RIDGE: "ridge 1e-10", QZ: "QZ"}
_SYMBOLS = {EXACT: Symbol.DOT, RIDGE: Symbol.TRIANGLE, QZ: Symbol.CROSS}
# Of Figure 4: label, rows, symbol and line of each curve.
_CURVES = (
    ("KPCA trick", (KPCA,), Symbol.DOT, Line.SOLID),
    ("kernel trick", (EXACT, RIDGE), Symbol.SQUARE, Line.DASHED),
    ("by QZ", (QZ,), Symbol.CROSS, Line.DOTTED),
)
# The arrays of a data set, by name: those of one run.
Arrays = dict[str, NDArray[np.generic]]
# Of Figure 3: the tricks by the names of their arrays.
_TITLES = {"kpca": "KPCA trick", "kernel": "Kernel trick"}
# Where distances agree to all digits a logarithmic axis would have no place for them.
_SMALLEST = 1e-16
# One setting of one draw, in which both tricks see the same samples.
_SETTING = ["dataset", "varied", "value", "run"]


def chart_of(source: Source) -> Chart:
    """Return the figure whose number the experiment names."""
    name, number, runs = source.name, int(source.experiment["figure"]), source.runs
    if number in (4, 5):
        return (figure_4 if number == 4 else figure_5)(name, runs)
    arrays = arrays_of(runs, source.stored[0])
    if number == 2:
        return figure_2(name, runs, arrays)
    datasets = map(str, runs["dataset"].unique())
    classes = {name: load_prepared(source.stored[1] / f"{name}.npz").class_names for name in datasets}
    return figure_3(name, runs, arrays, classes)


def arrays_of(runs: pd.DataFrame, findings: Path) -> dict[str, Arrays]:
    """Return by data set the arrays of its first run, by their names without cell and run."""
    arrays: dict[str, Arrays] = {}
    for dataset, group in runs.groupby("dataset", sort=False):
        first = str(int(group["run"].min()))
        of_set = arrays.setdefault(str(dataset), {})
        for trace_file in group["trace_file"].unique():
            for key, array in stored_arrays(findings, str(trace_file)).items():
                parts = re.fullmatch(rf"{re.escape(str(dataset))}/(?:.*/)?(\w+)_(\d+)", key)
                if parts and parts[2] == first:
                    of_set[parts[1]] = array
    return arrays


def figure_2(name: str, runs: pd.DataFrame, arrays: dict[str, Arrays]) -> Chart:
    """Return each made set, and each learner's leading coordinate with a kernel of degree 2 against that without.

    ``arrays`` are by data set: ``features`` and ``labels`` of test samples, ``coordinates_<learner>_<degree>``.
    """
    panels = []
    for dataset, group in runs.groupby("dataset", sort=False):
        of_set = arrays[str(dataset)]
        features, labels = of_set["features"], of_set["labels"]
        axes = Axis("x1"), Axis("x2")
        title = f"{dataset_label(str(dataset))}: {counted(features.shape[1], 'feature')}"
        panels.append(Panel(title, *axes, _by_class(features[:, 0], features[:, 1], labels)))
        for learner, rows in group.groupby("method", sort=False):
            shares = {int(degree): float(share) for degree, share in zip(rows["value"], rows["accuracy"], strict=True)}
            upper = str(learner).upper()
            title = f"{upper} {shares[1]:.0%}, K{upper} {shares[2]:.0%}"
            axes = Axis("leading coordinate, linear"), Axis("leading coordinate, degree 2")
            plain, kernel = (of_set[f"coordinates_{learner}_{degree}"] for degree in (1, 2))
            panels.append(Panel(title, *axes, _by_class(plain, kernel, labels)))
    first = runs.iloc[0]
    caption = (
        f"Test samples of two synthetic sets ({first['n_train']} training samples, {first['n_test']} test samples), "
        "and their leading learned coordinate without a kernel (across) and with one of degree 2 (upwards), in units "
        "of its spread. Percentages are 1-NN accuracies along that coordinate alone."
    )
    title = "Where plain learners fail and kernels of degree 2 succeed (KPCA trick, Figure 2)"
    return Chart(name, title, caption, panels, columns=4)


def _by_class(across: NDArray[np.generic], upwards: NDArray[np.generic], labels: NDArray[np.generic]) -> list[Series]:
    symbols, series = (Symbol.DOT, Symbol.TRIANGLE), []
    for code, symbol in enumerate(symbols):
        x, y = across[labels == code].tolist(), upwards[labels == code].tolist()
        series.append(Series(f"class {code + 1}", x, y, Mark.POINTS, symbol, colour=code))
    return series


def figure_3(name: str, runs: pd.DataFrame, arrays: dict[str, Arrays], classes: dict[str, tuple[str, ...]]) -> Chart:
    """Return the test samples in the leading plane of KDNE by each trick, with predicted labels, of each data set.

    ``arrays`` are by data set: ``labels`` of test samples, and ``train_``, ``test_`` and ``predictions_`` of ``kpca``
    and ``kernel``. ``classes`` are the classes' names.
    """
    panels, captions = [], []
    for dataset, rows in runs.groupby("dataset", sort=False):
        of_set, names = arrays[str(dataset)], classes[str(dataset)]
        panels += [_plane(title, trick, of_set, names) for trick, title in _TITLES.items()]
        kernel = rows[rows["method"].isin(KERNEL_TRICK)].iloc[0]
        captions.append(
            f"{dataset_label(str(dataset))}: {kernel['n_test']} test samples in the leading plane of KDNE (sigma 1, 3 "
            f"neighbours), learned from {kernel['n_train']} samples; colours are labels predicted by 1-NN in the "
            f"plane, crosses wrong ones. Distances disagree by {kernel['disagreement']:.1e} of the largest; the "
            f"kernel's condition number is {kernel['condition']:.1e}."
        )
    labels = " and ".join(dataset_label(str(dataset)) for dataset in runs["dataset"].unique())
    title = f"The plane that both tricks find on {labels} (KPCA trick, Figure 3)"
    return Chart(name, title, " ".join([*captions, data_beside_the_papers(3, runs)]), panels, 2)


def _plane(title: str, trick: str, arrays: Arrays, classes: tuple[str, ...]) -> Panel:
    train, test = (np.asarray(arrays[f"{part}_{trick}"], dtype=float) for part in ("train", "test"))
    predicted, labels = arrays[f"predictions_{trick}"], arrays["labels"]
    # Signs of eigenvectors are free, and a KPCA coordinate has its origin at the mean.
    centre = train.mean(axis=0)
    farthest = np.abs(train - centre).argmax(axis=0)
    points = (test - centre) * np.sign((train - centre)[farthest, [0, 1]])
    series = [_predicted(points, predicted == code, f"predicted {name}", code) for code, name in enumerate(classes)]
    series.append(_predicted(points, predicted != labels, "wrong", BLACK))
    axes = Axis("first learned coordinate"), Axis("second learned coordinate")
    return Panel(f"{title}: accuracy {float(np.mean(predicted == labels)):.3f}", *axes, series)


def _predicted(points: FloatArray, chosen: NDArray[np.bool_], label: str, colour: int) -> Series:
    symbol = Symbol.CROSS if colour == BLACK else (Symbol.DOT, Symbol.TRIANGLE, Symbol.SQUARE)[colour % 3]
    return Series(label, points[chosen, 0].tolist(), points[chosen, 1].tolist(), Mark.POINTS, symbol, colour=colour)


def figure_4(name: str, runs: pd.DataFrame) -> Chart:
    """Return 1-NN accuracies of KDNE by both tricks over degree, number of samples and neighbours."""
    panels = []
    for (dataset, varied), group in runs.groupby(["dataset", "varied"], sort=False):
        title = f"{dataset_label(str(dataset))}: over {varied}"
        panels.append(Panel(title, Axis(str(varied), Scale.NAMES), Axis("1-NN accuracy"), [*_curves(group)]))
    largest = runs[runs["varied"] == "n"].groupby("dataset", sort=False)["value"].max()
    sizes = " and ".join(dict.fromkeys(f"{size:g}" for size in largest))
    caption = (
        f"1-NN accuracy of KDNE, mean of {runs['run'].nunique()} random draws; bands: from the lowest to the highest "
        f"draw. Unless varied, the kernel has degree 2, k = 3, and n = {sizes} training samples. The kernel trick is "
        "solved exactly, or with a ridge of 1e-10 where K is singular; by QZ as if it were regular. "
        f"{data_beside_the_papers(4, runs)}"
    )
    return Chart(name, "Accuracy of one trick against the other (KPCA trick, Figure 4)", caption, panels, 3)


def _curves(rows: pd.DataFrame) -> Iterator[Series]:
    for colour, (label, methods, symbol, line) in enumerate(_CURVES):
        by_value = rows[rows["method"].isin(methods)].groupby("value", sort=False)["accuracy"]
        means = by_value.mean()
        looks: dict[str, Any] = {"symbol": symbol, "colour": colour, "line": line}
        if label != "kernel trick":
            looks |= {"lower": by_value.min().tolist(), "upper": by_value.max().tolist()}
        yield Series(label, [f"{value:g}" for value in means.index], means.tolist(), **looks)


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
            pairs = (rows["accuracy_kpca"], rows["accuracy"]), (rows["condition"], disagreements)
            for series, (x, y) in zip((accuracy, distance), pairs, strict=True):
                series.append(Series(label, x.tolist(), y.tolist(), Mark.POINTS, _SYMBOLS[method], colour=colour))
    ends = [float(value) for one in accuracy for value in (*one.x, *one.y)]
    span = [min(ends), max(ends)]
    accuracy.append(Series("equal", span, span, line=Line.DASHED, faint=True, colour=BLACK))
    condition, disagreement = (
        Axis(title, Scale.LOG) for title in ("condition number of K", "relative disagreement of distances")
    )
    panels = [
        Panel("Accuracies", Axis("1-NN accuracy, KPCA trick"), Axis("1-NN accuracy, kernel trick"), accuracy),
        Panel("Distances", condition, disagreement, distance),
    ]
    caption = (
        "KDNE by both tricks, one draw of each setting: polynomials over degree, n and k, and Gaussians with sigma "
        "from 0.1 to 16, which are ours. The kernel trick is solved exactly where K is regular, with a ridge of 1e-10 "
        "where it is singular, and always by QZ. Left: accuracies. Right: the largest difference of learned squared "
        "distances, as a share of the largest. "
        f"{data_beside_the_papers(5, runs)}"
    )
    title = "When both tricks disagree: the kernel's condition (KPCA trick, Figure 5)"
    return Chart(name, title, caption, panels, 2)


def beside_kpca(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the kernel trick, with the KPCA trick's accuracy and status beside them."""
    columns = runs.columns.intersection(["accuracy", "status"])
    primal = runs.loc[runs["method"] == KPCA, [*_SETTING, *columns]]
    return runs[runs["method"] != KPCA].merge(primal, on=_SETTING, suffixes=("", "_kpca"))
