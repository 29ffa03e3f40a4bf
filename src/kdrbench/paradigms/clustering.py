"""What an alternation hands back: its rounds, its last W and U, and the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import cluster_rows
from kdrbench.problems import Problem
from kdrbench.solvers import SolverResult, Status


@dataclass(frozen=True)
class Round:
    """The objective after a round, the eigenvalues of its embedding, and how the solver ended in it."""

    objective: float
    eigenvalues: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True)
class Clustering:
    """The outcome of an alternation.

    ``labels`` are k-means clusters of the rows of ``embedding`` (n x k), computed when they are first used.
    ``objective`` is that of W with its U, as after a round. ``problem`` is the one that W solved last (with U and D of
    the W before), ``result`` the solver's result on it.
    ``uses_degrees`` is false where D^-1/2 did not exist or was not requested.
    """

    projection: FloatArray
    embedding: FloatArray
    objective: float
    rounds: tuple[Round, ...]
    status: Status
    message: str
    problem: Problem
    result: SolverResult
    uses_degrees: bool
    seed: int = 0

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The clusters."""
        return cluster_rows(self.embedding, self.seed)
