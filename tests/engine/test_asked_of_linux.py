"""What is asked of Linux about a run, piece by piece: its processes, its memory, its files in shared memory."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kdrbench.suite.engine.isolation import private_shm, processes
from kdrbench.suite.engine.isolation.memory import Group
from kdrbench.suite.engine.isolation.private_shm import PrivateShm
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
    assert processes.resident_memory(gone) == processes.page_faults([gone]) == 0
    assert not processes.is_stopped(gone)
    assert not processes._is_tracker(gone)
    assert processes.tree(gone) == [gone]
    processes._send(gone, signal.SIGTERM)


def test_a_resource_tracker_is_known_by_its_command_line(sleeper):
    with subprocess.Popen([*SLEEP, "resource_tracker"], stdout=subprocess.PIPE) as tracker:
        tracker.stdout.readline()
        assert processes._is_tracker(tracker.pid)
        assert not processes._is_tracker(sleeper.pid)
        tracker.kill()


def test_memory_and_faults_are_those_that_the_kernel_counts(sleeper):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    faults = processes.page_faults([os.getpid()])
    assert usage.ru_minflt + usage.ru_majflt <= faults
    assert faults <= processes.page_faults([os.getpid(), sleeper.pid]) - 100
    kib = next(int(line.split()[1]) for line in _status(sleeper.pid) if line.startswith("VmRSS"))
    # The kernel adds up counters of its processors, which lag by some pages.
    assert processes.resident_memory(sleeper.pid) == pytest.approx(1024 * kib, abs=MIB)
    assert 0 < processes.anonymous_memory() < processes.resident_memory(os.getpid())


def _status(pid):
    return Path(f"/proc/{pid}/status").read_text().splitlines()


def test_a_process_may_allocate_what_it_has_and_the_limit():
    def limited():
        kib = next(int(line.split()[1]) for line in _status("self") if line.startswith("VmData"))
        processes.limit_memory(64.0)
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        return soft == hard and abs(soft - 1024 * kib - 64 * MIB) <= 2 * MIB

    assert in_a_fork(limited) == 1


def test_a_child_is_told_of_the_death_of_the_parent_it_has():
    def follow():
        processes.follow_parent_in_death(os.getppid(), signal.SIGTERM)
        signal_of_death = ctypes.c_int()
        # PR_GET_PDEATHSIG
        ctypes.CDLL(None).prctl(2, ctypes.byref(signal_of_death), 0, 0, 0)
        return signal_of_death.value

    assert in_a_fork(follow) == signal.SIGTERM
    assert in_a_fork(lambda: processes.follow_parent_in_death(1, signal.SIGTERM) or 7) == 1


def test_what_linux_refuses_is_an_error():
    with pytest.raises(OSError, match="prctl") as refused:
        processes._prctl(-1, 0)
    assert refused.value.errno == 22


def test_descendants_stop_and_go_on_and_their_root_is_left_alone(sleeper):
    grandchild = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-S", "-c", grandchild, *SLEEP], stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        family = processes.tree(parent.pid)
        assert len(family) == 2
        assert set(family) | {sleeper.pid} <= set(processes.descendants())
        processes.stop(parent.pid)
        wait_until(lambda: processes.is_stopped(family[1]))
        assert not processes.is_stopped(parent.pid)
        assert not processes.is_stopped(sleeper.pid)
        processes.resume(parent.pid)
        wait_until(lambda: not processes.is_stopped(family[1]))
        processes.kill_descendants(but={sleeper.pid, *set(processes.descendants()) - {*family}})
        assert processes.tree(parent.pid) == [parent.pid]
        assert sleeper.poll() is None


def test_children_of_all_threads_are_found_though_one_has_gone(monkeypatch, tmp_path):
    read = Path.read_text
    for thread, text in (("1", ""), ("2", "70 "), ("3", "80 90 ")):
        (tmp_path / thread).mkdir()
        (tmp_path / thread / "children").write_text(text)

    threads = sorted(tmp_path.glob("*/children"))

    def listed(path, _):
        return threads if path == Path("/proc/60/task") else []

    def ends(path, *args, **options):
        if path == tmp_path / "1" / "children":
            raise ProcessLookupError
        return read(path, *args, **options)

    monkeypatch.setattr(Path, "glob", listed)
    monkeypatch.setattr(Path, "read_text", ends)
    assert processes.tree(60) == [60, 70, 80, 90]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in the place of ``/dev/shm``, on a machine that lends no namespace, with a file of somebody else's."""
    monkeypatch.setattr(private_shm, "SHM", tmp_path)
    monkeypatch.setattr(private_shm, "_enter_namespace", lambda: False)
    monkeypatch.setattr(private_shm, "_segments", lambda: {(0, 0): 7})
    (tmp_path / "there before").mkdir()
    (tmp_path / "theirs").write_bytes(b"x" * 5000)
    return tmp_path


def written(path, size=5000):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def identity(path):
    status = path.lstat()
    return status.st_dev, status.st_ino


