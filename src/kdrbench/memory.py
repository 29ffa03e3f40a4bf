"""Whether what is to be computed fits in memory, asked before it is begun."""

from __future__ import annotations

from pathlib import Path

from kdrbench.errors import InputError

_GIB = 2**30
_MEMINFO = Path("/proc/meminfo")
# Of the group that limits this process, as containers and Slurm set it.
_GROUP = Path("/sys/fs/cgroup")


def check_memory(needed: float, what: str, way_out: str) -> None:
    """Raise ``InputError`` where ``what`` would take more bytes than are free; ``way_out`` says what to do.

    Nothing is checked where the system does not say what is free.
    """
    free = free_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"{what} takes about {needed / _GIB:.2g} GiB of memory, and {free / _GIB:.2g} GiB are free; {way_out}"
        )


def free_bytes(meminfo: Path = _MEMINFO, group: Path = _GROUP) -> int | None:
    """Return what the machine, and the process's group, has free; ``None`` where neither says so."""
    found = [_of_machine(meminfo), _of_group(group)]
    return min((free for free in found if free is not None), default=None)


def _of_machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _of_group(group: Path) -> int | None:
    try:
        limit, used = ((group / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        # There is no group, or its limit is the word "max".
        return None
