import fcntl
import os
import select
import tempfile
from types import SimpleNamespace

import pytest

from kdrbench.errors import InputError, counted
from kdrbench.suite.engine.isolation import core_lock
from kdrbench.suite.engine.isolation.core_lock import owned_cores


@pytest.fixture(autouse=True)
def cores_are_given_back():
    """No test may leave its process on fewer cores."""
    before = os.sched_getaffinity(0)
    yield
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


def test_locks_are_in_a_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with owned_cores(1) as cores:
        assert (tmp_path / f"kdrbench-cores-{os.getuid()}" / f"core-{cores[0]}.lock").exists()


def test_who_waits_says_so_once_and_holds_nothing_meanwhile(tmp_path, monkeypatch, capsys):
    cores, slept = sorted(os.sched_getaffinity(0)), []

    def sleep(seconds):
        slept.append(seconds)
        # Whatever is free is free for everybody while it waits for all that it needs.
        for core in cores[1:]:
            with (tmp_path / f"core-{core}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if len(slept) == 300:
            raise ArithmeticError("watched for long enough")

    monkeypatch.setattr(core_lock, "time", SimpleNamespace(sleep=sleep))
    with (tmp_path / f"core-{cores[0]}.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ArithmeticError), owned_cores(len(cores), tmp_path):
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
        assert os.sched_getaffinity(0) == {*first}
        if len(cores) > 1:
            os.sched_setaffinity(0, cores)
            with owned_cores(len(cores) - 1, tmp_path / "locks") as others:
                assert list(others) == cores[1:]
