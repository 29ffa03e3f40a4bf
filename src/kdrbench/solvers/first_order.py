"""What rivals share that ask for F and its gradient alone: their options, and how they leave saddles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, check_parameters
from kdrbench.problems import Problem
from kdrbench.solvers.base import SQUARE, SolverOutcome, Status
from kdrbench.solvers.escape import check_escape, run_escaping
from kdrbench.solvers.monitor import Monitor


@dataclass(frozen=True)
class FirstOrderRival(ABC):
    """A search that ends at relative stationarity ``tolerance``, or after ``max_iterations`` iterations.

    With ``escape`` saddles are left (see :mod:`kdrbench.solvers.escape`), and iterations counted from each of them.
    Raises ``InputError`` for values that are not allowed.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-6
    max_iterations: Annotated[int, COUNT] = 10_000
    escape: Annotated[bool, FLAG] = False
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")
        check_escape(self, allowed=True)

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` (d x q) until W is stationary, and on from saddles where that is asked for."""
        if start.shape[0] == start.shape[1]:
            return SolverOutcome(start, Status.CONVERGED, SQUARE)
        if self.escape:
            return run_escaping(lambda point: self._search(problem, point, monitor), problem, start, monitor)
        return self._search(problem, start, monitor)

    @abstractmethod
    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` until W is stationary or a limit is reached."""
