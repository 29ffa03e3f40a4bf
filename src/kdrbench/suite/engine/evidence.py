"""Evidence: which code and which packages rows were made with, in small files named by their content.

They decide nothing. They tell afterwards in which modules and packages two rows differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path

from kdrbench.files import write_text

EVIDENCE = "evidence"
_DIGITS = 12


def write_evidence(results: Path) -> dict[str, str]:
    """Write what code and packages there are, unless the files are there; return ``code_id`` and ``env_id``."""
    return {"code_id": _write(results, "code", modules()), "env_id": _write(results, "env", packages())}


def modules() -> dict[str, str]:
    """Return by module of this project the hash of its source."""
    root = Path(str(files("kdrbench")))
    paths = sorted(root.rglob("*.py"))
    names = [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]
    return {name: _sha256(path.read_bytes()) for name, path in zip(names, paths, strict=True)}


def packages() -> dict[str, str]:
    """Return by name the versions of all installed packages."""
    named = ((one.metadata["Name"], one.version) for one in distributions())
    return dict(sorted((name, version) for name, version in named if name and name != "kdrbench"))


def _write(results: Path, kind: str, content: Mapping[str, str]) -> str:
    text = json.dumps(content, indent=0, sort_keys=True) + "\n"
    digest = _sha256(text.encode())
    path = results / EVIDENCE / f"{kind}-{digest}.json"
    if not path.is_file():
        write_text(path, text)
    return digest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
