"""The workflow through a real Slurm: its profiles, jobs that wait, are refused or ended, and nodes that go down."""

import signal
import time

import pytest

from support.slurm_cluster import SlurmCluster
from support.small_grid import ROOT, ROWS, STATUS, Workflow, of_solvers

pytestmark = pytest.mark.needs("slurm")

# On a busy machine a start of Snakemake takes half a minute.
PATIENCE_S = 300.0
# Runs that sleep for as long as they may.
FAR = {"limits": {"time_s": 600, "memory_mib": 256}}


def quickly(first_check_s):
    """Return Snakemake's words by which tests wait less.

    The plugin first looks at its jobs after ``first_check_s``, and waits ten seconds longer with each look in vain.
    """
    words = ["--seconds-between-status-checks", "1"]
    return [*words, "--slurm-init-seconds-before-status-checks", str(first_check_s)]


def new_jobs(cluster, before):
    return [state for number, state in cluster.jobs().items() if number not in before]


def await_jobs(cluster, before, reached, running=None):
    """Wait until the states of the new jobs are what is waited for, as long as Snakemake runs if that is given."""
    until = time.monotonic() + PATIENCE_S
    while not reached(states := new_jobs(cluster, before)):
        assert time.monotonic() < until, states
        assert running is None or running.poll() is None, running.communicate()
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Slurm of one node; each module has its own, so that modules do not queue for it."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def through_slurm(cluster, tmp_path):
    """The small grid's workflow with the profile for Slurm; its jobs share no locks of cores with other tests."""
    # A job starts Snakemake, and that starts it once more: it takes ten seconds.
    words = ["--profile", ROOT / "profiles" / "slurm", *quickly(first_check_s=10)]
    (tmp_path / "tmp").mkdir()
    return Workflow(tmp_path / "run", cluster.environment | {"TMPDIR": str(tmp_path / "tmp")}, words)


def test_short_batches_share_a_job_where_that_is_asked_for(cluster, through_slurm):
    before = cluster.jobs()
    together = ["--groups", "run_batch=batches", "--group-components", "batches=2"]
    through_slurm.succeed(*together, *ROWS, **of_solvers("ism", "IsKilled"))
    assert new_jobs(cluster, before) == ["COMPLETED"]
    assert through_slurm.statuses() == {name: [STATUS[name]] * 2 for name in ("ism", "IsKilled")}


def test_a_scheduler_without_a_plugin(cluster, tmp_path):
    before = cluster.jobs()
    words = ["--profile", ROOT / "profiles" / "cluster-generic", "--seconds-between-status-checks", "1"]
    workflow = Workflow(tmp_path / "run", cluster.environment, words)
    workflow.succeed(*ROWS, **of_solvers("IsKilled"))
    assert workflow.statuses() == {"IsKilled": ["failed"] * 2}
    assert new_jobs(cluster, before) == ["COMPLETED"]


@pytest.mark.attack("slurm: time-out")
def test_a_job_that_slurm_ends_leaves_no_row_and_is_run_again(cluster, through_slurm):
    before = cluster.jobs()
    # A run may take ten minutes, but Slurm grants one.
    granted = [*quickly(first_check_s=65), "--set-resources", "run_batch:runtime=1", "--retries", "0"]
    done = through_slurm.run(*granted, *ROWS, **of_solvers("Sleeps", **FAR))
    assert done.returncode != 0
    assert new_jobs(cluster, before) == ["TIMEOUT"]
    assert through_slurm.statuses() == {}
    through_slurm.succeed(*ROWS, **of_solvers("Sleeps"))
    assert through_slurm.statuses() == {"Sleeps": ["time_limit"] * 2}


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
        assert through_slurm.statuses() == {}
    finally:
        cluster.command("scontrol", "update", f"NodeName={cluster.host}", "State=RESUME")
    for ended in (1, 2):
        await_jobs(cluster, before, lambda states, ended=ended: states.count("COMPLETED") >= ended)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    assert through_slurm.statuses() == {name: [STATUS[name]] * 2 for name in ("ism", "Raises")}


@pytest.mark.attack("slurm: workflow cancelled")
def test_cancelling_the_workflow_cancels_its_jobs(cluster, through_slurm):
    before = cluster.jobs()
    running = through_slurm.start(**of_solvers("Sleeps", **FAR))
    await_jobs(cluster, before, lambda states: states == ["RUNNING"])
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode != 0
    await_jobs(cluster, before, lambda states: states in (["CANCELLED"], ["COMPLETED"], ["FAILED"]))
    assert through_slurm.statuses() == {}


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
    assert through_slurm.statuses() == {"ism": ["converged"] * 2}
    # Slurm sends the job again. What clears the node may end it once more, for here it starts at once: then Snakemake
    # sends another.
    assert new_jobs(cluster, before).count("COMPLETED") == 1


def run_at_once(cluster, before):
    """Spare the two minutes that Slurm lets a job wait that it sends again."""
    for number in [number for number, state in cluster.jobs().items() if number not in before and state == "PENDING"]:
        cluster.command("scontrol", "update", f"JobId={number}", "StartTime=now")
