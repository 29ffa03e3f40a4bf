"""Descendants of a process: how much memory they hold, and their death; and the limit that a process sets itself.

Memory is added up process by process. Counted are private memory and shared memory that is mapped: anonymous, memfd,
System V, and files in ``/dev/shm``.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

MIB = 1024 * 1024
_MOST_KILLING_S, _MOST_STOPPING_S = 10.0, 1.0
_TRACKER, _TRACKER_S = b"resource_tracker", 0.5
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_Inode = tuple[int, int]
# Of a file in memory: the sum of the shares that processes have of its pages, the most pages that one of them has, and
# how far their mappings reach; in bytes.
_Mapped = dict[_Inode, tuple[int, int, int]]
# Mappings that all runs share with their batch, such as the clock's pauses, are smaller than this together.
_OF_THE_BENCH = MIB
_PRIVATE = re.compile(r"^Private_(?:Dirty|Hugetlb): +(\d+) kB$", re.MULTILINE)
_IN_MEMORY = ("/dev/shm/", "/memfd:", "/dev/zero ", "/SYSV")  # noqa: S108


def adopt_orphans(*, wanted: bool = True) -> None:
    """Become the parent of descendants whose own parent dies, so that none can hide; or leave them to others."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(wanted))


def follow_parent_in_death(parent: int, number: signal.Signals) -> None:
    """Be sent the signal when the parent dies; leave at once if it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def limit_memory(memory_mib: float) -> None:
    """Let allocations beyond what is held now plus the limit fail at once (private memory only)."""
    used_kib = status_kib("VmData")
    limit = int(used_kib * 1024 + memory_mib * MIB)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _is_at_work(pid: int) -> bool:
    return any(
        (fields := stat_fields(path)) and fields[0] not in "TtZX" for path in Path(f"/proc/{pid}/task").glob("*/stat")
    )


def descendants() -> list[int]:
    """Return all descendants of this process, parents first, dead ones that have not been reaped included."""
    return tree(os.getpid())[1:]


def end_unless(process: int) -> None:
    """End this process where it is another: a child that a method has forked would do all that follows once more."""
    if os.getpid() != process:
        os._exit(1)


def forks_left(before: Collection[int]) -> int:
    """Return how many descendants but those ``before`` are copies of this process, or ended and not waited for."""
    texts = []
    for pid in (os.getpid(), *(one for one in descendants() if one not in before)):
        with suppress(OSError):
            texts.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return sum(text in (b"", texts[0]) for text in texts[1:])


def stop(root: int) -> None:
    """Stop all descendants of a process, whatever they start meanwhile, until :func:`resume`.

    Where one thread takes the signal, others of its process work on until that one has been given a core. So it is
    waited, for a second at most, until all have stopped.
    """
    stopped: set[int] = set()
    while left := [pid for pid in tree(root)[1:] if pid not in stopped]:
        for pid in left:
            _send(pid, signal.SIGSTOP)
        stopped.update(left)
    deadline = time.monotonic() + _MOST_STOPPING_S
    while any(_is_at_work(pid) for pid in stopped) and time.monotonic() < deadline:
        time.sleep(0.0005)


def resume(root: int) -> None:
    """Let all descendants of a process go on."""
    for pid in tree(root)[1:]:
        _send(pid, signal.SIGCONT)


def end_run(run: int) -> None:
    """Kill a process, which the caller has not reaped, and its group, or where it has a tracker all but that.

    A resource tracker of :mod:`multiprocessing` is given half a second, to remove what the others have left.
    """
    family = descendants()
    trackers = [pid for pid in family if _is_tracker(pid)]
    if not trackers:
        for kill in (os.kill, os.killpg):
            with suppress(ProcessLookupError):
                kill(run, signal.SIGKILL)
        return
    # A tracker goes to work when no process is left that could use what it tracks.
    for pid in family:
        if pid not in trackers:
            _send(pid, signal.SIGKILL)
    deadline = time.monotonic() + _TRACKER_S
    while any(_is_tracker(pid) for pid in trackers) and time.monotonic() < deadline:
        time.sleep(0.005)


def kill_descendants(but: set[int]) -> None:
    """Kill and reap every descendant but those numbered in ``but`` and theirs; ``RuntimeError`` if one does not die."""
    deadline = time.monotonic() + _MOST_KILLING_S
    while left := sorted({*descendants()} - {other for pid in but for other in tree(pid)}):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(left)} processes do not die, {left[0]} among them")
        for pid in left:
            _send(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_tracker(pid: int) -> bool:
    """Return whether a process that lives is a resource tracker."""
    with suppress(OSError):
        return _TRACKER in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def tree(root: int) -> list[int]:
    """Return a process and its descendants; the cost grows with these alone, not with all that runs on the machine."""
    tree = [root]
    for process in tree:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                tree.extend(int(number) for number in children.read_text(encoding="ascii").split())
            except OSError:  # the thread has gone
                continue
    return tree


def stat_fields(stat: Path) -> list[str]:
    """Return what Linux says of a process or thread from field 3 on, its state; nothing if it has gone."""
    try:
        text = stat.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name, in brackets, may hold anything.
    return text.rpartition(")")[2].split()


def status_kib(name: str) -> int:
    """Return a number of ``/proc/self/status``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


