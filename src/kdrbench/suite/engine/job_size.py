"""Which runs share a job of Snakemake, where ``runs_per_job`` is ``auto``.

Starting a job takes a second or two, so cheap runs share one. Costly ones get a job each, so that they run side by side
and an interruption loses little. By what all runs of a cell are estimated to take together they are made in

    at most 10 s     one job of all such cells of the experiment
    at most 30 s     one job of all such cells of a data set that differ in the method alone
    at most 300 s    one job of the cell
    more             a job each

so that a shared job, too, is a matter of minutes. A wrong estimate costs time, never a result.
"""

from __future__ import annotations

from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.stage import Cell

AUTO, CHEAP = "auto", "cheap"
# Seconds of a cell.
MOST_OF_AN_EXPERIMENT_S, MOST_OF_A_KERNEL_S, MOST_OF_A_CELL_S = 10.0, 30.0, 300.0


def runs_per_batch(asked: str | int, cell: Cell) -> int:
    """Return ``asked``, or the number of runs by the rule of this module where that is ``auto``."""
    if asked != AUTO:
        return int(asked)
    return cell.n_runs if cell.n_runs * cell.run_s <= MOST_OF_A_CELL_S else 1


def job_of(batch: Batch, asked: str | int, cell: Cell) -> str:
    """Return the path of the job that makes the batch; others may have the same.

    It depends on the batch's own cell alone, so that a cell that comes or goes moves no other into another job.
    """
    cell_s = cell.n_runs * cell.run_s
    if asked != AUTO or cell_s > MOST_OF_A_KERNEL_S:
        return batch.path
    names = (batch.dataset, *batch.cell[:-1]) if cell_s > MOST_OF_AN_EXPERIMENT_S else ()
    return "/".join((batch.experiment, *names, CHEAP))
