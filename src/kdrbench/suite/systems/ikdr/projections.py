"""The figures of what was learned: weights of features, their stability over folds, projected samples, and segments.

W and WQ, Q orthogonal, are the same solution: only the space they span is learned. So features are weighed by
sqrt(diag(WW')), and projections compared by the principal angles between their spans. Segments are Figure 1a of
NeurIPS 2019: what alternative clustering makes of the colours of an image, and of faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.datasets import Dataset, load_prepared
from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import DataError, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.samples import evenly_drawn
from kdrbench.solvers.geometry.stiefel import principal_angles_deg
from kdrbench.suite.findings.answers import own_solvers
from kdrbench.suite.reports.figures.chart import (
    BLACK,
    COLOURS,
    Axis,
    Chart,
    Line,
    Mark,
    Panel,
    Pixels,
    Scale,
    Series,
    Symbol,
    to_png,
)
from kdrbench.suite.reports.figures.styles import kernel_colours
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.records import Config, read_findings
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.systems.ikdr.config import sampling_of, split_of
from kdrbench.suite.systems.ikdr.definition import Paradigm
from kdrbench.suite.systems.ikdr.folds import Fold, Split

# The solver whose projections are shown, where the user has none of his own.
_SHOWN = "ism_converged"
# Readable upper limit: the heaviest are shown.
_MOST_FEATURES = 15
_LOADINGS_CAPTION = (
    "What the projections of {solver} say. Left: the weight sqrt(diag(WW')) of the heaviest features, from 0 (does not "
    "count) to 1 (lies in the learned space); it does not depend on how the projection is rotated. Bars are means over "
    "folds, whiskers the lowest and highest fold; features are standardised. Right: the principal angles between the "
    "spaces learned on two folds, median and range over all pairs; 0 degrees throughout would be the same space, the "
    "dashed line is what random spaces of these sizes have. Training parts of folds overlap, so folds differ less than "
    "independent samples would."
)


def shown_solver(name: str, config: Config) -> str:
    """Return the solver of an experiment whose projections are shown: of the user's own, else of all, the first.

    Converged ISM comes before the first.
    """
    solvers = own_solvers(name, config) or list(config["experiments"][name]["solvers"])
    return _SHOWN if _SHOWN in solvers else str(solvers[0])


def loadings(source: Source) -> Chart | None:
    """Return two panels a data set: feature weights and angles between folds, a series a kernel.

    ``None`` where no cell has two runs to compare.
    """
    runs, (findings, data), experiment = source.runs, source.stored, source.experiment
    solver = shown_solver(source.name, source.config)
    colours, panels = kernel_colours(experiment["kernels"]), []
    for dataset in experiment["datasets"]:
        chosen = runs[(runs["dataset"] == dataset) & (runs["method"] == solver)]
        by_kernel = {
            kernel: list(read_findings(chosen[chosen["kernel"] == kernel], findings, "projection").values())
            for kernel in experiment["kernels"]
        }
        several = {kernel: projections for kernel, projections in by_kernel.items() if len(projections) > 1}
        if several:
            names = load_prepared(data / f"{dataset}.npz").feature_names
            panels += [_weights(dataset, several, names, colours), _angles(dataset, several, colours)]
    if not panels:
        return None
    caption = _LOADINGS_CAPTION.format(solver=method_label(solver))
    title = f"What the learned projections say: {experiment['title']}"
    return Chart(f"{source.name}_loadings", title, caption, panels, 2)


def _weights(
    dataset: str, projections: dict[str, list[FloatArray]], names: tuple[str, ...], colours: dict[str, int]
) -> Panel:
    # sqrt(diag(WW')), the cosine between each feature's axis and the learned space.
    weights = {kernel: np.linalg.norm(several, axis=2) for kernel, several in projections.items()}
    heaviest = np.argsort(-np.mean([each.mean(axis=0) for each in weights.values()], axis=0), kind="stable")
    shown = heaviest[:_MOST_FEATURES]
    words, series = [names[place].replace("_", " ") for place in shown], []
    for kernel, each in weights.items():
        ends = each.min(axis=0)[shown], each.max(axis=0)[shown]
        series.append(_whiskers(kernel, words, each.mean(axis=0)[shown], ends, mark=Mark.BARS, colour=colours[kernel]))
    part = f"{len(shown)} of {counted(len(names), 'feature')}" if len(shown) < len(names) else "all features"
    title = f"{dataset_label(dataset)}, {part}"
    return Panel(title, Axis("", Scale.NAMES), Axis("weight in W"), series)


def _angles(dataset: str, by_kernel: dict[str, list[FloatArray]], colours: dict[str, int]) -> Panel:
    series = []
    for kernel, projections in by_kernel.items():
        angles = angles_between(projections)
        places, ends = [str(place + 1) for place in range(angles.shape[1])], (angles.min(axis=0), angles.max(axis=0))
        looks = {"symbol": Symbol.DOT, "colour": colours[kernel]}
        series.append(_whiskers(kernel, places, np.median(angles, axis=0), ends, **looks))
    n_features = next(iter(by_kernel.values()))[0].shape[0]
    places = [str(place + 1) for place in range(max(len(one.x) for one in series))]
    chance = angles_of_chance(n_features, len(places)).tolist()
    series.append(Series("random spaces", places, chance, colour=BLACK, line=Line.DASHED))
    title = f"{dataset_label(dataset)}, angles between folds"
    return Panel(title, Axis("principal angle, smallest first", Scale.NAMES), Axis("angle", unit="degrees"), series)


def _whiskers(
    kernel: str, x: list[str], middle: FloatArray, ends: tuple[FloatArray, FloatArray], **looks: Any
) -> Series:
    low, high = ends
    # Rounding can put the mean of equal numbers outside their range; whiskers have no negative length.
    y = np.clip(middle, low, high).tolist()
    return Series(f"{kernel_label(kernel)} kernel", x, y, lower=low.tolist(), upper=high.tolist(), **looks)


def angles_between(projections: list[FloatArray]) -> FloatArray:
    """Return the principal angles of each pair, pairs x q; q is the smallest where the projections' differ."""
    q = min(projection.shape[1] for projection in projections)
    return np.array([principal_angles_deg(first, second)[:q] for first, second in combinations(projections, 2)])


