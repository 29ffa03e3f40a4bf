import faulthandler
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from kdrbench.bench.limits import Limits
from kdrbench.bench.supervisor import End, supervise
from kdrbench.errors import InputError

LIMITS = Limits(time_s=0.5, memory_mib=256)


def test_a_run_that_ends_by_itself():
    ending = supervise(lambda: None, LIMITS)
    assert (ending.end, ending.code) == (End.EXITED, 0)


def test_an_exception_is_an_exit_code(capfd):
    def fail():
        raise ValueError("no")

    assert supervise(fail, LIMITS).code == 1
    assert "ValueError: no" in capfd.readouterr().err


def test_a_signal_is_reported():
    def crash():
        # pytest's fault handler would print pages of frames.
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)

    ending = supervise(crash, LIMITS)
    assert (ending.end, ending.code) == (End.SIGNALLED, signal.SIGSEGV)


def test_a_run_beyond_its_time_is_gone_within_a_second():
    ending = supervise(lambda: time.sleep(600), LIMITS)
    assert ending.end is End.TIME_LIMIT
    assert 0.5 <= ending.wall_s < 1.5


def test_descendants_that_hide_in_sessions_of_their_own_are_gone_too(tmp_path):
    note = tmp_path / "pids"

    def spawn():
        for _ in range(2):
            hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
            with note.open("a") as stream:
                stream.write(f"{hidden.pid}\n")

    ending = supervise(spawn, LIMITS)
    assert ending.end is End.EXITED
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_other_children_of_the_parent_are_left_alone():
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        supervise(lambda: time.sleep(600), LIMITS)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_memory_beyond_the_limit_is_refused_at_once(tmp_path):
    def allocate():
        try:
            np.ones(2**26)
        except MemoryError:
            (tmp_path / "refused").touch()

    supervise(allocate, LIMITS)
    assert (tmp_path / "refused").exists()


def test_memory_below_the_limit_is_granted_and_measured():
    ending = supervise(lambda: np.ones(2**24).sum(), Limits(time_s=30, memory_mib=256))
    assert (ending.end, ending.code) == (End.EXITED, 0)
    # The array takes 128 MiB; pages of libraries touched on the way take less than as much again.
    assert 128 <= ending.memory_mib < 256


def test_memory_of_descendants_counts():
    def spread():
        for _ in range(8):
            if os.fork() == 0:
                held = np.ones(2**23)
                time.sleep(600)
                os._exit(int(held[0]))
        time.sleep(600)

    assert supervise(spread, Limits(time_s=30, memory_mib=256)).end is End.MEMORY_LIMIT


def test_the_run_dies_with_its_supervisor(tmp_path):
    note = tmp_path / "pid"
    script = (
        "import os, time; from pathlib import Path; from kdrbench.bench.limits import Limits; "
        "from kdrbench.bench.supervisor import supervise; "
        f"supervise(lambda: (Path({str(note)!r}).write_text(str(os.getpid())), time.sleep(600)), Limits(600, 256))"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", script])
    run = _wait_for_pid(note)
    supervisor.kill()
    supervisor.wait()
    deadline = time.monotonic() + 10
    while psutil.pid_exists(run) and psutil.Process(run).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the run outlived its supervisor"
        time.sleep(0.01)


def _wait_for_pid(note: Path) -> int:
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.01)
    return int(note.read_text())


@pytest.mark.parametrize(
    ("time_s", "memory_mib", "message"),
    [
        (0, 1, "time limit must be a finite number > 0, got 0"),
        (-1, 1, "time limit must be a finite number > 0, got -1"),
        (float("inf"), 1, "time limit must be a finite number > 0, got inf"),
        (1, 0, "memory limit must be a finite number > 0, got 0"),
    ],
)
def test_limits_must_be_positive(time_s, memory_mib, message):
    with pytest.raises(InputError, match=message):
        Limits(time_s, memory_mib)
