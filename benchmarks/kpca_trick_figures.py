"""Figures 2 to 5 of Chatpatanasiri et al. 2010, and the numbers in them.

    python benchmarks/kpca_trick_figures.py FOLDER

Figure 2: classes that no line parts, as a linear learner and its kernel version of degree 2 see them along their
leading direction. Figure 3: the leading plane of KDNE on Ionosphere by the kernel trick and by the KPCA trick, with
predicted labels. Figures 4 and 5: accuracy of one trick against the other over degree, number of samples and k, and how
far their distances disagree against the kernel's condition number.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from kpca_trick_protocol import describe
from kpca_trick_synthetic import cone, ring
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.linalg import eig

from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    DNE,
    LEARNERS,
    AnyKernel,
    KPCATrick,
    SamplePairs,
    build_learner,
    dne_weights,
    fit_in_coordinates,
    kdne,
    predict_by_neighbours,
    scaled_gaussian,
    squared_distances,
)
from kdrbench.metric_learning.kernel_trick import kernel_distances
from kdrbench.metric_learning.learner import laplacian
from kdrbench.metric_learning.neighbours import IntArray

EPSILON = 1e-10
COLOURS = ("#1b6ca8", "#d1603d")
METHODS = {"regular": ("o", "exact (K regular)"), "ridge": ("^", "ridge 1e-10"), "qz": ("x", "QZ (K singular)")}


def main() -> None:
    """Draw all figures into a folder and print their numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("agg")
    figure_2().savefig(folder / "kpca_trick_figure_2.png", dpi=110)
    figure_3().savefig(folder / "kpca_trick_figure_3.png", dpi=110)
    figures_4_and_5().savefig(folder / "kpca_trick_figures_4_and_5.png", dpi=110)


def leading(learner: str, projected: FloatArray) -> FloatArray:
    """Return the learner's leading direction among coordinates of mapped training samples.

    DNE orders its directions; for the others it is the one of most variance, which the metric has stretched.
    """
    if learner == "dne":
        return np.eye(projected.shape[1])[0]
    vector: FloatArray = np.linalg.svd(projected - projected.mean(axis=0), full_matrices=False)[2][0]
    return vector


def figure_2() -> Figure:
    """Return both sets, and the leading coordinate of each learner without and with a kernel."""
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 4)
    print("| set | learner | plain, 1 dimension | degree 2, 1 dimension |\n|---|---|---|---|")
    for row, (name, draw) in enumerate({"disc and ring": ring, "cone": cone}.items()):
        features, labels = draw(rng_of("kpca_trick figure 2", name), 400)
        train, test, seen, unseen = features[:200], features[200:], labels[:200], labels[200:]
        axes[row, 0].scatter(*train[:, :2].T, c=[COLOURS[label] for label in seen], s=8)
        axes[row, 0].set_title(name)
        for column, learner in enumerate(LEARNERS, start=1):
            scores, strips = [], []
            for kernel in (Polynomial(1), Polynomial(2)):
                fitted = KPCATrick(kernel, build_learner(learner)).fit(train, seen)
                here, there = fitted.transform(train), fitted.transform(test)
                direction = leading(learner, here)
                line, other = here @ direction, there @ direction
                squared = squared_distances(other[:, None], line[:, None])
                scores.append(float(np.mean(predict_by_neighbours(squared, seen) == unseen)))
                strips.append(other / np.abs(line).max())
            _strips(axes[row, column], strips, unseen)
            axes[row, column].set_title(f"{learner.upper()} {scores[0]:.2f}, K{learner.upper()} {scores[1]:.2f}")
            print(f"| {name} | {learner.upper()} | {scores[0]:.2f} | {scores[1]:.2f} |")
    return figure


def _strips(axes: Axes, strips: list[FloatArray], labels: IntArray) -> None:
    heights = np.random.default_rng(0).uniform(-0.35, 0.35, len(labels))
    for place, strip in enumerate(strips):
        axes.scatter(strip, place + heights, c=[COLOURS[label] for label in labels], s=8)
    axes.set_yticks([0, 1], ["plain", "degree 2"])
    axes.set_xlabel("leading learned coordinate")


@dataclass(frozen=True)
class Tricks:
    """KDNE of one kernel by both tricks: mapped training and test samples, and what solved the kernel trick."""

    kpca: tuple[FloatArray, FloatArray]
    kernel: tuple[FloatArray, FloatArray]
    condition: float
    method: str

    @property
    def disagreement(self) -> float:
        """Largest difference of learned squared distances between test and training samples, over their largest."""
        first, second = (squared_distances(test, train) for train, test in (self.kpca, self.kernel))
        return float(np.abs(first - second).max() / max(first.max(), second.max()))

    def accuracies(self, seen: IntArray, unseen: IntArray) -> tuple[float, float]:
        """Return 1-NN accuracies, KPCA trick first."""
        both = (squared_distances(test, train) for train, test in (self.kpca, self.kernel))
        first, second = (float(np.mean(predict_by_neighbours(squared, seen) == unseen)) for squared in both)
        return first, second


def solve_both(
    gram: FloatArray, cross: FloatArray, codes: IntArray, k: int, n_components: int | None
) -> Iterator[Tricks]:
    """Yield KDNE by the KPCA trick beside each way of the kernel trick that the kernel allows.

    ``n_components`` leading ones, or as many as the KPCA trick finds negative eigenvalues.
    """
    primal = fit_in_coordinates(DNE(k, n_components), gram, codes)
    kpca = (primal.transform_gram(gram), primal.transform_gram(cross))
    count, condition = kpca[0].shape[1], float(np.linalg.cond(gram))
    try:
        duals = {"regular": kdne(gram, codes, k, n_components=count).dual}
    except InputError:
        duals = {
            "ridge": kdne(gram, codes, k, epsilon=EPSILON, n_components=count).dual,
            "qz": by_qz(gram, codes, k, count),
        }
    for method, dual in duals.items():
        yield Tricks(kpca, (gram @ dual, cross @ dual), condition, method)


