"""What tests of the workflow through Slurm share: which grids they run, what became of jobs."""

import time

from support.small_grid import overlay

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


def of_solvers(*solvers, **changes):
    experiment = overlay()["experiments"]["table4_supervised"] | {"solvers": list(solvers), "baselines": []}
    return overlay(experiments={"table4_supervised": experiment}, **changes)


def statuses(workflow):
    return {solver: [record.status for record in records] for solver, records in workflow.records().items()}


def new_jobs(cluster, before):
    return [state for number, state in cluster.jobs().items() if number not in before]


def await_jobs(cluster, before, reached, running=None):
    """Wait until the states of the new jobs are what is waited for, as long as Snakemake runs if that is given."""
    until = time.monotonic() + PATIENCE_S
    while not reached(states := new_jobs(cluster, before)):
        assert time.monotonic() < until, states
        assert running is None or running.poll() is None, running.communicate()
        time.sleep(0.2)
