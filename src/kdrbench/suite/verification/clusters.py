"""The objective of a clustering at W, with the embedding U that W gives, and its gradient, by n x n arrays.

    A = C N K N C,   U its leading eigenvectors,   R(W) = sum_t mu_t Tr(Y_t' H N_t K N_t H Y_t),   Y_1 = U, mu_1 = 1

K has a zero diagonal, N = D^-1/2 or I, C = H or I, and N_t is N where a term has degrees. The eigenvectors follow W by
first-order perturbation: u_i moves by sum_j q_j (q_j' dA u_i) / (lambda_i - lambda_j) over all other eigenvectors.

Source: NeurIPS 2019, section 2; Wu et al., AISTATS 2018, Eq. 4; Magnus, "On differentiating eigenvalues and
eigenvectors", 1985.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.suite.verification.members import Array, Member, centred, one_hot
from kdrbench.suite.verification.pairs import FirstOrder, Pairs


@dataclass(frozen=True)
class Term:
    """mu and Y (n x c) of a term, and whether degrees scale it."""

    weight: float
    factor: Array
    with_degrees: bool


@dataclass(frozen=True)
class Objective:
    """What a clustering maximises: samples, kernel, number of clusters, form, and the terms of what is known."""

    features: Array
    members: Sequence[Member]
    n_clusters: int
    degrees: str
    centred: bool
    known: tuple[Term, ...] = ()

    def at(self, projection: Array, *, uses_degrees: bool) -> Point:
        """Return what belongs to W."""
        samples, everything = self.features @ projection, slice(0, len(self.features))
        kernel = sum(
            member.weight * member.derivatives(member.beta(samples, samples), everything)[0] for member in self.members
        )
        kernel = np.asarray(kernel)
        np.fill_diagonal(kernel, 0.0)
        sums = kernel.sum(axis=1)
        scaled = uses_degrees and self.degrees != "none" and bool((sums > 0).all())
        scaling = sums**-0.5 if scaled else np.ones(len(sums))
        affinity = _both_sides(kernel, scaling, self.centred)
        values, vectors = np.linalg.eigh(0.5 * (affinity + affinity.T))
        return Point(self, projection, kernel, scaling, scaled, values[::-1], vectors[:, ::-1])


def known_terms(paradigm: str, parameters: dict[str, Any], given: Any) -> tuple[Term, ...]:
    """Return the terms of what a paradigm is given: a labelling to differ from, or class codes, -1 where hidden."""
    mu = float(parameters.get("mu", 1.0))
    if paradigm == "alternative":
        return (Term(-mu, one_hot(given), True),)
    if paradigm == "semi_supervised":
        shown = given >= 0
        scores = (given[:, None] == np.unique(given[shown])).astype(float)
        return (Term(mu, np.where(shown[:, None], scores - scores[shown].mean(axis=0), 0.0), False),)
    return ()


@dataclass(frozen=True)
class Point:
    """One W with its kernel matrix, D^-1/2, and all eigenvalues (falling) and eigenvectors of A."""

    objective: Objective
    projection: Array
    kernel: Array
    scaling: Array
    scaled: bool
    values: Array
    vectors: Array

    @property
    def embedding(self) -> Array:
        """U, n x k."""
        return self.vectors[:, : self.objective.n_clusters]

    def first_order(self) -> FirstOrder:
        """Return -R, dR/dW and their rounding.

        U is known to within the rounding of A over the gap behind its last eigenvalue, and the gradient follows it.
        """
        objective, n_clusters = self.objective, self.objective.n_clusters
        gamma, held = self._gamma(), self._held
        target = _both_sides(self.kernel, held, True) @ self.embedding
        rest = self.vectors[:, n_clusters:]
        gaps = self.values[:n_clusters] - self.values[n_clusters:, None]
        turn = rest @ ((rest.T @ target) / gaps)
        moved = self.embedding @ turn.T + turn @ self.embedding.T
        moved = centred(moved) if objective.centred else moved
        gamma = gamma + self.scaling[:, None] * moved * self.scaling
        if self.scaled:
            slope = 2.0 * np.einsum("ij,ij->i", self.kernel * self.scaling, moved)
            if objective.degrees == "both":
                slope += 2.0 * np.einsum("ij,ij->i", self.kernel * held, self._products(degrees=True))
            by_degree = -0.5 * self.scaling**3 * slope
            gamma = gamma + 0.5 * (by_degree[:, None] + by_degree)
        values, vectors = np.linalg.eigh(0.5 * (gamma + gamma.T))
        found = Pairs(objective.features, objective.members, vectors, values).first_order(self.projection)
        cost = -float((self._gamma() * self.kernel).sum())
        gap = float(gaps[0, -1])
        turned = found.gradient_rounding * (1.0 + float(np.abs(self.values).max()) / gap)
        return FirstOrder(cost, found.gradient, found.cost_rounding, turned)

    @property
    def _held(self) -> Array:
        return self.scaling if self.objective.degrees == "both" else np.ones_like(self.scaling)

    def _products(self, *, degrees: bool) -> Array:
        """Return the sum of mu H Y Y' H over the terms with degrees, or over those without."""
        terms = [Term(1.0, self.embedding, True), *self.objective.known]
        result = np.zeros_like(self.kernel)
        for term in terms:
            if term.with_degrees is degrees:
                factor = term.factor - term.factor.mean(axis=0)
                result += term.weight * factor @ factor.T
        return result

    def _gamma(self) -> Array:
        held = self._held
        return held[:, None] * self._products(degrees=True) * held + self._products(degrees=False)


def _both_sides(kernel: Array, scaling: Array, is_centred: bool) -> Array:
    affinity = scaling[:, None] * kernel * scaling
    return centred(affinity) if is_centred else affinity
