"""How problems may be evaluated: the choices that are left to whoever asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kdrbench.parameters import COUNT, POSITIVE, Interval, OneOf, check_parameters, optional

# Sums in single precision are this near, with a margin of ten.
SINGLE_PRECISION = 1e-5
EVALUATORS = ("auto", "dense", "panels", "factored", "low_rank", "autograd", "pairwise_sum")


@dataclass(frozen=True)
class Evaluation:
    """Which evaluator, how exact, on how many threads, in how much memory.

    - ``evaluator``: ``auto`` lets ``kdrbench.evaluation.cost_model`` choose; the others are named there;
    - ``tolerance`` > 0 allows approximations: kernel matrices whose error is positive semi-definite with at most this
      share of their trace, and sums in single precision; 0 means exact up to rounding in double precision;
    - ``threads`` work side by side, each on one core; results differ by rounding only;
    - ``memory_mib`` bounds what is held beyond the data; ``auto`` keeps to it, and ``None`` is no bound.

    Raises ``InputError`` for values that are not allowed.
    """

    evaluator: Annotated[str, OneOf(EVALUATORS)] = "auto"
    tolerance: Annotated[float, Interval(0.0, 1.0, open_above=True)] = 0.0
    threads: Annotated[int, COUNT] = 1
    memory_mib: Annotated[float | None, optional(POSITIVE)] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def single_precision(self) -> bool:
        """Whether the tolerance allows sums in float32."""
        return self.tolerance >= SINGLE_PRECISION
