"""The objective of an alternation as a function of W alone: each W with the U that step 2 gives it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.gram import HollowGram, gram_operator
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.alternation import Alternation, Guidance, gamma_of
from kdrbench.paradigms.embedding import Degrees, degree_scaling
from kdrbench.problems import Problem, TraceObjective


class ReducedObjective:
    """F(W) = Tr(Gamma(W) K_XW), Gamma(W) made of U(W), the embedding of K_XW, and of its degrees D(W).

    That is the objective after the U step which follows W, so it can be compared between rounds, where the objective
    that a solver sees, with U held, cannot. Its ``gradient`` is that of the solver's objective with U(W) and D(W) held:
    zero along the manifold at a fixed point of the alternation. The D that damps long alternations plays no part.

    ``uses_degrees`` says whether D is requested; :meth:`round_ended` gives it up for good where the alternation does.
    """

    def __init__(
        self,
        alternation: Alternation,
        features: FloatArray,
        kernel: Kernel | Combination,
        guidance: Sequence[Guidance] = (),
        *,
        evaluation: Evaluation | None = None,
        uses_degrees: bool = True,
    ) -> None:
        self.n_features = features.shape[1]
        self._alternation, self._features, self._kernel, self._guidance = alternation, features, kernel, tuple(guidance)
        self._evaluation = evaluation or Evaluation()
        self._degrees = Degrees(uses_degrees and alternation.degrees != "none")
        self._last: tuple[FloatArray, FloatArray, Problem] | None = None

    @property
    def uses_degrees(self) -> bool:
        """Whether D is still in use."""
        return self._degrees.in_use

    def fresh(self) -> ReducedObjective:
        """Return itself: it counts no calls."""
        return self

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        return self._at(projection)[1].value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the gradient of F at W (d x q), U and D held."""
        return self._at(projection)[1].gradient(projection)

    def embedding(self, projection: FloatArray) -> FloatArray:
        """Return U(W), n x k."""
        return self._at(projection)[0]

    def round_ended(self, projection: FloatArray) -> None:
        """Note the start of an alternation, or the result of a round."""
        self._degrees.scaling(self._gram(projection))
        self._last = None

    def _gram(self, projection: FloatArray) -> HollowGram:
        return gram_operator(self._kernel, self._features @ projection, self._evaluation)

    def _at(self, projection: FloatArray) -> tuple[FloatArray, Problem]:
        if self._last is None or not np.array_equal(self._last[0], projection):
            gram = self._gram(projection)
            scaling = degree_scaling(gram) if self._degrees.in_use else None
            embedding = self._alternation.embedding(gram, scaling, self._evaluation)[1]
            gamma = gamma_of(embedding, self._guidance, self._alternation.held(scaling))
            objective = TraceObjective(self._features, self._kernel, gamma)
            self._last = (projection.copy(), embedding, build_problem(objective, self._evaluation))
        return self._last[1], self._last[2]
