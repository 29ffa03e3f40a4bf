"""A job array through a real Slurm: many short jobs as one entry of the queue."""

import os
import re

import pytest

from support.slurm_runs import new_jobs, of_solvers
from support.small_grid import ROWS

pytestmark = pytest.mark.needs("slurm")

# Each is a job that starts Snakemake twice: 200 of them take half an hour on two cores.
N_JOBS = int(os.environ.get("KDRBENCH_ARRAY_JOBS", "2"))
# What the profile has as comments; and no node for each task alone.
ARRAY = ["--slurm-array-jobs", "run_batch", "--slurm-status-command", "squeue", "--jobs", "1000"]
ARRAY += ["--max-jobs-per-timespan", "1000/1s", "--set-resources", "run_batch:slurm_extra=''"]


@pytest.mark.attack("slurm: job array")
def test_short_jobs_are_one_array_and_none_is_lost_or_doubled(cluster, through_slurm):
    before = cluster.jobs()
    grid = of_solvers("ism")
    grid["experiments"]["table4_supervised"] |= {"folds": 2, "partitions": N_JOBS // 2, "runs_per_job": 1}
    done = through_slurm.run(*ARRAY, *ROWS, **grid)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"The individual task IDs are (\S+)\.", done.stdout + done.stderr) == [f"1-{N_JOBS}"]
    assert new_jobs(cluster, before) == ["COMPLETED"] * N_JOBS
    (records,) = through_slurm.records().values()
    assert sorted(record.run for record in records) == list(range(N_JOBS))
    assert {record.status for record in records} == {"converged"}
