"""The objective of a clustering as a function of W alone: each W with the U that step 2 gives it.

    R(W) = Tr(Gamma(W) K_XW),  Gamma(W) made of U(W), the embedding of K_XW, and of its degrees D(W)

Its derivative has three parts. With P = U U', A = C N K N C the matrix whose k leading eigenvectors are U (N = D^-1/2
or I, C = H or I) and M the matrix of the term Tr(U' M U) of the objective,

    dR = <Gamma, dK> + <M, dP> + <dR/dN, dN>
    <M, dP> = <U Z' + Z U', dA>,   z_i = (lambda_i I - A)^-1 (I - P) M u_i in the complement of U
    dN_ii = -1/2 D_ii^-3/2 sum_j dK_ij

so that dR = <Gamma_R, dK> with a matrix Gamma_R of rank 3 k + 2 and the guidance's. Where M = A (centred, D in both
steps or in none) U is the maximiser and Z = 0: the envelope theorem. Gamma_R is what makes an alternation ascend R.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import HollowGram, gram_operator
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import Degrees, degree_scaling
from kdrbench.paradigms.form import Form, Guidance, gamma_of, terms_of
from kdrbench.problems import FactoredGamma, Problem, TraceObjective

# To this relative residual the change of U is found; stationarity is asked for to 1e-6.
_SOLVED = 1e-10
_MOST_PRODUCTS = 2000


class _Point(NamedTuple):
    """What belongs to one W: its kernel matrix, D^-1/2 if in use, eigenvalues and U, and the problem of its Gamma."""

    projection: FloatArray
    gram: HollowGram
    scaling: FloatArray | None
    eigenvalues: FloatArray
    embedding: FloatArray
    problem: Problem


class ReducedObjective:
    """R(W), the objective after the U step which follows W, and its gradient, in which U and D follow W.

    R can be compared between rounds, where the objective that a solver sees, with U held, cannot. The D that damps long
    alternations plays no part. ``uses_degrees`` says whether D is requested; :meth:`round_ended` gives it up for good
    where the alternation does.
    """

    def __init__(
        self,
        form: Form,
        features: FloatArray,
        kernel: Kernel | Combination,
        guidance: Sequence[Guidance] = (),
        *,
        evaluation: Evaluation | None = None,
        uses_degrees: bool = True,
    ) -> None:
        self.n_features = features.shape[1]
        self._form, self._features, self._kernel, self._guidance = form, features, kernel, tuple(guidance)
        self._evaluation = evaluation or Evaluation()
        self._degrees = Degrees(uses_degrees and form.degrees != "none")
        self._last: _Point | None = None

    @property
    def uses_degrees(self) -> bool:
        """Whether D is still in use."""
        return self._degrees.in_use

    def fresh(self) -> ReducedObjective:
        """Return itself: it counts no calls."""
        return self

    def value(self, projection: FloatArray) -> float:
        """Return R(W)."""
        return self._at(projection).problem.value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the gradient of R at W (d x q)."""
        return self.ascent_problem(projection).gradient(projection)

    def ascent_problem(self, projection: FloatArray) -> Problem:
        """Return the problem of Gamma_R at W, held: its gradient at W is that of R."""
        point = self._at(projection)
        gamma = _reduced_gamma(point, self._form, self._guidance)
        return self._problem(gamma)

    def embedding(self, projection: FloatArray) -> FloatArray:
        """Return U(W), n x k."""
        return self._at(projection).embedding

    def gamma(self, projection: FloatArray) -> FactoredGamma:
        """Return the Gamma of U(W) with the D of W: with it the objective is R(W)."""
        point = self._at(projection)
        return gamma_of(point.embedding, self._guidance, self._form.held(point.scaling))

    def eigenvalues(self, projection: FloatArray) -> FloatArray:
        """Return the eigenvalues of U(W), descending."""
        return self._at(projection).eigenvalues

    def is_comparable(self, projection: FloatArray) -> bool:
        """Return whether W has the D that the objective is defined with: without it R is on another scale."""
        return not self.uses_degrees or self._at(projection).scaling is not None

    def round_ended(self, projection: FloatArray) -> None:
        """Note the start of an alternation, or the result of a round."""
        self._degrees.scaling(self._gram(projection))
        self._last = None

    def _gram(self, projection: FloatArray) -> HollowGram:
        return gram_operator(self._kernel, self._features @ projection, self._evaluation)

    def _problem(self, gamma: FactoredGamma) -> Problem:
        return build_problem(TraceObjective(self._features, self._kernel, gamma), self._evaluation)

    def _at(self, projection: FloatArray) -> _Point:
        if self._last is None or not np.array_equal(self._last.projection, projection):
            gram = self._gram(projection)
            scaling = degree_scaling(gram) if self._degrees.in_use else None
            eigenvalues, embedding = self._form.embedding(gram, scaling, self._evaluation)
            problem = self._problem(gamma_of(embedding, self._guidance, self._form.held(scaling)))
            self._last = _Point(projection.copy(), gram, scaling, eigenvalues, embedding, problem)
        return self._last


