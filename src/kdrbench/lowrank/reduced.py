"""A problem on r x r: the only places where data of n samples are touched are here and where the factor is returned.

With K0 = G0 G0' every kernel in the range of K0 is F X F' for a basis F = G0 T of the range. For Burg F = G0 and the
start is X = I; for von Neumann F is orthonormal and the start is the diagonal of K0's eigenvalues. A constraint
tr(KA) becomes sum_k s_k u_k' X u_k with orthogonal u_k of r entries, the eigenvectors of F'AF.

What no kernel can meet is refused before any work: bounds of the wrong sign, samples that coincide. Sets that
contradict themselves are recognised while solving, by a lower bound on the trace. For duals of the allowed signs, every
M that meets the constraints has sum mu_i b_i <= tr(M S), S = sum mu_i A_i, and tr(M S) <= lambda_max(S) tr M. So
tr M >= R = mu'b / lambda_max(S): a bound that grows without end on an infeasible set, and a proof that nothing meets
the constraints where lambda_max(S) <= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints, IntArray, Sense

# Directions of the factor below this share of its largest singular value are no part of the range.
_RANGE = 1e-10
# Relative rounding of sums of a few hundred products, and of eigenvalues of matrices of as many rows.
_EPS = 1e-14
# A bound below this share of the value in K0 is indistinguishable from zero after the many updates of a solve.
_ZERO_BOUND = 1e-12
# A trace bound this many times larger than the constraints' bounds means that there is no solution.
_BEYOND = 1e6
# Duals below this share of the largest, in the units of their constraints, play no part in a conflict.
_SHARE = 1e-3


def checked_factor(factor: ArrayLike, constraints: Constraints) -> FloatArray:
    """Return the factor as an array; ``InputError`` unless it is n x r, finite and not zero, n as the constraints'."""
    start = np.asarray(factor, dtype=np.float64)
    if start.ndim != 2 or start.shape[1] < 1 or not np.isfinite(start).all() or not start.any():
        raise InputError(
            f"the factor must be an n x r array of finite numbers that are not all zero, got shape {start.shape}"
        )
    if len(start) != constraints.n_samples:
        raise InputError(
            f"the factor has {len(start)} rows, but the constraints are on kernels of {constraints.n_samples} samples"
        )
    return start


@dataclass(frozen=True, eq=False)
class SpectralForm:
    """Constraints on the range: ``values`` and ``vectors`` of F'AF, m x 2 and m x 2 x r, absent ones zero."""

    values: FloatArray
    vectors: FloatArray
    senses: list[Sense]
    bounds: FloatArray
    turned: FloatArray

    @property
    def definite(self) -> NDArray[np.bool_]:
        """Whether each F'AF is positive semidefinite and not zero."""
        return np.asarray((self.values >= 0).all(axis=1) & self.values.any(axis=1))


def spectral_form(projected: FloatArray, lengths: FloatArray, constraints: Constraints) -> SpectralForm:
    """Return eigenvalues and eigenvectors of all F'AF; negative semidefinite ones are turned around.

    ``projected``: the N vectors F'z; ``lengths``: what their entries were summed from, which says how they are rounded.
    """
    m, rank = len(constraints), projected.shape[1]
    pairs, signs = np.zeros((m, 2, rank)), np.zeros((m, 2))
    place = np.arange(len(constraints.owner)) - np.searchsorted(constraints.owner, constraints.owner)
    pairs[constraints.owner, place], signs[constraints.owner, place] = projected, constraints.signs
    basis, upper = np.linalg.qr(pairs.transpose(0, 2, 1))
    values, rotation = np.linalg.eigh((upper * signs[:, None, :]) @ upper.transpose(0, 2, 1))
    squares = np.einsum("mkr,mkr->m", pairs, pairs)
    several = np.bincount(constraints.owner, minlength=m) > 1
    rounding = _EPS**2 * np.bincount(constraints.owner, lengths**2, minlength=m) + _EPS * np.where(
        several, squares, 0.0
    )
    values[np.abs(values) <= rounding[:, None]] = 0.0
    turned = np.where((values <= 0).all(axis=1) & (values < 0).any(axis=1), -1.0, 1.0)
    values = values * turned[:, None]
    vectors = (basis @ rotation).transpose(0, 2, 1) * np.sqrt(np.abs(values))[:, :, None]
    opposite = {Sense.AT_MOST: Sense.AT_LEAST, Sense.AT_LEAST: Sense.AT_MOST, Sense.EQUAL: Sense.EQUAL}
    senses = [opposite[s] if turn < 0 else s for s, turn in zip(constraints.senses, turned, strict=True)]
    return SpectralForm(values, vectors, senses, constraints.bounds * turned, turned)


