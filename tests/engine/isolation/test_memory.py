"""Memory of a run in all its forms counts against its limit, whichever meter holds, and none of it stays behind."""

import mmap
import os
import signal
import subprocess
import sys
import time
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import psutil
import pytest

from kdrbench.suite.engine.isolation import guardian, private_shm
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.memory import Group, Sampled, delegated, meter_of
from kdrbench.suite.engine.isolation.supervisor import supervise

MIB = 2**20
LIMITS = Limits(time_s=20, memory_mib=128)
SHM = Path("/dev/shm")


def _fill(descriptor, mib):
    for _ in range(mib):
        os.write(descriptor, b"x" * MIB)


def anonymous(mib):
    """Shared anonymous memory, whose allocation no limit of the process refuses."""
    held = mmap.mmap(-1, mib * MIB)
    np.frombuffer(held, dtype=np.uint8)[:] = 1
    return held


def unmapped(mib):
    """A file in memory that no page table shows."""
    descriptor = os.memfd_create("held")
    _fill(descriptor, mib)
    return descriptor


def closed(mib):
    """A file that no process has open; small steps, that it may be seen while it is."""
    with (SHM / f"kdrbench-test-{os.getpid()}").open("wb", buffering=0) as stream:
        for _ in range(8):
            _fill(stream.fileno(), mib // 8)
            time.sleep(0.06)


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


@pytest.fixture
def shm(request, monkeypatch):
    """Let runs have a ``/dev/shm`` of their own, or none as on machines that lend none; nothing may be left there."""
    if not request.param:
        monkeypatch.setattr(private_shm, "_enter_namespace", lambda: False)
    before = set(SHM.iterdir())
    yield request.param
    # What other programs of the machine put there goes with them.
    until = time.monotonic() + 10
    while (left := set(SHM.iterdir()) - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


WITH_AND_WITHOUT = pytest.mark.parametrize(
    "shm", [False, pytest.param(True, marks=pytest.mark.whole)], ids=["no namespace", "namespace"], indirect=True
)


@pytest.mark.parametrize(
    ("shm", "kind"),
    [
        *((True, kind) for kind in (named, unnamed)),
        *((False, kind) for kind in (anonymous, closed, unmapped)),
        *(pytest.param(True, kind, marks=pytest.mark.whole) for kind in (anonymous, closed, unmapped)),
        *(pytest.param(False, kind, marks=pytest.mark.whole) for kind in (named, unnamed)),
    ],
    indirect=["shm"],
)
def test_each_kind_of_shared_memory_counts(shm, kind):
    _passes_the_limit(kind, 192)


def orphaned(mib):
    """Memory of processes whose parents have gone: they are the guardian's children, not the run's."""
    for _ in range(2):
        if os.fork() == 0:
            if os.fork() == 0:
                held = np.ones(mib * MIB // 16)
                time.sleep(600)
                os._exit(int(held[0]))
            os._exit(0)


def test_memory_of_orphans_of_a_run_counts():
    _passes_the_limit(orphaned, 192)


def test_a_process_that_may_not_be_looked_into_counts_as_a_whole(monkeypatch):
    read = Path.read_text

    def refused(path, *args, **kwargs):
        if path.name.startswith("smaps"):
            raise PermissionError(13, "Permission denied")
        return read(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", refused)
    _passes_the_limit(anonymous, 192)


def _passes_the_limit(kind, mib):
    def hold():
        held = kind(mib)
        time.sleep(600)
        return held

    process = supervise(hold, LIMITS)
    assert (process.end, process.memory_meter) == (Exit.MEMORY_LIMIT, "sampled")
    assert process.memory_mib > LIMITS.memory_mib


@WITH_AND_WITHOUT
def test_what_several_processes_share_counts_once(shm):
    def share():
        held, descriptor = anonymous(48), unmapped(16)
        both = mmap.mmap(descriptor, 16 * MIB)
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
    parent = os.fork()
    if parent == 0:
        held = anonymous(48)
        while True:
            if os.fork() == 0:
                sum(held[::4096])
                os._exit(0)
            os.wait()
    meter, seen = Sampled(private_shm.PrivateShm()), []
    try:
        process, end = psutil.Process(parent), time.monotonic() + 0.7
        while time.monotonic() < end:
            seen.append(meter._held([parent, *(child.pid for child in process.children())]))
    finally:
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
    assert 48 * MIB <= max(seen) < 64 * MIB


@pytest.mark.parametrize(("shm", "ends"), [(True, "killed"), (False, "exits")], indirect=["shm"])
def test_named_memory_that_a_run_leaves_is_freed(shm, ends, tmp_path):
    def leave():
        segment = named(8)
        (tmp_path / "name").write_text(segment.name)
        if ends == "exits":
            os._exit(0)
        time.sleep(600)

    supervise(leave, Limits(time_s=0.4, memory_mib=128))
    assert not (SHM / (tmp_path / "name").read_text()).exists()


@WITH_AND_WITHOUT
def test_memory_that_no_tracker_knows_is_freed_and_no_other(shm, tmp_path):
    theirs = SHM / f"kdrbench-test-others-{os.getpid()}"

    def leave():
        with (SHM / "kdrbench-test-untracked").open("wb") as stream:
            stream.write(b"x" * MIB)
            stream.flush()
            theirs.write_bytes(b"of somebody else")
            time.sleep(600)

    theirs.touch()
    try:
        supervise(leave, Limits(time_s=0.6, memory_mib=128))
        assert theirs.exists()
        assert not (SHM / "kdrbench-test-untracked").exists()
    finally:
        theirs.unlink()


def test_a_run_called_a_resource_tracker_gains_little_time():
    def hide():
        script = "import time; time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", script, "resource_tracker"], start_new_session=True)
        time.sleep(600)

    process = supervise(hide, Limits(time_s=0.3, memory_mib=128))
    assert process.end is Exit.TIME_LIMIT
    # Half a second of grace; otherwise the tracker sleeps for ten minutes.
    assert process.wall_s < 60.0


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
    monkeypatch.setattr(guardian, "meter_of", lambda mib, shm: KilledInItsGroup(tmp_path / "kdrbench-1", int(mib)))
    process = supervise(lambda: os.kill(os.getpid(), 9), LIMITS)
    assert (process.end, process.memory_meter) == (Exit.MEMORY_LIMIT, "cgroup")


def test_without_a_group_the_processes_are_looked_at(tmp_path):
    assert meter_of(1.0, private_shm.PrivateShm.__new__(private_shm.PrivateShm), tmp_path).name == "sampled"