def _reduced_gamma(point: _Point, form: Form, guidance: Sequence[Guidance]) -> FactoredGamma:
    """Return Gamma_R in factors."""
    scaling, held = point.scaling, form.held(point.scaling)
    base = gamma_of(point.embedding, guidance, held)
    parts = [(base.factor, base.weights)]
    turn = np.zeros_like(point.embedding)
    if not form.centred or (scaling is not None and held is None):
        turn = _change_of_embedding(point, form)
        parts.append(_symmetric_product(*(_weighted(columns, form, scaling) for columns in (point.embedding, turn))))
    if scaling is not None:
        by_degree = -0.5 * scaling**3 * _slope_of_scaling(point, form, guidance, turn)
        parts.append(_symmetric_product(0.5 * by_degree[:, None], np.ones((len(scaling), 1))))
    return FactoredGamma(np.hstack([factor for factor, _ in parts]), np.concatenate([weights for _, weights in parts]))


def _slope_of_scaling(point: _Point, form: Form, guidance: Sequence[Guidance], turn: FloatArray) -> FloatArray:
    """Return the gradient of R in the diagonal of N, K held: of the terms with N, and of <U Z' + Z U', A>."""
    columns = [_centred(embedding, form.centred) for embedding in (point.embedding, turn)]
    slope = 2.0 * _slope_of_product(point, *columns)
    if form.held(point.scaling) is not None:
        for term in terms_of(point.embedding, guidance):
            if term.with_degrees:
                factor = _centred(term.factor)
                slope += term.weight * _slope_of_product(point, factor, factor)
    return slope


def _slope_of_product(point: _Point, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the gradient of Tr(L' N K N R) in the diagonal of N."""
    slope = np.einsum("ij,ij->i", left, point.gram.applied(_scaled(right, point.scaling)))
    slope += np.einsum("ij,ij->i", right, point.gram.applied(_scaled(left, point.scaling)))
    return np.asarray(slope)


def _change_of_embedding(point: _Point, form: Form) -> FloatArray:
    """Return Z (n x k), zero where its equations have no solution: at a tie of eigenvalues U has no derivative."""
    gram, scaling, basis = point.gram, point.scaling, point.embedding

    def outside(columns: FloatArray) -> FloatArray:
        return columns - basis @ (basis.T @ columns)

    def applied(columns: FloatArray, weights: FloatArray | None, centred: bool) -> FloatArray:
        return _centred(_scaled(gram.applied(_scaled(_centred(columns, centred), weights)), weights), centred)

    def shifted(column: FloatArray, eigenvalue: float) -> FloatArray:
        inner = outside(column.reshape(-1, 1))
        return (eigenvalue * inner - outside(applied(inner, scaling, form.centred)))[:, 0]

    wanted = outside(applied(basis, form.held(scaling), True))
    turn = np.zeros_like(basis)
    for place, eigenvalue in enumerate(point.eigenvalues):
        operator = LinearOperator(
            (len(basis),) * 2, matvec=lambda column, at=eigenvalue: shifted(column, at), dtype=float
        )
        found, _ = cg(operator, wanted[:, place], rtol=_SOLVED, maxiter=_MOST_PRODUCTS)
        if np.isfinite(found).all():
            turn[:, place] = found
    return outside(turn)


def _symmetric_product(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L R' + R L' as columns and weights: 1/2 (L + R)(L + R)' - 1/2 (L - R)(L - R)', L and R of equal size."""
    sizes = np.linalg.norm(left), np.linalg.norm(right)
    balance = np.sqrt(sizes[1] / sizes[0]) if min(sizes) > 0.0 else 0.0
    if balance == 0.0:
        return left[:, :0], np.zeros(0)
    left, right = left * balance, right / balance
    return np.hstack([left + right, left - right]), np.repeat([0.5, -0.5], left.shape[1])


def _weighted(columns: FloatArray, form: Form, scaling: FloatArray | None) -> FloatArray:
    """Return N C V."""
    return _scaled(_centred(columns, form.centred), scaling)


def _scaled(columns: FloatArray, scaling: FloatArray | None) -> FloatArray:
    return columns if scaling is None else scaling[:, None] * columns


def _centred(columns: FloatArray, wanted: bool = True) -> FloatArray:
    return columns - columns.mean(axis=0) if wanted else columns
