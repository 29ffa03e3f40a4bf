"""Which estimator for what: accuracy of nearest neighbours on projections that each estimator learns.

    OMP_NUM_THREADS=1 python benchmarks/accuracies.py            # all estimators, as a Markdown table
    OMP_NUM_THREADS=1 python benchmarks/accuracies.py NCA DNE    # some of them

Each entry is the mean accuracy of 5 nearest neighbours over five stratified folds, and the CPU seconds of one fit.
Scaling, estimator and classifier are fitted on the training part of each fold. Estimators have their default arguments.
The data ship with scikit-learn: Wine (178 x 13), breast cancer (569 x 30) and digits (1797 x 64).
"""

import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kdrbench import estimators

SETS = {"Wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
ESTIMATORS: dict[str, Any] = {
    "no projection": "passthrough",
    "PCA(2)": PCA(2),
    "InterpretableKDR(2)": estimators.InterpretableKDR(2),
    "InterpretableKDR()": estimators.InterpretableKDR(),
    "NCA()": estimators.NCA(),
    "LMNN()": estimators.LMNN(),
    "DNE()": estimators.DNE(),
    'KPCATrick("lmnn")': estimators.KPCATrick("lmnn"),
    "AlignedKernel()": estimators.AlignedKernel(),
    "LowRankKernelLearner()": estimators.LowRankKernelLearner(),
}


def measured(estimator: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, int]:
    """Return the mean accuracy, the CPU seconds of a fit, and the number of components in the last fold."""
    accuracies, seconds = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        projection = make_pipeline(StandardScaler(), estimator)
        began = time.process_time()
        rows = projection.fit(X[train], y[train]).transform(X[train])
        seconds.append(time.process_time() - began)
        neighbours = KNeighborsClassifier(5).fit(rows, y[train])
        accuracies.append(neighbours.score(projection.transform(X[test]), y[test]))
    return float(np.mean(accuracies)), float(np.median(seconds)), rows.shape[1]


def main(wanted: list[str]) -> None:
    """Print one line for each estimator."""
    data = {name: load(return_X_y=True) for name, load in SETS.items()}
    print(f"| estimator | {' | '.join(SETS)} |\n|---|{'---|' * len(SETS)}")
    for name, estimator in ESTIMATORS.items():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        cells = []
        for X, y in data.values():
            accuracy, seconds, components = measured(estimator, X, y)
            cells.append(f"{accuracy:.3f} ({components} components, {seconds:.2g} s)")
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
