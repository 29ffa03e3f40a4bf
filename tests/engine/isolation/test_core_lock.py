import fcntl
import os
import platform
import select
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from kdrbench.errors import InputError, counted
from kdrbench.suite.engine.isolation import core_lock
from kdrbench.suite.engine.isolation.core_lock import any_cores, owned_cores
from support.other_user import NOBODY, as_nobody


@pytest.fixture(autouse=True)
def cores_are_given_back():
    """No test may leave its process on fewer cores."""
    before = os.sched_getaffinity(0)
    yield
    assert os.sched_getaffinity(0) == before


def test_the_owner_runs_on_its_cores_alone_and_gives_them_back(tmp_path):
    before = os.sched_getaffinity(0)
    with owned_cores(1, tmp_path) as cores:
        assert os.sched_getaffinity(0) == set(cores)
        assert len(cores) == 1
    assert os.sched_getaffinity(0) == before


def test_two_owners_never_share_a_core(tmp_path):
    cores, (reading, writing), (waits, begins) = os.sched_getaffinity(0), os.pipe(), os.pipe()
    # The other process is there before the lock, and sees every core, as jobs of another Snakemake would.
    child = os.fork()
    if child == 0:
        os.read(waits, 1)
        with owned_cores(len(cores), tmp_path):
            os.write(writing, b"mine")
        os._exit(0)
    with owned_cores(len(cores), tmp_path):
        os.write(begins, b"!")
        assert select.select([reading], [], [], 0.5)[0] == []
    assert select.select([reading], [], [], 60)[0] == [reading]
    assert os.read(reading, 4) == b"mine"
    assert os.waitpid(child, 0)[1] == 0


def test_more_threads_than_cores_are_refused(tmp_path):
    with pytest.raises(InputError, match="asks for 1000 threads, this machine lends"), owned_cores(1000, tmp_path):
        pass


@pytest.fixture
def shared():
    """A temporary folder for everybody, and homes of two users; beside what pytest keeps from others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        for name, owner in (("ours", os.getuid()), ("theirs", NOBODY)):
            (root / name).mkdir()
            if os.getuid() == 0:
                os.chown(root / name, owner, -1)
        yield root


def lock():
    with owned_cores(1) as cores:
        return len(cores)


@pytest.mark.needs("root")
def test_a_folder_that_another_user_has_made_blocks_nobody(shared, monkeypatch):
    # Root makes the folder that nobody's locks would be in, and takes every lock in it.
    monkeypatch.setattr(tempfile, "tempdir", str(shared / "tmp"))
    folder = shared / "tmp" / f"kdrbench-cores-{NOBODY}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with owned_cores(len(os.sched_getaffinity(0)), folder):
        count, said = as_nobody(lock, HOME=shared / "theirs")
    assert count == 1
    kept = shared / "theirs/.cache/kdrbench" / platform.node() / folder.name
    assert said == f"kdrbench: {folder} belongs to another user; the locks of cores are in {kept}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


@pytest.fixture
def place(shared, monkeypatch):
    """The place of our own folder of locks in the temporary folder, which is empty, as is our home."""
    monkeypatch.setattr(tempfile, "tempdir", str(shared / "tmp"))
    monkeypatch.setenv("HOME", str(shared / "ours"))
    return shared / "tmp" / f"kdrbench-cores-{os.getuid()}"


@pytest.mark.parametrize("kind", ["file", "link to a folder"])
def test_whatever_is_in_the_place_of_the_folder_blocks_nobody(shared, place, kind, capsys):
    (shared / "elsewhere").mkdir()
    place.touch() if kind == "file" else place.symlink_to(shared / "elsewhere")
    assert lock() == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not list((shared / "elsewhere").iterdir())
    assert list((shared / "ours/.cache/kdrbench" / platform.node()).iterdir())


def test_a_folder_of_our_own_that_others_may_write_is_closed(place, capsys):
    place.mkdir()
    place.chmod(0o777)
    assert lock() == 1
    assert capsys.readouterr().err == ""
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_without_a_place_for_locks_one_sentence_says_what_to_do(shared, place):
    place.touch()
    (shared / "ours" / ".cache").touch()
    with pytest.raises(InputError, match=r"no folder for the locks of cores: .*; set TMPDIR to a folder of your own"):
        owned_cores(1).__enter__()


class EnoughError(Exception):
    """The wait has been watched for long enough."""


def test_who_waits_says_so_once_and_holds_nothing_meanwhile(tmp_path, monkeypatch, capsys):
    cores, slept = sorted(os.sched_getaffinity(0)), []

    def sleep(seconds):
        slept.append(seconds)
        # Whatever is free is free for everybody while it waits for all that it needs.
        for core in cores[1:]:
            with (tmp_path / f"core-{core}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if len(slept) == 300:
            raise EnoughError

    monkeypatch.setattr(core_lock, "time", SimpleNamespace(sleep=sleep))
    with (tmp_path / f"core-{cores[0]}.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(EnoughError), owned_cores(len(cores), tmp_path):
            pass
    assert capsys.readouterr().err.count(f"waiting for {counted(len(cores), 'core')}: other timed batches hold") == 1
    # The message comes within a minute, and the wait leaves the cores to those who work.
    assert min(slept) > 0
    assert 100 * max(slept) < 60
    with owned_cores(len(cores), tmp_path) as owned:
        assert list(owned) == cores


def test_no_more_cores_are_locked_than_are_asked_for(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    (tmp_path / "locks").mkdir()
    with owned_cores(1, tmp_path / "locks") as first:
        assert first == (cores[0],)
        if len(cores) > 1:
            os.sched_setaffinity(0, cores)
            with owned_cores(len(cores) - 1, tmp_path / "locks") as others:
                assert list(others) == cores[1:]


def test_runs_that_are_not_timed_own_no_core():
    with any_cores(3) as cores:
        assert cores == ()
