"""The row of one point of the KPCA trick's figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kdrbench.bench.record import Record


@dataclass(frozen=True, kw_only=True)
class KPCAFiguresRecord(Record):
    """One way to map samples, in one setting of a draw, which is a run; ``None`` where it left no such number.

    ``varied`` says what the setting varies: degree, n, k or sigma, with its ``value``. ``series`` names the curve that
    the row belongs to: the learner in Figure 2, else ``kpca`` for the KPCA trick, and ``kernel`` or ``qz`` for the
    kernel trick. ``method`` says how it was solved: ``kernel`` is ``exact``, or has a ``ridge`` where K is singular.
    ``accuracy`` is that of 1-NN. ``condition`` is that of K, ``disagreement`` the largest difference of learned squared
    distances between this trick and the KPCA trick, over the largest distance. ``k`` counts neighbours, ``n_train`` the
    training samples without repetitions.
    """

    KEYS: ClassVar[tuple[str, ...]] = ("varied", "value", "series")

    figure: int
    varied: str
    value: float
    series: str
    method: str = ""
    accuracy: float | None = None
    condition: float | None = None
    disagreement: float | None = None
    k: int | None = None
    n_train: int | None = None
    n_test: int | None = None
