"""Rows of merged tables for runs that never were, for tests of the reports."""

import json
from types import SimpleNamespace

import pandas as pd

from kdrbench.suite.engine.record import own_column_types
from kdrbench.suite.systems.atlas.optima import NOTHING_KNOWN
from kdrbench.suite.systems.low_rank.system import LowRankRecord

_PROVENANCE = {"wall_s": 0.0, "memory_mib": 0.0, "involuntary_switches": 0, "contaminated": False, "timed": True}
_PROVENANCE |= {"memory_meter": "sampled", "unclocked_s": 0.0, "evaluation_s": 0.0, "unaccounted": False}
_PROVENANCE |= {"time_limit_s": 2.0, "memory_limit_mib": 0.0, "calibration_before_s": 0.0}
_PROVENANCE |= {"calibration_after_s": 0.0, "cores": "", "load": 0.0, "started_at": "", "git_dirty": False}
_PROVENANCE |= {"drift": 0.0, "drifted": False, "blas_threads": 1}
_WORDS = ("batch_sha256", "definition_sha256", "data_sha256", "kdrbench_version", "python_version", "numpy_version")
_WORDS += ("scipy_version", "scikit_learn_version", "pymanopt_version", "numba_version", "blas", "processor")
_WORDS += ("machine", "git_commit", "lock_sha256")
_COUNTS = ("iterations", "value_calls", "gradient_calls", "value_gradient_calls", "hessian_calls", "surrogate_calls")
_COUNTS += ("hessian_vector_calls",)
_COUNTS += ("repeats", "partition", "rounds", "n_train", "n_test", "n_features", "n_constant_features", "n_components")
_NUMBERS = ("warm_s", "warm_cpu_s", "warm_iqr_s", "train_accuracy", "mean_cost")
_NUMBERS += ("feasibility", "stationarity", "curvature", "eigengap", "eigengap_needed", "nmi_given")


def _shared(dataset, number, **columns):
    shared = {"schema_version": 1, "experiment": "e", "dataset": dataset, "run": number, "seed": 0}
    shared |= {"status": "converged", "message": "", "time_s": 0.02, "cpu_s": 0.0}
    return shared | _PROVENANCE | dict.fromkeys(_WORDS, "") | columns


# The published table that most of these experiments make again.
TABLE_4 = {"paper": "neurips2019", "table": "4", "setting": "supervised"}


def run(dataset, method, number, **columns):
    """A row of IKDR."""
    row = {"kernel": "gaussian", "method": method, "paradigm": "supervised", "split": "folds", "cost": -1311.0}
    row |= {"quality_metric": "accuracy", "quality": 0.95, "evaluation": "", "uses_degrees": False}
    row |= {"partition": 0, "kernel_weights": "", "optimality": ""}
    row |= dict.fromkeys(_COUNTS, 0) | dict.fromkeys(_NUMBERS)
    return _shared(dataset, number, **row, trace_file=f"{dataset}-{method}.jsonl") | columns


def runs_of(dataset, method, numbers, **columns):
    """Rows of IKDR by their numbers, of which a column may be a function."""

    def at(number):
        return {name: value(number) if callable(value) else value for name, value in columns.items()}

    return [run(dataset, method, number, **at(number)) for number in numbers]


def kpca_run(**columns):
    """A row of the KPCA trick's tables."""
    row = {"learner": "dne", "variant": "plain", "accuracy": 0.9, "kernel": "", "test_selected": "", "n_coordinates": 4}
    row |= {"tuning_cpu_s": 1.5, "tuning_wall_s": 2.0, "learning_cpu_s": 0.25, "learning_wall_s": 0.5}
    row |= {"n_train": 100, "n_test": 50, "n_features": 4, "n_folds": 5, "trace_file": "none.jsonl"}
    return _shared("iris", 0, **row) | columns


def kpca_runs(accuracies, **columns):
    """Rows of the KPCA trick by variant, a split for each accuracy."""
    return [
        kpca_run(variant=variant, run=number, accuracy=accuracy, **columns)
        for variant, values in accuracies.items()
        for number, accuracy in enumerate(values)
    ]


def low_rank_run(**columns):
    """A row of low-rank kernel learning, without numbers but those that are given."""
    own = dict.fromkeys(own_column_types(LowRankRecord)) | {"method": "burg", "n_constraints": 25}
    return _shared("digits", 0, **own, trace_file="none.jsonl") | columns


def trace_line(method, number, *, dataset="wine", kernel="gaussian", **point):
    """A line of a published trace."""
    return json.dumps({"cell": f"{dataset}/{kernel}/{method}", "run": number} | point) + "\n"


def experiment_of(*solvers, datasets=("wine",), kernels=("gaussian",), **more):
    """What reports read of the definition of an experiment."""
    return {"title": "T.", "datasets": [*datasets], "kernels": [*kernels], "solvers": [*solvers]} | more


def traced_runs(folder, traces, kernel="gaussian", point=None, **columns):
    """Write traces, by solver a list of (seconds, cost) of each run, and return the rows that end there.

    ``point`` is what else is said at each point, ``columns`` are those of every row.
    """
    rows = []
    for method, runs in traces.items():
        place = f"{kernel}-{method}.jsonl"
        lines = [
            trace_line(method, number, kernel=kernel, time_s=time, cost=cost, **point or {})
            for number, points in enumerate(runs)
            for time, cost in points
        ]
        (folder / place).write_text("".join(lines))
        for number, points in enumerate(runs):
            ended = {"cost": points[-1][1], "time_s": points[-1][0], "kernel": kernel, "trace_file": place}
            rows.append(run("wine", method, number, **ended | columns))
    return pd.DataFrame(rows)


def figure_source(runs, traces, name="e", experiment=None, *, defined=(), known=NOTHING_KNOWN):
    """What a figure of traces is made of; ``defined`` are the solvers of the configuration."""
    made = {"report": SimpleNamespace(kind="cost_against_time"), "config": {"solvers": dict(defined)}}
    return SimpleNamespace(runs=runs, traces=traces, name=name, experiment=experiment, known=known, **made)
