"""Linear constraints on a kernel matrix: tr(K A_i) <=, >= or = b_i with symmetric A_i of rank one or two.

Every A is a signed sum of outer products, A = s_1 z_1 z_1' + s_2 z_2 z_2' with s = 1 or -1, so that a kernel K = G G'
needs only the vectors G'z. A constraint is known by its number: its place in the order it was given.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

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
    i, j = _indices(n_samples, pairs, 2, "pairs")
    _refuse_equal(i, j)
    names = tuple(f"distance({a}, {b})" for a, b in zip(i, j, strict=True))
    return _build(n_samples, [(i, 1.0, j, -1.0)], [1.0], senses, bounds, names)


def diagonal(n_samples: int, samples: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike) -> Constraints:
    """Constrain K_ii for the m ``samples`` i: A = e_i e_i'."""
    (i,) = _indices(n_samples, np.reshape(np.asarray(samples), (-1, 1)), 1, "samples")
    return _build(n_samples, [(i, 1.0, i, 0.0)], [1.0], senses, bounds, tuple(f"K({a}, {a})" for a in i))


def similarities(n_samples: int, pairs: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike) -> Constraints:
    """Constrain K_ij for the m x 2 ``pairs``, i and j different: A = (e_i e_j' + e_j e_i') / 2, of rank two."""
    i, j = _indices(n_samples, pairs, 2, "pairs")
    _refuse_equal(i, j)
    names = tuple(f"K({a}, {b})" for a, b in zip(i, j, strict=True))
    # K_ij = |g_i + g_j|^2 / 4 - |g_i - g_j|^2 / 4.
    return _build(n_samples, [(i, 0.5, j, 0.5), (i, 0.5, j, -0.5)], [1.0, -1.0], senses, bounds, names)


def relative_distances(
    n_samples: int, triples: ArrayLike, senses: str | Sequence[str], bounds: ArrayLike
) -> Constraints:
    """Constrain distance(i, j) - distance(i, k), squared distances, for the m x 3 ``triples`` (i, j, k); rank two.

    ``"<="`` with a bound of -1 says that j is nearer to i than k is, by 1.
    """
    i, j, k = _indices(n_samples, triples, 3, "triples")
    for one, other in ((i, j), (i, k), (j, k)):
        _refuse_equal(one, other)
    names = tuple(f"distance({a}, {b}) - distance({a}, {c})" for a, b, c in zip(i, j, k, strict=True))
    return _build(n_samples, [(i, 1.0, j, -1.0), (i, 1.0, k, -1.0)], [1.0, -1.0], senses, bounds, names)


_Term = tuple[IntArray, float, IntArray, float]


def _build(
    n_samples: int,
    terms: list[_Term],
    signs: list[float],
    senses: str | Sequence[str],
    bounds: ArrayLike,
    names: tuple[str, ...],
) -> Constraints:
    """Assemble constraints whose vectors have two entries each: all first terms' and second terms' interleaved."""
    m, width = len(names), len(terms)
    columns = np.stack([np.stack([i, j], axis=1) for i, _, j, _ in terms], axis=1).reshape(-1)
    entries = np.tile(np.array([[a, b] for _, a, _, b in terms]).reshape(-1), m)
    starts = np.arange(0, 2 * m * width + 1, 2)
    vectors = csr_array((entries, columns, starts), shape=(m * width, n_samples))
    vectors.sum_duplicates()
    relations, bound = _senses(senses, m), _bounds(bounds, m)
    return Constraints(vectors, np.tile(signs, m), np.repeat(np.arange(m), width), relations, bound, names)


def _indices(n_samples: int, indices: ArrayLike, width: int, what: str) -> list[IntArray]:
    check_value("n_samples", n_samples, COUNT)
    array = np.asarray(indices)
    if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be integers in an m x {width} array, got {array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= n_samples):
        raise InputError(f"{what} must name samples 0 to {n_samples - 1}, got {array.min()} to {array.max()}")
    return [np.ascontiguousarray(array[:, column], dtype=np.int64) for column in range(width)]


def _refuse_equal(i: IntArray, j: IntArray) -> None:
    if (i == j).any():
        raise InputError(f"a constraint names sample {i[i == j][0]} twice; its samples must differ")


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
