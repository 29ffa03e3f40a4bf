"""How much memory the processes of a run hold: added up process by process, at intervals.

Counted are private memory and shared memory that is mapped: anonymous, memfd, System V, and files in ``/dev/shm``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kdrbench.suite.engine.isolation.processes import MIB, stat_fields

_Inode = tuple[int, int]
# Of a file in memory: the sum of the shares that processes have of its pages, the most pages that one of them has, and
# how far their mappings reach; in bytes.
_Mapped = dict[_Inode, tuple[int, int, int]]
# Mappings that all runs share with their batch, such as the clock's pauses, are smaller than this together.
_OF_THE_BENCH = MIB
_PRIVATE = re.compile(r"^Private_(?:Dirty|Hugetlb): +(\d+) kB$", re.MULTILINE)
_IN_MEMORY = ("/dev/shm/", "/memfd:", "/dev/zero ", "/SYSV")  # noqa: S108


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
