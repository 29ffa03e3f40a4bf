"""Constraints as they are on the range of K0, and which of them can hold there.

What no kernel can meet is said before any work: bounds of the wrong sign, samples that coincide, pairs that exclude
each other. Sets that contradict themselves in other ways are recognised while solving.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints, IntArray, Sense

# Relative rounding of sums of a few hundred products.
_EPS = 1e-14
# A bound below this share of the value in K0 is indistinguishable from zero after the many updates of a solve.
_ROUNDING = 1e-12


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
    definite = ~zero & (spectral.values >= 0).all(axis=1)
    at_least = np.array(spectral.senses) == Sense.AT_LEAST
    at_most = np.array(spectral.senses) == Sense.AT_MOST
    bounds = spectral.bounds
    for number in np.flatnonzero(zero).tolist():
        bound = bounds[number]
        if not (at_most[number] and bound >= 0) and not (at_least[number] and bound <= 0) and bound != 0:
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
    small = definite & ~at_least & (bounds <= _ROUNDING * initial)
    for number in np.flatnonzero(small).tolist():
        advice = "Burg's divergence has no solution there" if bounds[number] == 0 else "give 0 or a larger bound"
        raise InputError(
            f"constraint {constraints.describe(number)} has a bound that is zero or below the rounding of its value "
            f"{initial[number]:g} in K0: {advice}" + ("" if orthonormal else "; von_neumann allows bounds of 0")
        )
    single = (spectral.values > 0).sum(axis=1) == 1
    if slack != np.inf and (~zero & ~(definite & single)).any():
        number = int(np.flatnonzero(~zero & ~(definite & single))[0])
        raise InputError(
            f"slack is for constraints of rank one, distances and diagonal entries; constraint "
            f"{constraints.describe(number)} is of rank two: leave it out or set slack to inf"
        )
    return np.flatnonzero(~zero & ~(definite & at_least & (bounds <= 0)))


def refuse_contradictions(constraints: Constraints) -> None:
    """Raise for two constraints on the same A that exclude each other."""
    least: dict[bytes, int] = {}
    most: dict[bytes, int] = {}
    for number, (key, sense, bound) in enumerate(
        zip(_keys(constraints), constraints.senses, constraints.bounds, strict=True)
    ):
        if sense is not Sense.AT_MOST and (key not in least or bound > constraints.bounds[least[key]]):
            least[key] = number
        if sense is not Sense.AT_LEAST and (key not in most or bound < constraints.bounds[most[key]]):
            most[key] = number
    for key in least.keys() & most.keys():
        if constraints.bounds[least[key]] > constraints.bounds[most[key]]:
            raise InputError(
                f"constraints {constraints.describe(least[key])}, and {constraints.describe(most[key])}, contradict "
                f"each other; leave one out, or let both be missed a little by a finite slack"
            )


def _keys(constraints: Constraints) -> list[bytes]:
    """Return a key of each constraint's A: the vectors, each up to its sign."""
    rows = constraints.vectors.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    keys: list[list[bytes]] = [[] for _ in constraints.senses]
    for row, owner in enumerate(constraints.owner):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        entries = rows.data[part] * constraints.signs[row] * np.sign(rows.data[part][:1])
        keys[owner].append(rows.indices[part].tobytes() + entries.tobytes())
    return [b"".join(sorted(key)) for key in keys]
