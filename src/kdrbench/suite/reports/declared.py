"""What reports know as data rather than as code: names, looks, protocols and readings, in files of TOML beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def declared(name: str) -> Mapping[str, Any]:
    """Return the content of ``name.toml``."""
    return tomllib.loads(files("kdrbench.suite.reports").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