class Meter:
    """Adds up what the processes of a run hold, whenever one of them may have got more."""

    def __init__(self) -> None:
        self._faults, self._most = 0, 0

    def most(self, pids: list[int]) -> int:
        """Return the most bytes that these processes, all of the run's, were seen to hold up to now."""
        # A process gets no page without a fault. Looking at all pages takes twenty times as long, of a core that a run
        # may be timed on while this one waits.
        stats = (stat_fields(Path(f"/proc/{pid}/stat")) for pid in pids)
        # Minor and major faults are fields 10 and 12.
        if (faults := sum(int(fields[7]) + int(fields[9]) for fields in stats if fields)) != self._faults:
            self._faults, self._most = faults, max(self._most, held(pids))
        return self._most


def held(pids: list[int]) -> int:
    """Return the bytes that these processes hold, what they share counted once."""
    mapped: _Mapped = {}
    private = sum(_add_pages(pid, mapped) for pid in pids)
    # Processes are looked at in turn: with one that is forked or ends meanwhile the sum of shares is wrong.
    return private + sum(min(max(shares, most), reach) for shares, most, reach in mapped.values())


def _add_pages(pid: int, mapped: _Mapped) -> int:
    """Return the bytes that a process holds for itself; add its share of shared memory to ``mapped``, by inode."""
    try:
        rollup = _numbers(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8", errors="replace"))
        private = rollup.get("Private_Dirty", 0) + rollup.get("Private_Hugetlb", 0)
        if rollup.get("Pss_Shmem", 0) < _OF_THE_BENCH:
            return private
        smaps = Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8", errors="replace")
        # Since the roll-up was read, what is shared may have become private, or the reverse: summed again.
        private = 1024 * sum(map(int, _PRIVATE.findall(smaps)))
        for inode, reach, fields in _shared_mappings(smaps):
            # What only this process maps is private in the sum above.
            private -= fields.get("Private_Dirty", 0)
            shares, most, furthest = mapped.get(inode, (0, 0, 0))
            mapped[inode] = shares + fields.get("Pss", 0), max(most, fields.get("Rss", 0)), max(furthest, reach)
    except OSError:  # the process has gone, or is a zombie
        return 0
    return private


def _shared_mappings(smaps: str) -> list[tuple[_Inode, int, dict[str, int]]]:
    """Return inode, end and numbers of each shared mapping of memory; pages of a file on a disk are none of the run."""
    mappings: list[tuple[_Inode, int, list[str]]] = []
    lines: list[str] = []
    for line in smaps.splitlines():
        words = line.split(maxsplit=5)
        if words[0].endswith(":"):
            lines.append(line)
            continue
        lines = []
        if "s" in words[1] and words[-1].startswith(_IN_MEMORY):
            major, minor = (int(part, 16) for part in words[3].split(":"))
            first, last = (int(address, 16) for address in words[0].split("-"))
            mappings.append(((os.makedev(major, minor), int(words[4])), int(words[2], 16) + last - first, lines))
    return [(inode, reach, _numbers("\n".join(lines))) for inode, reach, lines in mappings]


def _numbers(text: str) -> dict[str, int]:
    """Return the bytes in lines such as ``Pss: 12 kB``."""
    rows = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {row[0].rstrip(":"): 1024 * int(row[1]) for row in rows}
