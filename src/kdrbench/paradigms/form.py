"""The objective of a clustering: its form, the terms of what is known, and Gamma made of them and the embedding U."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import HollowGram
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import spectral_embedding
from kdrbench.parameters import COUNT, FLAG, OneOf
from kdrbench.problems import FactoredGamma

_DEGREES = ("both", "embedding", "none")


@dataclass(frozen=True)
class Guidance:
    """A term mu Tr(Y' N' K N Y) of the objective: ``weight`` mu and ``factor`` Y (n x c).

    N is that of the embedding's term, or H alone where not ``with_degrees``: the term then is mu HSIC(XW, Y).
    """

    weight: float
    factor: FloatArray
    with_degrees: bool = True


@dataclass(frozen=True)
class Form:
    """Where degrees enter (``both`` steps, the ``embedding`` only, ``none``), and whether its matrix is centred.

    One cluster has an embedding in one dimension, and all samples are of it.
    """

    n_clusters: Annotated[int, COUNT]
    degrees: Annotated[str, OneOf(_DEGREES)] = "both"
    centred: Annotated[bool, FLAG] = True

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
