"""Conic combinations of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import Kernel


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
