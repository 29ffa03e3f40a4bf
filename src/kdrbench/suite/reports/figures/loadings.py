"""The figure of what learned projections say: how much each feature counts, and how stable that is over runs.

W and WQ, Q orthogonal, are the same solution: only the space they span is learned. So features are weighed by
sqrt(diag(WW')), and projections compared by the principal angles between their spans.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.datasets import load_prepared
from kdrbench.errors import counted
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import kernel_colours, shown_solver
from kdrbench.suite.reports.records import Config, read_findings
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label

if TYPE_CHECKING:
    from kdrbench.kernels.family import FloatArray
    from kdrbench.suite.reports.figures.making import Source

# Readable upper limit: the heaviest are shown.
_MOST_FEATURES = 15
_CAPTION = (
    "What the projections of {solver} say. Left: the weight sqrt(diag(WW')) of the heaviest features, from 0 (does not "
    "count) to 1 (lies in the learned space); it does not depend on how the projection is rotated. Bars are means over "
    "folds, whiskers the lowest and highest fold; features are standardised. Right: the principal angles between the "
    "spaces learned on two folds, median and range over all pairs; 0 degrees throughout would be the same space, the "
    "dashed line is what random spaces of these sizes have. Training parts of folds overlap, so folds differ less than "
    "independent samples would."
)


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment."""
    return loadings(source.runs, *source.stored, source.name, source.experiment)


def loadings(runs: pd.DataFrame, findings: Path, data: Path, name: str, experiment: Config) -> Chart | None:
    """Return two panels a data set: feature weights and angles between folds, a series a kernel.

    ``findings`` is the folder of arrays that the runs left, ``data`` that of prepared data sets. ``None`` where no cell
    has two runs to compare.
    """
    solver = shown_solver(experiment)
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
    caption = _CAPTION.format(solver=method_label(solver))
    title = f"What the learned projections say: {experiment['title']}"
    return Chart(f"{name}_loadings", title, caption, panels, 2)


def _weights(
    dataset: str, projections: dict[str, list[FloatArray]], names: tuple[str, ...], colours: dict[str, int]
) -> Panel:
    weights = {kernel: np.array([feature_weights(one) for one in several]) for kernel, several in projections.items()}
    heaviest = np.argsort(-np.mean([each.mean(axis=0) for each in weights.values()], axis=0), kind="stable")
    shown = heaviest[:_MOST_FEATURES]
    series = [
        Series(
            f"{kernel_label(kernel)} kernel",
            [names[place].replace("_", " ") for place in shown],
            _means(each)[shown].tolist(),
            Mark.BARS,
            colour=colours[kernel],
            lower=each.min(axis=0)[shown].tolist(),
            upper=each.max(axis=0)[shown].tolist(),
        )
        for kernel, each in weights.items()
    ]
    part = f"{len(shown)} of {counted(len(names), 'feature')}" if len(shown) < len(names) else "all features"
    title = f"{dataset_label(dataset)}, {part}"
    return Panel(title, Axis("", Scale.NAMES), Axis("weight in W"), series)


def _means(weights: FloatArray) -> FloatArray:
    # Rounding can put the mean of equal weights outside their range, and whiskers of a negative length cannot be drawn.
    return np.asarray(np.clip(weights.mean(axis=0), weights.min(axis=0), weights.max(axis=0)))


def _angles(dataset: str, by_kernel: dict[str, list[FloatArray]], colours: dict[str, int]) -> Panel:
    series = []
    for kernel, projections in by_kernel.items():
        angles = angles_between(projections)
        series.append(
            Series(
                f"{kernel_label(kernel)} kernel",
                _places(angles.shape[1]),
                np.median(angles, axis=0).tolist(),
                symbol=Symbol.DOT,
                colour=colours[kernel],
                lower=angles.min(axis=0).tolist(),
                upper=angles.max(axis=0).tolist(),
            )
        )
    n_features = next(iter(by_kernel.values()))[0].shape[0]
    n_components = max(len(one.x) for one in series)
    chance = angles_of_chance(n_features, n_components).tolist()
    series.append(Series("random spaces", _places(n_components), chance, colour=BLACK, line=Line.DASHED))
    title = f"{dataset_label(dataset)}, angles between folds"
    return Panel(title, Axis("principal angle, smallest first", Scale.NAMES), Axis("angle", unit="degrees"), series)


def _places(count: int) -> list[str]:
    return [str(place + 1) for place in range(count)]


def feature_weights(projection: FloatArray) -> FloatArray:
    """Return sqrt(diag(WW')): the cosine between each feature's axis and the learned space, from 0 to 1."""
    return np.asarray(np.linalg.norm(projection, axis=1))


def principal_angles(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the principal angles between the spans of two projections, in degrees, ascending.

    There are as many as the smaller has columns. Small angles are taken from their sines, which cosines near one would
    lose.

    Source: Bjorck and Golub, "Numerical methods for computing angles between linear subspaces", 1973.
    """
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    overlap = first.T @ second
    cosines = np.clip(np.linalg.svd(overlap, compute_uv=False), 0.0, 1.0)
    sines = np.clip(np.sort(np.linalg.svd(second - first @ overlap, compute_uv=False)), 0.0, 1.0)
    return np.asarray(np.degrees(np.where(cosines**2 > 0.5, np.arcsin(sines), np.arccos(cosines))))


def angles_between(projections: list[FloatArray]) -> FloatArray:
    """Return the principal angles of each pair, pairs x q; q is the smallest where the projections' differ."""
    q = min(projection.shape[1] for projection in projections)
    return np.array([principal_angles(first, second)[:q] for first, second in combinations(projections, 2)])


def angles_of_chance(n_features: int, n_components: int, pairs: int = 100) -> FloatArray:
    """Return the median principal angles of random spaces of this size, always from the same draws."""
    rng = np.random.default_rng(0)
    drawn = [np.linalg.qr(rng.standard_normal((n_features, n_components)))[0] for _ in range(2 * pairs)]
    angles = [principal_angles(first, second) for first, second in zip(drawn[::2], drawn[1::2], strict=True)]
    return np.asarray(np.median(angles, axis=0))
