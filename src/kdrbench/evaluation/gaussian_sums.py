"""Gaussian kernels in time linear in n, from sums over classes or factors in a basis of few functions, with a proof.

With u_i = W'(x_i - mean) / sigma, a basis phi of m functions (:mod:`.bases`) and Gamma = E Theta E' (:mod:`.streams`),

    T_g = sum_i E_ig phi(u_i),    V = Theta T M,    F = sum_gh Theta_gh T_g' M T_h - sum_i Gamma_ii,
    dF/du_i = 2 sum_g E_ig d(V_g' phi)/du_i,    grad F = X' dF/dU / sigma,

and likewise products with the Hessian, the Hessian on many directions, and Phi: each is two passes over chunks of
samples that add up k m, k m q or k m d numbers. No n x n and no n x m array is ever made; time O(n m (q + c)) for F and
its gradient, memory O(chunk + k m) and k m d for Phi. Samples on a device are summed there; the basis is chosen, and
the sums are put together, in numpy.

The basis is chosen on some of the samples, so that the error of the gradient is a given share of it, and kept for as
long as it suffices there: F is then a smooth function with these derivatives. Landmarks are points of the projected
space; W is turned to where they were chosen first, since F does not depend on W's basis.

What is left out, K - K_m, is positive semi-definite. So with rest_i and slope_i of the basis, r_g = sum_i |E_ig|
rest_i^1/2 and e = |Theta| r, by the inequality of Cauchy and Schwarz

    |F - F_m| <= r' |Theta| r,    |dF/du_i - dF_m/du_i| <= 2 slope_i^1/2 sum_g |E_ig| e_g,
    |grad F - grad F_m| <= |X - 1 mean'|_2 / sigma times the root of the sum of these squares over i,

which one pass gives for all samples (:meth:`ClassSumsProblem.error_bound`). It is a proof but for the rounding of sums.

Without a proof, gradients put k_m for k instead of differentiating it:

    T'_g = sum_i E_ig phi(u_i) u_i',    dF/du_i = 2 sum_g E_ig (V'_g' phi(u_i) - (V_g' phi(u_i)) u_i),

with V' of T' as V of T. Values of k_m are nearer than its derivatives: a third of the landmarks are enough. F then has
not quite these derivatives.

Second order: with r_i = Z'(x_i - mean) / sigma for a direction Z, and D_a of the basis,

    dT_g = sum_i E_ig sum_a r_ia (D_a - u_ia) phi(u_i),    dV = Theta dT M,
    d(dF/du_i) = 2 sum_g E_ig (dV_g' dphi/du_i + sum_b r_ib d^2(V_g' phi)/du_i du_ib),
    d^2 phi/du_a du_b = (D_a - u_a) (D_b - u_b) phi - [a = b] phi.

On all directions B_u e_a' at once the first term is a quadratic form of dT, from the sums of phi with the columns of
XB and their products with those of U, and the second a weighted scatter matrix of XB for each pair a <= b.

Source: our own derivation; :mod:`.bases` for the bases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdrbench.arrays import namespace_of
from kdrbench.errors import InputError
from kdrbench.evaluation.bases import Basis
from kdrbench.evaluation.basis_choice import Choice, Pool, turn_to
from kdrbench.evaluation.cost_model import PROVED, SINGLE_PRECISION
from kdrbench.evaluation.streaming import SumsPoint, SumsProblem, add_gram
from kdrbench.evaluation.streams import Members, Stream
from kdrbench.kernels import Gaussian
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.samples import Engine, Sums
from kdrbench.samples.passes import ThreadEngine

# What is asked of the choice on some samples, as a share of what the bound on all of them is to be.
_MARGIN = 0.3


@dataclass(frozen=True)
class ErrorBound:
    """Proved bounds of |F - F_m| and of the Frobenius norm of grad F - grad F_m, and both relative to F_m's."""

    value: float
    gradient: float
    relative_value: float
    relative_gradient: float

    def __str__(self) -> str:
        """Return it in words."""
        return f"proved to {self.relative_value:.0e} of F and {self.relative_gradient:.0e} of its gradient"


