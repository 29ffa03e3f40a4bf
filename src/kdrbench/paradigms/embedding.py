"""Spectral embedding of a kernel matrix, clusters from it, and the form of a clustering's objective made of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import DenseGram, HollowGram
from kdrbench.kernels.combination import doubly_centred
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, OneOf, check_parameters, optional
from kdrbench.problems import FactoredGamma
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, outside, require_finite, with_fixed_signs

# Columns beyond those wanted: they carry the next eigenvectors, whose distance sets the pace.
_GUARD = 6
# The space is cut back to its best columns when it holds this many blocks.
_MOST_BLOCKS = 6
# Where the wanted eigenvalues end in a tie or a continuum no number of products separates its vectors.
_MOST_PRODUCTS = 60
# Guesses may span eigenvectors that are not the largest: random columns need some products to show those.
_LEAST_PRODUCTS = 3
# A direction that orthogonalisation leaves with this share of its length is rounding.
_DEPENDENT = 1e-6
_RESIDUAL = 1e-8
_DEGREES = ("both", "embedding", "none")


def largest_eigenpairs(
    applied: Callable[[FloatArray], FloatArray],
    n_rows: int,
    count: int,
    *,
    tolerance: float,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the ``count`` largest eigenvalues of A, descending, and orthonormal eigenvectors U with fixed signs.

    ``applied`` maps V (n x c) to A V. It ends when |A u - lambda u| <= tolerance |A| for each of them, or after 60
    products with what it has: an eigenvalue then errs by at most |A u - lambda u|. ``start`` (n x c) are guesses of
    eigenvectors. Block Lanczos with restarts at Ritz vectors, each block made orthogonal to all that are held.

    Raises ``InputError`` where a product is not finite.

    Source: Golub, Underwood, "The block Lanczos method for computing eigenvalues", 1977; Stathopoulos, Saad, Wu,
    "Dynamic thick restarting of the Davidson and the implicitly restarted Arnoldi methods", 1998.
    """
    width = min(count + _GUARD, n_rows)
    most = min(_MOST_BLOCKS * width, n_rows)
    # Columns are contiguous, so that the first of them are.
    basis, images = (np.empty((n_rows, most), order="F") for _ in range(2))
    form = np.empty((most, most))
    fresh, size = _orthonormal(_guesses(start, n_rows, width)), 0
    for product in range(1, _MOST_PRODUCTS + 1):
        image = applied(fresh)
        require_finite(image)
        grown = size + fresh.shape[1]
        basis[:, size:grown], images[:, size:grown] = fresh, image
        form[:grown, size:grown] = basis[:, :grown].T @ image
        form[size:grown, :size] = form[:size, size:grown].T
        size = grown
        ascending, vectors = np.linalg.eigh(0.5 * (form[:size, :size] + form[:size, :size].T))
        values, vectors = ascending[::-1], vectors[:, ::-1]
        ritz = basis[:, :size] @ vectors[:, :width]
        residual = images[:, :size] @ vectors[:, :width] - ritz * values[:width]
        open_ = np.linalg.norm(residual, axis=0) > tolerance * np.abs(values).max()
        if product >= _LEAST_PRODUCTS and not open_[:count].any():
            break
        if size + np.count_nonzero(open_) > most:
            size = min(max(most // 2, width), size)
            basis[:, :size], images[:, :size] = (held[:, :grown] @ vectors[:, :size] for held in (basis, images))
            form[:size, :size] = np.diag(values[:size])
        fresh = _orthonormal(residual[:, open_], basis[:, :size])[:, : most - size]
        if fresh.shape[1] == 0:
            break
    return values[:count].copy(), with_fixed_signs(ritz[:, :count])


def _guesses(start: FloatArray | None, n_rows: int, width: int) -> FloatArray:
    """Return ``width`` columns: the guesses, and random ones that leave no eigenvector out."""
    guesses = np.empty((n_rows, 0)) if start is None else start[:, :width]
    random = np.random.default_rng(0).standard_normal((n_rows, width - guesses.shape[1]))
    return np.hstack([guesses, random])


def _orthonormal(columns: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Return orthonormal columns for the span of ``columns`` outside that of ``basis``, as many as there are."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    if basis is not None:
        columns = outside(basis, columns)
    factor, triangle = np.linalg.qr(columns)
    factor = factor[:, np.abs(np.diagonal(triangle)) > _DEPENDENT]
    return factor if basis is None else np.linalg.qr(outside(basis, factor))[0]


def degree_scaling(gram: HollowGram) -> FloatArray | None:
    """Return the diagonal of D^-1/2, D_ii = sum_j K_ij, or ``None`` where a degree is not positive.

    Polynomial kernels of odd degree and the negative kernels (squared, multiquadric) have such rows, and a narrow
    Gaussian whose values underflow: D^-1/2 does not exist for them.

    Raises ``InputError`` when the kernel is not finite on these samples.
    """
    degrees = gram.degrees()
    require_finite(degrees)
    return degrees**-0.5 if (degrees > 0).all() else None


class Degrees:
    """D^-1/2 of one kernel matrix after the other; where it does not exist once, it is given up for good."""

    def __init__(self, wanted: bool) -> None:
        self.in_use = wanted

    def scaling(self, gram: HollowGram) -> FloatArray | None:
        """Return that of the next kernel matrix, or ``None``."""
        scaling_found = degree_scaling(gram) if self.in_use else None
        self.in_use = scaling_found is not None
        return scaling_found


def spectral_embedding(
    gram: HollowGram,
    n_clusters: int,
    *,
    scaling: FloatArray | None,
    centred: bool,
    start: FloatArray | None = None,
    tolerance: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues (descending) and orthonormal eigenvectors U (n x k) of D^-1/2 K D^-1/2.

    Without ``scaling`` D is the identity; ``centred`` puts H = I - 11'/n on both sides. Where K is not an array, a
    Krylov method finds them, from the guess ``start`` (n x k) if there is one, to residuals |A u - lambda u| of 1e-8
    |A|, or of a hundredth of ``tolerance`` where that is more.

    Raises ``InputError`` when the kernel is not finite on these samples.
    """
    if isinstance(gram, DenseGram):
        return leading_eigenvectors(_affinity(gram.array, scaling, centred), n_clusters)
    weights = 1.0 if scaling is None else scaling[:, None]

    def applied(columns: FloatArray) -> FloatArray:
        product = weights * gram.applied(weights * without_means(columns, centred))
        return without_means(product, centred)

    return largest_eigenpairs(
        applied, gram.n_samples, n_clusters, tolerance=max(_RESIDUAL, 0.01 * tolerance), start=start
    )


def _affinity(array: FloatArray, scaling: FloatArray | None, centred: bool) -> FloatArray:
    affinity = array if scaling is None else scaling[:, None] * array * scaling
    if centred:
        affinity = doubly_centred(affinity)
    return 0.5 * (affinity + affinity.T)


def without_means(columns: FloatArray, wanted: bool = True) -> FloatArray:
    """Return the columns without their means, where that is wanted."""
    return columns - columns.mean(axis=0) if wanted else columns


def cluster_rows(embedding: FloatArray, seed: int = 0) -> NDArray[Any]:
    """Return the k-means labels of the rows of U (n x k), each scaled to length one: best of ten seeded starts.

    Source: Ng, Jordan, Weiss, "On spectral clustering", NIPS 2001, step 4. Rows of length zero stay zero.
    """
    # Imported here: supervised learning needs no k-means, and loading it takes longer than most solves.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    rows = embedding / np.where(lengths > 0, lengths, 1.0)
    # The work is in many short steps: threads wait for each other, on a busy machine many times longer than they work.
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then use fewer clusters, which can be seen in them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[Any] = KMeans(embedding.shape[1], n_init=10, random_state=seed).fit_predict(rows)
    return labels


def mutual_information(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return I(first; second) / sqrt(H(first) H(second)) of two labellings of the same samples.

    Source: NeurIPS 2019, Appendix L.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(first, second, average_method="geometric"))


@dataclass(frozen=True)
class Guidance:
    """A term mu Tr(Y' N' K N Y) of the objective: ``weight`` mu and ``factor`` Y (n x c).

    N is that of the embedding's term, or H alone where not ``with_degrees``: the term then is mu HSIC(XW, Y).
    """

    weight: float
    factor: FloatArray
    with_degrees: bool = True


@dataclass(frozen=True)
class Alternation:
    """The form of a clustering's objective, and how its alternation ends: ``rule``, ``tolerance``, number of rounds.

    ``degrees`` enter in ``both`` steps, the ``embedding`` only, or ``none``; ``centred`` says whether its matrix is.
    One cluster has an embedding in one dimension, and all samples are of it.

    ``None`` is the rule's own: .01 and 20 rounds for ``eigenvalues``, 1e-6 and 500 for ``joint``. With ``first``
    ``plain`` the first U is that of K without degrees, unless both steps have them. With ``scaled`` it has degrees as
    all later ones, a polynomial kernel of X the scale 1/d, and the rule ``eigenvalues`` compares the first round with
    it: so it may end after one round, as the runs of NeurIPS 2019 did. With ``relative`` it is that of the centred
    Gaussian of :func:`.neighbourhood_widths`, whatever the kernel, as in the second version of their code.
    ``clusters`` are found in the last U or, in that version, in the leading eigenvectors of the ``kernel`` itself,
    without degrees and centring.

    Raises ``InputError`` for values that are not allowed.
    """

    # One too, as scikit-learn's clusterings take it, whose checks of estimators ask for it.
    n_clusters: Annotated[int, COUNT]
    degrees: Annotated[str, OneOf(_DEGREES)] = "both"
    centred: Annotated[bool, FLAG] = True
    rule: Annotated[str, OneOf(("eigenvalues", "joint"))] = "eigenvalues"
    tolerance: Annotated[float | None, optional(POSITIVE)] = None
    max_rounds: Annotated[int | None, optional(COUNT)] = None
    damp_after: Annotated[int, COUNT] = 10
    first: Annotated[str, OneOf(("plain", "scaled", "relative"))] = "plain"
    clusters: Annotated[str, OneOf(("embedding", "kernel"))] = "embedding"

    def __post_init__(self) -> None:
        check_parameters(self)

    def embedding(
        self, gram: HollowGram, scaling: FloatArray | None, asked: Evaluation, start: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and U of step 2 for a kernel matrix and D^-1/2."""
        return spectral_embedding(
            gram, self.n_clusters, scaling=scaling, centred=self.centred, start=start, tolerance=asked.tolerance
        )

    def of(self, term: Guidance, rows: NDArray[np.intp]) -> Guidance:
        """Return a term for some of the samples, with the weight that keeps its share of the objective.

        The embedding's term grows as n without degrees and is bounded with them; one of Y grows as n^2, or n with them.
        """
        size = len(term.factor) / len(rows)
        weight = term.weight * (size if term.with_degrees or self.degrees != "both" else size**2)
        return replace(term, weight=weight, factor=term.factor[rows])

    def held(self, scaling: FloatArray | None) -> FloatArray | None:
        """Return the D^-1/2 of step 1."""
        return scaling if self.degrees == "both" else None


def terms_of(embedding: FloatArray, guidance: Sequence[Guidance]) -> tuple[Guidance, ...]:
    """Return all terms of the objective: that of the embedding, of weight one, and those of the guidance."""
    return (Guidance(1.0, embedding), *guidance)


def gamma_of(embedding: FloatArray, guidance: Sequence[Guidance], scaling: FloatArray | None) -> FactoredGamma:
    """Return N (U U' + sum mu Y Y') N' in factors."""
    factors, weights = [], []
    for term in terms_of(embedding, guidance):
        factor = term.factor - term.factor.mean(axis=0)
        factors.append(scaling[:, None] * factor if scaling is not None and term.with_degrees else factor)
        weights.append(np.full(factor.shape[1], term.weight))
    return FactoredGamma(np.hstack(factors), np.concatenate(weights))
