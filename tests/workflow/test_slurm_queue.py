"""The workflow through a real Slurm whose jobs wait in the queue, share an array, are ended or cancelled."""

import os
import re
import signal
import time

import pytest

from support.slurm_runs import FAR, PATIENCE_S, await_jobs, new_jobs, of_solvers, quickly, statuses
from support.small_grid import ROWS, STATUS

pytestmark = pytest.mark.needs("slurm")

# Each is a job that starts Snakemake twice: 200 of them take half an hour on two cores.
N_JOBS = int(os.environ.get("KDRBENCH_ARRAY_JOBS", "2"))
# What the profile has as comments; and no node for each task alone.
ARRAY = ["--slurm-array-jobs", "run_batch", "--slurm-status-command", "squeue", "--jobs", "1000"]
ARRAY += ["--max-jobs-per-timespan", "1000/1s", "--set-resources", "run_batch:slurm_extra=''"]


@pytest.mark.attack("slurm: time-out")
def test_a_job_that_slurm_ends_leaves_no_row_and_is_run_again(cluster, through_slurm):
    before = cluster.jobs()
    # A run may take ten minutes, but Slurm grants one.
    granted = [*quickly(first_check_s=65), "--set-resources", "run_batch:runtime=1", "--retries", "0"]
    done = through_slurm.run(*granted, *ROWS, **of_solvers("Sleeps", **FAR))
    assert done.returncode != 0
    assert new_jobs(cluster, before) == ["TIMEOUT"]
    assert statuses(through_slurm) == {}
    again = through_slurm.run(*ROWS, **of_solvers("Sleeps"))
    assert again.returncode == 0, again.stdout + again.stderr
    assert statuses(through_slurm) == {"Sleeps": ["time_limit"] * 2}


@pytest.mark.attack("slurm: node drained")
def test_jobs_wait_for_a_drained_node_up_to_the_cap(cluster, through_slurm):
    before = cluster.jobs()
    cluster.command("scontrol", "update", f"NodeName={cluster.host}", "State=DRAIN", "Reason=test")
    words = [*quickly(first_check_s=3), "--jobs", "1", "--until", "run_batch"]
    running = through_slurm.start(*words, **of_solvers("ism", "Raises"))
    try:
        await_jobs(cluster, before, lambda states: states == ["PENDING"], running)
        # The other job is Snakemake's own matter still, though its first check of the queue has passed.
        time.sleep(5.0)
        assert new_jobs(cluster, before) == ["PENDING"]
        assert statuses(through_slurm) == {}
    finally:
        cluster.command("scontrol", "update", f"NodeName={cluster.host}", "State=RESUME")
    for ended in (1, 2):
        await_jobs(cluster, before, lambda states, ended=ended: states.count("COMPLETED") >= ended)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    assert statuses(through_slurm) == {name: [STATUS[name]] * 2 for name in ("ism", "Raises")}


@pytest.mark.attack("slurm: workflow cancelled")
def test_cancelling_the_workflow_cancels_its_jobs(cluster, through_slurm):
    before = cluster.jobs()
    running = through_slurm.start(**of_solvers("Sleeps", **FAR))
    await_jobs(cluster, before, lambda states: states == ["RUNNING"])
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode != 0
    await_jobs(cluster, before, lambda states: states in (["CANCELLED"], ["COMPLETED"], ["FAILED"]))
    assert statuses(through_slurm) == {}


@pytest.mark.attack("slurm: job array")
def test_short_jobs_are_one_array_and_each_leaves_its_row(cluster, through_slurm):
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
