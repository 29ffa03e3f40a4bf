"""Linear constraints on a kernel matrix: tr(K A_i) <=, >= or = b_i with symmetric A_i of rank one or two.

Every A is a signed sum of outer products, A = s_1 z_1 z_1' + s_2 z_2 z_2' with s = 1 or -1, so that a kernel K = G G'
needs only the vectors G'z. A constraint is known by its number: its place in the order it was given.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, check_value

IntArray = NDArray[np.int64]


class Sense(StrEnum):
    """The relation of tr(K A) to its bound."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


@dataclass(frozen=True, eq=False)
class Constraints:
    """m constraints on kernels of ``n_samples``.

    ``vectors``: N x n, sparse, the z of all constraints one after the other; ``signs``: N values 1 or -1; ``owner``:
    for each vector the number of its constraint, ascending; ``senses``: m; ``bounds``: m; ``names``: m descriptions.
    """

    vectors: csr_array
    signs: FloatArray
    owner: IntArray
    senses: tuple[Sense, ...]
    bounds: FloatArray
    names: tuple[str, ...]

    @property
    def n_samples(self) -> int:
        """Return the number of samples of the kernels meant."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.senses)

    def describe(self, number: int) -> str:
        """Return the constraint in words, for messages."""
        return f"{number}, {self.names[number]} {self.senses[number]} {self.bounds[number]:g}"

    def values(self, factor: FloatArray) -> FloatArray:
        """Return tr(K A_i), m values, of the kernel K = G G' with G = ``factor`` (n x r)."""
        projected = self.vectors @ factor
        squares = np.einsum("ij,ij->i", projected, projected)
        return np.bincount(self.owner, weights=self.signs * squares, minlength=len(self)).astype(np.float64)

    def violations(self, factor: FloatArray) -> FloatArray:
        """Return how far each constraint is from holding, in units of tr(K A); zero where it holds."""
        excess = self.values(factor) - self.bounds
        senses = np.array(self.senses)
        missed = np.where(senses == Sense.AT_MOST, excess, -excess)
        amounts: FloatArray = np.where(senses == Sense.EQUAL, np.abs(excess), np.maximum(missed, 0.0))
        return amounts

    def take(self, numbers: ArrayLike) -> Constraints:
        """Return the constraints with these numbers, in this order."""
        order = np.asarray(numbers, dtype=np.int64)
        rows = [np.flatnonzero(self.owner == number) for number in order]
        picked = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        return Constraints(
            self.vectors[picked],
            self.signs[picked],
            np.repeat(np.arange(len(order)), [len(row) for row in rows]),
            tuple(self.senses[number] for number in order),
            self.bounds[order],
            tuple(self.names[number] for number in order),
        )


def join(*parts: Constraints) -> Constraints:
    """Return all constraints of the parts, in order; ``InputError`` unless they are on equally many samples."""
    sizes = sorted({part.n_samples for part in parts})
    if len(sizes) != 1:
        raise InputError(f"constraints to be joined must be on kernels of one size, got sizes {sizes}")
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    return Constraints(
        csr_array(vstack([part.vectors for part in parts], format="csr")),
        np.concatenate([part.signs for part in parts]),
        np.concatenate([part.owner + offset for part, offset in zip(parts, offsets, strict=False)]),
        tuple(sense for part in parts for sense in part.senses),
        np.concatenate([part.bounds for part in parts]),
        tuple(name for part in parts for name in part.names),
    )


def squared_distances(n_samples: int, pairs: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike) -> Constraints:
    """Constrain K_ii + K_jj - 2 K_ij for the m x 2 ``pairs`` (i, j): A = (e_i - e_j)(e_i - e_j)'."""
    one = _Vector(1.0, (0, 1), (1.0, -1.0))
    return _build(n_samples, pairs, "pairs", [one], senses, bounds, "distance({0}, {1})")


def diagonal(n_samples: int, samples: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike) -> Constraints:
    """Constrain K_ii for the m ``samples`` i: A = e_i e_i'."""
    one = _Vector(1.0, (0, 0), (1.0, 0.0))
    return _build(n_samples, np.reshape(samples, (-1, 1)), "samples", [one], senses, bounds, "K({0}, {0})")


