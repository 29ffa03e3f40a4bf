"""Figures 4 and 5 of the KPCA trick: accuracy of one trick against the other's, and when their distances disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import AnyKernel, scaled_gaussian
from kdrbench.reports.chart import BLACK, Axis, Chart, Line, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.two_tricks import EXACT, QZ, RIDGE, Tricks, draw_halves, solve_both

_DEGREES, _NEIGHBOURS, _SHARES = (1, 2, 3, 4, 5), (1, 3, 5, 7, 9), (0.25, 0.5, 0.75, 1.0)
# The paper's setting where another one is varied.
_DEGREE, _K = 2, 3
_SIGMAS = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0)
_DRAWS = 5
_SYMBOLS = {EXACT: Symbol.DOT, RIDGE: Symbol.TRIANGLE, QZ: Symbol.CROSS}
_WORDS = {EXACT: "exact", RIDGE: "ridge 1e-10", QZ: "QZ"}
# Where distances agree to all digits a logarithmic axis would have no place for them.
_SMALLEST = 1e-16


@dataclass(frozen=True)
class Setting:
    """What is varied: one value of one of degree, n and k."""

    varied: str
    value: int
    n_train: int
    k: int
    kernel: AnyKernel


@dataclass(frozen=True)
class Points:
    """What figures show of a data set: its label, and how many samples are learned from."""

    dataset: Dataset
    label: str
    n_train: int


def settings_of(n_train: int) -> Iterator[Setting]:
    """Yield degrees at n and k as in the paper, then numbers of samples, then k."""
    for degree in _DEGREES:
        yield Setting("degree", degree, n_train, _K, Polynomial(degree))
    for share in _SHARES:
        count = round(share * n_train)
        yield Setting("n", count, count, _K, Polynomial(_DEGREE))
    for k in _NEIGHBOURS:
        yield Setting("k", k, n_train, k, Polynomial(_DEGREE))


def solved(one: Points, setting: Setting, draw: int, seed: int) -> Iterator[tuple[Tricks, tuple[float, float]]]:
    """Yield both tricks on one draw of the data set, each way of the kernel trick, with 1-NN accuracies."""
    halves = draw_halves(one.dataset, setting.n_train, draw, seed)
    for both in solve_both(*halves.grams(setting.kernel), halves.seen, setting.k, None):
        yield both, both.accuracies(halves.seen, halves.unseen)


def figure_4(sets: Sequence[Points], seed: int) -> Chart:
    """Return 1-NN accuracies of KDNE by both tricks over degree, number of samples and neighbours."""
    panels = []
    for one in sets:
        found: dict[str, dict[int, list[tuple[float, float, float]]]] = {}
        for setting in settings_of(one.n_train):
            draws = [_three(one, setting, draw, seed) for draw in range(_DRAWS)]
            found.setdefault(setting.varied, {})[setting.value] = draws
        for varied, values in found.items():
            panels.append(_over(f"{one.label}: over {varied}", varied, values))
    sizes = " and ".join(dict.fromkeys(str(one.n_train) for one in sets))
    caption = (
        f"1-NN accuracy of KDNE, mean of {_DRAWS} random draws; bands: from the lowest to the highest draw. Unless "
        f"varied, the kernel has degree {_DEGREE}, k = {_K}, and n = {sizes} training samples. The kernel trick is "
        "solved exactly, or with a ridge of 1e-10 where K is singular; by QZ as if it were regular."
    )
    return Chart("kpca_figure4", "Accuracy of one trick against the other (KPCA trick, Figure 4)", caption, panels, 3)


def _three(one: Points, setting: Setting, draw: int, seed: int) -> tuple[float, float, float]:
    """Return the accuracy of the KPCA trick, of the kernel trick exactly or with a ridge, and of QZ."""
    (_, (primal, dual)), (_, (_, by_qz)) = solved(one, setting, draw, seed)
    return primal, dual, by_qz


def _over(title: str, varied: str, values: dict[int, list[tuple[float, float, float]]]) -> Panel:
    accuracies = np.array(list(values.values()))
    means, lows, highs = accuracies.mean(axis=1), accuracies.min(axis=1), accuracies.max(axis=1)
    styles = (
        ("KPCA trick", Symbol.DOT, Line.SOLID),
        ("kernel trick", Symbol.SQUARE, Line.DASHED),
        ("by QZ", Symbol.CROSS, Line.DOTTED),
    )
    series = [
        Series(
            label,
            [str(value) for value in values],
            means[:, column].tolist(),
            symbol=symbol,
            colour=column,
            line=line,
            lower=lows[:, column].tolist() if column != 1 else None,
            upper=highs[:, column].tolist() if column != 1 else None,
        )
        for column, (label, symbol, line) in enumerate(styles)
    ]
    return Panel(title, Axis(varied, Scale.NAMES), Axis("1-NN accuracy"), series)


def figure_5(sets: Sequence[Points], seed: int) -> Chart:
    """Return accuracy against accuracy, and the disagreement of distances against the condition number of K."""
    accuracy: list[Series] = []
    distance: list[Series] = []
    for colour, one in enumerate(sets):
        gaussians = [
            Setting("sigma", 0, one.n_train, _K, scaled_gaussian(sigma, one.dataset.features.shape[1]))
            for sigma in _SIGMAS
        ]
        found = [
            (both, shares)
            for setting in [*settings_of(one.n_train), *gaussians]
            for both, shares in solved(one, setting, 0, seed)
        ]
        for method in (EXACT, RIDGE, QZ):
            chosen = [(both, shares) for both, shares in found if both.method == method]
            conditions = [both.condition for both, _ in chosen]
            disagreements = [max(both.disagreement, _SMALLEST) for both, _ in chosen]
            for series, x, y in (
                (accuracy, [shares[0] for _, shares in chosen], [shares[1] for _, shares in chosen]),
                (distance, conditions, disagreements),
            ):
                label = f"{one.label}, {_WORDS[method]}"
                series.append(Series(label, x, y, Mark.POINTS, _SYMBOLS[method], colour=colour))
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
    return Chart("kpca_figure5", title, caption, panels, 2)
