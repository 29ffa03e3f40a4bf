"""One clock and one referee over all rounds of an alternation, each of which asks for a monitor of its own."""

from __future__ import annotations

from collections.abc import Callable

from kdrbench.errors import KdrbenchError
from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.monitor import Iterate, MonitorProxy, State
from kdrbench.suite.systems.ikdr.monitor import TimedMonitor


class OutOfTimeError(KdrbenchError):
    """The time of all rounds together is used up: there is no next step."""


class Rounds:
    """Makes the monitor of each round. The clock of ``monitor`` runs on between rounds, where U is found.

    ``noted`` is called with the start and with the result of each round while the clock is paused.
    """

    def __init__(self, monitor: TimedMonitor, noted: Callable[[FloatArray], None] | None = None) -> None:
        self._monitor, self._noted = monitor, noted

    def __call__(self) -> Round:
        """Return the monitor of the next round."""
        return Round(self._monitor, self)

    def ended(self, projection: FloatArray) -> None:
        """Note a projection that the alternation begins or ends a round with; the clock is running."""
        self._monitor.end()
        try:
            if self._noted:
                self._noted(projection)
        finally:
            self._monitor.begin()


class Round(MonitorProxy):
    """Hands on what a solver says, but for the clock, and counts the iterations of this round alone."""

    def __init__(self, monitor: TimedMonitor, rounds: Rounds) -> None:
        super().__init__(monitor)
        self._before, self._rounds, self._timed = monitor.iterations, rounds, monitor
        self.iterations = 0

    def begin(self) -> None:
        """Nothing: the clock is running."""

    def end(self) -> None:
        """Nothing: the alternation goes on."""

    def keep_going(self, iterate: Iterate) -> bool:
        """Hand on."""
        going = self._monitor.keep_going(iterate)
        self.iterations = self._timed.iterations - self._before
        return going

    @property
    def resumed(self) -> None:
        """Nothing: a solver's state says nothing of the rounds before."""
        return None

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep nothing: see above."""

    def accept(self, projection: FloatArray) -> None:
        """Note the result of the round, off the clock.

        Raises ``OutOfTimeError`` when the limit has been reached.
        """
        self._rounds.ended(projection)
        self._timed.end()
        try:
            self._timed.accept(projection)
        finally:
            self._timed.begin()
        if not self._timed.progress(1.0):
            raise OutOfTimeError(self._timed.stop_message)
