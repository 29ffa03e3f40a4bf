"""A batch of one method on Wine, and its files, for tests that run it."""

from configs import table_4_config
from kdrbench.bench.grid import Grid
from kdrbench.bench.job import run_job
from kdrbench.bench.limits import Limits
from kdrbench.bench.plan import Bundle
from kdrbench.bench.state import BatchFiles

LIMITS = Limits(time_s=1.0, memory_mib=256)


def batch_of(method, *, folds=1, kernel="gaussian", evaluation=None, options=None):
    config = table_4_config()
    config["solvers"] = {"it": {"method": method} | (options or {})}
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine"], "kernels": [kernel], "solvers": ["it"], "folds_per_job": folds}
    if evaluation is not None:
        experiment["evaluation"] = evaluation
    return Grid(config).batches()[0]


def files_in(folder):
    return BatchFiles(folder / "records.jsonl", folder / "traces.jsonl", folder / "state", folder / "findings.npz")


def alone(batch):
    """Return the bundle of a job that makes one batch."""
    return Bundle(batch.path, (batch,))


def run_batch(batch, dataset, around, files):
    return run_job(alone(batch), lambda: dataset, around, files)
