"""Which estimator for what: accuracy of nearest neighbours on projections that each estimator learns.

    OMP_NUM_THREADS=1 python benchmarks/accuracies.py            # all estimators, as a Markdown table
    OMP_NUM_THREADS=1 python benchmarks/accuracies.py NCA DNE    # some of them

Each entry is the mean accuracy of 5 nearest neighbours over five stratified folds, and the CPU seconds of one fit.
Scaling, estimator and classifier are fitted on the training part of each fold. Estimators have their default arguments.
The data ship with scikit-learn: Wine (178 x 13), breast cancer (569 x 30) and digits (1797 x 64).
"""

import sys
from typing import Any

from measuring import over_folds, print_head, print_row
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

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
    "LowRankKernelLearner()": estimators.LowRankKernelLearner(random_state=0),
}


def main(wanted: list[str]) -> None:
    """Print one line for each estimator."""
    data = {name: load(return_X_y=True) for name, load in SETS.items()}
    print_head("estimator", *SETS)
    for name in (name for name in ESTIMATORS if name.startswith(tuple(wanted or [""]))):
        learner = make_pipeline(ESTIMATORS[name])
        found = [over_folds(lambda *rows, one=learner: one.fit(*rows).transform, X, y) for X, y in data.values()]
        cells = [f"{accuracy:.3f} ({components} components, {s:.2g} s)" for accuracy, s, components in found]
        print_row(f"`{name}`", *cells)


if __name__ == "__main__":
    main(sys.argv[1:])
