"""How much memory a run's processes hold: asked of a control group of the run's own, or added up process by process.

Counted are private memory and shared memory that is mapped: anonymous, memfd, System V, and files in ``/dev/shm``. A
group (cgroup v2) is used where the user may make one: there the kernel holds the limit itself. Elsewhere the guardian
looks at intervals.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from kdrbench.suite.engine.isolation import processes

CGROUPS = Path("/sys/fs/cgroup")
_GROUP = "kdrbench-"


class Sampled:
    """Adds up what the processes hold, whenever one of them may have got more; ``name`` is what rows say of how."""

    name = "sampled"

    def __init__(self) -> None:
        self._faults, self._most = 0, 0

    def join(self) -> None:
        """Let the calling process, which is the run, be metered: the guardian finds its descendants itself."""

    def most(self, pids: list[int]) -> int:
        """Return the most bytes that these processes, all of the run's, were seen to hold up to now."""
        # A process gets no page without a fault. Looking at all pages takes twenty times as long, of a core that a run
        # may be timed on while this one waits.
        if (faults := processes.page_faults(pids)) != self._faults:
            self._faults, self._most = faults, max(self._most, self.held(pids))
        return self._most

    def exceeded(self) -> bool:
        """Return whether the kernel has ended a process for want of memory below the limit."""
        return False

    def close(self) -> None:
        """Clear up when all processes of the run are gone."""

    def held(self, pids: list[int]) -> int:
        """Return the bytes that these processes hold, what they share counted once."""
        mapped = processes.Mapped()
        private = sum(processes.add_pages(pid, mapped) for pid in pids)
        # Processes are looked at in turn: with one that is forked or ends meanwhile the sum of shares is wrong.
        return private + sum(min(max(shares, most), reach) for shares, most, reach in mapped.values())


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


def meter_of(memory_mib: float, root: Path = CGROUPS) -> Sampled | Group:
    """Return the meter of a run: a group below ``root`` where the user may make one, else :class:`Sampled`."""
    if (parent := delegated(root)) is not None:
        with suppress(OSError):
            return Group(parent / f"{_GROUP}{os.getpid()}", int(memory_mib * processes.MIB))
    return Sampled()
