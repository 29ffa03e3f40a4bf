"""The contract between problems and solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kdrbench.kernels.family import FloatArray


class PassStoppedError(Exception):
    """A pass over the data was stopped by a limit; the last iterate is the result."""


@dataclass
class Counters:
    """How often each oracle of a problem was called."""

    value: int = 0
    gradient: int = 0
    hessian_vector: int = 0
    hessian: int = 0
    surrogate: int = 0

    @property
    def total(self) -> int:
        """Calls of all oracles together."""
        return self.value + self.gradient + self.hessian_vector + self.hessian + self.surrogate


class Problem(Protocol):
    """Oracles of F(W) = Tr(Gamma K_XW), to be maximised over d x q matrices W with W'W = I.

    W may have any number of columns from 1 to d. A solver names the oracles that it calls; a problem that lacks one is
    refused before the run.
    """

    counters: Counters

    @property
    def n_features(self) -> int:
        """Number of rows d of a projection."""
        ...

    def fresh(self) -> Problem:
        """Return the same problem with its own counters and nothing remembered of earlier points.

        The data are shared. Referees and repeated timings use it, so that no run profits from another.
        """
        ...

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        ...

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the Euclidean gradient of F at W: 2 Phi(W) W, d x q."""
        ...

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its Euclidean gradient; counts as one of each."""
        ...

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W applied to Z, d x q."""
        ...

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return the surrogate matrix Phi(W), d x d and symmetric."""
        ...

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0, the surrogate with f' replaced by its sign at 0."""
        ...
