"""Small batches of the KPCA trick's tables, and rows made up for them."""

import dataclasses
from functools import cache

from kdrbench.datasets import load_dataset
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Provenance
from kdrbench.suite.systems.kpca_trick.system import KPCATrickRecord
from support.made_up import provenance

SIGMAS = {"sigmas": [0.1, 1.0, 10.0]}
VARIANTS = ("plain", "cross_validated", "aligned", "centred")


@cache
def iris():
    """Return the Iris data that scikit-learn ships."""
    return load_dataset("iris-bundled")


def kpca_batch(learners=("dne",), variants=VARIANTS, runs=(0, 1), seed=0, data_sha256=None, **definition):
    """Splits of Iris with 100 training samples."""
    values = {"candidates": SIGMAS, "n_train": 100, "n_folds": 5, "test_selected": False} | definition
    return Batch(
        system="kpca_trick",
        experiment="kpca_tables",
        dataset="iris-bundled",
        data_sha256=data_sha256 or iris().content_sha256,
        cell=(),
        definition={"learners": list(learners), "variants": list(variants), **values},
        runs=tuple(runs),
        rows=tuple((learner, variant) for learner in learners for variant in variants),
        seed=seed,
        threads=1,
    )


def kpca_record(**changes):
    """A row of plain DNE on Iris; columns of its provenance may be named as well."""
    names = {field.name for field in dataclasses.fields(Provenance)} & set(changes)
    axes = {"experiment": "kpca_tables", "dataset": "iris", "run": 0, "learner": "dne", "variant": "plain", "seed": 0}
    seconds = {"tuning_cpu_s": 1.5, "tuning_wall_s": 2.0, "learning_cpu_s": 0.25, "learning_wall_s": 0.5}
    numbers = {"n_coordinates": 4, "n_train": 100, "n_test": 50, "n_features": 4, "n_folds": 5, "accuracy": 0.9}
    values = {"status": "converged", "message": "", "time_s": 2.5, "cpu_s": 1.75} | axes | seconds | numbers | changes
    made = provenance(**{name: values.pop(name) for name in names})
    return KPCATrickRecord(schema_version=KPCATrickRecord.SCHEMA_VERSION, provenance=made, **values)
