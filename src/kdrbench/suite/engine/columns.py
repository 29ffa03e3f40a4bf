"""Columns of rows that were added after tables had been written."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from functools import cache
from typing import Any


def column(*, since: str, default: Any = None) -> Any:
    """Return the field of a column that tables made before kdrbench ``since`` lack; readers then take ``default``."""
    return field(default=default, metadata={"since": since})


@cache
def added_columns(kind: type[Any]) -> dict[str, Any]:
    """Return by name the defaults of the columns of a dataclass that older tables lack."""
    added = [one for one in fields(kind) if "since" in one.metadata]
    return {one.name: None if one.default is MISSING else one.default for one in added}