def check_each(
    constraints: Constraints, spectral: SpectralForm, spectrum: FloatArray, slack: float, orthonormal: bool
) -> IntArray:
    """Return the numbers of the constraints that can fail; raise for those that cannot hold."""
    zero = ~spectral.values.any(axis=1)
    definite, bounds = spectral.definite, spectral.bounds
    at_least = np.array(spectral.senses) == Sense.AT_LEAST
    at_most = np.array(spectral.senses) == Sense.AT_MOST
    never = zero & (bounds != 0) & ~(at_most & (bounds >= 0)) & ~(at_least & (bounds <= 0))
    for number in np.flatnonzero(never).tolist():
        raise InputError(
            f"constraint {constraints.describe(number)} cannot hold: its samples coincide in the range of K0 (or "
            f"earlier constraints make them), so that the value is 0 for every kernel there; leave it out"
        )
    for number in np.flatnonzero(definite & ~at_least & (bounds < 0)).tolist():
        raise InputError(
            f"constraint {constraints.describe(number)} cannot hold: its value is never negative for a positive "
            f"semidefinite kernel; give a bound of the other sign"
        )
    initial = np.einsum("mkr,r,mkr->m", spectral.vectors, spectrum, spectral.vectors)
    for number in np.flatnonzero(definite & ~at_least & (bounds <= _ZERO_BOUND * initial)).tolist():
        advice = "Burg's divergence has no solution there" if bounds[number] == 0 else "give 0 or a larger bound"
        raise InputError(
            f"constraint {constraints.describe(number)} has a bound that is zero or below the rounding of its value "
            f"{initial[number]:g} in K0: {advice}" + ("" if orthonormal else "; von_neumann allows bounds of 0")
        )
    single = (spectral.values > 0).sum(axis=1) == 1
    for number in np.flatnonzero(~zero & ~(definite & single) & (slack != np.inf)).tolist():
        raise InputError(
            f"slack is for constraints of rank one, distances and diagonal entries; constraint "
            f"{constraints.describe(number)} is of rank two: leave it out or set slack to inf"
        )
    return np.flatnonzero(~zero & ~(definite & at_least & (bounds <= 0)))


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """min D(X, X0) over r x r matrices X under sum_{k of i} s_k u_k' X u_k <=, >=, = b_i.

    ``basis_map``: T, r0 x r; ``spectrum``: the diagonal X0; ``vectors``: u, N x r, those of constraint i being rows
    ``starts[i]`` to ``starts[i + 1]``; ``signs``: s; ``bounds``: b; ``lower``, ``upper``: what the duals may be;
    ``scale``: the unit of violations; ``dual_unit``: what duals are multiplied by to be compared with relative
    violations; ``initial``: values at X0; ``numbers``: the number that each constraint was given with; ``turned``: -1
    where tr(KA) was replaced by tr(K(-A)), else 1; ``slack``: gamma; ``untraced``: the problem without the last
    constraint where that is tr X = b, which was not given with the others. Its u are the r unit vectors, and its number
    is that after all given ones.
    """

    basis_map: FloatArray
    spectrum: FloatArray
    vectors: FloatArray
    signs: FloatArray
    starts: IntArray
    bounds: FloatArray
    lower: FloatArray
    upper: FloatArray
    scale: FloatArray
    dual_unit: FloatArray
    initial: FloatArray
    numbers: IntArray
    turned: FloatArray
    slack: float
    untraced: ReducedProblem | None = None

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.spectrum)

    @property
    def n_given(self) -> int:
        """Return the number of constraints without that on the trace."""
        return len(self) - (self.untraced is not None)

    def sum_by_constraint(self, values: FloatArray) -> FloatArray:
        """Return sum_{k of i} s_k value_k for the N ``values``."""
        if not len(self):
            return np.zeros(0)
        return np.add.reduceat(self.signs * values, self.starts[:-1])

    def combination(self, duals: FloatArray) -> FloatArray:
        """Return sum_i mu_i sum_{k of i} s_k u_k u_k', r x r."""
        weights = self.signs * np.repeat(duals, np.diff(self.starts))
        return (self.vectors.T * weights) @ self.vectors

    def values(self, root: FloatArray) -> FloatArray:
        """Return tr(X A_i), m values, for X = R R' with ``root`` R (r x r)."""
        rows = self.vectors @ root
        return self.sum_by_constraint(np.einsum("ij,ij->i", rows, rows))

    def residual(self, duals: FloatArray, excess: FloatArray) -> tuple[float, float]:
        """Return the KKT residual and the largest relative violation, as :class:`LearnedKernel` defines them.

        ``excess``: by how much each tr(X A_i) is above its bound.
        """
        if not len(self):
            return 0.0, 0.0
        gap = excess / self.scale
        relative = duals * self.dual_unit
        # A step along the dual gradient that the allowed signs stop: zero only at an optimum.
        moved = np.minimum(np.maximum(relative - gap, self.lower), self.upper)
        missed = np.where(self.lower == 0, -gap, np.where(self.upper == 0, gap, np.abs(gap)))
        return float(np.abs(moved - relative).max()), max(0.0, float(missed.max()))

    def clip(self, duals: FloatArray) -> FloatArray:
        """Return the nearest duals of the allowed signs."""
        return np.minimum(np.maximum(duals, self.lower), self.upper)


