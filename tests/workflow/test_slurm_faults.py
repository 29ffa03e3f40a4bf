"""The workflow through a Slurm that refuses jobs or loses a node."""

import os

import pytest

from support.slurm_runs import PATIENCE_S, await_jobs, new_jobs, of_solvers, statuses
from support.small_grid import ROWS, STATUS

pytestmark = pytest.mark.needs("slurm")

REFUSES = """#!/bin/sh
# Refuses the submissions whose numbers are named.
echo >> {folder}/submissions
number=$(wc -l < {folder}/submissions)
case " {refused} " in *" $number "*)
  echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1;; esac
exec {sbatch} "$@"
"""


def refuse(workflow, cluster, folder, numbers):
    """Put an ``sbatch`` before the cluster's that refuses the submissions of these numbers."""
    folder.mkdir()
    (folder / "submissions").write_text("")
    words = " ".join(map(str, numbers))
    text = REFUSES.format(folder=folder, refused=words, sbatch=cluster.folder / "bin" / "sbatch")
    (folder / "sbatch").write_text(text)
    (folder / "sbatch").chmod(0o755)
    workflow.environment["PATH"] = f"{folder}{os.pathsep}{cluster.environment['PATH']}"


@pytest.mark.attack("slurm: jobs refused")
def test_jobs_that_slurm_refuses_are_sent_again(cluster, through_slurm, tmp_path, attack_rng):
    before, solvers = cluster.jobs(), ("ism", "Raises")
    # Each is sent at most three times.
    refuse(through_slurm, cluster, tmp_path / "before", attack_rng.choice(range(1, 4), size=2, replace=False))
    done = through_slurm.run(*ROWS, **of_solvers(*solvers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Socket timed out" in done.stdout + done.stderr
    assert statuses(through_slurm) == {name: [STATUS[name]] * 2 for name in solvers}
    assert new_jobs(cluster, before) == ["COMPLETED"] * len(solvers)


@pytest.mark.attack("slurm: node lost")
def test_a_job_whose_node_goes_down_is_run_again(cluster, through_slurm):
    before = cluster.jobs()
    running = through_slurm.start(*ROWS, **of_solvers("ism"))
    await_jobs(cluster, before, lambda states: states == ["RUNNING"], running)
    cluster.kill_node()
    try:
        await_jobs(cluster, before, lambda states: states == ["PENDING"], running)
    finally:
        cluster.start_node()
    run_at_once(cluster, before)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    assert statuses(through_slurm) == {"ism": ["converged"] * 2}
    # Slurm sends the job again. What clears the node may end it once more, for here it starts at once: then Snakemake
    # sends another.
    assert new_jobs(cluster, before).count("COMPLETED") == 1


def run_at_once(cluster, before):
    """Spare the two minutes that Slurm lets a job wait that it sends again."""
    for number in [number for number, state in cluster.jobs().items() if number not in before and state == "PENDING"]:
        cluster.command("scontrol", "update", f"JobId={number}", "StartTime=now")
