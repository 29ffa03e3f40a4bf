"""The workflow through a real Slurm: its profile, and the one for schedulers without a plugin."""

import pytest

from support.slurm_runs import new_jobs, of_solvers, statuses
from support.small_grid import ROOT, ROWS, STATUS, Workflow, overlay

pytestmark = pytest.mark.needs("slurm")


def test_short_batches_share_a_job_where_that_is_asked_for(cluster, through_slurm):
    before = cluster.jobs()
    together = ["--groups", "run_batch=batches", "--group-components", "batches=2"]
    done = through_slurm.run(*together, *ROWS, **of_solvers("ism", "IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert new_jobs(cluster, before) == ["COMPLETED"]
    assert statuses(through_slurm) == {name: [STATUS[name]] * 2 for name in ("ism", "IsKilled")}


def test_rows_of_a_shared_job_outlast_a_failed_addition(cluster, through_slurm):
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


def test_a_scheduler_without_a_plugin(cluster, tmp_path):
    before = cluster.jobs()
    words = ["--profile", ROOT / "profiles" / "cluster-generic", "--seconds-between-status-checks", "1"]
    workflow = Workflow(tmp_path / "run", cluster.environment, words)
    done = workflow.run(*ROWS, **of_solvers("IsKilled"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(workflow) == {"IsKilled": ["failed"] * 2}
    assert new_jobs(cluster, before) == ["COMPLETED"]
