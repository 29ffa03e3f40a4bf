"""Memory of a run in all its forms counts against its limit, and none of it stays behind."""

import mmap
import os
import signal
import time
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import supervise

MIB = 2**20
LIMITS = Limits(time_s=20, memory_mib=128)
SHM = Path("/dev/shm")


def anonymous(mib):
    """Shared anonymous memory, whose allocation no limit of the process refuses."""
    held = mmap.mmap(-1, mib * MIB)
    np.frombuffer(held, dtype=np.uint8)[:] = 1
    return held


def named(mib):
    """What :mod:`multiprocessing` makes."""
    segment = shared_memory.SharedMemory(create=True, size=mib * MIB)
    np.frombuffer(segment.buf, dtype=np.uint8)[:] = 1
    return segment


def unnamed(mib):
    """A mapping whose file has been closed."""
    descriptor = os.memfd_create("gone")
    os.ftruncate(descriptor, mib * MIB)
    held = np.frombuffer(mmap.mmap(descriptor, mib * MIB), dtype=np.uint8)
    os.close(descriptor)
    held[:] = 1
    return held


def orphaned(mib):
    """Memory of processes whose parents have gone: they are the guardian's children, not the run's."""
    for _ in range(2):
        if os.fork() == 0:
            if os.fork() == 0:
                held = np.ones(mib * MIB // 16)
                time.sleep(600)
                os._exit(int(held[0]))
            os._exit(0)


@pytest.mark.parametrize("kind", [anonymous, named, unnamed, orphaned])
def test_each_kind_of_memory_counts(kind):
    def hold():
        held = kind(192)
        time.sleep(600)
        return held

    process = supervise(hold, LIMITS)
    assert process.end is Exit.MEMORY_LIMIT
    assert process.memory_mib > LIMITS.memory_mib


def test_what_several_processes_share_counts_once():
    def share():
        held, both = anonymous(48), unnamed(16)
        for _ in range(4):
            if os.fork() == 0:
                sum(held[::4096]) + sum(both[::4096])
                time.sleep(1.0)
                os._exit(0)
        time.sleep(1.0)

    process = supervise(share, LIMITS)
    assert process.end is Exit.EXITED
    assert 64 <= process.memory_mib < 128


def test_memory_of_a_process_that_forks_meanwhile_counts_once():
    """What is one process's own when part of its numbers is read is several processes' at the next."""
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        held = anonymous(48)
        os.write(writing, b"!")
        while True:
            if os.fork() == 0:
                sum(held[::4096])
                os._exit(0)
            os.wait()
    seen = []
    os.read(reading, 1)
    try:
        process, end = psutil.Process(parent), time.monotonic() + 0.7
        while time.monotonic() < end:
            seen.append(processes.held([parent, *(child.pid for child in process.children())]))
    finally:
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
    assert 48 * MIB <= max(seen) < 64 * MIB


@pytest.mark.parametrize("ends", ["killed", "exits"])
def test_named_memory_that_a_run_leaves_is_freed(ends, tmp_path):
    def leave():
        segment = named(8)
        (tmp_path / "name").write_text(segment.name)
        if ends == "exits":
            os._exit(0)
        time.sleep(600)

    supervise(leave, Limits(time_s=0.4, memory_mib=128))
    assert not (SHM / (tmp_path / "name").read_text()).exists()


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
    assert processes._shared_mappings(SMAPS) == [
        ((os.makedev(0, 5), 42), 0x101, {"Rss": 8192, "Pss": 4096, "Private_Dirty": 8192}),
        ((os.makedev(0, 1), 45), 0x1, {"Pss": 65536}),
    ]
