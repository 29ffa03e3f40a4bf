"""The one place that decides how a problem is evaluated.

| evaluator | what it is | time of a surrogate | memory |
|---|---|---|---|
| dense | n x n arrays, held between calls at one W | n^2 (d + c) | n^2 |
| panels | the same sums, block by block | n^2 (d + c), half the traffic | n d |
| factored | monomial features; linear, squared, polynomial kernels | n m (d + q + c) + n d^2 | n (m + d) + k m d |
| low_rank | a factor of a Gaussian's kernel matrix, to the ``tolerance`` | n m (d + m) + n d^2 | n (m + d) |

All but the last are exact, and it is chosen only where a tolerance > 0 is given; its rank m is as large as the kernel
and the tolerance make it, up to n for a narrow kernel. c stands for making and weighing one kernel value or one
feature, measured in multiplications; there are m = C(q + p - 1, p - 1) features for degree p and k classes, or as many
passes as Gamma has factors where it has no classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kdrbench.kernels import Gaussian, Squared
from kdrbench.problems import Problem, TraceObjective
from kdrbench.surrogate.dense import DenseProblem
from kdrbench.surrogate.evaluation import Evaluation
from kdrbench.surrogate.factored import FactoredProblem, as_polynomial
from kdrbench.surrogate.feature_maps import n_monomials
from kdrbench.surrogate.low_rank import LowRankProblem
from kdrbench.surrogate.panels import PanelProblem
from kdrbench.surrogate.switching import SwitchingProblem

# Measured on Wine, Cancer, WDBC and made data with one thread: below this the n x n arrays stay in the cache.
_DENSE_SAMPLES = 400
_PER_VALUE = 30
# What the factored evaluation spends on many small steps, in multiplications.
_FACTORED_OVERHEAD = 2.5e6
# The rank is known only at a W; from this many samples on a factor of any useful rank is cheaper than all pairs.
_LOW_RANK_SAMPLES = 2000


@dataclass(frozen=True)
class Plan:
    """How calls with q columns are evaluated, and why."""

    evaluator: str
    reason: str


def plan(objective: TraceObjective, n_components: int, tolerance: float = 0.0) -> Plan:
    """Return what ``auto`` chooses for projections to ``n_components``; ``tolerance`` as in :func:`build_problem`."""
    n_samples, n_features = objective.features.shape
    pairs = n_samples**2 * (n_features + n_components + _PER_VALUE)
    rank = objective.gamma.factor.shape[1]
    # Panels make Gamma anew from its factors at each call: not worth it where these are nearly as large.
    general = "dense" if n_samples <= _DENSE_SAMPLES or rank > n_samples // 4 else "panels"
    if tolerance > 0 and isinstance(objective.kernel, Gaussian) and n_samples >= _LOW_RANK_SAMPLES:
        return Plan("low_rank", f"{n_samples} samples; a Gaussian to {tolerance:g} of the trace of its matrix")
    if not _has_factors(objective):
        return Plan(general, f"{n_samples} samples; the kernel has no exact factors")
    polynomial = as_polynomial(objective.kernel)
    n_maps = 1 if polynomial is None else n_monomials(n_components, polynomial.degree - 1)
    codes, width = objective.gamma.codes, n_features + n_components
    sums = n_samples * rank * width
    if codes is not None:
        # A pass over the samples, and one over the pairs of classes.
        sums = (n_samples + (int(codes.max()) + 1) ** 2) * width
    factored = n_maps * (sums + n_samples * _PER_VALUE) + n_samples * n_features**2 + _FACTORED_OVERHEAD
    if factored < pairs:
        return Plan(
            "factored", f"{n_maps} features stand for {n_samples} samples: {pairs / factored:.1f} times less work"
        )
    return Plan(general, f"{n_maps} features for {n_samples} samples would be {factored / pairs:.1f} times the work")


def explain(objective: TraceObjective, n_components: int, tolerance: float = 0.0) -> str:
    """Say in one sentence how the problem is evaluated for projections to ``n_components``, and why."""
    chosen = plan(objective, n_components, tolerance)
    return f"{chosen.evaluator}: {chosen.reason}"


def build_problem(objective: TraceObjective, evaluation: Evaluation | None = None) -> Problem:
    """Return the oracles of ``objective``, evaluated as :func:`plan` says or as ``evaluation`` asks.

    Raises ``InputError`` for an evaluator that the kernel does not allow.
    """
    asked = evaluation or Evaluation()
    if asked.evaluator == "auto" and _has_factors(objective):
        makers: dict[str, Callable[[], Problem]] = {
            "dense": partial(DenseProblem, objective),
            "panels": partial(PanelProblem, objective, threads=asked.threads),
            "factored": partial(FactoredProblem, objective),
        }
        return SwitchingProblem(objective.features.shape[1], makers, partial(_evaluator_for, objective))
    name = plan(objective, 1, asked.tolerance).evaluator if asked.evaluator == "auto" else asked.evaluator
    if name == "dense":
        return DenseProblem(objective)
    if name == "low_rank":
        return LowRankProblem(objective, asked.tolerance)
    return PanelProblem(objective, threads=asked.threads) if name == "panels" else FactoredProblem(objective)


def _evaluator_for(objective: TraceObjective, n_components: int) -> str:
    return plan(objective, n_components).evaluator


def _has_factors(objective: TraceObjective) -> bool:
    return isinstance(objective.kernel, Squared) or as_polynomial(objective.kernel) is not None
