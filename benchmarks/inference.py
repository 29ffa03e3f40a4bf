"""Whether the tests of kdrbench.inference keep their level, what they find, and what noise looks like.

    python benchmarks/inference.py level                  rejections at 5 % among 2000 null problems a method
    python benchmarks/inference.py components             components found where none, one or two are planted
    python benchmarks/inference.py noise --picture FILE   learners that separate labels drawn at random, and their tests

``--problems N`` changes the number of problems, ``--methods NAME...`` chooses some. Intervals are those of Clopper and
Pearson, at 95 %. Tests of level have 19 permutations and stop at the first exceedance: level 5 %, exactly.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measuring import Array, parser_of, print_head, print_row, timed
from scipy.stats import binomtest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline

from kdrbench import InterpretableKDR
from kdrbench.inference import (
    PermutationTest,
    choose_n_components,
    held_out_test,
    linear_time_hsic,
    permutation_test,
)
from kdrbench.inference.refits import embedded

Test = Callable[[Array, Array, int], PermutationTest]
QUICK: dict[str, Any] = {"n_permutations": 19, "max_exceedances": 1}


def refitting(estimator: Any) -> Test:
    """Return the permutation test of an estimator."""
    return lambda X, y, seed: permutation_test(estimator, X, y, random_state=seed, **QUICK)


METHODS: dict[str, Test] = {
    "InterpretableKDR": refitting(InterpretableKDR(1)),
    "LDA": refitting(LinearDiscriminantAnalysis()),
    "NCA": refitting(NeighborhoodComponentsAnalysis(1, max_iter=5)),
    "PCA": refitting(PCA(1)),
    "LDA, held out": lambda X, y, seed: held_out_test(LinearDiscriminantAnalysis(), X, y, random_state=seed, **QUICK),
    "linear-time HSIC of X": lambda X, y, seed: linear_time_hsic(X, y, random_state=seed, n_frequencies=20, **QUICK),
}


def null_problem(seed: int) -> tuple[Array, Array]:
    """Return 24 samples and labels that say nothing of them: normal, heavy-tailed, correlated or rounded features."""
    rng = np.random.default_rng((1, seed))
    X = rng.standard_normal((24, 4))
    kind = seed % 4
    if kind == 1:
        X = rng.standard_t(2, (24, 4))
    elif kind == 2:
        X = X @ rng.standard_normal((4, 4))
    elif kind == 3:
        X = np.round(2 * X)
    labels = np.repeat([0, 1], 12) if seed % 8 < 4 else np.repeat([0, 1, 2], [13, 6, 5])
    return X, rng.permutation(labels)


def components_problem(planted: int, seed: int) -> tuple[Array, Array]:
    """Return 60 samples of 4 features, of which the first ``planted`` tell classes apart; of odd seeds correlated.

    Two classes differ in one feature; of four classes each pair of two differs in one of two.
    """
    rng = np.random.default_rng((3, planted, seed))
    y = np.arange(60) % (2 if planted < 2 else 4)
    X = rng.standard_normal((60, 4))
    for place in range(planted):
        X[:, place] += 3.0 * (y // 2**place % 2)
    if seed % 2:
        X = X @ rng.standard_normal((4, 4))
    return X, rng.permutation(y) if planted == 0 else y


def share(rejections: int, problems: int) -> str:
    """Return a share of rejections in percent, with its interval."""
    low, high = binomtest(rejections, problems).proportion_ci()
    shown = [f"{part:.1f}" for part in (100 * rejections / problems, 100 * low, 100 * high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def p_values(test: Test, problems: int) -> list[float]:
    """Return the p-values of a test of null problems."""
    return [test(*null_problem(seed), seed).p_value for seed in range(problems)]


def show_level(problems: int, methods: list[str]) -> None:
    """Print rejections under the null hypothesis."""
    print_head("method", f"rejected at 5 % of {problems} null problems, %", "CPU s")
    for name in methods:
        seconds, values = timed(partial(p_values, METHODS[name], problems))
        print_row(name, share(sum(value <= 0.05 for value in values), problems), f"{seconds:.0f}")


def show_components(problems: int) -> None:
    """Print how often as many components are found as were planted, more or fewer."""
    print_head("planted", "right, %", "too many, %", "too few, %")
    for planted in (0, 1, 2):
        found = []
        for seed in range(problems):
            X, y = components_problem(planted, seed)
            found.append(choose_n_components(InterpretableKDR(1), X, y, random_state=seed, **QUICK).n_components)
        more, fewer = sum(n > planted for n in found), sum(n < planted for n in found)
        print_row(planted, *(share(count, problems) for count in (found.count(planted), more, fewer)))


NOISE_LEARNERS: dict[str, Any] = {
    "NCA": NeighborhoodComponentsAnalysis(2, max_iter=100),
    "InterpretableKDR": InterpretableKDR(2),
    "LDA": LinearDiscriminantAnalysis(),
}


def show_noise(picture: str | None) -> None:
    """Print what learners make of pure noise, and draw it."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 60)), rng.permutation(np.repeat([0, 1], 30))
    print_head("learner", "accuracy on its own samples", "cross-validated", "p-value of refitting")
    shown = {}
    for name, learner in NOISE_LEARNERS.items():
        projected = embedded(learner.fit(X, y), X)
        own = KNeighborsClassifier(5).fit(projected, y).score(projected, y)
        crossed = cross_val_score(make_pipeline(learner, KNeighborsClassifier(5)), X, y, cv=5).mean()
        test = permutation_test(learner, X, y, n_permutations=99, max_exceedances=None, random_state=0)
        print_row(name, *(f"{number:.2f}" for number in (own, crossed, test.p_value)))
        shown[name] = (projected, test)
    if picture:
        draw(shown, y, picture)


def draw(shown: dict[str, tuple[Array, PermutationTest]], y: Array, picture: str) -> None:
    """Draw NCA's projection of noise beside the null of its statistic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    projected, test = shown["NCA"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    for label, (marker, colour) in enumerate((("o", "#0072b2"), ("^", "#d55e00"))):
        left.scatter(*projected[y == label].T, s=16, marker=marker, color=colour, label=f"label {label}")
    left.set(title="NCA of noise with random labels", xlabel="component 1", ylabel="component 2")
    left.legend(fontsize=8)
    right.hist(test.null, bins=15, color="#bbbbbb", label="random labels again")
    right.axvline(test.statistic, color="#d55e00", linewidth=2, label="this fit")
    right.set(title=f"Refitted to 99 permutations: p = {test.p_value:.2f}", xlabel="HSIC of projection and labels")
    right.set_ylabel("permutations")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


def main() -> None:
    """Print what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("level", "components", "noise"))
    parser.add_argument("--problems", type=int, help="2000 for level, 150 for components, if not given")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    parser.add_argument("--picture", help="PNG file to draw noise in")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.what == "level":
        show_level(asked.problems or 2000, asked.methods)
    elif asked.what == "components":
        show_components(asked.problems or 150)
    else:
        show_noise(asked.picture)


if __name__ == "__main__":
    main()
