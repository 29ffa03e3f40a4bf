"""A ``/dev/shm`` of the run's own: named shared memory and semaphores that a killed run leaves go with it.

Where the kernel lets a user mount (namespaces), a run sees an empty ``/dev/shm`` that exists for it alone, and so does
System V shared memory. Elsewhere the files are noted that its processes were seen to hold, and removed when it is gone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SHM = Path("/dev/shm")  # noqa: S108
_NEW_MOUNTS, _NEW_IPC, _NEW_USER = 0x00020000, 0x08000000, 0x10000000
_MS_REC_PRIVATE = (1 << 14) | (1 << 18)
_BLOCK = 512


class PrivateShm:
    """What the processes of one run leave in shared memory; made by its guardian before the fork.

    ``private`` says whether the run has a ``/dev/shm`` of its own.
    """

    def __init__(self) -> None:
        self.private = SHM.is_dir() and _enter_namespace()
        self._before = set() if self.private or not SHM.is_dir() else {path.name for path in SHM.iterdir()}
        self._noted: dict[Path, tuple[int, int]] = {}

    def files(self) -> dict[tuple[int, int], int]:
        """Return by inode the bytes of the files that are there, also of those that no process has open.

        Segments of System V count as files; without a namespace it is not known whose they are.
        """
        paths = _below(SHM) if self.private else iter(self._noted)
        found = {}
        for path in paths:
            with suppress(OSError):
                status = path.lstat()
                inode = (status.st_dev, status.st_ino)
                if self.private or self._noted[path] == inode:
                    found[inode] = status.st_blocks * _BLOCK
        return found | (_segments() if self.private else {})

    def note(self, path: Path, status: os.stat_result) -> None:
        """Note a file that a process of the run has open: it is the run's if it was not there before."""
        own = not self.private and path.is_relative_to(SHM) and status.st_uid == os.getuid()
        if own and path.relative_to(SHM).parts[0] not in self._before:
            self._noted[path] = (status.st_dev, status.st_ino)

    def clear(self) -> None:
        """Remove the noted files; those of a namespace go with its last process."""
        for path, inode in self._noted.items():
            with suppress(OSError):
                status = path.lstat()
                if (status.st_dev, status.st_ino) == inode:
                    path.unlink()


def _segments() -> dict[tuple[int, int], int]:
    """Return the bytes in memory of the segments of System V, whose files are of the kernel's own device."""
    device = memory_device()
    with suppress(OSError):
        names, *lines = (line.split() for line in Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines())
        number, resident = names.index("shmid"), names.index("rss")
        return {(device, int(line[number])): int(line[resident]) for line in lines}
    return {}


def memory_device() -> int:
    """Return the kernel's own device of files in memory, of which a memfd is one."""
    descriptor = os.memfd_create("kdrbench")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def _below(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(Path(entry.path))
            else:
                yield Path(entry.path)


def _enter_namespace() -> bool:
    """Give this process and its descendants an empty ``/dev/shm``; return whether that could be done.

    The superuser needs no user namespace, in which it would have fewer rights than it expects.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_MOUNTS | _NEW_IPC) != 0:
        if user == 0 or libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_IPC) != 0:
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with suppress(OSError):
                Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    # Without the first call the mount would be seen by everybody.
    if libc.mount(None, b"/", None, _MS_REC_PRIVATE, None) != 0:
        return False
    return bool(libc.mount(b"tmpfs", os.fsencode(SHM), b"tmpfs", 0, b"mode=1777") == 0)
