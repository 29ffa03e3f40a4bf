"""Which runs share a job of Snakemake where ``folds_per_job`` is ``auto``.

Starting a job takes a second or two, so cheap runs share one; dear ones get a job each, so that they run side by side
and an interruption loses little. A run is reckoned at

    evaluations * pairs * (d + q) * 2 operations,   1e10 of them a second,

pairs being n^2, or n * d where the kernel is linear or squared, whose problems have exact factors; evaluations are
those that a method usually needs, to an order of magnitude (a method of the user's own counts as a rival). By what all
runs of a cell are reckoned to take together they are made in

    at most 10 s     one job of all such cells of the experiment and data set
    at most 30 s     one job of all such cells of the experiment, data set and kernel
    at most 300 s    one job of the cell
    more             a job each

so that a shared job, too, is a matter of minutes. A wrong guess costs time, never a result.
"""

from __future__ import annotations

from kdrbench.bench.experiment import Config
from kdrbench.bench.plan import Batch

AUTO = "auto"
CHEAP = "cheap"
# Seconds of a cell.
MOST_OF_A_DATASET_S, MOST_OF_A_KERNEL_S, MOST_OF_A_CELL_S = 10.0, 30.0, 300.0
_OPERATIONS_PER_S = 1e10
_FACTORED = ("linear", "squared")
_BASELINE = 1.0
_RIVAL = 1000.0
_EVALUATIONS = {
    "ism": 10.0,
    "ism_safeguarded": 50.0,
    # Pairs one by one take some five hundred times longer than all together.
    "ism_2018": 5000.0,
}
# An alternation solves again in each of its rounds.
_ROUNDS = 5.0


def runs_per_batch(asked: str | int, n_runs: int, a_run_s: float) -> int:
    """Return ``asked``, or what the rule of this module says for it where that is ``auto``."""
    if asked != AUTO:
        return int(asked)
    return n_runs if n_runs * a_run_s <= MOST_OF_A_CELL_S else 1


def job_of(batch: Batch, asked: str | int, a_run_s: float) -> str:
    """Return the path of the job that makes the batch; others may have the same.

    It depends on the batch's own cell alone, so that a cell that comes or goes moves no other into another job.
    """
    cell_s = batch.n_folds * a_run_s
    if asked != AUTO or cell_s > MOST_OF_A_KERNEL_S:
        return batch.path
    place = [batch.experiment, batch.dataset, *([batch.kernel] if cell_s > MOST_OF_A_DATASET_S else []), CHEAP]
    return "/".join(place)


def seconds_of_a_run(n_samples: int, n_features: int, n_components: int, part: Config, paradigm: str) -> float:
    """Return about how long one run takes.

    ``part`` holds ``solver_definition`` and ``kernel_definition`` of a batch, the latter empty for a baseline.
    """
    kernel = part["kernel_definition"].get("family")
    pairs = n_samples * (n_features if kernel in _FACTORED else n_samples)
    evaluations = _EVALUATIONS.get(part["solver_definition"]["method"], _RIVAL) if kernel else _BASELINE
    if kernel and paradigm != "supervised":
        evaluations *= _ROUNDS
    return evaluations * 2.0 * pairs * (n_features + n_components) / _OPERATIONS_PER_S
