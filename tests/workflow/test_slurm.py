"""The workflow through a real Slurm: its profile, and the one for schedulers without a plugin."""

import pytest
import yaml

from support.slurm_runs import new_jobs, of_solvers, statuses
from support.small_grid import ROOT, ROWS, STATUS, Workflow, overlay

pytestmark = pytest.mark.needs("slurm")


def test_every_run_leaves_its_row(cluster, through_slurm):
    # Those that converge, raise and are killed come below.
    before, solvers = cluster.jobs(), ("Sleeps", "Allocates")
    done = through_slurm.run(*ROWS, **of_solvers(*solvers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(through_slurm) == {solver: [STATUS[solver]] * 2 for solver in solvers}
    # One job a batch; short jobs and those that need a network run beside Snakemake.
    assert new_jobs(cluster, before) == ["COMPLETED"] * len(solvers)
    assert (through_slurm.tables / "ikdr.csv").exists()


def test_short_batches_share_a_job_where_that_is_asked_for(cluster, through_slurm):
    before = cluster.jobs()
    together = ["--groups", "run_batch=batches", "--group-components", "batches=2"]
    done = through_slurm.run(*together, *ROWS, **of_solvers("ism", "IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert new_jobs(cluster, before) == ["COMPLETED"]
    assert statuses(through_slurm) == {name: [STATUS[name]] * 2 for name in ("ism", "IsKilled")}


def test_rows_of_a_shared_job_outlast_one_that_fails_to_add_to_them(cluster, through_slurm):
    def together(*solvers):
        return of_solvers(*solvers) | {"experiments": {"table4_supervised": auto | {"solvers": list(solvers)}}}

    auto = overlay()["experiments"]["table4_supervised"] | {"baselines": [], "runs_per_job": "auto"}
    before = cluster.jobs()
    done = through_slurm.run(*ROWS, **together("ism", "Raises"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert new_jobs(cluster, before) == ["COMPLETED"]
    (path,) = through_slurm.record_files()
    rows = path.read_text()
    failed = through_slurm.run("--retries", "0", *ROWS, **together("ism", "Raises", "KillsItsGuardian"))
    assert failed.returncode != 0
    # Whether or not the file is there now: nothing of it is made again.
    done = through_slurm.run(*ROWS, **together("ism", "Raises"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_text() == rows


def test_the_profiles_cap_the_queue():
    for name in ("slurm", "cluster-generic"):
        profile = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        assert profile["jobs"] == 100
        assert profile["max-jobs-per-timespan"] == "50/1s"


def test_a_scheduler_without_a_plugin(cluster, tmp_path):
    before = cluster.jobs()
    words = ["--profile", ROOT / "profiles" / "cluster-generic", "--seconds-between-status-checks", "1"]
    workflow = Workflow(tmp_path / "run", cluster.environment, words)
    done = workflow.run(*ROWS, **of_solvers("IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(workflow) == {"IsKilled": ["failed"] * 2}
    assert new_jobs(cluster, before) == ["COMPLETED"]