def sizes(*paths):
    return {identity(path): 512 * path.lstat().st_blocks for path in paths}


def test_without_a_namespace_files_are_those_that_the_run_made(folder):
    shm = PrivateShm()
    own = [written(folder / "own"), written(folder / "new" / "own", 20_000)]
    others = [folder / "theirs", written(folder / "there before" / "own"), written(folder.parent / "own")]
    for path in (*own, *others):
        shm.note(path, path.stat())
    of_another = written(folder / "of another user")
    status = of_another.stat()
    shm.note(of_another, SimpleNamespace(st_uid=os.getuid() + 1, st_dev=status.st_dev, st_ino=status.st_ino))
    assert not shm.private
    assert shm.files() == sizes(*own)
    # Another file in the same place is somebody else's.
    own[0].rename(folder / "renamed")
    written(own[0])
    assert shm.files() == sizes(own[1])
    shm.clear()
    assert not own[1].exists()
    assert all(path.exists() for path in (own[0], of_another, folder / "renamed", *others))
    assert shm.files() == {}


def test_with_a_namespace_all_files_and_segments_are_the_runs(folder, monkeypatch):
    monkeypatch.setattr(private_shm, "_enter_namespace", lambda: True)
    (folder / "link").symlink_to(folder.parent)
    shm = PrivateShm()
    path = written(folder / "deep" / "own")
    shm.note(path, path.stat())
    assert shm.private
    assert shm.files() == {**sizes(path, folder / "theirs", folder / "link"), (0, 0): 7}
    shm.clear()
    assert path.exists()


def test_segments_are_found_by_number_and_nothing_stays_open():
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0, 3 * MIB, 0o1600)
    try:
        place = libc.shmat(number, None, 0)
        ctypes.memset(place, 1, 3 * MIB)
        before = sum(1 for _ in Path("/proc/self/fd").iterdir())
        found = {inode: size for (_, inode), size in private_shm._segments().items()}
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
        assert found[number] == 3 * MIB
        libc.shmdt(ctypes.c_void_p(place))
    finally:
        libc.shmctl(number, 0, None)


@pytest.mark.parametrize(
    ("user", "refused", "calls", "entered"),
    [
        (1000, [], [0x08020000, "/", "tmpfs"], True),
        (1000, [0x08020000], [0x08020000, 0x18020000, "/", "tmpfs"], True),
        (1000, [0x08020000, 0x18020000], [0x08020000, 0x18020000], False),
        # The superuser takes no user namespace.
        (0, [0x08020000], [0x08020000], False),
        (0, ["/"], [0x08020000, "/"], False),
        (0, ["tmpfs"], [0x08020000, "/", "tmpfs"], False),
    ],
)
def test_a_namespace_is_entered_step_by_step(monkeypatch, user, refused, calls, entered):
    made, maps = [], {}

    def call(name):
        made.append(name)
        return -1 if name in refused else 0

    def mount(source, place, kind, flags, data):
        # MS_REC | MS_PRIVATE for all that is mounted, before the new one.
        assert flags == (0x44000 if place == b"/" else 0)
        return call("/" if place == b"/" else kind.decode())

    libc = SimpleNamespace(unshare=call, mount=mount)
    monkeypatch.setattr(ctypes, "CDLL", lambda *args, **options: libc)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: 50)
    monkeypatch.setattr(Path, "write_text", lambda path, text, **options: maps.update({path.name: text}))
    assert private_shm._enter_namespace() is entered
    assert made == calls
    mapped = {"setgroups": "deny", "uid_map": "1000 1000 1", "gid_map": "50 50 1"}
    assert maps == (mapped if 0x18020000 in calls and entered else {})


def test_a_group_holds_what_is_anonymous_and_what_is_shared(tmp_path):
    group = Group(tmp_path / "kdrbench-1", MIB)
    for text, most in (("shmem 20\n", 20), ("anon 100\n", 100), ("anon 3\nshmem 4\nfile 500\n", 100)):
        (tmp_path / "kdrbench-1" / "memory.stat").write_text(text)
        assert group.most([]) == most


SMAPS = """\
7f00-7f01 rw-s 00000100 00:05 42  /memfd:held (deleted)
Rss: 8 kB
Pss: 4 kB
Private_Dirty: 8 kB
7f01-7f02 rw-p 00000000 00:05 43  /dev/shm/copied
Pss: 16 kB
7f02-7f03 rw-s 00000000 fe:01 44  /home/on a disk: or so
Pss: 32 kB
7f03-7f04 rw-s 00000000 00:05 45
Pss: 64 kB
VmFlags: rd wr sh
"""


def test_shared_mappings_are_those_of_files_in_memory():
    device = os.makedev(0, 5)
    assert processes._shared_mappings(SMAPS, {device}) == [
        ((device, 42), 0x101, {"Rss": 8192, "Pss": 4096, "Private_Dirty": 8192}),
        ((device, 45), 0x1, {"Pss": 65536}),
    ]