def similarities(n_samples: int, pairs: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike) -> Constraints:
    """Constrain K_ij for the m x 2 ``pairs``, i and j different: A = (e_i e_j' + e_j e_i') / 2, of rank two."""
    # K_ij = |g_i + g_j|^2 / 4 - |g_i - g_j|^2 / 4.
    two = [_Vector(1.0, (0, 1), (0.5, 0.5)), _Vector(-1.0, (0, 1), (0.5, -0.5))]
    return _build(n_samples, pairs, "pairs", two, senses, bounds, "K({0}, {1})")


def relative_distances(
    n_samples: int, triples: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike
) -> Constraints:
    """Constrain distance(i, j) - distance(i, k), squared distances, for the m x 3 ``triples`` (i, j, k); rank two.

    ``"<="`` with a bound of -1 says that j is nearer to i than k is, by 1.
    """
    two = [_Vector(1.0, (0, 1), (1.0, -1.0)), _Vector(-1.0, (0, 2), (1.0, -1.0))]
    return _build(n_samples, triples, "triples", two, senses, bounds, "distance({0}, {1}) - distance({0}, {2})")


class _Vector(NamedTuple):
    """A sign s and a vector z of a constraint: its two entries, and at which samples of a pair or triple they are."""

    sign: float
    places: tuple[int, int]
    entries: tuple[float, float]


def _build(
    n_samples: int,
    given: ArrayLike,
    what: str,
    kinds: Sequence[_Vector],
    senses: str | Sequence[str],
    bounds: ArrayLike,
    name: str,
) -> Constraints:
    """Return constraints with the vectors of these ``kinds``, each on the samples that a row of ``given`` numbers."""
    check_value("n_samples", n_samples, COUNT)
    rows, width = np.asarray(given), 1 + max(max(kind.places) for kind in kinds)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in "iu":
        raise InputError(f"{what} must be integers in an m x {width} array, got {rows.dtype} of shape {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= n_samples):
        raise InputError(f"{what} must name samples 0 to {n_samples - 1}, got {rows.min()} to {rows.max()}")
    for one, other in combinations(rows.T, 2):
        if (one == other).any():
            raise InputError(f"a constraint names sample {one[one == other][0]} twice; its samples must differ")
    m, count = len(rows), len(kinds)
    columns = rows[:, [kind.places for kind in kinds]].astype(np.int64).ravel()
    entries = np.tile(np.ravel([kind.entries for kind in kinds]), m)
    vectors = csr_array((entries, columns, np.arange(0, len(columns) + 1, 2)), shape=(m * count, n_samples))
    vectors.sum_duplicates()
    return Constraints(
        vectors,
        np.tile([kind.sign for kind in kinds], m),
        np.repeat(np.arange(m), count),
        _senses(senses, m),
        _bounds(bounds, m),
        tuple(name.format(*row) for row in rows.tolist()),
    )


def _senses(senses: str | Sequence[str], m: int) -> tuple[Sense, ...]:
    listed = [senses] * m if isinstance(senses, str) else list(senses)
    if len(listed) != m:
        raise InputError(f"{m} constraints need one sense or {m}, got {len(listed)}")
    for sense in listed:
        if sense not in list(Sense):
            raise InputError(unknown_name("sense of a constraint", sense, [str(s) for s in Sense]))
    return tuple(Sense(sense) for sense in listed)


def _bounds(given: ArrayLike, m: int) -> FloatArray:
    bounds = np.asarray(given, dtype=np.float64)
    if bounds.shape not in ((), (m,)):
        raise InputError(f"bounds must be one number or {m}, got shape {bounds.shape}")
    if not np.isfinite(bounds).all():
        count = int((~np.isfinite(bounds)).sum())
        raise InputError(
            f"bounds must be finite, {count} of {bounds.size} are not; where samples give them, scale the features"
        )
    return np.broadcast_to(bounds, (m,)).copy()
