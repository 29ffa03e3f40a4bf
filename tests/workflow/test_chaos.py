"""The workflow killed at random instants and started again, until it has ended: nothing lost, nothing double."""

import contextlib
import os
import signal
import subprocess

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.record import read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.small_grid import ROWS, Workflow, overlay

pytestmark = pytest.mark.whole

# Every kill is made with and without a run at work, twice; by make whole each process is killed once, at work.
ROUNDS, DAILY = 2, 4
# What does not depend on when and where a run was made.
COMPARED = ("status", "message", "iterations", "value_calls", "gradient_calls", "surrogate_calls", "cost", "quality")


def grid():
    """Return a grid of which some cells have jobs of their own and the others share one."""
    experiment = {"title": "Chaos.", "paradigm": "supervised", "start": "surrogate", "components": {"wine": 4}}
    experiment |= overlay()["experiments"]["table4_supervised"] | {"kernels": ["gaussian", "polynomial"], "folds": 4}
    apart = {"solvers": ["gm"], "baselines": []}
    together = {"solvers": ["ism", "Raises"], "baselines": ["svm"], "runs_per_job": "auto"}
    # Most of a run is repeats, so that there is something to kill.
    return overlay(
        run=["apart", "together"],
        limits={"time_s": 60, "memory_mib": 1024},
        timing={"repeat_for_s": 0.2},
        experiments={"apart": experiment | apart, "together": experiment | together},
    )


def made(workflow):
    """Return the rows by their axes, and the bytes of the findings."""
    rows = [row for path in workflow.record_files() for row in read_records(path, IKDRRecord)]
    by_axes = {row.axes: [getattr(row, name) for name in COMPARED] for row in rows}
    assert len(by_axes) == len(rows)
    folder = workflow.folder / "results/findings"
    return by_axes, {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.npz")}


def planned_kills(rng, rounds):
    """Return who is killed, in a random order, and whether a run has to be there then.

    What starts jobs is also killed at any instant, when there may be none yet or none any more. Between two kills of
    runs lies that of a group: a run that is killed twice counts as failed.
    """
    kills = []
    for at_work in (True, False) * rounds:
        once = [("job", True), ("run", True), ("scheduler", at_work)]
        kills += [*(once[index] for index in rng.permutation(len(once))), ("group", at_work)]
    return kills


def children_of(process, *, recursive=False):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children(recursive=recursive)
    return []


def is_command(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()[1:4] == ["-m", "kdrbench", "batch"]
    return False


def jobs_of(members):
    """Return the processes of jobs; their children are the guardians of runs, and theirs the runs."""
    commands = [member for member in members if is_command(member)]
    inner = {child.pid for command in commands for child in children_of(command)}
    return [command for command in commands if command.pid not in inner]


def kill(victim, snakemake, jobs, runs):
    """Kill one process, or that of Snakemake with all that share its group."""
    if victim == "group":
        os.killpg(snakemake.pid, signal.SIGKILL)
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        {"scheduler": [psutil.Process(snakemake.pid)], "job": jobs, "run": runs}[victim][0].kill()


def exits_within(process, seconds):
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    return process.returncode is not None


def disturbed(workflow, kills, rng):
    """Start the workflow until it ends well, and make the next kills meanwhile."""
    while True:
        snakemake, members = workflow.start(*ROWS, **grid()), []
        while kills and not exits_within(snakemake, rng.uniform(0.2, 3.0)):
            victim, at_work = kills[0]
            scheduler = psutil.Process(snakemake.pid)
            members = [scheduler, *children_of(scheduler, recursive=True)]
            jobs = jobs_of(members)
            runs = [run for job in jobs for guardian in children_of(job) for run in children_of(guardian)]
            if runs or not at_work:
                kill(victim, snakemake, jobs, runs)
                kills.pop(0)
        said = "".join(snakemake.communicate())
        _, alive = psutil.wait_procs(members, timeout=30.0)
        assert not [one for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
        # What Snakemake says must be done after it was killed.
        if "--unlock" in said:
            workflow.succeed("--unlock", **grid())
        if snakemake.returncode == 0:
            return


@pytest.mark.attack("chaos: kills")
def test_kills_at_random_instants_change_nothing(tmp_path, pytestconfig):
    undisturbed = Workflow(tmp_path / "undisturbed")
    undisturbed.succeed(*ROWS, **grid())
    expected, found = made(undisturbed)
    assert (len(expected), len(found)) == ((2 * 3 + 1) * 4, 2 * 2 + 1)

    # Once with each first seed: it takes minutes.
    rng = np.random.default_rng(pytestconfig.getoption("attack_seed"))
    kills = planned_kills(rng, ROUNDS)
    if pytestconfig.getoption("markexpr") != "attack":
        kills = kills[:DAILY]
    rounds = 0
    while kills:
        workflow = Workflow(tmp_path / f"disturbed-{rounds}")
        disturbed(workflow, kills, rng)
        assert made(workflow) == (expected, found)
        # No writer of results has left anything but whole files.
        places = [workflow.folder / "results" / name for name in ("runs", "traces", "findings")]
        assert not [path for place in places for path in place.rglob("*") if path.name.startswith(".")]
        rounds += 1