def reduce_problem(factor: FloatArray, constraints: Constraints, *, orthonormal: bool, slack: float) -> ReducedProblem:
    """Return the problem on the range of K0 = G0 G0', G0 = ``factor`` (n x r0).

    ``orthonormal``: in an orthonormal basis, as von Neumann's divergence wants it. Constraints that every kernel of the
    range meets are left out. Raises ``InputError`` for those that none can meet.
    """
    projected = np.asarray(constraints.vectors @ factor)
    lengths = np.asarray(abs(constraints.vectors) @ np.linalg.norm(factor, axis=1))
    basis_map, spectrum = np.eye(factor.shape[1]), np.ones(factor.shape[1])
    if orthonormal:
        _, singular, right = np.linalg.svd(np.linalg.qr(factor, mode="r"))
        kept = singular > _RANGE * singular[0]
        basis_map, spectrum = right[: len(singular)][kept].T / singular[kept], singular[kept] ** 2
        lengths = lengths / np.sqrt(spectrum.max())
    spectral = spectral_form(projected @ basis_map, lengths, constraints)
    if orthonormal and (smaller := _complement_of_zeros(spectral, np.log(spectrum))) is not None:
        rotation, spectrum = smaller
        basis_map = basis_map @ rotation
        spectral = spectral_form(projected @ basis_map, lengths, constraints)
    active = check_each(constraints, spectral, spectrum, slack, orthonormal)
    values, vectors, bounds = spectral.values[active], spectral.vectors[active], spectral.bounds[active]
    present, senses = values != 0, np.array(spectral.senses)[active]
    initial = np.einsum("mkr,r,mkr->m", vectors, spectrum, vectors)
    scale = np.where((values < 0).any(axis=1), np.abs(bounds) + initial, bounds)
    flat = vectors[present]
    problem = ReducedProblem(
        basis_map,
        spectrum,
        flat,
        np.sign(values[present]),
        np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        bounds,
        np.where(senses == Sense.AT_LEAST, 0.0, -np.inf),
        np.where(senses == Sense.AT_MOST, 0.0, np.inf),
        scale,
        np.abs(values).sum(axis=1) if orthonormal else scale,
        np.zeros(len(active)),
        active,
        spectral.turned[active],
        slack,
    )
    return replace(problem, initial=problem.sum_by_constraint(np.einsum("kr,r,kr->k", flat, spectrum, flat)))


