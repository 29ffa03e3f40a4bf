"""Holds what runs must not see in a process of its own, and answers questions about it.

A run is forked from its batch and has all of the batch's memory. What the batch never held, no run can find there: test
rows and their labels are read, kept and scored by the keeper.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Generic, TypeVar

from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.guardian import in_child
from kdrbench.suite.engine.isolation.supervisor import LostError

_Value = TypeVar("_Value")
_Part = TypeVar("_Part")
_KILLED = "the process that holds the data was killed or stopped; start the workflow again"
# How often it is looked after while it works.
_LOOK_S = 2.0


@dataclass
class Kept(Generic[_Value]):
    """The value, in the keeper's process, and the last thing that was made of it."""

    value: _Value
    _latest: tuple[Hashable, Any] | None = None

    def once(self, key: Hashable, make: Callable[[], _Part]) -> _Part:
        """Return what ``make`` returns, which is not called again for the same ``key`` as the last time."""
        if self._latest is None or self._latest[0] != key:
            self._latest = None
            self._latest = (key, make())
        part: _Part = self._latest[1]
        return part


class Keeper(Generic[_Value]):
    """A process that calls ``make`` and holds what it returns; the caller closes it.

    Raises what ``make`` raises, and ``LostError`` when the process was killed.
    """

    def __init__(self, make: Callable[[], _Value]) -> None:
        self._make = make
        self._begin()

    def _begin(self) -> None:
        parent = os.getpid()
        self._line, other = Pipe()
        self._child = os.fork()
        if self._child == 0:
            in_child(lambda: _keep(self._make, parent, other))
        other.close()
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, work: Callable[..., _Part], *arguments: Any) -> _Part:
        """Return ``work(kept, *arguments)`` as computed there; raises what it raises.

        ``work`` is a function of a module, and arguments and answer can be pickled.
        """
        try:
            self._line.send((work, arguments))
        except OSError as error:
            self.close()
            raise LostError(_KILLED) from error
        part: _Part = self._answer()
        return part

    def is_at_work(self) -> bool:
        """Return whether the process is there, and not stopped."""
        if self._line.closed:
            return False
        try:
            gone = os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return gone is None and not processes.is_stopped(self._child)

    def check(self) -> None:
        """Raise ``LostError`` unless the process is at work."""
        if not self.is_at_work():
            raise LostError(_KILLED)

    def renew(self) -> int:
        """Let another process make the value and hold it; return its number."""
        self.close()
        self._begin()
        return self._child

    def __enter__(self) -> Keeper[_Value]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._line.closed:
            return
        self._line.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)

    def _answer(self) -> Any:
        try:
            while not self._line.poll(_LOOK_S):
                if processes.is_stopped(self._child):
                    self.close()
                    raise LostError(_KILLED)
            raised, value = self._line.recv()
        except (EOFError, OSError) as error:
            # One that is being killed is not gone yet, and would be taken for one at work.
            self.close()
            raise LostError(_KILLED) from error
        if raised:
            raise value
        return value


def _keep(make: Callable[[], Any], parent: int, line: Connection) -> None:
    """Make the value, then answer questions until there are no more."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)
    # A terminal's Ctrl-C goes to the batch, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes.follow_parent_in_death(parent, signal.SIGKILL)
    # Other processes of the user cannot look into this one's memory.
    processes.hide_memory()
    # A lock ends with the batch that holds it.
    os.closerange(3, line.fileno())
    os.closerange(line.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    # Whatever had been put in the place of these streams is closed.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    # Until it is asked, what has been made is an answer without a value.
    kept: Kept[Any] | None = None
    work, arguments = _nothing, ()
    answer: tuple[bool, Any]
    while True:
        try:
            kept = kept or Kept(make())
            answer = (False, work(kept, *arguments))
        except Exception as error:
            answer = (True, _portable(error))
        line.send(answer)
        try:
            work, arguments = line.recv()
        except EOFError:
            return


def _nothing(kept: Kept[Any]) -> None:
    """Return nothing."""


def _portable(error: Exception) -> Exception:
    """Return the error as one that can be sent."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:
        # Pickling calls methods of the error's class, which may be anybody's.
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