def by_qz(gram: FloatArray, codes: IntArray, k: int, count: int) -> FloatArray:
    """Return dual variables from a general solver that does not notice singularity, scaled to u'Ku = 1."""
    form = gram @ (0.5 * laplacian(dne_weights(kernel_distances(gram), codes, k))) @ gram
    with np.errstate(all="ignore"):
        values, vectors = eig(form, gram)
    real = np.where(np.isfinite(values.real), values.real, np.inf)
    chosen = vectors[:, np.argsort(real)[:count]].real
    # Vectors that K takes to zero cannot be scaled; they stay small.
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", chosen, gram @ chosen), 1e-16 * np.linalg.norm(gram)))
    dual: FloatArray = chosen / lengths
    return dual


def figure_3() -> Figure:
    """Return Ionosphere in the leading plane of each trick; colours are predictions, crosses wrong ones."""
    data = load_dataset("ionosphere")
    order = rng_of("kpca_trick figure 3").permutation(len(data.labels))
    train, test = data.features[order[:200]], data.features[order[200:]]
    seen, unseen = data.labels[order[:200]], data.labels[order[200:]]
    # A sample that stands twice would make the kernel singular.
    rows = np.sort(np.unique(train, axis=0, return_index=True)[1])
    train, seen = train[rows], seen[rows]
    kernel = scaled_gaussian(1.0, train.shape[1])
    gram, cross = SamplePairs(train, train).gram(kernel), SamplePairs(test, train).gram(kernel)
    both = next(solve_both(gram, cross, seen, 3, 2))
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    for axes, (title, mapped) in zip(
        figure.subplots(1, 2), {"kernel trick": both.kernel, "KPCA trick": both.kpca}.items(), strict=True
    ):
        # Signs of eigenvectors are free, and a KPCA coordinate has its origin at the mean.
        centre = mapped[0].mean(axis=0)
        farthest = np.abs(mapped[0] - centre).argmax(axis=0)
        points = (mapped[1] - centre) * np.sign((mapped[0] - centre)[farthest, [0, 1]])
        predicted = predict_by_neighbours(squared_distances(mapped[1], mapped[0]), seen)
        for code in (0, 1):
            axes.scatter(
                *points[predicted == code].T, s=14, c=COLOURS[code], label=f"predicted {data.class_names[code]}"
            )
        wrong = predicted != unseen
        axes.scatter(*points[wrong].T, s=45, marker="x", c="black", linewidths=1, label="wrong")
        axes.set_title(f"{title}, accuracy {1 - wrong.mean():.2f}")
        axes.legend(fontsize=8)
    print(f"\nFigure 3: distances disagree by {both.disagreement:.1e}; cond K = {both.condition:.1e}, {both.method}")
    return figure


def figures_4_and_5() -> Figure:
    """Return accuracies of both tricks on Ionosphere and Balance for kernels, n and k, and their disagreement."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    first, second = figure.subplots(1, 2)
    print("\n| data | kernel | n | k | cond K | kernel trick by | disagreement | KPCA trick | kernel trick |")
    print("|---|---|---|---|---|---|---|---|---|")
    labelled: set[str] = set()
    for name, kernel, count, k in _settings():
        data = load_dataset(name)
        order = rng_of("kpca_trick figure 4", name, count).permutation(len(data.labels))
        train, test = data.features[order[:count]], data.features[order[count:]]
        seen, unseen = data.labels[order[:count]], data.labels[order[count:]]
        gram, cross = SamplePairs(train, train).gram(kernel), SamplePairs(test, train).gram(kernel)
        for both in solve_both(gram, cross, seen, k, None):
            marker, label = METHODS[both.method]
            mine, other = both.accuracies(seen, unseen)
            style = {"marker": marker, "c": COLOURS[name == "balance"], "alpha": 0.8}
            first.scatter(mine, other, **style, label=None if both.method in labelled else label)
            second.scatter(both.condition, max(both.disagreement, 1e-16), **style)
            labelled.add(both.method)
            words = f"| {name} | {describe(kernel, train.shape[1])} | {count} | {k} | {both.condition:.1e} "
            print(f"{words}| {both.method} | {both.disagreement:.1e} | {mine:.3f} | {other:.3f} |")
    first.axline((0.5, 0.5), slope=1, c="grey", lw=0.8)
    first.set(xlabel="1-NN accuracy, KPCA trick", ylabel="1-NN accuracy, kernel trick")
    legend = first.legend(title="Ionosphere blue, Balance red", fontsize=8)
    for handle in legend.legend_handles:
        handle.set_color("black")
    second.set(xscale="log", yscale="log", xlabel="condition number of K", ylabel="relative disagreement of distances")
    return figure


def _settings() -> Iterator[tuple[str, AnyKernel, int, int]]:
    """Yield data set, kernel, n and k: the paper's degrees, n and k, and Gaussians that fill the condition numbers."""
    for name, n_features in (("ionosphere", 34), ("balance", 4)):
        for degree in (1, 2, 3, 5):
            yield name, Polynomial(degree), 200, 3
        for count in (50, 100):
            yield name, Polynomial(2), count, 3
        for k in (1, 7):
            yield name, Polynomial(2), 200, k
        for sigma in (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0):
            yield name, scaled_gaussian(sigma, n_features), 200, 3


if __name__ == "__main__":
    main()
