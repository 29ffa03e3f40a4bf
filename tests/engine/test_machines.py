"""Two machines or two users on one folder of results: nothing is doubled, nothing is lost."""

import errno
import os
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from kdrbench.suite.engine import workspace as module
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import publish
from kdrbench.suite.engine.workspace import Holder, locks_reach, workspace_lock
from support.one_batch import alone, context_of, files_in
from support.tiny_system import DATA, TinySystem, tiny_batch


def test_a_job_is_made_by_one_process_until_it_is_published(tmp_path, monkeypatch):
    files, batch = files_in(tmp_path), tiny_batch(runs=[0])

    def make():
        run_job(TinySystem(), alone(batch), lambda name: DATA, context_of(), files)

    def meanwhile(*words):
        with pytest.raises(
            SupervisionError, match=rf"another process works on .*rows.jsonl; .* process {os.getpid()} on"
        ):
            make()
        return publish(*words)

    monkeypatch.setattr("kdrbench.suite.engine.job.publish", meanwhile)
    make()
    assert files.records.read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("kind", "options", "reach"),
    [
        ("ext4", "rw", True),
        ("nfs4", "rw,vers=4.2,local_lock=none", True),
        ("nfs", "rw,vers=3,nolock,local_lock=all", False),
        ("nfs", "rw,vers=3,local_lock=flock", False),
        ("lustre", "rw,flock", True),
        ("lustre", "rw,localflock", False),
        ("cifs", "rw,nobrl", False),
        ("fuse.sshfs", "rw", False),
    ],
)
def test_what_a_mount_says_of_its_locks(monkeypatch, kind, options, reach):
    mounts = [
        SimpleNamespace(mountpoint="/", fstype="ext4", opts="rw,relatime"),
        SimpleNamespace(mountpoint="/data/shared", fstype="nfs", opts="rw,nolock"),
        SimpleNamespace(mountpoint="/data", fstype="tmpfs", opts="rw"),
        SimpleNamespace(mountpoint="/data", fstype=kind, opts=f"rw,{options}"),
    ]
    monkeypatch.setattr("psutil.disk_partitions", lambda all: mounts)
    assert locks_reach(Path("/data/results")) is reach
    assert locks_reach(Path("/elsewhere"))
    assert not locks_reach(Path("/data/shared/results"))


def test_the_mark_names_who_works_and_is_gone_with_the_work(tmp_path):
    lock, mark = tmp_path / "job.lock", tmp_path / "job.holder"
    here = Holder.here()
    for left in (None, f"{2**22 + 1}\n{here.machine}\n{here.boot}", "1\nelsewhere\nanother start", "no mark"):
        if left is not None:
            mark.write_text(left)
        with workspace_lock(lock, tmp_path):
            assert Holder.read(mark) == here
        assert not mark.exists()


@pytest.mark.parametrize(("machine", "boot", "goes_on"), [("", "", True), ("x", "", False), ("", "x", False)])
def test_without_common_locks_only_a_mark_of_this_machine_is_old(tmp_path, monkeypatch, machine, boot, goes_on):
    monkeypatch.setattr(module, "locks_reach", lambda folder: False)
    mark, here = tmp_path / "job.holder", Holder.here()
    mark.write_text(f"7\n{here.machine}{machine}\n{here.boot}{boot}")
    with ExitStack() as stack:
        if not goes_on:
            said = f"process 7 on {here.machine}{machine} works on .*, or was killed there: .* delete {mark} and start"
            stack.enter_context(pytest.raises(SupervisionError, match=said))
        stack.enter_context(workspace_lock(tmp_path / "job.lock", tmp_path))
        assert goes_on
    assert mark.exists() is not goes_on


def test_without_common_locks_a_mark_without_a_name_is_heeded(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "locks_reach", lambda folder: False)
    (tmp_path / "job.holder").write_text("no mark")
    with (
        pytest.raises(SupervisionError, match="a process of another machine works on"),
        workspace_lock(tmp_path / "job.lock", tmp_path),
    ):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch, number):
    def fail(stream, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.fcntl, "flock", fail)
    with pytest.raises((SupervisionError, OSError)) as caught, workspace_lock(tmp_path / "job.lock", tmp_path):
        pass
    if number == errno.EIO:
        assert caught.value.errno == errno.EIO
    else:
        assert f"the file system of {tmp_path} has no locks (flock: {os.strerror(number)})" in str(caught.value)


def test_a_folder_of_somebody_else_is_said_with_what_to_do(tmp_path):
    lock = tmp_path / "job.lock"

    def refused(path):
        with workspace_lock(lock, tmp_path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with pytest.raises(SupervisionError, match=r"job.lock may not be written by you: it belongs to .*umask 002"):
        refused(lock)
    with pytest.raises(PermissionError, match="elsewhere"):
        refused("/elsewhere")