def angles_of_chance(n_features: int, n_components: int, pairs: int = 100) -> FloatArray:
    """Return the median principal angles of random spaces of this size, always from the same draws."""
    rng = np.random.default_rng(0)
    drawn = [np.linalg.qr(rng.standard_normal((n_features, n_components)))[0] for _ in range(2 * pairs)]
    angles = [principal_angles_deg(first, second) for first, second in zip(drawn[::2], drawn[1::2], strict=True)]
    return np.asarray(np.median(angles, axis=0))


# More points only hide each other.
_MOST_POINTS = 600
_CLASS_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE)
_SCATTER_CAPTION = (
    "Samples projected by {solver} on the first run, in the two principal axes of the projected training samples, of "
    "whose variance each holds the share it names. {parts}{colours} Of more than 600 samples as many are drawn, at "
    "random."
)
_PARTS = "Pale points are those which the projection was learned from, full ones those of the fold left out. "
_CLASSES = "Colours, and symbols where there are more classes than colours, are the classes."
_CLUSTERS = "Colours are the clusters that were found, symbols the labelling that they were to differ from."


def scatter(source: Source) -> Chart | None:
    """Return a panel a data set and kernel; ``None`` where no run left a projection to two components or more."""
    runs, (findings, data), experiment = source.runs, source.stored, source.experiment
    solver, panels = shown_solver(source.name, source.config), []
    for dataset in experiment["datasets"]:
        for kernel in experiment["kernels"]:
            cell = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["method"] == solver)]
            findings_of = {kind: read_findings(cell, findings, kind) for kind in ("projection", "labels", "given")}
            if not findings_of["projection"]:
                continue
            number, projection = min(findings_of["projection"].items())
            if projection.shape[1] > 1:
                samples = load_prepared(data / f"{dataset}.npz")
                fold = sampling_of(experiment, dataset).fold(samples, number, source.config["seed"])
                if experiment["paradigm"] == Paradigm.ALTERNATIVE:
                    # The data need have no classes.
                    classes = findings_of["labels"][number], findings_of["given"][number]
                    names: Sequence[str] = _numbered("cluster", classes[0])
                else:
                    # Classes of the papers' data are numbered in all panels alike.
                    own, classes = dataset in source.config.get("datasets", {}), _classes(fold)
                    names = samples.class_names if own else _numbered("class", classes[0])
                title = f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel"
                panels.append(_scatter_panel(title, fold, projection, classes, names))
    if not panels:
        return None
    caption = _SCATTER_CAPTION.format(
        solver=method_label(solver),
        parts=_PARTS if split_of(experiment) is Split.FOLDS else "",
        colours=_CLUSTERS if experiment["paradigm"] == Paradigm.ALTERNATIVE else _CLASSES,
    )
    columns = len(experiment["kernels"]) if len(experiment["kernels"]) > 1 else 2
    return Chart(f"{source.name}_scatter", f"Projected samples: {experiment['title']}", caption, panels, columns)


