"""Two evaluators that are never chosen, only asked for: by rivals that they define, and as checks of the others.

``AutomaticProblem``: F written as a formula and differentiated by autograd, as the rivals' packages do it.

    F(W) = sum_ij Gamma_ij sum_t mu_t f_t(beta_ij)

with n x n arrays. The kernels' f are written here a second time, in autograd's numpy, without any derivative: so
this is an oracle of the derivatives of all other evaluators. Products with the Hessian at one W share the recorded
gradient, which holds some ten arrays of n x n.

Source: Maclaurin, Duvenaud, Adams, "Autograd: Effortless gradients in numpy", ICML AutoML workshop, 2015.

``PairwiseSumProblem``: Phi as its definition says: a sum over pairs of samples, each with a d x d matrix of its own.

    Phi(W)  = 1/2 sum_ij Gamma_ij f'(beta_ij) A_ij,   A_ij = a b' + b a',   beta_ij = a' W W' b
    F(W)    = sum_ij Gamma_ij f(beta_ij),             grad F = 2 Phi(W) W

with a = x_i, b = x_j (dot) or a = b = x_i - x_j (difference). It takes n^2 steps of Python and n^2 d^2 operations where
X'GX takes n^2 d: kept as the slow original it is, and because nothing else here is as plain.

Source: Wu, Ioannidis, Sznaier, Li, Kaeli, Dy, "Iterative Spectral Method for Alternative Clustering", AISTATS 2018
(arXiv 1909.03441); A_ij as in NeurIPS 2019, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.weights import initial_slope, initial_surrogate
from kdrbench.extras import needed_for
from kdrbench.kernels import Gaussian, Kernel, Linear, Multiquadric, Pairing, Polynomial, Squared, restricted, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.samples.passes import run_pass

# An autograd tracing wrapper.
_Traced = Any
_ALLOWED = (Linear, Squared, Polynomial, Gaussian, Multiquadric)


class AutomaticProblem(Evaluator[Callable[[FloatArray], FloatArray]]):
    """Value, gradient and Hessian products by autograd; Phi_0 as everywhere, since no derivative at a W is in it.

    Where beta is rounding beside the squares of samples, a multiquadric of offset near zero may be no number.
    Phi itself is no derivative of F, and the Hessian on many directions would be as many products: both are refused.

    Raises ``InputError`` for kernels other than linear, squared, polynomial, Gaussian, multiquadric and their conic
    combinations.
    """

    def __init__(self, objective: TraceObjective) -> None:
        self._terms = terms_of(objective.kernel)
        with needed_for("the evaluator autograd"):
            import autograd  # noqa: F401
        for term in self._terms:
            if not isinstance(term.kernel, _ALLOWED):
                raise InputError(
                    "autograd knows linear, squared, polynomial, Gaussian and multiquadric kernels and their "
                    f"combinations, not {type(term.kernel).__name__}; choose another evaluator or analytic derivatives"
                )
        differences = all(term.kernel.pairing is Pairing.DIFFERENCE for term in self._terms)
        # Squared distances are differences of squares, which an offset would swallow.
        super().__init__(objective.array - objective.array.mean(axis=0) if differences else objective.array)
        self._objective, self._gamma = objective, objective.gamma.dense()

    def __getstate__(self) -> dict[str, Any]:
        # A recorded gradient cannot be pickled.
        return {**self.__dict__, "_held": None}

    def _value(self, projection: FloatArray) -> float:
        return float(self._objective_at(projection))

    def _gradient(self, projection: FloatArray) -> FloatArray:
        from autograd import grad

        return np.asarray(grad(self._objective_at)(projection))

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        from autograd import value_and_grad

        value, gradient = value_and_grad(self._objective_at)(projection)
        return float(value), np.asarray(gradient)

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        product = self._at(projection)
        return np.array([product(direction) for direction in directions])

    def _made_at(self, projection: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the product of the Hessian at W with a direction, from a recorded gradient."""
        from autograd import make_hvp

        # Of a copy: the caller may use the array again.
        product: Callable[[FloatArray], FloatArray] = make_hvp(self._objective_at)(projection.copy())[0]
        return product

    def _initial_surrogate(self) -> FloatArray:
        return initial_surrogate(self._objective, report=self.report)

    def _objective_at(self, projection: _Traced) -> _Traced:
        import autograd.numpy as anp

        samples = anp.dot(self._features, projection)
        products = anp.dot(samples, samples.T)
        beta = {Pairing.DOT: products}
        if any(term.kernel.pairing is Pairing.DIFFERENCE for term in self._terms):
            # Not cut off at zero, unlike elsewhere: a cut has no slope, and rounding alone goes below.
            squares = anp.sum(samples**2, axis=1)
            beta[Pairing.DIFFERENCE] = squares[:, None] + squares[None, :] - 2.0 * products
        kernel = sum(term.weight * _value(term.kernel, beta[term.kernel.pairing]) for term in self._terms)
        return anp.sum(self._gamma * kernel)


def _value(kernel: Kernel, beta: _Traced) -> _Traced:
    """Return f(beta), in autograd's numpy."""
    import autograd.numpy as anp

    match kernel:
        case Linear():
            return beta
        case Squared():
            return -beta
        case Polynomial():
            return (kernel.scale * beta + kernel.offset) ** kernel.degree
        case Gaussian():
            return anp.exp(beta / (-2.0 * kernel.sigma**2))
        case Multiquadric():
            return -anp.sqrt(beta + kernel.offset**2)
    raise TypeError(kernel)


_Function = Callable[[Kernel, FloatArray], FloatArray]


class PairwiseSumProblem(Evaluator[None]):
    """Value, gradient and surrogates by loops over pairs, for any kernel; no second derivatives."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.array)
        self._gamma = objective.gamma.dense()
        self._terms = terms_of(objective.kernel)

    def _value(self, projection: FloatArray) -> float:
        return float(
            self._summed(np.zeros(()), projection, lambda kernel, beta: kernel.value(beta), lambda weight, a, b: weight)
        )

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return 2.0 * self._surrogate(projection) @ projection

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._weighted(projection, lambda kernel, beta: kernel.derivative(beta))

    def _initial_surrogate(self) -> FloatArray:
        return self._weighted(np.zeros((self.n_features, 1)), initial_slope)

    def _weighted(self, projection: FloatArray, slope: _Function) -> FloatArray:
        """Return 1/2 sum_ij Gamma_ij s_ij A_ij."""

        def summand(weight: float, a: FloatArray, b: FloatArray) -> FloatArray:
            product = np.outer(a, b)
            return 0.5 * weight * (product + product.T)

        return self._summed(np.zeros((self.n_features,) * 2), projection, slope, summand)

    def _summed(
        self,
        zero: FloatArray,
        projection: FloatArray,
        function: _Function,
        summand: Callable[[float, FloatArray, FloatArray], FloatArray | float],
    ) -> FloatArray:
        """Return the sum of ``summand(Gamma_ij mu function_ij, a, b)`` over all pairs."""

        def visit(total: FloatArray, i: int) -> None:
            for j in range(len(self._gamma)):
                for term in self._terms:
                    a, b = self._features[i], self._features[j]
                    if term.kernel.pairing is Pairing.DIFFERENCE:
                        a = b = a - b
                    beta = np.array([[a @ projection @ projection.T @ b]])
                    kernel = restricted(term.kernel, slice(i, i + 1), slice(j, j + 1))
                    values = term.weight * float(function(kernel, beta)[0, 0])
                    total += summand(self._gamma[i, j] * values, a, b)

        (total,) = run_pass(range(len(self._gamma)), 1, zero.copy, visit, self.report)
        return total
