"""The solvers of IKDR's first author, by the rules of the published code: what the papers' tables were made with.

They are here to trace printed numbers and not for use. The code differs from what the papers describe:

- ISM with a polynomial kernel takes Phi with the diagonal of the kernel, which the cost leaves out. In the first
  version Phi is that of the kernel of X with scale 1/d, so that one eigendecomposition is enough. With a multiquadric
  it is so in both.
- SM accepts any lower cost: lengths 2, 0.4, ... of the Cayley curve, without Wen and Yin's step lengths. With a
  polynomial kernel it follows q times the gradient of the cost with its diagonal.
- GM is steepest descent on the Gaussian objective, whatever the kernel of the run, ended after 1000 seconds.
- DG has Gamma = s H with s > 0, since class integers were taken for one-hot labels: no label is used. Its kernel is a
  Gaussian, whatever the kernel of the run.

Costs of all of them are those of the run's own objective. ``sigma`` of the Gaussian is the median distance of X, zero
distances of samples to themselves included.

Sources: github.com/neu-spiral/InterpretableKernelDimReduction (January 2019, the runs of ISM+) and
github.com/endsley/HSIC_for_ML (2021, after NeurIPS 2019), read for their constants; pymanopt 0.2 for GM's defaults.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from kdrbench.evaluation import build_problem
from kdrbench.extras import needed_for
from kdrbench.kernels import Gaussian, Multiquadric, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.median import median_distance
from kdrbench.parameters import COUNT, FLAG, OneOf
from kdrbench.problems import Problem
from kdrbench.solvers.base import Options, SolverOutcome, Status, objective_of
from kdrbench.solvers.geometry.stiefel import CayleyCurve, orthonormalised, outside
from kdrbench.solvers.grassmann import gradient_below, run_on_grassmann
from kdrbench.solvers.ism import IterativeSpectralMethod
from kdrbench.solvers.monitor import Monitor

# SM: length of the first trial of a step, factor of the next, the smallest; steps; change of W that ends it.
_SM_STEP, _SM_FACTOR, _SM_FLOOR, _SM_STEPS, _SM_CHANGE = 2.0, 0.2, 1e-9, 400, 1e-3
# The first version also ends at this relative change of the cost.
_SM_GAIN = 1e-7
# DG: the same, and the number of steps after which a column is given up.
_DG_STEP, _DG_FACTOR, _DG_FLOOR, _DG_CHANGE, _DG_STEPS = 0.9, 0.5, 1e-6, 1e-2, 3000
# pymanopt's rule |(I - WW')G| < 1e-6.
_GM_NORM = 1e-6


def changed(problem: Problem, **parts: Any) -> Problem:
    """Return the problem with another kernel or Gamma, its calls counted with the problem's own."""
    other = build_problem(replace(objective_of(problem), **parts))
    other.counters = problem.counters
    return other


def with_diagonal(problem: Problem) -> Problem:
    """Return the problem whose sum includes each sample's pair with itself."""
    return changed(problem, gamma=replace(objective_of(problem).gamma, zero_diagonal=False))


def gaussian_of(problem: Problem) -> Gaussian:
    """Return the Gaussian kernel of the problem, or that with the median distance of its samples."""
    objective = objective_of(problem)
    kernel = objective.kernel
    return kernel if isinstance(kernel, Gaussian) else Gaussian(median_distance(objective.array))


@dataclass(frozen=True)
class AuthorsISM(Options):
    """ISM with a polynomial kernel's diagonal in Phi; with ``version`` 1 from the kernel of X, else of XW.

    The Phi of a multiquadric is that of X. Other kernels are iterated as :class:`.IterativeSpectralMethod` does.
    """

    version: Annotated[int, OneOf((1, 2))] = 2
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})
    own_rule: ClassVar[str] = IterativeSpectralMethod.own_rule

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Iterate from ``start``."""
        kernel = objective_of(problem).kernel
        if isinstance(kernel, Multiquadric):
            return IterativeSpectralMethod(variant="published").run(problem, start, monitor)
        if not isinstance(kernel, Polynomial):
            return IterativeSpectralMethod().run(problem, start, monitor)
        variant = "published_1_d" if self.version == 1 else "iterated"
        return IterativeSpectralMethod(variant=variant).run(with_diagonal(problem), start, monitor)


@dataclass(frozen=True)
class AuthorsSM(Options):
    """SM: Cayley steps that are cut by 0.2 until the cost falls, each search from the same first length.

    With ``version`` 1 a search without success ends the run, and so does a relative change of the cost below 1e-7;
    with 2 the code repeats the search to the end of its 400 iterations, which changes its time and not W.

    The code has no gradient for the multiquadric and combinations: here their steps follow that of the cost.
    """

    version: Annotated[int, OneOf((1, 2))] = 2
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})
    own_rule: ClassVar[str] = "W changes by less than 0.1 %"

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start``."""
        polynomial = isinstance(objective_of(problem).kernel, Polynomial)
        guide, factor = (with_diagonal(problem), float(start.shape[1])) if polynomial else (problem, 1.0)
        point, cost = start, -problem.value(start)
        for _ in range(_SM_STEPS):
            if not monitor.keep_going(point):
                return SolverOutcome(point, monitor.stop_status, monitor.stop_message)
            found = _cayley_step(problem, point, -factor * guide.gradient(point), cost)
            if found is None:
                return SolverOutcome(point, Status.STALLED, "no trial of a step length lowers the cost")
            candidate, lower = found
            moved = float(np.linalg.norm(candidate - point)) / float(np.linalg.norm(point))
            gained = abs(lower - cost) / abs(cost)
            point, cost = candidate, lower
            if moved < _SM_CHANGE or (self.version == 1 and gained < _SM_GAIN):
                return SolverOutcome(point, Status.CONVERGED, self.own_rule)
        return SolverOutcome(point, Status.MAX_ITERATIONS, f"W had not settled after {_SM_STEPS} steps")


