"""The workflow through a Slurm that refuses jobs, loses a node, or takes it away for more urgent work."""

import os

import pytest

from support.slurm_cluster import SlurmCluster
from support.slurm_runs import PATIENCE_S, await_jobs, new_jobs, of_solvers, statuses
from support.small_grid import ROWS, STATUS

pytestmark = pytest.mark.needs("slurm")

# Jobs of the second partition push those of the first aside, which are sent again.
PREEMPTION = """
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL PriorityTier=10
"""
REFUSES = """#!/bin/sh
# Refuses the submissions whose numbers are named, or all.
echo >> {folder}/submissions
number=$(wc -l < {folder}/submissions)
case " {refused} " in *" $number "*|*" all "*)
  echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1;; esac
exec {sbatch} "$@"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster", settings=PREEMPTION) as cluster:
        yield cluster


@pytest.fixture
def refusing(cluster, through_slurm, tmp_path):
    """Put an ``sbatch`` before the cluster's that refuses the submissions of these numbers."""

    def begin(*refused):
        folder = tmp_path / "before"
        folder.mkdir(exist_ok=True)
        (folder / "submissions").write_text("")
        words = " ".join(map(str, refused))
        text = REFUSES.format(folder=folder, refused=words, sbatch=cluster.folder / "bin" / "sbatch")
        (folder / "sbatch").write_text(text)
        (folder / "sbatch").chmod(0o755)
        through_slurm.environment["PATH"] = f"{folder}{os.pathsep}{cluster.environment['PATH']}"

    return begin


@pytest.mark.attack("slurm: jobs refused")
def test_jobs_that_slurm_refuses_are_sent_again(cluster, through_slurm, refusing, attack_rng):
    before, solvers = cluster.jobs(), ("ism", "Raises")
    # Each is sent at most three times.
    refusing(*attack_rng.choice(range(1, 4), size=2, replace=False))
    done = through_slurm.run(*ROWS, **of_solvers(*solvers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Socket timed out" in done.stdout + done.stderr
    assert statuses(through_slurm) == {name: [STATUS[name]] * 2 for name in solvers}
    assert new_jobs(cluster, before) == ["COMPLETED"] * len(solvers)


@pytest.mark.attack("slurm: all jobs refused")
def test_a_slurm_that_refuses_all_ends_the_workflow(cluster, through_slurm, refusing):
    before = cluster.jobs()
    refusing("all")
    done = through_slurm.run(*ROWS, **of_solvers("Raises"))
    assert done.returncode != 0
    assert new_jobs(cluster, before) == []
    refusing()
    done = through_slurm.run(*ROWS, **of_solvers("Raises"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(through_slurm) == {"Raises": ["failed"] * 2}


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


@pytest.mark.attack("slurm: job preempted")
def test_a_job_that_more_urgent_work_pushes_aside_is_run_again(cluster, through_slurm):
    before = cluster.jobs()
    running = through_slurm.start(*ROWS, **of_solvers("ism"))
    await_jobs(cluster, before, lambda states: states == ["RUNNING"], running)
    ours = set(cluster.jobs()) - set(before)
    cluster.command("sbatch", "--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
    await_jobs(cluster, before, lambda states: sorted(states) == ["COMPLETED", "PENDING"], running)
    run_at_once(cluster, before)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    assert statuses(through_slurm) == {"ism": ["converged"] * 2}
    assert [cluster.jobs()[number] for number in ours] == ["COMPLETED"]


def run_at_once(cluster, before):
    """Spare the two minutes that Slurm lets a job wait that it sends again."""
    for number in [number for number, state in cluster.jobs().items() if number not in before and state == "PENDING"]:
        cluster.command("scontrol", "update", f"JobId={number}", "StartTime=now")
