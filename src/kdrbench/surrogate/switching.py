"""One problem, evaluated in the way that suits the number of components asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters, Problem


class SwitchingProblem:
    """Hands each call to one of several evaluators, chosen by the number of columns q of W.

    ``makers`` make the evaluators, each when it is first needed; ``choose`` maps q to the name of one of them. Counters
    are shared, so that a call counts once whoever answers it.
    """

    def __init__(
        self, n_features: int, makers: Mapping[str, Callable[[], Problem]], choose: Callable[[int], str]
    ) -> None:
        self.counters = Counters()
        self._n_features, self._makers, self._choose = n_features, makers, choose
        self._shared: dict[str, Problem] = {}
        self._own: dict[str, Problem] = {}

    def fresh(self) -> SwitchingProblem:
        """Return the same problem with its own counters and nothing remembered of earlier points."""
        twin = SwitchingProblem(self._n_features, self._makers, self._choose)
        twin._shared = self._shared
        return twin

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self._n_features

    def evaluator(self, n_components: int) -> Problem:
        """Return the evaluator for projections to ``n_components``."""
        name = self._choose(n_components)
        if name not in self._own:
            if name not in self._shared:
                self._shared[name] = self._makers[name]()
            self._own[name] = self._shared[name].fresh()
            self._own[name].counters = self.counters
        return self._own[name]

    def _for(self, projection: FloatArray) -> Problem:
        if projection.ndim != 2:
            raise InputError(f"a projection must have {self._n_features} rows, got shape {projection.shape}")
        return self.evaluator(projection.shape[1])

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        return self._for(projection).value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return 2 Phi(W) W, d x q."""
        return self._for(projection).gradient(projection)

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its gradient."""
        return self._for(projection).value_and_gradient(projection)

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to Z, d x q."""
        return self._for(projection).hessian_vector(projection, direction)

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W on the directions B_u e_a', mq x mq."""
        return self._for(projection).hessian(projection, basis)

    def riemannian_gradient(self, projection: FloatArray) -> FloatArray:
        """Return (I - WW') grad F, d x q."""
        return self._for(projection).riemannian_gradient(projection)

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W), d x d."""
        return self._for(projection).surrogate(projection)

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0."""
        return self.evaluator(1).initial_surrogate()
