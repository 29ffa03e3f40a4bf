"""The figure of projected samples, in the two directions in which they spread the most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.datasets import load_prepared
from kdrbench.suite.reports.figures.chart import COLOURS, Axis, Chart, Mark, Panel, Series, Symbol
from kdrbench.suite.reports.figures.styles import shown_solver
from kdrbench.suite.reports.records import (
    ALTERNATIVE,
    Config,
    Fold,
    Split,
    read_findings,
    sampling_of,
    split_of,
)
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label

if TYPE_CHECKING:
    from kdrbench.kernels.family import FloatArray
    from kdrbench.suite.reports.figures.making import Source

# More points only hide each other.
_MOST_POINTS = 600
_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE)
_CAPTION = (
    "Samples projected by {solver} on the first run, in the two principal axes of the projected training samples, of "
    "whose variance each holds the share it names. {parts}{colours} Of many samples an even part is drawn."
)
_PARTS = "Pale points are those which the projection was learned from, full ones those of the fold left out. "
_CLASSES = "Colours, and symbols where there are more classes than colours, are the classes."
_CLUSTERS = "Colours are the clusters that were found, symbols the labelling that they were to differ from."


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment."""
    return scatter(source.runs, *source.stored, source.name, source.experiment, source.config["seed"])


def scatter(runs: pd.DataFrame, findings: Path, data: Path, name: str, experiment: Config, seed: int) -> Chart | None:
    """Return a panel a data set and kernel.

    ``findings`` is the folder of arrays that the runs left, ``data`` that of prepared data sets. ``None`` where no run
    left a projection to two components or more.
    """
    solver, panels = shown_solver(experiment), []
    for dataset in experiment["datasets"]:
        for kernel in experiment["kernels"]:
            cell = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["method"] == solver)]
            findings_of = {kind: read_findings(cell, findings, kind) for kind in ("projection", "labels", "given")}
            if not findings_of["projection"]:
                continue
            number, projection = min(findings_of["projection"].items())
            if projection.shape[1] > 1:
                samples = load_prepared(data / f"{dataset}.npz")
                fold = sampling_of(experiment, dataset).fold(samples, number, seed)
                classes, kind = _classes(fold), "class"
                if experiment["paradigm"] == ALTERNATIVE:
                    classes, kind = (findings_of["labels"][number], findings_of["given"][number]), "cluster"
                title = f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel"
                panels.append(_panel(title, fold, projection, classes, kind))
    if not panels:
        return None
    caption = _CAPTION.format(
        solver=method_label(solver),
        parts=_PARTS if split_of(experiment) is Split.FOLDS else "",
        colours=_CLUSTERS if experiment["paradigm"] == ALTERNATIVE else _CLASSES,
    )
    columns = len(experiment["kernels"]) if len(experiment["kernels"]) > 1 else 2
    return Chart(f"{name}_scatter", f"Projected samples: {experiment['title']}", caption, panels, columns)


def principal_coordinates(train: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both in the two principal axes of ``train`` (n x q), and the shares of its variance along these.

    Each axis points to where its heaviest component is positive.
    """
    centre = train.mean(axis=0)
    _, sizes, axes = np.linalg.svd(train - centre, full_matrices=False)
    heaviest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), heaviest])[:, None]
    shares = sizes**2 / (sizes**2).sum()
    return (train - centre) @ axes[:2].T, (others - centre) @ axes[:2].T, shares[:2]


def _classes(fold: Fold) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what gives the colours and the symbols of training and test samples together."""
    labels = np.concatenate([fold.train_labels, fold.test_labels])
    return labels, labels // len(COLOURS)


def _panel(
    title: str, fold: Fold, projection: FloatArray, classes: tuple[NDArray[np.int64], NDArray[np.int64]], kind: str
) -> Panel:
    """Draw the samples, a series a colour, symbol and part; ``kind`` is what the colours are."""
    train, test, shares = principal_coordinates(fold.train_features @ projection, fold.test_features @ projection)
    points = np.vstack([train, test])
    is_test = np.arange(len(points)) >= len(train)
    drawn = np.zeros(len(points), dtype=bool)
    drawn[:: -(-len(points) // _MOST_POINTS)] = True
    series = []
    for colour, symbol in np.unique(np.column_stack(classes), axis=0).tolist():
        of_class = drawn & (classes[0] == colour) & (classes[1] == symbol)
        for part in (False, True):
            chosen = points[of_class & (is_test == part)]
            if len(chosen):
                series.append(
                    Series(
                        "test" if part else "training",
                        chosen[:, 0].tolist(),
                        chosen[:, 1].tolist(),
                        Mark.POINTS,
                        _SYMBOLS[symbol % len(_SYMBOLS)],
                        colour,
                        faint=bool(is_test.any()) and not part,
                        group=f"{kind} {colour + 1}",
                    )
                )
    axes = [Axis(f"principal axis {place + 1} ({share:.0%})") for place, share in enumerate(shares)]
    return Panel(title, axes[0], axes[1], series)
