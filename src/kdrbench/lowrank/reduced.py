"""A problem on r x r: the only places where data of n samples are touched are here and where the factor is returned.

With K0 = G0 G0' every kernel in the range of K0 is F X F' for a basis F = G0 T of the range. For Burg F = G0 and the
start is X = I; for von Neumann F is orthonormal and the start is the diagonal of K0's eigenvalues. A constraint
tr(KA) becomes sum_k s_k u_k' X u_k with orthogonal u_k of r entries, the eigenvectors of F'AF.

Lower bounds on the trace of whatever meets the constraints: how sets without a solution are recognised.

For duals of the allowed signs, every M that meets the constraints has sum mu_i b_i <= tr(M S), S = sum mu_i A_i, and
tr(M S) <= lambda_max(S) tr M. So tr M >= R = mu'b / lambda_max(S): a bound that grows without end on an infeasible set,
and a proof that nothing meets the constraints where lambda_max(S) <= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.checks import SpectralForm, check_each, refuse_contradictions, spectral_form
from kdrbench.lowrank.constraints import Constraints, IntArray, Sense

# Directions of the factor below this share of its largest singular value are no part of the range.
_RANGE = 1e-10


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """min D(X, X0) over r x r matrices X under sum_{k of i} s_k u_k' X u_k <=, >=, = b_i.

    ``basis_map``: T, r0 x r; ``spectrum``: the diagonal X0; ``vectors``: u, N x r, those of constraint i being rows
    ``starts[i]`` to ``starts[i + 1]``; ``signs``: s; ``bounds``: b; ``lower``, ``upper``: what the duals may be;
    ``scale``: the unit of violations; ``dual_unit``: what duals are multiplied by to be compared with relative
    violations; ``initial``: values at X0; ``numbers``: the number that each constraint was given with; ``turned``: -1
    where tr(KA) was replaced by tr(K(-A)), else 1; ``slack``: gamma; ``traced``: the last constraint is tr X = b, which
    was not given with the others. Its u are the r unit vectors, and its number is that after all given ones.
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
    traced: bool = False

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def rank(self) -> int:
        """Return r."""
        return len(self.spectrum)

    @property
    def n_given(self) -> int:
        """Return the number of constraints without that on the trace."""
        return len(self) - int(self.traced)

    def sum_by_constraint(self, values: FloatArray) -> FloatArray:
        """Return sum_{k of i} s_k value_k for the N ``values``."""
        if not len(self):
            return np.zeros(0)
        summed: FloatArray = np.add.reduceat(self.signs * values, self.starts[:-1])
        return summed

    def combination(self, duals: FloatArray) -> FloatArray:
        """Return sum_i mu_i sum_{k of i} s_k u_k u_k', r x r."""
        weights = self.signs * np.repeat(duals, np.diff(self.starts))
        combined: FloatArray = (self.vectors.T * weights) @ self.vectors
        return combined

    def clip(self, duals: FloatArray) -> FloatArray:
        """Return the nearest duals of the allowed signs."""
        clipped: FloatArray = np.minimum(np.maximum(duals, self.lower), self.upper)
        return clipped


def reduce_problem(factor: FloatArray, constraints: Constraints, *, orthonormal: bool, slack: float) -> ReducedProblem:
    """Return the problem on the range of K0 = G0 G0', G0 = ``factor`` (n x r0).

    ``orthonormal``: in an orthonormal basis, as von Neumann's divergence wants it. Constraints that every kernel of the
    range meets are left out. Raises ``InputError`` for those that none can meet, alone or in pairs.
    """
    if slack == np.inf:
        refuse_contradictions(constraints)
    projected = np.asarray(constraints.vectors @ factor)
    lengths = np.asarray(abs(constraints.vectors) @ np.linalg.norm(factor, axis=1))
    basis_map, spectrum = _basis(factor) if orthonormal else (np.eye(factor.shape[1]), np.ones(factor.shape[1]))
    if orthonormal:
        lengths = lengths / np.sqrt(spectrum.max())
    spectral = spectral_form(projected @ basis_map, lengths, constraints)
    if orthonormal:
        keep = _complement_of_zeros(spectral, np.log(spectrum))
        if keep is not None:
            rotation, spectrum = keep
            basis_map = basis_map @ rotation
            spectral = spectral_form(projected @ basis_map, lengths, constraints)
    active = check_each(constraints, spectral, spectrum, slack, orthonormal)
    return _assembled(spectral, active, basis_map, spectrum, slack, orthonormal)


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
        traced=True,
    )


