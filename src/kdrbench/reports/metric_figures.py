"""Figures 2 and 3 of the KPCA trick: where a kernel of degree two helps, and the plane that both tricks find."""

from __future__ import annotations

import numpy as np

from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import Dataset
from kdrbench.datasets.quadratic import cone, ring
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    LEARNERS,
    KPCATrick,
    build_learner,
    predict_by_neighbours,
    scaled_gaussian,
    squared_distances,
)
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.reports.chart import BLACK, Axis, Chart, Mark, Panel, Series, Symbol
from kdrbench.reports.two_tricks import draw_halves, solve_both

_SETS = {"Disc and ring": ring, "Cone": cone}
_SAMPLES, _N_TRAIN = 400, 200


def leading(learner: str, mapped: FloatArray) -> FloatArray:
    """Return the learner's leading direction among coordinates of mapped training samples.

    DNE orders its directions; for the others it is the one of most variance, which the metric has stretched.
    """
    if learner == "dne":
        first: FloatArray = np.eye(mapped.shape[1])[0]
        return first
    vector: FloatArray = np.linalg.svd(mapped - mapped.mean(axis=0), full_matrices=False)[2][0]
    return vector


def leading_coordinates(
    learner: str, degree: int, train: FloatArray, seen: IntArray, test: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the test samples' leading learned coordinate, of spread one, and their labels by 1-NN along it alone."""
    fitted = KPCATrick(Polynomial(degree), build_learner(learner)).fit(train, seen)
    here, there = fitted.transform(train), fitted.transform(test)
    direction = leading(learner, here)
    line, other = here @ direction, there @ direction
    predicted = predict_by_neighbours(squared_distances(other[:, None], line[:, None]), seen)
    return other / other.std(), predicted.astype(np.intp)


def figure_2(seed: int) -> Chart:
    """Return both synthetic sets, and each learner's leading coordinate with a kernel against that without."""
    panels = []
    for name, draw in _SETS.items():
        features, labels = draw(rng_of("kpca figure 2", name, seed), _SAMPLES)
        train, test, seen, unseen = features[:_N_TRAIN], features[_N_TRAIN:], labels[:_N_TRAIN], labels[_N_TRAIN:]
        axes = Axis("x1"), Axis("x2")
        panels.append(Panel(f"{name}: {features.shape[1]} features", *axes, _by_class(test[:, 0], test[:, 1], unseen)))
        for learner in LEARNERS:
            plain, kernel = (leading_coordinates(learner, degree, train, seen, test) for degree in (1, 2))
            shares = [float(np.mean(predicted == unseen)) for _, predicted in (plain, kernel)]
            title = f"{learner.upper()} {shares[0]:.0%}, K{learner.upper()} {shares[1]:.0%}"
            axes = Axis("leading coordinate, linear"), Axis("leading coordinate, degree 2")
            panels.append(Panel(title, *axes, _by_class(plain[0], kernel[0], unseen)))
    caption = (
        f"Test samples of two synthetic sets ({_N_TRAIN} training samples, {_SAMPLES - _N_TRAIN} test samples), and "
        "their leading learned coordinate without a kernel (across) and with one of degree 2 (upwards), in units of "
        "its spread. Percentages are 1-NN accuracies along that coordinate alone."
    )
    title = "Where plain learners fail and kernels of degree 2 succeed (KPCA trick, Figure 2)"
    return Chart("kpca_figure2", title, caption, panels, columns=4)


def _by_class(across: FloatArray, upwards: FloatArray, labels: IntArray) -> list[Series]:
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


def figure_3(dataset: Dataset, label: str, n_train: int, seed: int) -> Chart:
    """Return the test samples in the leading plane of KDNE by each trick, with predicted labels."""
    halves = draw_halves(dataset, n_train, "figure 3", seed)
    kernel = scaled_gaussian(1.0, halves.train.shape[1])
    both = next(solve_both(*halves.grams(kernel), halves.seen, 3, 2))
    predictions = both.predictions(halves.seen)
    panels = []
    for title, mapped, predicted in zip(
        ("KPCA trick", "Kernel trick"), (both.kpca, both.kernel), predictions, strict=True
    ):
        # Signs of eigenvectors are free, and a KPCA coordinate has its origin at the mean.
        centre = mapped[0].mean(axis=0)
        farthest = np.abs(mapped[0] - centre).argmax(axis=0)
        points = (mapped[1] - centre) * np.sign((mapped[0] - centre)[farthest, [0, 1]])
        accuracy = float(np.mean(predicted == halves.unseen))
        series = [
            _predicted(points, predicted == code, f"predicted {name}", code)
            for code, name in enumerate(dataset.class_names)
        ]
        series.append(_predicted(points, predicted != halves.unseen, "wrong", BLACK))
        axes = Axis("first learned coordinate"), Axis("second learned coordinate")
        panels.append(Panel(f"{title}: accuracy {accuracy:.3f}", *axes, series))
    caption = (
        f"{label}: {len(halves.test)} test samples in the leading plane of KDNE (sigma 1, 3 neighbours), learned from "
        f"{len(halves.train)} samples; colours are labels predicted by 1-NN in the plane, crosses wrong ones. "
        f"Distances disagree by {both.disagreement:.1e} of the largest; the kernel's condition number is "
        f"{both.condition:.1e}."
    )
    return Chart(
        "kpca_figure3", f"The plane that both tricks find on {label} (KPCA trick, Figure 3)", caption, panels, 2
    )


def _predicted(points: FloatArray, chosen: np.ndarray, label: str, colour: int) -> Series:
    symbol = Symbol.CROSS if colour == BLACK else (Symbol.DOT, Symbol.TRIANGLE, Symbol.SQUARE)[colour % 3]
    return Series(label, points[chosen, 0].tolist(), points[chosen, 1].tolist(), Mark.POINTS, symbol, colour=colour)
