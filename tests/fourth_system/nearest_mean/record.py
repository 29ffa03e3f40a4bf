"""The row of one shrinkage on one random half."""

from dataclasses import dataclass
from typing import ClassVar

from kdrbench.suite.engine.record import Record


@dataclass(frozen=True, kw_only=True)
class NearestMeanRecord(Record):
    """``accuracy`` on the other half; ``None`` where the method left none."""

    KEYS: ClassVar[tuple[str, ...]] = ("shrinkage",)

    shrinkage: float
    accuracy: float | None = None
    n_train: int | None = None
