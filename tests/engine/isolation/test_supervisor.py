import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.isolation.supervisor import supervise
from support.pids import wait_for_pids, wait_until_gone

LIMITS = Limits(time_s=0.3, memory_mib=256)


def test_descendants_in_sessions_of_their_own_are_gone_too(tmp_path):
    note = tmp_path / "pids"

    def spawn():
        for _ in range(2):
            hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
            with note.open("a") as stream:
                stream.write(f"{hidden.pid}\n")

    process = supervise(spawn, LIMITS)
    assert process.end is Exit.EXITED
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_memory_beyond_the_limit_is_refused_at_once(tmp_path):
    def allocate():
        try:
            np.ones(2**26)
        except MemoryError:
            (tmp_path / "refused").touch()

    supervise(allocate, LIMITS)
    assert (tmp_path / "refused").exists()


def test_memory_below_the_limit_is_granted_and_measured():
    process = supervise(lambda: np.ones(2**24).sum(), Limits(time_s=30, memory_mib=256))
    assert (process.end, process.code) == (Exit.EXITED, 0)
    # The array takes 128 MiB; pages of libraries touched on the way take less than as much again.
    assert 128 <= process.memory_mib < 256


def test_pauses_do_not_count_against_the_limit():
    pauses = Pauses()

    def paused_then_asleep():
        time.sleep(2.0 * LIMITS.time_s)
        pauses.end()
        time.sleep(600)

    process = supervise(paused_then_asleep, LIMITS, pauses)
    assert process.end is Exit.TIME_LIMIT
    assert 3.0 * LIMITS.time_s <= process.wall_s < 60.0


def test_nothing_of_the_batch_is_open_in_the_run(tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        note = tmp_path / "note"
        supervise(lambda: note.write_text(str(os.path.lexists(f"/proc/self/fd/{lock.fileno()}"))), LIMITS)
        assert note.read_text() == "False"


@pytest.mark.parametrize("killed", ["batch", "guardian of a stopped batch", "scheduler"])
def test_nothing_outlives_a_killed_batch_or_scheduler(tmp_path, killed):
    note = tmp_path / "pids"
    scheduler = subprocess.Popen(["sleep", "600"])
    script = f"""
import os, subprocess, time
from pathlib import Path
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import supervise
def run():
    hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path({str(note)!r}).write_text(f"{{os.getppid()}} {{os.getpid()}} {{hidden.pid}} .")
    time.sleep(600)
supervise(run, Limits(600, 256), scheduler={scheduler.pid if killed == "scheduler" else None})
"""
    batch = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    guardian, run, hidden = wait_for_pids(note)
    if "stopped" in killed:
        # Nobody but the kernel can end the run then; the batch clears the rest when it goes on.
        batch.send_signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        wait_until_gone([run])
        batch.send_signal(signal.SIGCONT)
    elif killed == "scheduler":
        scheduler.kill()
        scheduler.wait()
    else:
        batch.kill()
    assert batch.wait(timeout=20) != 0
    wait_until_gone([guardian, run, hidden])
    scheduler.kill()
    scheduler.wait()