def _cayley_step(
    problem: Problem, point: FloatArray, gradient: FloatArray, cost: float
) -> tuple[FloatArray, float] | None:
    """Return the first trial along the Cayley curve with a lower cost, and that cost."""
    curve, step = CayleyCurve(point, gradient), _SM_STEP
    while step > _SM_FLOOR:
        # (I + aA)^-1 (I - aA) W, where Wen and Yin have a/2.
        candidate = orthonormalised(curve.at(2.0 * step))
        if (lower := -problem.value(candidate)) < cost:
            return candidate, lower
        step *= _SM_FACTOR
    return None


@dataclass(frozen=True)
class AuthorsGM(Options):
    """GM: steepest descent of the Gaussian cost by pymanopt, for ``steps`` iterations.

    The code ended after 1000 seconds, looked at once an iteration. By the printed times that is one iteration on Face,
    four on Cancer and fifty on Wine. Each round of an alternation has a random start of its own: with ``restart`` the
    given start only seeds it.
    """

    steps: Annotated[int, COUNT] = 50
    restart: Annotated[bool, FLAG] = False
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})
    imports: ClassVar[tuple[str, ...]] = ("pymanopt.manifolds", "pymanopt.optimizers")

    @property
    def continued(self) -> AuthorsGM:
        """The solver of all rounds of an alternation but the first."""
        return replace(self, restart=True)

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Descend from ``start``."""
        if self.restart:
            rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(start).tobytes()))
            start = orthonormalised(rng.standard_normal(start.shape))
        with needed_for("the solver authors_gm"):
            from pymanopt.optimizers import SteepestDescent

        # pymanopt counts the start as an iteration.
        optimizer = SteepestDescent(
            max_iterations=self.steps + 1, max_time=math.inf, min_gradient_norm=0.0, verbosity=0
        )
        gaussian = changed(problem, kernel=gaussian_of(problem))
        return run_on_grassmann(optimizer, self.steps, gaussian, start, monitor, gradient_below(_GM_NORM))


@dataclass(frozen=True)
class AuthorsDG:
    """DG on Gamma = H with a Gaussian kernel, which is a product of one factor for each column of W."""

    requires: ClassVar[frozenset[str]] = frozenset()
    own_rule: ClassVar[str] = "each column moves by less than 0.01"

    @property
    def alone(self) -> _GrowingOn:
        """The solver of one alternation: its product of kernels grows from round to round, and is never reset."""
        return _GrowingOn()

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Find one column after the other, from the columns of ``start``."""
        return _GrowingOn().run(problem, start, monitor)


class _GrowingOn:
    """DG that multiplies the kernels of a run's columns onto those of the runs before."""

    requires, own_rule = AuthorsDG.requires, AuthorsDG.own_rule

    def __init__(self) -> None:
        self._product: FloatArray | float = 1.0

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        features, sigma = objective_of(problem).array, gaussian_of(problem).sigma
        columns = start[:, :0]
        for number in range(start.shape[1]):
            for column, kernel in grown(features, columns, start[:, number], sigma, self._product):  # noqa: B007
                iterate = _completed(columns, column, start)
                if not monitor.keep_going(iterate):
                    return SolverOutcome(iterate, monitor.stop_status, monitor.stop_message)
            self._product = self._product * kernel
            columns = np.column_stack([columns, column])
        return SolverOutcome(orthonormalised(columns), Status.CONVERGED, self.own_rule)


def grown(
    features: FloatArray, columns: FloatArray, start: FloatArray, sigma: float, product: FloatArray | float
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the steps of one more column w and its kernel K(w), n x n, that maximise sum_ij H_ij P_ij K_ij(w).

    P is the ``product`` of the kernels of the earlier ``columns``, to which w is orthogonal.
    """
    vector = outside(columns, start[:, None])[:, 0]
    vector /= np.linalg.norm(vector)
    kernel = _gaussian(features @ vector, sigma)
    for _ in range(_DG_STEPS):
        yield vector, kernel
        direction = _direction(features, vector, product * kernel)
        direction = outside(np.column_stack([columns, vector]), direction[:, None])[:, 0]
        direction /= np.linalg.norm(direction)
        value, step = _spread(product * kernel), _DG_STEP
        while True:
            candidate = math.sqrt(1.0 - step**2) * vector + step * direction
            following = _gaussian(features @ candidate, sigma)
            if _spread(product * following) > value or step < _DG_FLOOR:
                break
            step *= _DG_FACTOR
        moved = float(np.linalg.norm(candidate - vector))
        vector, kernel = candidate, following
        if moved < _DG_CHANGE:
            break
    yield vector, kernel


def _gaussian(projected: FloatArray, sigma: float) -> FloatArray:
    difference = projected[:, None] - projected[None, :]
    return np.asarray(np.exp(difference**2 * (-0.5 / sigma**2)))


def _spread(kernel: FloatArray) -> float:
    """Return sum_ij H_ij K_ij."""
    return float(np.trace(kernel) - kernel.sum() / len(kernel))


def _direction(features: FloatArray, vector: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return -sum_ij H_ij K_ij A_ij w, with A_ij the outer product of x_i - x_j; H_ij = -1/n beside the diagonal."""
    projected = features @ vector
    return np.asarray(features.T @ (kernel.sum(axis=1) * projected - kernel @ projected))


def _completed(columns: FloatArray, column: FloatArray, start: FloatArray) -> FloatArray:
    """Return an orthonormal d x q matrix that begins with the columns found."""
    known = np.column_stack([columns, column])
    return orthonormalised(np.column_stack([known, start[:, known.shape[1] :]]))