def with_trace(problem: ReducedProblem, trace: float, number: int) -> ReducedProblem:
    """Return the problem with tr X = ``trace`` as its last constraint, of that ``number``; for an orthonormal basis."""
    rank = problem.rank
    return replace(
        problem,
        vectors=np.concatenate([problem.vectors, np.eye(rank)]),
        signs=np.append(problem.signs, np.ones(rank)),
        starts=np.append(problem.starts, problem.starts[-1] + rank),
        bounds=np.append(problem.bounds, trace),
        lower=np.append(problem.lower, -np.inf),
        upper=np.append(problem.upper, np.inf),
        scale=np.append(problem.scale, trace),
        dual_unit=np.append(problem.dual_unit, rank),
        initial=np.append(problem.initial, problem.spectrum.sum()),
        numbers=np.append(problem.numbers, number),
        turned=np.append(problem.turned, 1.0),
        untraced=problem,
    )


def _complement_of_zeros(spectral: SpectralForm, logarithms: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the basis orthogonal to all vectors whose constraint says tr(KA) = 0, and the spectrum of K0 there.

    With F' z = u and u'Xu = 0 the range of X is orthogonal to u. Among matrices of that smaller range the one with
    logarithm Q' log(X0) Q has the least divergence from X0.
    """
    zero = spectral.definite & (spectral.bounds == 0) & (np.array(spectral.senses) != Sense.AT_LEAST)
    if not zero.any():
        return None
    left, singular, _ = np.linalg.svd(np.concatenate(list(spectral.vectors[zero])).T)
    rank = int((singular > _RANGE * singular[0]).sum())
    if rank == len(logarithms):
        raise InputError(
            f"the {int(zero.sum())} constraints with bound 0 leave no kernel but K = 0 in the range of K0, of rank "
            f"{rank}; leave some of them out"
        )
    complement = left[:, rank:]
    values, rotation = np.linalg.eigh((complement.T * logarithms) @ complement)
    return complement @ rotation, np.exp(values)


def trace_bound(problem: ReducedProblem, duals: FloatArray) -> float:
    """Return R / r for M = X in the units of X0, so that X0 has 1; ``inf`` for a proof that there is no such M."""
    if not len(problem):
        return 0.0
    root = np.sqrt(problem.spectrum)
    weights = np.repeat(np.abs(duals), np.diff(problem.starts))
    total = float(weights @ np.sum((problem.vectors * root) ** 2, axis=1))
    # Both sides are rounded against the bound, so it holds although large duals cancel.
    gain = float(duals @ problem.bounds) - _EPS * float(np.abs(duals) @ np.abs(problem.bounds))
    if not gain > 0:
        return 0.0
    largest = float(np.linalg.eigvalsh(problem.combination(duals) * root[:, None] * root)[-1]) + _EPS * total
    return gain / largest / problem.rank if largest > 0 else math.inf


def out_of_reach(problem: ReducedProblem, bound: float) -> bool:
    """Return whether a trace bound is too large for the bounds of the constraints."""
    sizes = np.where(problem.scale == problem.bounds, problem.initial, problem.scale - np.abs(problem.bounds))
    asked = np.abs(problem.bounds) / np.maximum(sizes, np.finfo(float).tiny)
    return bound > _BEYOND * max(1.0, float(asked.max()))


def in_conflict(problem: ReducedProblem, duals: FloatArray) -> tuple[int, ...]:
    """Return the numbers of the constraints that a bound from these duals rests on."""
    weights = np.abs(duals) * problem.scale
    return tuple(problem.numbers[weights > _SHARE * weights.max()].tolist())
