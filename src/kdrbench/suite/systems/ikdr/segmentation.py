"""Figure 1a of NeurIPS 2019: what alternative clustering makes of the colours of an image, and of faces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.datasets import Dataset, load_prepared
from kdrbench.datasets.load import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import DataError
from kdrbench.suite.reports.figures.chart import Axis, Chart, Panel, Pixels, to_png
from kdrbench.suite.reports.records import read_findings
from kdrbench.suite.reports.tables.labels import dataset_label, method_label

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Source

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
        has_image = is_picture(registry[dataset])
        if not (has_image or registry[dataset].parser == _FACES) or labels is None or given is None:
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
