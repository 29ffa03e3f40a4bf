"""Passes over samples on the workers of a Dask cluster.

Samples are cut into blocks, which are placed on the workers once: numbers in memory are sent, and numbers in files are
read by the workers. A pass sends its function to the workers once: W, and what goes with it. Blocks are summed where
they are, and their sums are added on the workers, so that one sum comes back. So what moves in a pass does not grow
with the number of samples.

A block is a subtree of the fixed tree of :mod:`.passes`: a power of two of parts. So any number of workers gives the
same bits as one thread does, and so does what is computed again where a worker was lost.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from kdrbench.blas import one_blas_thread
from kdrbench.errors import ClusterError, InputError
from kdrbench.extras import needed_for
from kdrbench.samples.base import Samples
from kdrbench.samples.passes import PartialSums, PassStoppedError, Report, Sums, TreeSum

# Seconds that an engine waits for a scheduler, and for workers.
PATIENCE_S = 60.0
# Blocks: at most 4 for each thread of the cluster, so that none waits long for another, or 256 if that is less, since a
# task takes its scheduler about a millisecond; but one for each thread. Sums that one task adds, a subtree too.
_BLOCKS_A_THREAD, _BLOCKS, _ADDED_AT_ONCE = 4, 256, 16
_BETWEEN_REPORTS_S, _REPORTS_BETWEEN_LOOKS = 0.1, 20
# Times that a pass begins because data or the scheduler were lost.
_MOST_BEGINNINGS = 20
_LOST = ("cancelled", "lost", "error")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://.+:\d{1,5}|inproc://.+")
# What calls to a scheduler or to workers raise that have gone.
_GONE = (OSError, TimeoutError, CancelledError)


class DaskEngine:
    """Computes passes on the workers of the scheduler at ``address``, for instance ``tcp://host:8786``.

    It connects when first used. It waits ``patience_s`` seconds for a scheduler and for workers, also where all of them
    are lost during a pass. A copy or a pickle holds the address and no connection. Pickles go to the workers, which run
    what is in them, and come back: both sides must trust each other.

    Raises ``InputError`` for what is no address, ``MissingPackageError`` where Dask is not installed.
    """

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        self._address, self._patience_s = checked_address(address), float(patience_s)
        distributed()
        self._forget()

    def __reduce__(self) -> tuple[Any, ...]:
        return dask_engine, (self._address, self._patience_s)

    def run(
        self, samples: Samples, parts: Sequence[slice], partial_sums: PartialSums, report: Report | None = None
    ) -> Sums:
        """Return the sum over all parts.

        Raises ``ClusterError`` where scheduler or workers stay away, ``PassStoppedError`` soon after ``report`` has
        answered no, and whatever ``partial_sums`` raises.
        """
        if samples.in_order:
            raise InputError(
                "samples that come in order, as an iterator's do, cannot be shared among the workers of a cluster; "
                "give an array, a file that all workers can read, or a Zarr or Dask array"
            )
        for _ in range(_MOST_BEGINNINGS):
            self._connect()
            with suppress(_LostError):
                return self._passed(samples, list(parts), partial_sums, report)
        raise ClusterError(
            f"a pass on the Dask cluster at {self._address} lost data {_MOST_BEGINNINGS} times, because "
            "workers ended; see their logs, and give each of them more memory"
        )

    def close(self) -> None:
        """Leave the cluster, which frees what was placed on it; a further pass connects again."""
        if self._own and self._process == os.getpid():
            self._client.close(timeout=self._patience_s)
        self._forget()

    def placed(self, samples: Samples, blocks: Sequence[slice]) -> list[Any]:
        """Return futures of blocks of samples, placed when first asked for and where one was lost."""
        known, futures = self._places.get(samples, ([], []))
        if known != blocks or any(future.status in _LOST for future in futures):
            futures = samples.place(blocks, self)
            self._places[samples] = list(blocks), futures
        return futures

    def hold(self, values: Sequence[Any]) -> list[Any]:
        """Send values to the workers in turn; who has lost a worker sends its values again."""
        return list(self._client.scatter(list(values), hash=False))

    def make(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return futures of what the function makes of values or of the values of futures."""
        return list(self._client.map(function, *arguments, pure=False))

    def compute(self, collections: Sequence[Any]) -> list[Any]:
        """Return futures of the values of Dask collections."""
        return list(self._client.compute(list(collections)))

    def _forget(self) -> None:
        """Begin without a client, and with nothing known to be placed."""
        self._client: Any = None
        self._own, self._process = False, os.getpid()
        self._places: WeakKeyDictionary[Samples, tuple[list[slice], list[Any]]] = WeakKeyDictionary()

    def _connect(self) -> None:
        """Make sure of a client whose scheduler has workers; ``ClusterError`` where there are none."""
        if self._process != os.getpid():
            # The threads of a connection do not follow a fork.
            self._forget()
        if self._client is None or self._client.status != "running":
            self.close()
            self._client, self._own = self._present_client() or self._new_client()
        try:
            if not self._client.nthreads():
                self._client.wait_for_workers(1, timeout=self._patience_s)
        except _GONE as error:
            raise self._deserted() from error

    def _passed(self, samples: Samples, parts: list[slice], partial_sums: PartialSums, report: Report | None) -> Sums:
        levels: list[list[Any]] = []
        try:
            levels = self._begun(samples, parts, partial_sums)
            total = levels[-1][0]
            self._await(levels[0], total, report)
            failure = total.exception() if total.status == "error" else None
            if failure is None:
                result: Sums = total.result()
                return result
        except BaseException as error:
            # What waits for a worker is not wanted any more.
            with suppress(*_GONE):
                self._client.cancel([future for level in levels for future in level], force=True)
            if isinstance(error, _GONE):
                raise _LostError from error
            raise
        if not isinstance(failure, distributed().KilledWorker):
            raise failure
        raise ClusterError(
            f"a part of a pass ended {failure.allowed_failures + 1} workers one after the other, maybe for want of "
            "memory; see their logs, and give each of them more memory or fewer threads"
        )

    def _begun(self, samples: Samples, parts: list[slice], partial_sums: PartialSums) -> list[list[Any]]:
        """Return the futures of a pass: the sums of blocks, and sums of those up to the last one."""
        known, _ = self._places.get(samples, ([], []))
        blocks = known or _blocks(parts, sum(self._client.nthreads().values()))
        size = 1 + [part.stop for part in parts].index(blocks[0].stop)
        groups = [parts[begin : begin + size] for begin in range(0, len(parts), size)]
        # The scheduler keeps the bytes, and sends them again where they are lost.
        function = self._client.submit(bytes, import_module("cloudpickle").dumps(partial_sums), pure=False)
        within = [
            [slice(part.start - group[0].start, part.stop - group[0].start) for part in group] for group in groups
        ]
        levels = [self._client.map(_block_sums, self.placed(samples, blocks), within, function=function, pure=False)]
        while len(levels[-1]) > 1:
            last = levels[-1]
            neighbours = [last[begin : begin + _ADDED_AT_ONCE] for begin in range(0, len(last), _ADDED_AT_ONCE)]
            levels.append(self._client.map(_added, neighbours, pure=False))
        return levels

    def _await(self, sums: list[Any], total: Any, report: Report | None) -> None:
        """Return when the total has come to an end, reporting the share of the sums that are there."""
        ended, reports, deserted_s = threading.Event(), 0, 0.0
        total.add_done_callback(lambda _: ended.set())
        while not (ended.wait(_BETWEEN_REPORTS_S) or total.done()):
            if report is not None and not report(sum(future.done() for future in sums) / len(sums)):
                raise PassStoppedError
            reports += 1
            if reports % _REPORTS_BETWEEN_LOOKS == 0:
                waited_s = deserted_s + _REPORTS_BETWEEN_LOOKS * _BETWEEN_REPORTS_S
                deserted_s = 0.0 if self._client.nthreads() else waited_s
            if deserted_s > self._patience_s:
                raise self._deserted()

    def _present_client(self) -> tuple[Any, bool] | None:
        """Return the client that is in use for this scheduler, which is left open: what it has persisted is its own."""
        with suppress(ValueError):
            current = distributed().Client.current()
            if current.scheduler.address == self._address and current.status == "running" and not current.asynchronous:
                return current, False
        return None

    def _new_client(self) -> tuple[Any, bool]:
        try:
            return distributed().Client(self._address, timeout=self._patience_s, set_as_default=False), True
        except _GONE as error:
            raise ClusterError(
                f"no Dask scheduler answered at {self._address} within {self._patience_s:g} s; give the address that "
                "`dask scheduler` prints, which this machine must be able to reach"
            ) from error

    def _deserted(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self._address} had no workers for {self._patience_s:g} s; start some by "
            f"`dask worker {self._address}`, and fit again"
        )


