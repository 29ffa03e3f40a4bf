"""The optima of Tables 4 and 5 on small sets: how many, how often each is reached, and which classify best.

    python benchmarks/atlas.py [sets, wine cancer if not given] [--starts 200] [--folds 1] [--solver NAME]
    python benchmarks/atlas.py wine --components 1       another number than the papers'

Every cell is a set, a kernel and a training fold of ten, with the papers' number of components. Starts are random, the
solver is safeguarded ISM if not given. "ISM" is plain ISM from Phi_0, delta = 0.01, one fit a fold: "at the best" says
whether it ends within 1 degree of the best optimum, and "below, %" how far its F is below. "Found again" is the share
of the optima with more than 2 % of the starts that another seed finds. Accuracy is that of an SVM on the test fold; tau
is Kendall's correlation of F and accuracy over the optima, with an interval of 95 % by resampling optima.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import kendalltau
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kdrbench import InterpretableKDR
from kdrbench.datasets import load_dataset
from kdrbench.inference import Atlas, atlas

COMPONENTS = {"wine": 4, "cancer": 5}
KERNELS = ("gaussian", "polynomial", "squared", "multiquadric")


def accuracies(found: Atlas, X: Any, y: Any, test: Any, labels: Any) -> list[float]:
    """Return the accuracy on the test fold of an SVM in each optimum's projection."""
    models = ((one.projection, SVC().fit(X @ one.projection, y)) for one in found.optima)
    return [float(model.score(test @ projection, labels)) for projection, model in models]


def correlation(objectives: list[float], scores: list[float]) -> str:
    """Return Kendall's tau with its interval, where there are optima and scores enough to rank."""
    pairs = np.array([objectives, scores])
    if pairs.shape[1] < 4 or np.ptp(pairs[1]) == 0.0:
        return "-"
    rng = np.random.default_rng(0)
    draws = [kendalltau(*pairs[:, rng.integers(0, pairs.shape[1], pairs.shape[1])]).statistic for _ in range(500)]
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return f"{kendalltau(*pairs).statistic:.2f} ({low:.2f} to {high:.2f})"


def chart(name: str, kernel: str, fold: int, asked: argparse.Namespace) -> str:
    """Return the line of one cell."""
    data = load_dataset(name)
    train, rest = list(StratifiedKFold(10, shuffle=True, random_state=0).split(data.features, data.labels))[fold]
    scaler = StandardScaler().fit(data.features[train])
    X, y, test = scaler.transform(data.features[train]), data.labels[train], scaler.transform(data.features[rest])
    n_components = asked.components or COMPONENTS[name]
    model = InterpretableKDR(n_components, kernel=kernel, solver=asked.solver)
    began = time.process_time()
    found, again = (atlas(model, X, y, n_starts=asked.starts, random_state=seed) for seed in (0, 1))
    seconds = time.process_time() - began
    best, (low, high) = found.optima[0], found.share_interval(0)
    ism = InterpretableKDR(n_components, kernel=kernel, solver="ism", tol=0.01).fit(X, y)
    below = 100.0 * (best.objective - ism.objective_) / abs(best.objective)
    scores = accuracies(found, X, y, test, data.labels[rest])
    return (
        f"| {name} | {kernel} | {fold} | {len(found.optima)} | {found.shares[0]:.2f} ({low:.2f} to {high:.2f}) | "
        f"{best.objective:.4f} | {'yes' if found.place_of(ism.components_.T) == 0 else 'no'} | {below:.3f} | "
        f"{found.found_again(again):.2f} | {scores[0]:.2f}, {min(scores):.2f} to {max(scores):.2f} | "
        f"{correlation([one.objective for one in found.optima], scores)} | {seconds:.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(COMPONENTS))
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--components", type=int)
    parser.add_argument("--solver", default="ism_safeguarded")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| data | kernel | fold | optima | share of the best | best F | ISM at the best | below, % | found again | "
        "accuracy: best, range | tau | CPU s |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for name in asked.sets:
        for kernel in KERNELS:
            for fold in range(asked.folds):
                print(chart(name, kernel, fold, asked), flush=True)


if __name__ == "__main__":
    main()
