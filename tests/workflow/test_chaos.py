"""The workflow killed at random instants and started again, until it has ended: nothing lost, nothing double."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import psutil
import pytest

from kdrbench.bench.record import read_records
from kdrbench.stages.ikdr.stage import IKDRRecord
from support.small_grid import ROWS, Workflow, overlay

pytestmark = pytest.mark.whole

# Every kill is made with and without a run at work, twice; every day each process is killed once, at work.
ROUNDS, DAILY = 2, 4
# What does not depend on when and where a run was made.
COMPARED = ("status", "message", "iterations", "value_calls", "gradient_calls", "surrogate_calls", "cost", "quality")


def grid():
    """Return a grid of which some cells have jobs of their own and the others share one."""
    experiment = {"title": "Chaos.", "paradigm": "supervised", "start": "surrogate", "components": {"wine": 4}}
    experiment |= overlay()["experiments"]["table4_supervised"]
    experiment |= {"kernels": ["gaussian", "polynomial"], "folds": 4}
    apart = {"solvers": ["gm"], "baselines": []}
    together = {"solvers": ["ism", "Raises"], "baselines": ["svm"], "runs_per_job": "auto"}
    # Most of a run is repeats, so that there is something to kill.
    return overlay(
        run=["apart", "together"],
        limits={"time_s": 60, "memory_mib": 1024},
        timing={"repeat_for_s": 0.2},
        experiments={"apart": experiment | apart, "together": experiment | together},
    )


def findings(workflow):
    """Return what the runs found: the same bytes, whoever was killed."""
    folder = workflow.folder / "results/findings"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.npz")}


def rows(workflow):
    records = sorted(
        (record.axes, record) for path in workflow.record_files() for record in read_records(path, IKDRRecord)
    )
    assert len({axes for axes, _ in records}) == len(records)
    return {axes: [getattr(record, name) for name in COMPARED] for axes, record in records}


def family(process):
    """Snakemake and everything it has started; the deepest last."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def planned_kills(rng, rounds):
    """Return who is killed, in a random order, and whether a run has to be there then.

    What starts jobs is also killed at any instant, when there may be none yet or none any more. Between two kills of
    runs lies that of a group: a run that is killed twice is no accident, but a run that failed.
    """
    kills = []
    for at_work in (True, False) * rounds:
        once = [("job", True), ("run", True), ("scheduler", at_work)]
        kills += [*(once[index] for index in rng.permutation(len(once))), ("group", at_work)]
    return kills


def kill(victim, snakemake, jobs, runs):
    """Kill one process, or that of Snakemake with all that share its group."""
    if victim == "group":
        os.killpg(snakemake.pid, signal.SIGKILL)
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        {"scheduler": [psutil.Process(snakemake.pid)], "job": jobs, "run": runs}[victim][0].kill()


def runs_of(jobs):
    """A job's children are the guardians of its runs, theirs the runs."""
    return [run for job in jobs for guardian in alive_children(job) for run in alive_children(guardian)]


def is_batch(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = process.parent()
        return is_command(process) and not (parent and is_command(parent))
    return False


def is_command(process):
    return process.cmdline()[1:4] == ["-m", "kdrbench", "batch"]


def alive_children(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def gone(processes, within_s=30.0):
    _, alive = psutil.wait_procs(processes, timeout=within_s)
    return [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def unlocked(workflow, out):
    """Do what Snakemake says must be done after it was killed."""
    if "--unlock" in out:
        done = workflow.run("--unlock", **grid())
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.attack("chaos: kills")
def test_kills_at_random_instants_change_nothing(tmp_path, pytestconfig):
    clean_times = Workflow(tmp_path / "clean_times")
    done = clean_times.run(*ROWS, **grid())
    assert done.returncode == 0, done.stdout + done.stderr
    expected, found = rows(clean_times), findings(clean_times)
    assert len(found) == 2 * 2 + 1
    assert len(expected) == (2 * 3 + 1) * 4

    # Once with each first seed: it takes minutes.
    rng = np.random.default_rng(pytestconfig.getoption("attack_seed"))
    kills = planned_kills(rng, ROUNDS)
    if pytestconfig.getoption("markexpr") != "attack":
        kills = kills[:DAILY]
    rounds = 0
    while kills:
        workflow, ended = Workflow(tmp_path / f"disturbed-{rounds}"), False
        while not ended:
            snakemake = workflow.start(*ROWS, **grid())
            members = []
            while kills and not exits_within(snakemake, rng.uniform(0.2, 3.0)):
                victim, at_work = kills[0]
                members = family(psutil.Process(snakemake.pid))
                jobs = [member for member in members if is_batch(member)]
                runs = runs_of(jobs)
                if runs or not at_work:
                    kill(victim, snakemake, jobs, runs)
                    kills.pop(0)
            out, err = snakemake.communicate()
            assert gone(members) == []
            unlocked(workflow, out + err)
            ended = snakemake.returncode == 0
        assert rows(workflow) == expected
        assert findings(workflow) == found
        assert no_half_files(workflow.folder)
        rounds += 1


def exits_within(process, seconds):
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def no_half_files(folder: Path):
    """Return whether no writer of results has left anything but whole files."""
    places = [folder / "results" / name for name in ("runs", "traces", "findings")]
    return not [path for place in places for path in place.rglob("*") if path.name.startswith(".")]
