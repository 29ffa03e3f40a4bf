import fcntl
import os
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kdrbench.bench.isolation import core_lock
from kdrbench.bench.isolation.core_lock import any_cores, owned_cores
from kdrbench.errors import InputError


def test_the_owner_runs_on_its_cores_alone_and_gives_them_back(tmp_path):
    before = os.sched_getaffinity(0)
    with owned_cores(1, tmp_path) as cores:
        assert os.sched_getaffinity(0) == set(cores)
        assert len(cores) == 1
    assert os.sched_getaffinity(0) == before


def test_two_owners_never_share_a_core(tmp_path):
    count = len(os.sched_getaffinity(0))
    script = (
        "from pathlib import Path; from kdrbench.bench.isolation.core_lock import owned_cores\n"
        f"with owned_cores({count}, Path({str(tmp_path)!r})): print('mine', flush=True)"
    )
    with owned_cores(count, tmp_path):
        # The other process sees every core, as jobs of another Snakemake would.
        other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=1.5)
    assert other.communicate(timeout=60)[0] == "mine\n"


def test_more_threads_than_cores_are_refused(tmp_path):
    with pytest.raises(InputError, match="asks for 1000 threads, this machine lends"), owned_cores(1000, tmp_path):
        pass


class EnoughError(Exception):
    """The wait has been watched for long enough."""


def test_who_waits_says_so_once_and_takes_nothing_from_others_meanwhile(tmp_path, monkeypatch, capsys):
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
    assert capsys.readouterr().err.count(f"waiting for {len(cores)} core(s): other timed batches hold") == 1
    # The message comes within a minute, and the wait leaves the cores to those who work.
    assert min(slept) > 0
    assert 100 * max(slept) < 60
    with owned_cores(len(cores), tmp_path) as owned:
        assert list(owned) == cores


def test_locks_are_of_this_user_and_no_more_than_are_asked_for(tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    with owned_cores(1, tmp_path / "locks") as first:
        assert first == (cores[0],)
        assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o700
        if len(cores) > 1:
            os.sched_setaffinity(0, cores)
            with owned_cores(len(cores) - 1, tmp_path / "locks") as others:
                assert list(others) == cores[1:]


def test_runs_that_are_not_timed_own_no_core():
    with any_cores(3) as cores:
        assert cores == ()
