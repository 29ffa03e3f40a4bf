"""Figures 2 and 3 of the KPCA trick: where a kernel of degree two helps, and the plane that both tricks find."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.reports.figures.chart import BLACK, Axis, Chart, Mark, Panel, Series, Symbol
from kdrbench.reports.figures.kpca_tricks import KERNEL_TRICK
from kdrbench.reports.tables.labels import dataset_label

IntArray = NDArray[np.intp]
# The arrays of a data set, by name: those of one run.
Arrays = dict[str, NDArray[np.generic]]


def figure_2(name: str, runs: pd.DataFrame, arrays: dict[str, Arrays]) -> Chart:
    """Return each made set, and each learner's leading coordinate with a kernel of degree 2 against that without.

    ``arrays`` are by data set: ``features`` and ``labels`` of test samples, ``coordinates_<learner>_<degree>``.
    """
    panels = []
    for dataset, group in runs.groupby("dataset", sort=False):
        of_set = arrays[str(dataset)]
        features, labels = of_set["features"], of_set["labels"]
        axes = Axis("x1"), Axis("x2")
        title = f"{dataset_label(str(dataset))}: {features.shape[1]} features"
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
    return [
        Series(
            f"class {code + 1}",
            across[labels == code].tolist(),
            upwards[labels == code].tolist(),
            Mark.POINTS,
            (Symbol.DOT, Symbol.TRIANGLE)[code],
            colour=code,
        )
        for code in (0, 1)
    ]


def figure_3(name: str, runs: pd.DataFrame, arrays: dict[str, Arrays], classes: dict[str, tuple[str, ...]]) -> Chart:
    """Return the test samples in the leading plane of KDNE by each trick, with predicted labels, of each data set.

    ``arrays`` are by data set: ``labels`` of test samples, and ``train_``, ``test_`` and ``predictions_`` of ``kpca``
    and ``kernel``. ``classes`` are the classes' names.
    """
    panels, captions = [], []
    for dataset, rows in runs.groupby("dataset", sort=False):
        of_set, names = arrays[str(dataset)], classes[str(dataset)]
        panels += [_plane(title, trick, of_set, names) for trick, title in _TITLES.items()]
        captions.append(_caption(dataset_label(str(dataset)), rows))
    labels = " and ".join(dataset_label(str(dataset)) for dataset in runs["dataset"].unique())
    title = f"The plane that both tricks find on {labels} (KPCA trick, Figure 3)"
    return Chart(name, title, " ".join(captions), panels, 2)


_TITLES = {"kpca": "KPCA trick", "kernel": "Kernel trick"}


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


def _caption(label: str, rows: pd.DataFrame) -> str:
    kernel = rows[rows["method"].isin(KERNEL_TRICK)].iloc[0]
    return (
        f"{label}: {kernel['n_test']} test samples in the leading plane of KDNE (sigma 1, 3 neighbours), learned from "
        f"{kernel['n_train']} samples; colours are labels predicted by 1-NN in the plane, crosses wrong ones. "
        f"Distances disagree by {kernel['disagreement']:.1e} of the largest; the kernel's condition number is "
        f"{kernel['condition']:.1e}."
    )


def _predicted(points: FloatArray, chosen: NDArray[np.bool_], label: str, colour: int) -> Series:
    symbol = Symbol.CROSS if colour == BLACK else (Symbol.DOT, Symbol.TRIANGLE, Symbol.SQUARE)[colour % 3]
    return Series(label, points[chosen, 0].tolist(), points[chosen, 1].tolist(), Mark.POINTS, symbol, colour=colour)
