"""Which methods lose to a random projection."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from kdrbench.bench import controls
from kdrbench.bench.controls import LosingCell, controls_of, random_ones
from kdrbench.bench.experiment import Config

__all__ = ["LosingCell", "controls_of", "losing_cells", "random_ones"]


def losing_cells(rows: Iterable[Any], config: Config) -> list[LosingCell]:
    """Do as the bench does, for rows that name a method and a run."""
    renamed = (SimpleNamespace(**row._asdict(), solver=row.method, fold=row.run) for row in rows)
    return controls.losing_cells(renamed, config)
