"""The contract between problems and solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kdrbench.kernels.family import FloatArray


class PassStoppedError(Exception):
    """A pass over the data was told to stop; the solver's last iterate stands."""


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


class Coordinates(Protocol):
    """An orthonormal basis B of some of the space of features."""

    def lower(self, projection: FloatArray) -> FloatArray:
        """Return B'W."""
        ...

    def lift(self, lowered: FloatArray) -> FloatArray:
        """Return B V."""
        ...


class Problem(Protocol):
    """Oracles of F(W) = Tr(Gamma K_XW), to be maximised over d x q matrices W with W'W = I.

    W may have any number of columns from 1 to d. Solvers name the oracles they need; a problem that lacks
    one is refused before the run.
    """

    counters: Counters
    # Told the share of a long pass over the data that is done; answers whether to go on.
    report: Callable[[float], bool] | None

    @property
    def n_features(self) -> int:
        """Number of rows d of a projection."""
        ...

    def fresh(self) -> Problem:
        """Return the same problem with its own counters and nothing remembered of earlier points.

        The data are shared. Referees and repeated timings use it, so that no run profits from another.
        """
        ...

    def explain(self, n_components: int) -> str:
        """Say in one sentence how projections to ``n_components`` are evaluated, and why."""
        ...

    def evaluated(self, evaluator: str) -> Problem:
        """Return the same problem, evaluated in the way that ``evaluator`` names; counters and report are shared.

        Raises ``InputError`` where the kernel does not allow it.
        """
        ...

    def accuracy(self, n_components: int) -> float:
        """Return the relative stationarity to which gradients are worth trusting; 0 where they are exact."""
        ...

    def rough(self, n_components: int) -> Problem | None:
        """Return a cheaper problem near this one that shares its counters; ``None`` where this one is cheap."""
        ...

    def frozen(self, projection: FloatArray) -> Problem:
        """Return the problem with all choices of its approximations made as at W; counters are shared."""
        ...

    def thinned(self, n_samples: int) -> Problem | None:
        """Return the problem of ``n_samples`` of the samples; ``None`` if there are no more than those."""
        ...

    def in_row_space(self, projection: FloatArray) -> tuple[Problem, Coordinates] | None:
        """Return the same problem in fewer coordinates that span W, and those; ``None`` where that saves little."""
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

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W as a matrix on the directions B_u e_a' (``basis`` B is d x m).

        The result is mq x mq, rows and columns counting a fastest: entry (ua, vb) is <B_u e_a', Hess F[B_v e_b']>.
        """
        ...

    def riemannian_gradient(self, projection: FloatArray) -> FloatArray:
        """Return (I - WW') times the Euclidean gradient; counts as a gradient."""
        ...

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return the surrogate matrix Phi(W), d x d and symmetric."""
        ...

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0, the surrogate with f' replaced by its sign at 0."""
        ...