def without_trace(problem: ReducedProblem) -> ReducedProblem:
    """Return the problem of the given constraints alone; what has no solution without the trace has none with it."""
    if not problem.traced:
        return problem
    given = slice(problem.n_given)
    end = int(problem.starts[problem.n_given])
    by_constraint = ("bounds", "lower", "upper", "scale", "dual_unit", "initial", "numbers", "turned")
    return replace(
        problem,
        vectors=problem.vectors[:end],
        signs=problem.signs[:end],
        starts=problem.starts[: problem.n_given + 1],
        **{name: getattr(problem, name)[given] for name in by_constraint},
        traced=False,
    )


def _basis(factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return T with G0 T orthonormal, and the eigenvalues of K0."""
    _, singular, right = np.linalg.svd(np.linalg.qr(factor, mode="r"))
    kept = singular > _RANGE * singular[0]
    return right[: len(singular)][kept].T / singular[kept], singular[kept] ** 2


def _complement_of_zeros(spectral: SpectralForm, logarithms: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the basis orthogonal to all vectors whose constraint says tr(KA) = 0, and the spectrum of K0 there.

    With F' z = u and u'Xu = 0 the range of X is orthogonal to u. Among matrices of that smaller range the one with
    logarithm Q' log(X0) Q has the least divergence from X0.
    """
    definite = (spectral.values >= 0).all(axis=1) & (spectral.values > 0).any(axis=1)
    zero = definite & (spectral.bounds == 0) & (np.array(spectral.senses) != Sense.AT_LEAST)
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


def _assembled(
    form: SpectralForm,
    active: IntArray,
    basis_map: FloatArray,
    spectrum: FloatArray,
    slack: float,
    orthonormal: bool,
) -> ReducedProblem:
    values, vectors = form.values[active], form.vectors[active]
    present = values != 0
    senses = [form.senses[number] for number in active]
    lengths = np.einsum("mkr,r,mkr->m", vectors, spectrum, vectors)
    bounds = form.bounds[active]
    indefinite = (values < 0).any(axis=1)
    scale = np.where(indefinite, np.abs(bounds) + lengths, bounds)
    flat = vectors[present]
    problem = ReducedProblem(
        basis_map,
        spectrum,
        flat,
        np.sign(values[present]),
        np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        bounds,
        np.array([0.0 if sense is Sense.AT_LEAST else -np.inf for sense in senses]),
        np.array([0.0 if sense is Sense.AT_MOST else np.inf for sense in senses]),
        scale,
        np.abs(values).sum(axis=1) if orthonormal else scale,
        np.zeros(len(active)),
        active,
        form.turned[active],
        slack,
    )
    return replace(problem, initial=problem.sum_by_constraint(np.einsum("kr,r,kr->k", flat, spectrum, flat)))


# Relative rounding of sums and eigenvalues of matrices of some hundred rows.
_ROUNDING = 1e-14
# A trace bound this many times larger than the constraints' bounds means that there is no solution.
_BEYOND = 1e6
# Duals below this share of the largest, in the units of their constraints, play no part in a conflict.
_SHARE = 1e-3


def trace_bound(problem: ReducedProblem, duals: FloatArray) -> float:
    """Return R / r for M = X in the units of X0, so that X0 has 1; ``inf`` for a proof that there is no such M."""
    if not len(problem):
        return 0.0
    root = np.sqrt(problem.spectrum)
    weights = np.repeat(np.abs(duals), np.diff(problem.starts))
    total = float(weights @ np.sum((problem.vectors * root) ** 2, axis=1))
    # Both sides are rounded against the bound, so it holds although large duals cancel.
    gain = float(duals @ problem.bounds) - _ROUNDING * float(np.abs(duals) @ np.abs(problem.bounds))
    if not gain > 0:
        return 0.0
    largest = float(np.linalg.eigvalsh(problem.combination(duals) * root[:, None] * root)[-1]) + _ROUNDING * total
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
