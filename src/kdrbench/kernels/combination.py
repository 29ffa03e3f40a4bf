"""Conic combinations of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, Kernel, Pairing, pairing_values


@dataclass(frozen=True)
class Term:
    """One kernel of a combination and its weight mu >= 0."""

    weight: float
    kernel: Kernel


@dataclass(frozen=True)
class Combination:
    """K = sum_i mu_i K_i with mu_i >= 0, at least one of them positive; members may differ in pairing.

    Its surrogate is the same combination of the members' surrogates, with their constant factors: with those
    dropped, as in the papers' Table 2, a fixed point is not stationary.

    Source: NeurIPS 2019, Proposition 1. Raises ``InputError`` for bad weights or no members.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        weights = [term.weight for term in self.terms]
        if not weights or not all(np.isfinite(weight) and weight >= 0 for weight in weights) or max(weights) == 0:
            raise InputError(f"a conic combination needs finite weights >= 0, one of them > 0; got {weights}")


def terms_of(kernel: Kernel | Combination) -> tuple[Term, ...]:
    """Return the members of positive weight; a single kernel is its own only member."""
    if isinstance(kernel, Combination):
        return tuple(term for term in kernel.terms if term.weight > 0)
    return (Term(1.0, kernel),)


def gram_matrix(kernel: Kernel | Combination, samples: FloatArray) -> FloatArray:
    """Return K_ij = f(beta_ij) for all pairs of rows of ``samples`` (n x q), n x n and symmetric."""
    total: FloatArray = np.zeros((samples.shape[0],) * 2)
    beta: dict[Pairing, FloatArray] = {}
    for term in terms_of(kernel):
        pairing = term.kernel.pairing
        if pairing not in beta:
            beta[pairing] = pairing_values(pairing, samples)
        total += term.weight * term.kernel.value(beta[pairing])
    return 0.5 * (total + total.T)
