"""Small batches of the KPCA trick's tables."""

from functools import cache

from kdrbench.datasets import load_dataset
from kdrbench.suite.engine.batch import Batch

SIGMAS = {"sigmas": [0.1, 1.0, 10.0]}
VARIANTS = ("plain", "cross_validated", "aligned", "centred")


@cache
def iris():
    """Return the Iris data that scikit-learn ships."""
    return load_dataset("iris-bundled")


def kpca_batch(learners=("dne",), variants=VARIANTS, runs=(0, 1), seed=0, data_sha256=None, **definition):
    """Splits of Iris with 100 training samples."""
    values = {"candidates": SIGMAS, "n_train": 100, "n_folds": 5, "test_selected": False} | definition
    values |= {"learners": list(learners), "variants": list(variants)}
    rows = tuple((learner, variant) for learner in learners for variant in variants)
    fixed = {"system": "kpca_trick", "experiment": "kpca_tables", "dataset": "iris-bundled", "cell": (), "threads": 1}
    sha256 = data_sha256 or iris().content_sha256
    return Batch(**fixed, data_sha256=sha256, definition=values, runs=tuple(runs), rows=rows, seed=seed)
