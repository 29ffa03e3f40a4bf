"""The figure of what learned projections say: how much each feature counts, and how stable that is over runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.datasets import load_prepared
from kdrbench.kernels.family import FloatArray
from kdrbench.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.figures.projections import (
    angles_between,
    angles_of_chance,
    feature_weights,
    shown_solver,
)
from kdrbench.reports.figures.styles import kernel_colours
from kdrbench.reports.records import Config, read_findings
from kdrbench.reports.tables.labels import dataset_label, kernel_label, method_label

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


def loadings(runs: pd.DataFrame, findings: Path, data: Path, name: str, experiment: Config) -> Chart | None:
    """Return two panels a data set: feature weights and angles between folds, a series a kernel.

    ``findings`` is the folder of arrays that the runs left, ``data`` that of prepared data sets. ``None`` where no cell
    has two runs to compare.
    """
    solver = shown_solver(experiment)
    colours, panels = kernel_colours(experiment["kernels"]), []
    for dataset in experiment["datasets"]:
        chosen = runs[(runs["dataset"] == dataset) & (runs["method"] == solver)]
        found = {
            kernel: list(read_findings(chosen[chosen["kernel"] == kernel], findings, "projection").values())
            for kernel in experiment["kernels"]
        }
        several = {kernel: projections for kernel, projections in found.items() if len(projections) > 1}
        if several:
            names = load_prepared(data / f"{dataset}.npz").feature_names
            panels += [_weights(dataset, several, names, colours), _angles(dataset, several, colours)]
    if not panels:
        return None
    caption = _CAPTION.format(solver=method_label(solver))
    title = f"What the learned projections say: {experiment['title']}"
    return Chart(f"{name}_loadings", title, caption, panels, 2)


def _weights(
    dataset: str, found: dict[str, list[FloatArray]], names: tuple[str, ...], colours: dict[str, int]
) -> Panel:
    weights = {kernel: np.array([feature_weights(one) for one in several]) for kernel, several in found.items()}
    heaviest = np.argsort(-np.mean([each.mean(axis=0) for each in weights.values()], axis=0), kind="stable")
    shown = heaviest[:_MOST_FEATURES]
    series = [
        Series(
            f"{kernel_label(kernel)} kernel",
            [names[place].replace("_", " ") for place in shown],
            each.mean(axis=0)[shown].tolist(),
            Mark.BARS,
            colour=colours[kernel],
            lower=each.min(axis=0)[shown].tolist(),
            upper=each.max(axis=0)[shown].tolist(),
        )
        for kernel, each in weights.items()
    ]
    part = f"{len(shown)} of {len(names)} features" if len(shown) < len(names) else "all features"
    title = f"{dataset_label(dataset)}, {part}"
    return Panel(title, Axis("", Scale.NAMES), Axis("weight in W"), series)


def _angles(dataset: str, found: dict[str, list[FloatArray]], colours: dict[str, int]) -> Panel:
    series = []
    for kernel, projections in found.items():
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
    n_features = next(iter(found.values()))[0].shape[0]
    n_components = max(len(one.x) for one in series)
    chance = angles_of_chance(n_features, n_components).tolist()
    series.append(Series("random spaces", _places(n_components), chance, colour=BLACK, line=Line.DASHED))
    title = f"{dataset_label(dataset)}, angles between folds"
    return Panel(title, Axis("principal angle, smallest first", Scale.NAMES), Axis("angle", unit="degrees"), series)


def _places(count: int) -> list[str]:
    return [str(place + 1) for place in range(count)]
