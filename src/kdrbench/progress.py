"""How far long work is: one line that is kept up to date on a terminal, and plain lines now and then elsewhere.

They go to standard error, so that what a program prints stays what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isfinite, log
from time import monotonic
from typing import Self

# Seconds between lines of a fit where they stay, and on a terminal, where one is written over.
_PLAIN_S, _TERMINAL_S = 5.0, 0.1
# Below this it is not said how long it will take; and what a fit that shows nothing says once.
_LONG_S, _SILENT_S = 2.0, 10.0


class ProgressLine:
    """The line; ``plain_s`` are the seconds between those that stay, the first ``at_once`` or after as many.

    On a terminal ``terminal_s`` are the seconds between two texts, and ``staying`` lines are not written over.
    """

    def __init__(self, plain_s: float, terminal_s: float = 0.0, *, at_once: bool = True, staying: bool = False) -> None:
        self._shown, self._terminal = "", sys.stderr.isatty() and not staying
        self._between_s = terminal_s if self._terminal else plain_s
        self._next_s = monotonic() if at_once or self._terminal else monotonic() + plain_s

    @property
    def is_due(self) -> bool:
        """Whether what is shown would be seen."""
        return monotonic() >= self._next_s

    def show(self, text: str) -> None:
        """Show the text if it is time to and it says something else than before."""
        if text == self._shown or not self.is_due:
            return
        self._shown, self._next_s = text, monotonic() + self._between_s
        self._write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")

    def end(self, text: str = "") -> None:
        """Take the line away, or leave a last one that stays."""
        self._write(("\r\x1b[K" if self._terminal else "") + (f"{text}\n" if text else ""))

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class CountProgress:
    """What lines say of ``total`` pieces of work at most: how many of them, seconds so far and left.

    They come after 10 s, 20 s, 40 s, and so on, so that hours leave a dozen. ``done`` is what the pieces are called.
    """

    def __init__(self, title: str, total: int, done: str = "fits") -> None:
        self._title, self._total, self._done = title, total, done
        self._count, self._began_s, self._next_s = 0, monotonic(), _SILENT_S
        self._line = ProgressLine(0.0, staying=True)

    def count(self) -> None:
        """Count one more, and say so if a line is due."""
        self._count, took_s = self._count + 1, monotonic() - self._began_s
        if took_s < self._next_s or self._count >= self._total:
            return
        self._next_s = 2.0 * took_s
        left_s = took_s * (self._total - self._count) / self._count
        of = f"{self._count} of up to {self._total} {self._done}"
        self._line.show(f"{self._title}: {of}, {took_s:.1f} s, about {left_s:.0f} s left for all")


class FitProgress:
    """What a line says of a fit: samples, solve, iteration, objective, stationarity, seconds so far and left.

    ``verbose`` is 1 for lines at intervals, and more for one an iteration; with 0 there is one line after ten seconds.
    How long a solve will take is judged by how quickly its stationarity has fallen towards the ``tolerance``: a
    geometric rate, which ends often beat.
    """

    def __init__(self, title: str, tolerance: float, verbose: int) -> None:
        self._title, self._tolerance, self.outcome = title, tolerance, ""
        each, self._once = verbose > 1, verbose == 0
        between_s = _SILENT_S if self._once else 0.0 if each else _PLAIN_S
        self._line = ProgressLine(between_s, _TERMINAL_S, at_once=each, staying=each or self._once)
        self._is_over = False
        self._solves, self._began_s, self._first = 0, monotonic(), (monotonic(), float("nan"))

    def begin_solve(self) -> None:
        """Count a solve: that of a start, or of a round of a clustering."""
        self._solves, self._first = self._solves + 1, (monotonic(), float("nan"))

    def show(
        self, iteration: int, value: float | None, stationarity: Callable[[], float | None], share: float | None = None
    ) -> None:
        """Show where a solve is if a line is due; ``share`` is of a pass.

        Only then the stationarity is computed, and once at the begin of a solve.
        """
        if not isfinite(self._first[1]) and (first := stationarity()) is not None:
            self._first = (monotonic(), first)
        if self._is_over or not self._line.is_due:
            return
        self._is_over = self._once
        reached = stationarity()
        left = self._seconds_left(reached)
        parts = [
            f"solve {self._solves}" if self._solves > 1 else "",
            f"iteration {iteration}",
            "" if value is None else f"objective {value:.8g}",
            "" if reached is None else f"stationarity {reached:.1e}",
            "" if share is None else f"{share:.0%} of a pass",
            f"{monotonic() - self._began_s:.1f} s",
            "" if left is None else f"about {left:.0f} s left",
        ]
        self._line.show(f"{self._title}: {', '.join(filter(None, parts))}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        """Leave a last line with the ``outcome``, if there is one, or none where something was raised."""
        if self._once:
            return
        took = f"{monotonic() - self._began_s:.1f} s"
        self._line.end(f"{self._title}: {self.outcome}, {took}" if self.outcome else "")

    def _seconds_left(self, reached: float | None) -> float | None:
        since, first = self._first
        elapsed = monotonic() - since
        if elapsed < _LONG_S or reached is None or not 0.0 < self._tolerance < reached < first:
            return None
        return elapsed * log(reached / self._tolerance) / log(first / reached)
