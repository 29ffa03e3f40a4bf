"""How problems may be evaluated: the choices that are left to whoever asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from kdrbench.errors import InputError, is_number, is_whole, unknown_name

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

    evaluator: str = "auto"
    tolerance: float = 0.0
    threads: int = 1
    memory_mib: float | None = None

    def __post_init__(self) -> None:
        if self.evaluator not in EVALUATORS:
            raise InputError(unknown_name("evaluator", self.evaluator, list(EVALUATORS)))
        if not is_number(self.tolerance) or not 0.0 <= self.tolerance < 1.0:
            raise InputError(f"tolerance must be a number >= 0 and below 1, got {self.tolerance!r}")
        if not is_whole(self.threads) or self.threads < 1:
            raise InputError(f"threads must be an integer >= 1, got {self.threads!r}")
        if self.memory_mib is not None and (not is_number(self.memory_mib) or self.memory_mib <= 0):
            raise InputError(f"memory_mib must be None or a number > 0, got {self.memory_mib!r}")

    @property
    def single_precision(self) -> bool:
        """Whether the tolerance allows sums in float32."""
        return self.tolerance >= SINGLE_PRECISION