def principal_coordinates(train: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both in the two principal axes of ``train`` (n x q), and the shares of its variance along these.

    Each axis points to where its heaviest component is positive.
    """
    mean = train.mean(axis=0)
    _, spreads, axes = np.linalg.svd(train - mean, full_matrices=False)
    heaviest = np.abs(axes[:2]).argmax(axis=1)
    axes = axes[:2] * np.sign(axes[[0, 1], heaviest])[:, None]
    return (train - mean) @ axes.T, (others - mean) @ axes.T, spreads[:2] ** 2 / (spreads**2).sum()


def _classes(fold: Fold) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what gives the colours and the symbols of training and test samples together."""
    labels = np.concatenate([fold.train_labels, fold.test_labels])
    return labels, labels // len(COLOURS)


def _numbered(kind: str, codes: NDArray[np.int64]) -> list[str]:
    return [f"{kind} {code + 1}" for code in range(int(codes.max()) + 1)]


def _scatter_panel(
    title: str,
    fold: Fold,
    projection: FloatArray,
    classes: tuple[NDArray[np.int64], NDArray[np.int64]],
    names: Sequence[str],
) -> Panel:
    """Draw the samples, a series a colour, symbol and part; ``names`` are those of the colours."""
    train, test, shares = principal_coordinates(fold.train_features @ projection, fold.test_features @ projection)
    points = np.vstack([train, test])
    is_test = np.arange(len(points)) >= len(train)
    drawn = np.zeros(len(points), dtype=bool)
    # At random: the classes of sorted samples may come round with any fixed step.
    drawn[evenly_drawn(classes[0], min(len(points), _MOST_POINTS), np.random.default_rng(0))] = True
    series = []
    for colour, symbol in np.unique(np.column_stack(classes), axis=0).tolist():
        of_class = drawn & (classes[0] == colour) & (classes[1] == symbol)
        for part in (False, True):
            chosen = points[of_class & (is_test == part)]
            name, looks = "test" if part else "training", _CLASS_SYMBOLS[symbol % len(_CLASS_SYMBOLS)]
            faint = bool(is_test.any()) and not part
            x, y = chosen.T.tolist()
            if x:
                series.append(Series(name, x, y, Mark.POINTS, looks, colour, faint=faint, group=names[colour]))
    axes = [Axis(f"principal axis {place + 1} ({share:.0%})") for place, share in enumerate(shares)]
    return Panel(title, axes[0], axes[1], series)


_FACES = "cmu_faces"
# Rows and columns of the faces, quarter size.
_FACE_SHAPE = (30, 32)
_SEGMENTS_CAPTION = (
    "What alternative clustering by {solver} makes of an image, whose colours are the samples: the image, and its "
    "pixels in the mean colours of the clusters that are given and of those found to differ from them; and of faces, "
    "given the persons: the mean image of each cluster found, with the number n of its faces, all brightened alike. "
    "NMI to the given labelling is to be low; to the one sought, which the method does not see, high."
)


def segmentation(source: Source) -> Chart | None:
    """Return a row of pictures for each data set of the experiment that has some, from its first solver and kernel.

    ``None`` where no run left clusters to show.
    """
    runs, (findings, data), experiment = source.runs, source.stored, source.experiment
    registry, kernel, solver = load_registry(), experiment["kernels"][0], experiment["solvers"][0]
    panels: list[Panel] = []
    for dataset in experiment["datasets"]:
        cell = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["method"] == solver)]
        labels, given = (read_findings(cell, findings, kind).get(0) for kind in ("labels", "given"))
        entry = registry.get(dataset)
        has_image = entry is not None and is_picture(entry)
        if not (has_image or (entry and entry.parser == _FACES)) or labels is None or given is None:
            continue
        prepared = load_prepared(data / f"{dataset}.npz")
        row = segmented(data / f"{dataset}.png", prepared, given, labels) if has_image else mean_faces(prepared, labels)
        record = cell.iloc[0]
        heading = f"{dataset_label(dataset)}: NMI to the given labelling {record['nmi_given']:.3f}"
        if not pd.isna(record["quality"]):
            heading += f", to the one sought {record['quality']:.3f}"
        panels += [replace(row[0], heading=heading), *row[1:]]
    if not panels:
        return None
    columns = max(map(len, Chart("", "", "", panels, len(panels)).rows))
    caption = _SEGMENTS_CAPTION.format(solver=method_label(solver))
    title = f"Segments and mean faces: {experiment['title']}"
    return Chart(f"{source.name}_segmentation", title, caption, panels, columns)


