"""The versions of the packages that runs import, or what represents them in a conda environment."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

_THIS_PROJECT = "kdrbench"


def versions_of(imported: Iterable[str]) -> dict[str, str]:
    """Return by distribution the installed versions that provide the top names that are imported."""
    versions = {}
    for top in sorted(set(imported) - set(sys.stdlib_module_names)):
        for distribution in _installed().get(top, ()):
            try:
                versions[distribution] = version(distribution)
            except PackageNotFoundError:
                continue
    return versions


def packages_of_environment(environment: Path) -> dict[str, str]:
    """Return what represents the versions of packages in a conda environment: the hash of its file."""
    return {environment.name: hashlib.sha256(environment.read_bytes()).hexdigest()}


@cache
def _installed() -> dict[str, list[str]]:
    """Return the distributions that provide each importable name, but for this project itself."""
    return {name: sorted(set(found)) for name, found in packages_distributions().items() if name != _THIS_PROJECT}
