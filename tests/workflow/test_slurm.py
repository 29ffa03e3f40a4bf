"""The workflow through a real Slurm: its profile, and the one for schedulers without a plugin."""

import subprocess
import time

import pytest
import yaml

from slurm_cluster import SlurmCluster, missing_programs
from small_grid import ROOT, ROWS, STATUS, Workflow, overlay

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(
        bool(missing_programs()),
        reason=f"SKIPPED LOUDLY: no Slurm on this machine ({', '.join(missing_programs())}): apt-get install "
        "slurm-wlm munge",
    ),
]
# A test cluster keeps no accounts and answers at once.
QUICKLY = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"]
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def workflow(cluster, tmp_path):
    words = ["--profile", ROOT / "profiles" / "slurm", "--seconds-between-status-checks", "2", *QUICKLY]
    return Workflow(tmp_path / "run", cluster.environment, words)


def of_solvers(*solvers, **changes):
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": list(solvers), "baselines": []}
    return overlay(experiments={"table4_supervised": experiment}, **changes)


def statuses(workflow):
    return {solver: [record.status for record in records] for solver, records in workflow.records().items()}


def new_jobs(cluster, before):
    return [state for number, state in cluster.jobs().items() if number not in before]


def test_every_run_leaves_its_row(cluster, workflow):
    before, solvers = cluster.jobs(), ("ism", "Sleeps", "Allocates", "IsKilled")
    done = workflow.run(*ROWS, **of_solvers(*solvers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(workflow) == {solver: [STATUS[solver]] * 2 for solver in solvers}
    # One job a batch; short jobs and those that need a network run beside Snakemake.
    assert new_jobs(cluster, before) == ["COMPLETED"] * len(solvers)
    assert (workflow.tables / "ikdr.csv").exists()


def test_a_job_that_slurm_ends_leaves_no_row_and_is_run_again(cluster, workflow):
    before = cluster.jobs()
    # A run may take ten minutes, but Slurm grants one.
    far = {"limits": {"time_s": 600, "memory_mib": 256}}
    done = workflow.run(
        "--set-resources", "run_batch:runtime=1", "--retries", "0", *ROWS, **of_solvers("Sleeps", **far)
    )
    assert done.returncode != 0
    assert new_jobs(cluster, before) == ["TIMEOUT"]
    assert statuses(workflow) == {}
    again = workflow.run(*ROWS, **of_solvers("Sleeps"))
    assert again.returncode == 0, again.stdout + again.stderr
    assert statuses(workflow) == {"Sleeps": ["time_limit"] * 2}


def test_jobs_wait_for_a_drained_node_no_more_of_them_than_the_cap(cluster, workflow):
    before = cluster.jobs()
    cluster.command("scontrol", "update", f"NodeName={cluster.host}", "State=DRAIN", "Reason=test")
    running = workflow.start("--jobs", "1", "--until", "run_batch", **of_solvers("ism", "Raises"))
    try:
        until = time.monotonic() + PATIENCE_S
        while new_jobs(cluster, before) != ["PENDING"]:
            assert time.monotonic() < until, new_jobs(cluster, before)
            assert running.poll() is None, running.communicate()
            time.sleep(0.5)
        # The other job is Snakemake's own matter still, though its check of the queue, every two seconds, has passed.
        time.sleep(5.0)
        assert new_jobs(cluster, before) == ["PENDING"]
        assert statuses(workflow) == {}
    finally:
        cluster.command("scontrol", "update", f"NodeName={cluster.host}", "State=RESUME")
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    assert statuses(workflow) == {name: [STATUS[name]] * 2 for name in ("ism", "Raises")}


def test_short_batches_share_a_job_where_that_is_asked_for(cluster, workflow):
    before = cluster.jobs()
    together = ["--groups", "run_batch=batches", "--group-components", "batches=3"]
    done = workflow.run(*together, *ROWS, **of_solvers("ism", "Raises", "IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert new_jobs(cluster, before) == ["COMPLETED"]
    assert statuses(workflow) == {name: [STATUS[name]] * 2 for name in ("ism", "Raises", "IsKilled")}


def test_rows_of_a_shared_job_outlast_one_that_fails_to_add_to_them(cluster, workflow):
    def together(*solvers):
        return of_solvers(*solvers) | {"experiments": {"table4_supervised": auto | {"solvers": list(solvers)}}}

    auto = overlay()["experiments"]["table4_supervised"] | {"baselines": [], "runs_per_job": "auto"}
    before = cluster.jobs()
    done = workflow.run(*ROWS, **together("ism", "Raises"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert new_jobs(cluster, before) == ["COMPLETED"]
    (path,) = workflow.record_files()
    rows = path.read_text()
    failed = workflow.run("--retries", "0", *ROWS, **together("ism", "Raises", "IsTerminated"))
    assert failed.returncode != 0
    # Whether or not the file is there now: nothing of it is made again.
    done = workflow.run(*ROWS, **together("ism", "Raises"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_text() == rows


def test_the_profiles_cap_the_queue():
    for name in ("slurm", "cluster-generic"):
        profile = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        assert profile["jobs"] == 100
        assert profile["max-jobs-per-timespan"] == "50/1s"


def test_a_scheduler_without_a_plugin(cluster, tmp_path):
    before = cluster.jobs()
    words = ["--profile", ROOT / "profiles" / "cluster-generic", "--seconds-between-status-checks", "2"]
    workflow = Workflow(tmp_path / "run", cluster.environment, words)
    done = workflow.run(*ROWS, **of_solvers("ism", "IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(workflow) == {"ism": ["converged"] * 2, "IsKilled": ["failed"] * 2}
    assert new_jobs(cluster, before) == ["COMPLETED"] * 2


def test_cancelling_the_workflow_cancels_its_jobs(cluster, workflow):
    before = cluster.jobs()
    far = {"limits": {"time_s": 600, "memory_mib": 256}}
    running = workflow.start(**of_solvers("Sleeps", **far))
    until = time.monotonic() + PATIENCE_S
    while new_jobs(cluster, before) != ["RUNNING"]:
        assert time.monotonic() < until, new_jobs(cluster, before)
        time.sleep(0.5)
    running.send_signal(subprocess.signal.SIGINT)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode != 0
    until = time.monotonic() + PATIENCE_S
    while new_jobs(cluster, before) not in (["CANCELLED"], ["COMPLETED"], ["FAILED"]):
        assert time.monotonic() < until, new_jobs(cluster, before)
        time.sleep(0.5)
    assert statuses(workflow) == {}
