"""Folders of results as the workflow leaves them, of runs that never were."""

import zlib

from kdrbench.suite.experiments.results import Results, write_results
from support.dashboard_grid import cells_of, grid_config
from support.made_up import record

SOLVERS = ("ism", "dg")


def folder_of(place, *, experiments=("first",), changed=None, methods=SOLVERS, folds=3, datasets=("wine",), **columns):
    """Write and return a folder of results; ``columns`` are those of every row, ``changed`` are keys of experiments."""
    config = whole_config(experiments, methods, folds, datasets, changed or {})
    records = {name: _rows(name, config["experiments"][name], columns) for name in experiments}
    write_results(place, Results(place, config, records))
    return place


def whole_config(experiments, methods=SOLVERS, folds=3, datasets=("wine",), changed=()):
    """Return a frozen configuration of supervised experiments, with all that one needs."""
    config = grid_config(experiments, [*methods], datasets, folds)
    added = {"system": "ikdr", "components": dict.fromkeys(datasets, 2), **dict(changed)}
    own = {name: config["experiments"][name] | added for name in experiments}
    config |= {"experiments": own, "seed": 0, "data": {"mirror": ""}, "limits": {"time_s": 2.0, "memory_mib": 2048}}
    kernels = {name: {"family": name} for name in ("gaussian", "polynomial")}
    timing = {"repeat_for_s": 0.1, "threads": 1, "strict": True}
    return config | {"timing": timing, "name": "", "kernels": kernels, "baselines": {"svm": {"method": "svm"}}}


def _rows(name, experiment, columns):
    numbers = range(experiment["folds"])
    return [_row(name, *cell, number, columns) for cell in cells_of(experiment) for number in numbers]


def _row(name, dataset, kernel, method, number, columns):
    share = zlib.crc32(f"{dataset} {kernel} {method} {number}".encode()) / 2**32
    given = {"experiment": name, "kernel": kernel, "time_s": 0.1 + share, "cpu_s": 0.1 + share, "quality": 0.9}
    given |= {"cost": None if kernel == "none" else -1311 - share, "processor": "processor one", "machine": "one"}
    given |= {"blas": "openblas 1", "blas_threads": 1, "kdrbench_version": "0.1", "git_commit": "c" * 40}
    given |= {"definition_sha256": "d" * 64, "data_sha256": "e" * 64, "batch_sha256": f"{zlib.crc32(kernel.encode())}"}
    given |= {"calibration_before_s": 0.01, "calibration_after_s": 0.01, "optimality": "stationary"}
    return record(dataset, method, number, **(given | columns))
