"""The order of a job: what it makes and how, in a file that the workflow writes and the job reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kdrbench.errors import InputError, in_words
from kdrbench.files import write_text
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.workspace_lock import WORKSPACES


@dataclass(frozen=True)
class Order:
    """What a job makes, the budget of all runs in seconds, whether times count, and the user's own data sets."""

    bundle: Bundle
    budget_s: float | None = None
    timed: bool = True
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write the order, unless the file holds it already; return the path."""
        batches = [json.loads(batch.to_json()) for batch in self.bundle.batches]
        text = json.dumps({**asdict(self), "bundle": {"path": self.bundle.path, "batches": batches}}, sort_keys=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text, durable=False)
        return path


def order_path(results: Path, job: str) -> Path:
    """Return the file of the order of a job."""
    return results / WORKSPACES / "orders" / f"{job}.json"


def read_order(path: Path) -> Order:
    """Read what :meth:`Order.write` wrote; ``InputError`` for anything else."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        bundle = values.pop("bundle")
        return Order(Bundle(bundle["path"], tuple(map(Batch.from_values, bundle["batches"]))), **values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no order of a job ({in_words(error)}); start the workflow again") from error
