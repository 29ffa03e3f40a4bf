"""Where and with what a run was made, taken on the machine that made it."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kdrbench import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pymanopt")


def provenance() -> dict[str, Any]:
    """Return package versions, BLAS, processor, git commit and lock file hash as flat columns."""
    root = _checkout()
    return {
        "kdrbench_version": __version__,
        "python_version": platform.python_version(),
        **{f"{name.replace('-', '_')}_version": version(name) for name in _PACKAGES},
        **_blas(),
        "processor": _processor(),
        "machine": platform.node(),
        **_git(root),
        "lock_sha256": _sha256(root / "requirements.lock") if root else "",
    }


def _blas() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {f"{library['internal_api']} {library['version']}" for library in libraries}
    threads = max((library["num_threads"] for library in libraries), default=0)
    return {"blas": "; ".join(sorted(names)), "blas_threads": threads}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _checkout() -> Path | None:
    """Return the root of the checkout this package lies in, or ``None`` for an installed package."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "src" / "kdrbench").is_dir() and (root / "pyproject.toml").is_file() else None


def _git(root: Path | None) -> dict[str, Any]:
    """Return commit and whether sources differ from it or are not part of it; unknown outside a checkout."""
    unknown = {"git_commit": "", "git_dirty": None}
    if root is None:
        return unknown
    try:
        return {
            "git_commit": _git_output(root, "rev-parse", "HEAD"),
            "git_dirty": bool(_git_output(root, "status", "--porcelain")),
        }
    except (OSError, subprocess.CalledProcessError):
        return unknown


def _git_output(root: Path, *words: str) -> str:
    # Optional locks would let a mere look at the tree disturb a user's own git command.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
