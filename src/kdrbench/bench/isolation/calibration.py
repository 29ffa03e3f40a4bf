"""A fixed piece of work, timed beside each batch: how fast the cores are, and whether that stays so.

Matrix products and traffic through an array that fits in no cache near the core, as in most runs. Each of three passes
takes some 15 ms; their median forgives a single interruption, and shows a core that is slowed down or shared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kdrbench.bench.provenance import Provenance

# Beyond this the times of a batch are flagged.
MOST_DRIFT = 0.1
_PASSES = 3
_ORDER, _PRODUCTS = 512, 2
_TRAFFIC = 2**21


def calibration_s() -> float:
    """Return the median wall seconds of a pass, after one that warms up, on the threads that BLAS has."""
    import numpy as np

    rng = np.random.default_rng(0)
    factor = rng.standard_normal((_ORDER, _ORDER))
    source, product, target = np.ones(_TRAFFIC), np.empty_like(factor), np.empty(_TRAFFIC)
    passes = []
    for _ in range(1 + _PASSES):
        began = time.perf_counter()
        for _ in range(_PRODUCTS):
            np.matmul(factor, factor, out=product)
        np.multiply(source, 2.0, out=target)
        passes.append(time.perf_counter() - began)
    return statistics.median(passes[1:])


@dataclass(frozen=True)
class Drift:
    """How the speed of a run's cores differed from what it is compared with.

    ``drift`` is the largest in size of three: calibration after the batch against that before it, and either against
    the median of all batches with the same processor, BLAS and threads; minus one, so above zero where the later, or
    this batch's, is slower. ``None`` for a run that is not timed.
    """

    drift: float | None
    drifted: bool | None


def drift_columns(records: Sequence[Provenance]) -> list[dict[str, Any]]:
    """Return the columns of :class:`Drift` for each of the ``records`` of one table, the reference of each other."""
    # The rows that a batch made without interruption share their calibrations, which count once.
    groups: dict[tuple[str, str, int], set[tuple[str, tuple[float, ...]]]] = {}
    for record in records:
        groups.setdefault(_place(record), set()).add((record.batch_sha256, _times(record)))
    medians = {place: _median(found) for place, found in groups.items()}
    return [asdict(_drift(_times(record), medians[_place(record)])) for record in records]


def _place(record: Provenance) -> tuple[str, str, int]:
    return record.processor, record.blas, record.blas_threads


def _times(record: Provenance) -> tuple[float, ...]:
    both = (record.calibration_before_s, record.calibration_after_s)
    return tuple(seconds for seconds in both if seconds is not None)


def _median(batches: Iterable[tuple[str, tuple[float, ...]]]) -> float | None:
    every = [seconds for _, times in batches for seconds in times]
    return statistics.median(every) if every else None


def _drift(times: tuple[float, ...], median: float | None) -> Drift:
    if median is None or not times:
        return Drift(None, None)
    ratios = [times[-1] / times[0], *(seconds / median for seconds in times)]
    drift = max((ratio - 1.0 for ratio in ratios), key=abs)
    return Drift(round(drift, 4), abs(drift) > MOST_DRIFT)
