"""Evaluators that read samples in passes and hold nothing of their number."""

from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.passes import ThreadEngine
from kdrbench.evaluation.streaming.monomial_sums import MonomialSums
from kdrbench.evaluation.streaming.quadratic_form import QuadraticForm, initial_surrogate
from kdrbench.kernels import Gaussian, Linear, Polynomial, Squared, has_constant_slope
from kdrbench.problems import TraceObjective
from kdrbench.samples import Engine, SparseSamples

__all__ = [
    "STREAMED_FAMILIES",
    "MonomialSums",
    "QuadraticForm",
    "evaluator_of_streamed",
    "initial_surrogate",
    "sums_of_monomials",
    "too_narrow",
]

# Families of kernels that are sums over samples, without pairs.
STREAMED_FAMILIES = ("linear", "squared", "polynomial", "gaussian")


def too_narrow(features: object) -> str:
    """Return what is wrong, and what to do, where a bandwidth needs pairs of samples and these are out of reach."""
    sparse = isinstance(features, SparseSamples)
    return (
        "no basis of few functions has the error that is asked for on samples that are "
        f"{'sparse' if sparse else 'streamed'}: the bandwidth is too narrow for this number of components; take a "
        "larger sigma, fewer components, evaluation={'tolerance': 1e-3}, or give the samples as "
        f"{'a dense array' if sparse else 'an array, and no scheduler'}"
    )


def evaluator_of_streamed(objective: TraceObjective, asked: str = "auto") -> str:
    """Return the name of the evaluator for samples that are not in memory.

    Raises ``InputError`` for a kernel that needs pairs of samples, or where another evaluator is ``asked`` for.
    """
    kernel = objective.kernel
    if not isinstance(kernel, Gaussian | Linear | Squared | Polynomial):
        raise InputError(
            "samples that are streamed, or given to a scheduler, need a linear, squared, polynomial or Gaussian "
            f"kernel, which are sums over samples; got {kernel!r}: choose one of those, or give the samples as an "
            "array, and no scheduler"
        )
    evaluator = "class_sums" if isinstance(kernel, Gaussian) else "monomial_sums"
    if asked not in ("auto", evaluator):
        raise InputError(
            f"samples that are streamed, or given to a scheduler, are evaluated by {evaluator!r} for this kernel, not "
            f"by {asked!r}; choose 'auto', or give the samples as an array, and no scheduler"
        )
    return evaluator


def sums_of_monomials(objective: TraceObjective, *, threads: int = 1, engine: Engine | None = None) -> Evaluator:
    """Return the evaluator of a linear, squared or polynomial kernel; ``InputError`` for others."""
    chosen = QuadraticForm if has_constant_slope(objective.kernel) else MonomialSums
    return chosen(objective, engine=engine or ThreadEngine(threads))
