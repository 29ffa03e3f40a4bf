"""What may be asked of an evaluation, and what :mod:`.cost_model` decides otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from kdrbench.errors import InputError
from kdrbench.parameters import COUNT, POSITIVE, Interval, OneOf, check_parameters, optional
from kdrbench.samples import PATIENCE_S, Engine, checked_address, dask_engine

# Sums in single precision are this near, with a margin of ten.
SINGLE_PRECISION = 1e-5
EVALUATORS = (
    "auto",
    "dense",
    "panels",
    "factored",
    "monomial_sums",
    "class_sums",
    "low_rank",
    "autograd",
    "pairwise_sum",
)


@dataclass(frozen=True)
class Evaluation:
    """Which evaluator, how exact, on how many threads, in how much memory.

    - ``evaluator``: ``auto`` lets ``kdrbench.evaluation.cost_model`` choose; the others are named there;
    - ``threads`` work side by side, each on one core; results differ by rounding only;
    - ``memory_mib`` bounds what is held beyond the data; ``auto`` keeps to it, and ``None`` is no bound;
    - ``engine`` computes sums over chunks of samples (:class:`kdrbench.samples.Engine`); ``None``: these threads;
    - ``scheduler`` is the address of a Dask scheduler, such as ``tcp://host:8786``, whose workers are the engine.

    Raises ``InputError`` for values that are not allowed.
    """

    evaluator: Annotated[str, OneOf(EVALUATORS)] = "auto"
    tolerance: Annotated[float, Interval(0.0, 1.0, open_above=True)] = 0.0
    threads: Annotated[int, COUNT] = 1
    memory_mib: Annotated[float | None, optional(POSITIVE)] = None
    engine: Engine | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.scheduler is None:
            return
        workers = dask_engine(checked_address(self.scheduler), PATIENCE_S)
        if self.engine not in (None, workers):
            raise InputError(f"engine and scheduler are both given, {self.engine!r} and {self.scheduler!r}; give one")
        object.__setattr__(self, "engine", workers)

    @property
    def single_precision(self) -> bool:
        """Whether the tolerance allows sums in float32."""
        return self.tolerance >= SINGLE_PRECISION

    @property
    def here(self) -> Evaluation:
        """The same by threads of this process, for few samples."""
        return replace(self, engine=None, scheduler=None)

    @property
    def exact(self) -> Evaluation:
        """The same on as many threads and in as much memory, without approximations and without a named evaluator."""
        return replace(self, evaluator="auto", tolerance=0.0)
