"""Memory of a run in all its forms counts against its limit, whichever meter holds, and none of it stays behind."""

import mmap
import os
import signal
import time
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.isolation import guardian
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.memory import Group, Sampled, delegated, meter_of
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
    _passes_the_limit(kind, 192)


def _passes_the_limit(kind, mib):
    def hold():
        held = kind(mib)
        time.sleep(600)
        return held

    process = supervise(hold, LIMITS)
    assert (process.end, process.memory_meter) == (Exit.MEMORY_LIMIT, "sampled")
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
    meter, seen = Sampled(), []
    os.read(reading, 1)
    try:
        process, end = psutil.Process(parent), time.monotonic() + 0.7
        while time.monotonic() < end:
            seen.append(meter.held([parent, *(child.pid for child in process.children())]))
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


def tree_of_groups(root, *, lent="memory cpu"):
    """A folder like the mount of cgroup v2: a session with the groups of two jobs, of which this process is in one."""
    for folder in ("", "session", "session/job"):
        group = root / folder
        group.mkdir(exist_ok=True)
        (group / "cgroup.procs").write_text("")
        (group / "cgroup.subtree_control").write_text("")
    (root / "session" / "cgroup.subtree_control").write_text(lent)
    own = root / "own"
    own.write_text("3:cpuset:/\n0::/session/job\n")
    return own


def test_a_group_is_made_below_the_nearest_that_lends_memory(tmp_path):
    assert delegated(tmp_path, tree_of_groups(tmp_path)) == tmp_path / "session"
    assert delegated(tmp_path, tree_of_groups(tmp_path, lent="cpu")) is None
    assert delegated(tmp_path, tmp_path / "no such file") is None


def test_the_kernel_is_told_the_limit_and_the_group_is_removed(tmp_path):
    group = Group(tmp_path / "kdrbench-1", 5 * MIB)
    assert (tmp_path / "kdrbench-1" / "memory.max").read_text() == str(5 * MIB)
    group.join()
    assert (tmp_path / "kdrbench-1" / "cgroup.procs").read_text() == "0"
    (tmp_path / "kdrbench-1" / "memory.stat").write_text("anon 100\nfile 7\nshmem 20\n")
    assert (group.most(0), group.exceeded()) == (120, False)
    (tmp_path / "kdrbench-1" / "memory.events").write_text("max 3\noom_kill 1\n")
    assert group.exceeded()
    for file in (tmp_path / "kdrbench-1").iterdir():
        file.unlink()
    group.close()
    assert not (tmp_path / "kdrbench-1").exists()


def test_groups_of_killed_guardians_are_swept(tmp_path):
    gone, alive = tmp_path / f"kdrbench-{2**22 + 1}", tmp_path / f"kdrbench-{os.getppid()}"
    gone.mkdir()
    alive.mkdir()
    Group(tmp_path / "kdrbench-1", MIB)
    assert (gone.exists(), alive.exists()) == (False, True)


class KilledInItsGroup(Group):
    """A group in which the kernel kills."""

    def exceeded(self):
        return True


def test_a_run_that_the_kernel_ends_in_its_group_is_at_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(guardian, "meter_of", lambda mib: KilledInItsGroup(tmp_path / "kdrbench-1", int(mib)))
    process = supervise(lambda: os.kill(os.getpid(), 9), LIMITS)
    assert (process.end, process.memory_meter) == (Exit.MEMORY_LIMIT, "cgroup")


def test_without_a_group_the_processes_are_looked_at(tmp_path):
    assert meter_of(1.0, tmp_path).name == "sampled"
