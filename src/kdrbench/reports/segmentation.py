"""Figure 1a of NeurIPS 2019: what alternative clustering makes of the colours of an image, and of faces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kdrbench.bench.experiment import Config
from kdrbench.datasets import Dataset, load_prepared
from kdrbench.datasets.picture import is_picture
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError
from kdrbench.reports.layout import dataset_label
from kdrbench.reports.projections import read_findings

_FACES = "cmu_faces"
# Rows and columns of the faces, quarter size.
_FACE_SHAPE = (30, 32)
Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """An image (rows x columns x 3, or grey without the 3) and what stands above it."""

    title: str
    pixels: Image


def has_pictures(entry: DatasetEntry) -> bool:
    """Whether clusters of the data set can be shown as pictures."""
    return is_picture(entry) or entry.parser == _FACES


def segmentation_rows(
    runs: pd.DataFrame, findings: Path, data: Path, experiment: Config
) -> Iterator[tuple[str, list[Picture]]]:
    """Yield a title and pictures for each data set of the experiment that has some, from its first solver and kernel.

    An image is shown as it is and painted with the mean colours of the given and of the found clusters; of faces the
    mean of each found cluster is shown. ``data`` is the folder of prepared sets, with the images beside them.
    """
    registry, kernel, solver = load_registry(), experiment["kernels"][0], experiment["solvers"][0]
    for name in experiment["datasets"]:
        cell = runs[(runs["dataset"] == name) & (runs["kernel"] == kernel) & (runs["solver"] == solver)]
        labels, given = (read_findings(cell, findings, kind).get(0) for kind in ("labels", "given"))
        if not has_pictures(registry[name]) or labels is None or given is None:
            continue
        dataset = load_prepared(data / f"{name}.npz")
        record = cell.iloc[0]
        if is_picture(registry[name]):
            pictures = segmented(data / f"{name}.png", dataset, given, labels)
        else:
            pictures = mean_faces(dataset, labels)
        yield _row_title(name, record), pictures


def segmented(path: Path, dataset: Dataset, given: NDArray[np.int64], found: NDArray[np.int64]) -> list[Picture]:
    """Return the image, and each pixel in the mean colour of its cluster, given and found."""
    from PIL import Image as Images

    with Images.open(path, formats=["PNG"]) as image:
        pixels = np.asarray(image.convert("RGB"))
    # Samples are the distinct colours in lexicographic order, which is that of unique.
    colours, sample = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    if not np.array_equal(colours, dataset.features):
        raise DataError(f"{path} does not have the colours of data set {dataset.name!r}; delete it and run again")
    pictures = [Picture("image", pixels)]
    for title, labels in (("given: clustered first", given), ("alternative", found)):
        flat = pixels.reshape(-1, 3)
        painted = np.zeros_like(flat)
        of_pixels = labels[sample.ravel()]
        for cluster in np.unique(labels):
            own = of_pixels == cluster
            # Of pixels, not of distinct colours: a segment has the colour that it has on the whole.
            painted[own] = flat[own].mean(axis=0).round().astype(np.uint8)
        pictures.append(Picture(title, painted.reshape(pixels.shape)))
    return pictures


def mean_faces(dataset: Dataset, found: NDArray[np.int64]) -> list[Picture]:
    """Return the mean image of each cluster."""
    pictures = []
    for cluster in np.unique(found):
        own = dataset.features[found == cluster]
        mean = own.mean(axis=0).round().astype(np.uint8)
        pictures.append(Picture(f"alternative {cluster + 1}, n = {len(own)}", mean.reshape(_FACE_SHAPE)))
    return pictures


def draw_rows(rows: list[tuple[str, list[Picture]]]) -> Figure:
    """Return the rows of pictures as a figure."""
    columns = max((len(pictures) for _, pictures in rows), default=1)
    figure = Figure(figsize=(2.6 * columns, 2.6 * max(1, len(rows))), layout="constrained")
    parts = figure.subfigures(max(1, len(rows)), 1, squeeze=False)[:, 0]
    for part, (title, pictures) in zip(parts, rows, strict=False):
        part.suptitle(title, fontsize="medium")
        for axes, picture in zip(part.subplots(1, len(pictures), squeeze=False)[0], pictures, strict=True):
            axes.imshow(picture.pixels, cmap="gray", interpolation="nearest")
            axes.set_title(picture.title, fontsize="small")
            axes.set_axis_off()
    return figure


def _row_title(name: str, record: pd.Series) -> str:
    """Return the data set and how its clusters agree with the given labelling and with the one sought."""
    title = f"{dataset_label(name)}: NMI to the given labelling {record['nmi_given']:.3f}"
    return title if pd.isna(record["quality"]) else f"{title}, to the one sought {record['quality']:.3f}"
