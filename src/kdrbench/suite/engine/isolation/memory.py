"""How much memory a run's processes hold: asked of a control group of the run's own, or added up process by process.

Counted are private memory, anonymous memory that is shared, memfd, segments of System V, and files in ``/dev/shm`` or
another tmpfs. A group (cgroup v2) is used where the user may make one: there the kernel holds the limit itself.
Elsewhere the guardian looks at intervals.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.private_shm import SHM, PrivateShm, memory_device

_MIB = processes.MIB
CGROUPS = Path("/sys/fs/cgroup")
_GROUP = "kdrbench-"
_BLOCK = 512


class Meter(Protocol):
    """Measures the memory of one run; ``name`` is what its rows say of how."""

    name: str

    def join(self) -> None:
        """Let the calling process, which is the run, be metered."""
        ...

    def most(self, pids: list[int]) -> int:
        """Return the most bytes that these processes, all of the run's, were seen to hold up to now."""
        ...

    def exceeded(self) -> bool:
        """Return whether the kernel has ended a process for want of memory below the limit."""
        ...

    def close(self) -> None:
        """Clear up when all processes of the run are gone."""
        ...


def meter_of(memory_mib: float, shm: PrivateShm, root: Path = CGROUPS) -> Meter:
    """Return the meter of a run: a group below ``root`` where the user may make one, else :class:`Sampled`."""
    parent = delegated(root)
    if parent is not None:
        with suppress(OSError):
            return Group(parent / f"{_GROUP}{os.getpid()}", int(memory_mib * _MIB))
    return Sampled(shm)


class Sampled:
    """Adds up what the processes hold, whenever one of them may have got more."""

    name = "sampled"

    def __init__(self, shm: PrivateShm) -> None:
        self._shm, self._seen, self._most = shm, (0, 0), 0
        self._devices = _tmpfs_devices()

    def join(self) -> None:
        """Nothing: the guardian finds the processes, which are its descendants."""

    def most(self, pids: list[int]) -> int:
        """Look at the processes if they may have got memory since the last time."""
        # A process gets no page without a fault, and nothing is written to a tmpfs that the machine does not count.
        # Looking at all pages takes twenty times as long, of a core that a run may be timed on while this one waits.
        if (seen := (processes.page_faults(pids), _machine_shared_kib())) != self._seen:
            self._seen = seen
            self._most = max(self._most, self._held(pids))
        return self._most

    def exceeded(self) -> bool:
        """Return ``False``: the guardian compares :meth:`most` with the limit."""
        return False

    def close(self) -> None:
        """Nothing to clear up."""

    def _held(self, pids: list[int]) -> int:
        private, mapped, files = 0, processes.Mapped(), dict[processes.Inode, int]()
        for pid in pids:
            private += processes.add_pages(pid, mapped, self._devices)
            files |= self._open_files(pid)
        files |= self._shm.files()
        # An inode that is mapped as well as open counts once.
        # Processes are looked at in turn: with one that is forked or ends meanwhile the sum of shares is wrong.
        pages = {inode: min(max(shares, most), reach) for inode, (shares, most, reach) in mapped.items()}
        shared = sum(max(pages.get(inode, 0), files.get(inode, 0)) for inode in {*pages, *files})
        return private + shared

    def _open_files(self, pid: int) -> dict[processes.Inode, int]:
        """Return the bytes of files in memory that a process has open, and note those in ``/dev/shm``."""
        found = {}
        with suppress(OSError):  # the process has gone
            for place in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    status = place.stat()
                    if status.st_dev in self._devices and status.st_blocks:
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
                        self._shm.note(place.readlink(), status)
        return found


class Group:
    """A control group of the run's own, whose memory the kernel limits; raises ``OSError`` where there can be none."""

    name = "cgroup"

    def __init__(self, folder: Path, limit: int) -> None:
        _sweep(folder.parent)
        folder.mkdir()
        self._folder, self._most = folder, 0
        try:
            (folder / "memory.max").write_text(str(limit), encoding="ascii")
            # Swapped pages would not count, and one process that is killed would leave the others.
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with suppress(FileNotFoundError):
                    (folder / name).write_text(value, encoding="ascii")
        except OSError:
            self.close()
            raise

    def join(self) -> None:
        """Move the calling process into the group, and with it all that it starts."""
        (self._folder / "cgroup.procs").write_text("0", encoding="ascii")

    def most(self, pids: list[int]) -> int:
        """Return the most bytes seen; pages of files that the run reads are not its memory."""
        values = _pairs(self._folder / "memory.stat")
        self._most = max(self._most, values.get("anon", 0) + values.get("shmem", 0))
        return self._most

    def exceeded(self) -> bool:
        """Return whether the kernel killed in this group."""
        return _pairs(self._folder / "memory.events").get("oom_kill", 0) > 0

    def close(self) -> None:
        """Remove the group; the kernel lets go of dead members a moment later."""
        for _ in range(50):
            try:
                return self._folder.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.002)
        return None


def delegated(root: Path, own: Path = Path("/proc/self/cgroup")) -> Path | None:
    """Return the nearest group around this process in which the user may make others whose memory is limited."""
    try:
        line = next(line for line in own.read_text(encoding="utf-8").splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    folder = root / line[3:].strip().lstrip("/")
    for group in (folder, *folder.parents):
        if not group.is_relative_to(root):
            return None
        with suppress(OSError):
            lent = (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
            if "memory" in lent and all(os.access(place, os.W_OK) for place in (group, group / "cgroup.procs")):
                return group
    return None


def _sweep(parent: Path) -> None:
    """Remove groups whose guardian was killed."""
    for group in parent.glob(f"{_GROUP}*"):
        number = group.name.removeprefix(_GROUP)
        if number.isdigit() and not Path(f"/proc/{number}").exists():
            with suppress(OSError):
                group.rmdir()


def _pairs(path: Path) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}
    except OSError:
        return {}


def _machine_shared_kib() -> int:
    """Return how much memory of the whole machine is in files."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("Shmem:")), 0)


def _tmpfs_devices() -> set[int]:
    """Return the devices whose files lie in memory: every tmpfs, and the kernel's own."""
    devices = {memory_device()}
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        if " - tmpfs " in line:
            major, minor = line.split()[2].split(":")
            devices.add(os.makedev(int(major), int(minor)))
    return devices | ({SHM.stat().st_dev} if SHM.is_dir() else set())