class ClassSumsProblem(SumsProblem):
    """All oracles of a :class:`TraceObjective` with a Gaussian kernel, from class sums.

    ``accuracy`` is the error of the gradient that is asked for, relative to it: as the bound says where ``proved``, and
    otherwise as it is on some of the samples, which takes fewer functions. Raises ``InputError`` for other kernels.
    """

    def __init__(
        self,
        objective: TraceObjective,
        *,
        accuracy: float = PROVED,
        proved: bool = True,
        threads: int = 1,
        engine: Engine | None = None,
    ) -> None:
        if not isinstance(objective.kernel, Gaussian):
            raise InputError(f"class sums are for Gaussian kernels, not for {objective.kernel!r}")
        stream = Stream(objective.samples, objective.gamma, engine or ThreadEngine(threads))
        self._accuracy, self._proved, self._by_values = float(accuracy), proved, not proved
        # Of the products of a surrogate with rows in numpy; their sums are always in float64.
        self._single = not proved and accuracy >= SINGLE_PRECISION and objective.samples.device.is_host
        self._sigma = float(objective.kernel.sigma)
        self._pool = Pool(objective.samples, stream.mean, objective.gamma, stream.groups, self._sigma)
        super().__init__(objective.features, stream, objective.kernel)

    def _forget(self) -> None:
        super()._forget()
        self._bound: ErrorBound | None = None
        self._chosen: Choice | None = None
        self._demand: float = _MARGIN * self._accuracy

    def suffices_at(self, projection: FloatArray) -> bool:
        """Return whether a basis that is worth its cost is near enough at W, as far as some of the samples show."""
        return self._chosen_at(projection).suffices

    def error_bound(self, projection: FloatArray) -> ErrorBound:
        """Return proved bounds of the errors of F and its gradient at W, from one pass over all samples."""
        point = self._at(projection)
        if self._bound is None:
            number, basis = self._groups.number, point.basis

            def left_out(total: Sums, samples: FloatArray, members: Members) -> None:
                rest, slope = basis.left_out(samples)
                total[0][...] += members.totals(namespace_of(rest).sqrt(rest), number)
                total[1][...] += members.moments(slope, number)

            totals, moments = self._over().narrow(point.columns, basis.size, [(number,), (number, number)], left_out)
            missing = np.abs(self._groups.theta) @ totals
            value = float(totals @ missing)
            largest = 2.0 * self._over().largest_spread / self._sigma
            gradient = largest * float(np.sqrt(missing @ moments @ missing))
            size = float(np.linalg.norm(self._gradient(projection))) or 1.0
            self._bound = ErrorBound(value, gradient, value / (abs(point.value) or 1.0), gradient / size)
        return self._bound

    def explain_last(self) -> str:
        """Say what the sums at the last W were, and what is proved of them."""
        if self._held is None:
            return ""
        proved = "" if self._bound is None else f", {self._bound}"
        return f"{self._held[1].basis}{proved}"

    def refined_at(self, projection: FloatArray) -> bool:
        """Ask for more where the bound at W is above what was asked for; return whether it was."""
        found = self.error_bound(projection).relative_gradient if self._proved else 0.0
        if found <= self._accuracy:
            return False
        demand = self._demand * _MARGIN * self._accuracy / found
        self._forget()
        self._demand = demand
        return True

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        point = self._at(projection)
        functions, tables, d, single = point.basis, point.coefficients[:, None], self.n_features, self._single

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            features = functions.features(samples)
            degrees = members.mixed(functions.mixed, features, tables)[0, :]
            if single:
                features, rows = features.astype(np.float32), rows.astype(np.float32)
            members.add(total[0], features, rows)
            add_gram(total[1], rows, degrees)

        shapes = [(self._groups.number, functions.size, d), (d, d)]
        sums, gram = self._over().with_rows(point.columns, shapes, added)
        gram -= self._quadratic(functions, sums.swapaxes(1, 2))
        gram *= -1.0 / self._sigma**2
        return gram

    def _made_at(self, projection: FloatArray) -> SumsPoint:
        """Return the sums at W, less the diagonal that is 1 for every sample."""
        self._bound, point = None, super()._made_at(projection)
        point.value -= self._groups.diagonal
        return point

    def _basis_at(self, projection: FloatArray) -> tuple[Basis, FloatArray]:
        chosen = self._chosen_at(projection)
        return chosen.basis, turn_to(chosen.projection, projection)

    def _chosen_at(self, projection: FloatArray) -> Choice:
        """Return the basis that was chosen last if it suffices at W, and a new choice otherwise."""
        if self._chosen is None or not self._pool.covers(self._chosen, projection):
            self._held = None
            self._chosen = self._pool.choose(projection, self._demand, proved=self._proved, by_values=self._by_values)
        return self._chosen