class _LostError(Exception):
    """Data or the scheduler were lost: the pass must begin again."""


@cache
def dask_engine(address: str, patience_s: float) -> DaskEngine:
    """Return the engine of this process for a scheduler: problems share its connection, and what it has placed."""
    return DaskEngine(address, patience_s)


def _blocks(parts: list[slice], threads: int) -> list[slice]:
    """Return blocks of neighbouring parts, a power of two in each."""
    most, size = max(1, threads, min(_BLOCKS_A_THREAD * threads, _BLOCKS)), 1
    while -(-len(parts) // size) > most:
        size *= 2
    firsts = range(0, len(parts), size)
    return [slice(parts[begin].start, parts[min(begin + size, len(parts)) - 1].stop) for begin in firsts]


def _block_sums(samples: Samples, parts: list[slice], function: bytes) -> Sums:
    tree, partial_sums = TreeSum(), pickle.loads(function)  # noqa: S301 - workers run what the scheduler sends
    worker = distributed().get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    with one_blas_thread():
        for place, part in enumerate(parts):
            if task is not None and task.state == "cancelled":
                raise PassStoppedError
            tree.add(place, partial_sums(samples, part))
    return tree.total()


def _added(neighbours: list[Sums]) -> Sums:
    tree = TreeSum()
    for place, sums in enumerate(neighbours):
        # A worker may be asked for them again.
        tree.add(place, tuple(array.copy() for array in sums))
    return tree.total()


def checked_address(address: object) -> str:
    """Return the address of a scheduler; ``InputError`` for what is none."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise InputError(
            f"scheduler must be the address of a Dask scheduler, such as 'tcp://host:8786', got {address!r}; "
            "`dask scheduler` prints it, and a client has it as client.scheduler.address"
        )
    return address


def distributed() -> ModuleType:
    """Return the package; ``MissingPackageError`` without it."""
    with needed_for("a scheduler"):
        return import_module("distributed")