def segmented(path: Path, dataset: Dataset, given: NDArray[np.int64], clusters: NDArray[np.int64]) -> list[Panel]:
    """Return the image, and each pixel in the mean colour of its cluster, given and found."""
    from PIL import Image as Images

    with Images.open(path, formats=["PNG"]) as image:
        pixels = np.asarray(image.convert("RGB"))
    # Samples are the distinct colours in lexicographic order, which is that of unique.
    colours, sample = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    if not np.array_equal(colours, dataset.features):
        raise DataError(f"{path} does not have the colours of data set {dataset.name!r}; delete it and run again")
    panels = [_picture("image", pixels)]
    for title, labels in (("given: clustered first", given), ("alternative", clusters)):
        flat = pixels.reshape(-1, 3)
        painted = np.zeros_like(flat)
        of_pixels = labels[sample.ravel()]
        for cluster in np.unique(labels):
            segment = of_pixels == cluster
            # Of pixels, not of distinct colours: a segment has the colour that it has on the whole.
            painted[segment] = flat[segment].mean(axis=0).round().astype(np.uint8)
        panels.append(_picture(title, painted.reshape(pixels.shape)))
    return panels


def mean_faces(dataset: Dataset, clusters: NDArray[np.int64]) -> list[Panel]:
    """Return the mean image of each cluster, all brightened by the factor that makes their brightest pixel white."""
    faces_of = {cluster: dataset.features[clusters == cluster] for cluster in np.unique(clusters)}
    means = {cluster: faces.mean(axis=0) for cluster, faces in faces_of.items()}
    factor = 255 / max(1.0, *(mean.max() for mean in means.values()))
    return [
        _picture(
            f"alternative {cluster + 1}, n = {len(faces_of[cluster])}",
            (factor * mean).round().astype(np.uint8).reshape(_FACE_SHAPE),
        )
        for cluster, mean in means.items()
    ]


def _picture(title: str, pixels: Pixels) -> Panel:
    return Panel(title, Axis("column"), Axis("row"), picture=to_png(pixels))
