"""What is asked of Linux about a run, piece by piece: its processes and its memory."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kdrbench.suite.engine.isolation import memory, processes
from kdrbench.suite.engine.isolation.processes import MIB

SLEEP = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(600)"]


@pytest.fixture
def sleeper():
    """A process that sleeps, whose first line has come."""
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def gone(sleeper):
    """The number of a process that is no more."""
    sleeper.kill()
    sleeper.wait()
    return sleeper.pid


def wait_until(true):
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def is_stopped(pid):
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def in_a_fork(work):
    """Return what ``work`` says, an integer below 256, in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(work()))
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_of_a_process_that_has_gone_there_is_nothing(gone):
    assert memory._page_faults(gone) == memory.held([gone]) == 0
    assert processes.tree(gone) == [gone]


def test_memory_and_faults_are_those_that_the_kernel_counts(sleeper):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    faults = memory._page_faults(os.getpid())
    assert usage.ru_minflt + usage.ru_majflt <= faults
    assert memory._page_faults(sleeper.pid) >= 100
    assert 0 < processes.anonymous_memory() < psutil.Process().memory_info().rss


def _status(pid):
    return Path(f"/proc/{pid}/status").read_text().splitlines()


def test_a_process_may_allocate_what_it_has_and_the_limit():
    def limited():
        kib = next(int(line.split()[1]) for line in _status("self") if line.startswith("VmData"))
        processes.limit_memory(64.0)
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        return soft == hard and abs(soft - 1024 * kib - 64 * MIB) <= 2 * MIB

    assert in_a_fork(limited) == 1


def test_descendants_stop_and_go_on_and_their_root_is_left_alone(sleeper):
    grandchild = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-S", "-c", grandchild, *SLEEP], stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        family = processes.tree(parent.pid)
        assert len(family) == 2
        assert set(family) | {sleeper.pid} <= set(processes.descendants())
        processes.stop(parent.pid)
        wait_until(lambda: is_stopped(family[1]))
        assert not is_stopped(parent.pid)
        assert not is_stopped(sleeper.pid)
        processes.resume(parent.pid)
        wait_until(lambda: not is_stopped(family[1]))
        processes.kill_descendants(but={sleeper.pid, *set(processes.descendants()) - {*family}})
        assert processes.tree(parent.pid) == [parent.pid]
        assert sleeper.poll() is None


SMAPS = """\
7f00-7f01 rw-s 00000100 00:05 42  /memfd:held (deleted)
Rss: 8 kB
Pss: 4 kB
Private_Dirty: 8 kB
7f01-7f02 rw-p 00000000 00:05 43  /dev/shm/copied
Pss: 16 kB
7f02-7f03 rw-s 00000000 fe:01 44  /home/on a disk: or so
Pss: 32 kB
7f03-7f04 rw-s 00000000 00:01 45  /dev/zero (deleted)
Pss: 64 kB
VmFlags: rd wr sh
"""


def test_shared_mappings_are_those_of_memory():
    assert memory._shared_mappings(SMAPS) == [
        ((os.makedev(0, 5), 42), 0x101, {"Rss": 8192, "Pss": 4096, "Private_Dirty": 8192}),
        ((os.makedev(0, 1), 45), 0x1, {"Pss": 65536}),
    ]
