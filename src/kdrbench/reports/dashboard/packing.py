"""Scripts and data as they lie in the page: compressed, and as text that HTML cannot misread."""

from __future__ import annotations

import base64
import gzip
import json
from importlib.resources import files
from typing import Any


def pack(text: str) -> str:
    """Return ``text`` compressed, in base64; the same for the same text always."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def pack_data(data: Any) -> str:
    """Return ``data`` as compressed JSON."""
    return pack(json.dumps(data, separators=(",", ":"), allow_nan=False))


def plotly_script() -> str:
    """Return Plotly's script, which makes the global ``Plotly``."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def tables_script() -> str:
    """Return the module of DataTables that itables ships; its default export is the constructor."""
    return _of_itables("dt_bundle.js")


def tables_style() -> str:
    """Return the style sheet that belongs to :func:`tables_script`."""
    return _of_itables("dt_bundle.css")


def _of_itables(name: str) -> str:
    return files("itables").joinpath("html", name).read_text(encoding="utf-8")
