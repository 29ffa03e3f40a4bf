"""The lock of a workspace: one process works on it, whichever machine and user it belongs to.

The lock itself is flock, which ends with its process. Local file systems and NFS show it to all that see the folder.
Some network file systems keep it on each machine by itself, so a mark beside it names who works, made by a call that
only one machine can win (O_EXCL). A mark that was left behind counts only where locks do not reach its machine.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kdrbench.files import set_aside
from kdrbench.suite.engine.isolation.supervisor import SupervisionError

# The folder, below results, that holds what unfinished jobs leave; no other program writes there.
WORKSPACES = ".workspace"
_MOUNTS = Path("/proc/self/mountinfo")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
# Options of a mount by which the locks of a network file system stay on their machine, or by which they leave it.
_KEPT = {name: {"nolock", "local_lock=all", "local_lock=flock"} for name in ("nfs", "nfs4")}
_KEPT |= {name: {"nobrl"} for name in ("cifs", "smb3")}
_SHARED = {"lustre": {"flock"}}
# The mount of these does not say it.
_UNKNOWN = ("fuse", "9p", "afs", "beegfs", "virtiofs")


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: a process of a machine, which has another identity after each start."""

    process: int
    machine: str
    boot: str

    @classmethod
    def here(cls) -> Holder:
        """Return this process."""
        return cls(os.getpid(), platform.node(), _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else "")

    @classmethod
    def read(cls, mark: Path) -> Holder | None:
        """Return whom a mark names; ``None`` where it names no process, or is not there."""
        try:
            process, machine, boot = mark.read_text(encoding="utf-8").split("\n")
            return cls(int(process), machine, boot)
        except (OSError, ValueError):
            return None

    def __str__(self) -> str:
        """Return the holder in words."""
        return f"process {self.process} on {self.machine}"


@contextmanager
def workspace_lock(lock: Path, folder: Path) -> Iterator[None]:
    """Hold ``lock``, and with it the folder, for this process alone.

    Raises ``SupervisionError`` when another process holds it, may hold it on a machine whose locks do not reach here,
    when the file system has no locks, or when another user has not shared the folder.
    """
    mark = lock.with_suffix(".holder")
    try:
        for place in reversed([folder, *lock.parents]):
            if WORKSPACES in place.parts and os.path.lexists(place) and not place.is_dir():
                set_aside(place, "is no folder")
        for path in (lock, mark):
            if path.exists() and not path.is_file():
                set_aside(path, "is no file")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a", encoding="ascii") as stream:
            _take(stream.fileno(), mark, folder)
            _put(mark, folder)
            try:
                yield
            finally:
                mark.unlink(missing_ok=True)
    except PermissionError as error:
        if error.filename not in (str(lock), str(mark), *map(str, lock.parents)):
            raise
        raise SupervisionError(
            f"{error.filename} may not be written by you: it belongs to {_owner(Path(error.filename))}; work in a "
            "folder of your own, or have its owner share it (a common group, chmod -R g+w, and umask 002 for both)"
        ) from None


def _take(lock: int, mark: Path, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = Holder.read(mark)
        raise SupervisionError(
            f"another process works on {folder}; wait until it has ended, or end it, and start again"
            + (f" (it is {holder})" if holder else "")
        ) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        raise SupervisionError(
            f"the file system of {folder} has no locks (flock: {error.strerror}), so two jobs could work on one run; "
            "mount it with locks, or put results on another one"
        ) from None


def _put(mark: Path, folder: Path) -> None:
    """Write down that this process works; it holds the lock, which others may or may not see."""
    here = Holder.here()
    text = f"{here.process}\n{here.machine}\n{here.boot}"
    if _create(mark, text):
        return
    other = Holder.read(mark)
    same_machine = other is not None and (other.machine, other.boot) == (here.machine, here.boot)
    if not same_machine and not locks_reach(mark.parent):
        raise SupervisionError(
            f"{other or 'a process of another machine'} works on {folder}, or was killed there: locks of this file "
            f"system do not reach other machines, so nothing here can tell. When it has ended, delete {mark} and start "
            "again"
        )
    # Its lock is ours, so it has ended.
    mark.write_text(text, encoding="utf-8")


def _create(mark: Path, text: str) -> bool:
    """Make a mark, if there is none; of several that try at once, on whatever machines, one succeeds."""
    try:
        descriptor = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return True


def locks_reach(folder: Path, mounts: str | None = None) -> bool:
    """Return whether flock in ``folder`` is seen by every machine that sees the folder.

    A local file system is seen by one machine. What a mount does not say counts as no. ``mounts`` are the lines of
    /proc/self/mountinfo.
    """
    if mounts is None:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace") if _MOUNTS.exists() else ""
    kind, options = _mount_of(folder.absolute().resolve(), mounts)
    if kind in _KEPT:
        return not options & _KEPT[kind]
    if kind in _SHARED:
        return bool(options & _SHARED[kind])
    return kind.partition(".")[0] not in _UNKNOWN


def _mount_of(folder: Path, mounts: str) -> tuple[str, set[str]]:
    """Return kind and options of the file system that holds a folder; the last of equally deep mounts covers others."""
    depth, kind, options = -1, "", set[str]()
    for line in mounts.splitlines():
        # 36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda rw; blanks in a path are written \040.
        left, _, right = line.partition(" - ")
        words, of_kind = left.split(), right.split()
        point = Path(words[4].encode().decode("unicode_escape"))
        if folder.is_relative_to(point) and len(point.parts) >= depth:
            depth, kind = len(point.parts), of_kind[0]
            options = set(words[5].split(",")) | set(of_kind[-1].split(","))
    return kind, options


def _owner(path: Path) -> str:
    """Return who owns a path, or the nearest folder above that can be looked at."""
    for place in (path, *path.parents):
        try:
            return place.owner()
        except KeyError:
            return f"user {place.stat().st_uid}"
        except OSError:
            continue
    return "another user"
