"""Small batches of the KPCA trick's tables, and rows made up for them."""

from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_record import MetricRecord
from kdrbench.datasets.registry import load_registry

SIGMAS = {"sigmas": {"lowest": 0.1, "highest": 10.0, "number": 3}}


def metric_batch(**changes):
    values = {
        "dataset": "iris",
        "data_sha256": load_registry()["iris"].content_sha256,
        "learners": ("dne",),
        "variants": ("plain", "cross_validated", "aligned", "centred"),
        "candidates": SIGMAS,
        "n_train": 100,
        "n_folds": 5,
        "test_selected": False,
        "splits": (0, 1),
        "seed": 0,
        "sources_sha256": "",
        "packages": {},
    }
    return MetricBatch(**{**values, **changes})


def metric_record(**changes):
    numbers = {"n_coordinates": 4, "n_train": 100, "n_test": 50, "n_features": 4, "n_folds": 5, "seed": 0}
    seconds = {"tuning_cpu_s": 1.5, "tuning_wall_s": 2.0, "learning_cpu_s": 0.25, "learning_wall_s": 0.5}
    around = {"split_wall_s": 3.0, "memory_mib": 50.0, "time_limit_s": 60.0, "memory_limit_mib": 512.0, "load": 0.5}
    words = ["cores", "started_at", "batch_sha256", "data_sha256", "kdrbench_version", "python_version"]
    words += ["numpy_version", "scipy_version", "scikit_learn_version", "pymanopt_version", "blas", "processor"]
    words += ["machine", "git_commit", "lock_sha256", "kernel", "message", "test_selected"]
    values = {"schema_version": MetricRecord.SCHEMA_VERSION, "dataset": "iris", "split": 0, "learner": "dne"}
    values |= {"variant": "plain", "status": "converged", "accuracy": 0.9, "git_dirty": None, "blas_threads": 1}
    return MetricRecord(**{**dict.fromkeys(words, ""), **numbers, **seconds, **around, **values, **changes})
