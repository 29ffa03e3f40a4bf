"""How, where and with what a run was made, taken on the machine that made it, and how fast its cores were.

A fixed piece of work is timed beside each batch: matrix products and traffic through an array that fits in no cache
near the core, as in most runs. Each of three passes takes some 15 ms; their median forgives a single interruption, and
shows a core that is slowed down or shared.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distributions, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from kdrbench import __version__
from kdrbench.files import write_text
from kdrbench.suite.engine.record import Record

EVIDENCE, _DIGITS = "evidence", 12
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pymanopt", "numba")


def software_and_machine() -> dict[str, Any]:
    """Return package versions, BLAS, processor, git commit and lock file hash: columns shared by a whole job."""
    root = checkout()
    lock = root / "envs" / "requirements.lock" if root else None
    return {
        "kdrbench_version": __version__,
        "python_version": platform.python_version(),
        **{f"{name.replace('-', '_')}_version": _version(name) for name in _PACKAGES},
        **_blas(),
        "processor": _processor(),
        "machine": platform.node(),
        **_git(root),
        "lock_sha256": hashlib.sha256(lock.read_bytes()).hexdigest() if lock and lock.exists() else "",
    }


def now() -> str:
    """Return the time of day to the second, in universal time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


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


def checkout() -> Path | None:
    """Return the root of the checkout that holds this package, or ``None`` for an installed package."""
    root = Path(__file__).resolve().parents[4]
    return root if (root / "src" / "kdrbench").is_dir() and (root / "pyproject.toml").is_file() else None


def _git(root: Path | None) -> dict[str, Any]:
    """Return commit, and whether files that it holds, or the package's sources, differ from it; unknown elsewhere.

    Files that git does not know count only below ``src``: notes and overlays beside them change no number.
    """
    unknown = {"git_commit": "", "git_dirty": None}
    if root is None:
        return unknown
    try:
        return {
            "git_commit": _git_output(root, "rev-parse", "HEAD"),
            "git_dirty": bool(
                _git_output(root, "status", "--porcelain", "--untracked-files=no")
                or _git_output(root, "ls-files", "--others", "--exclude-standard", "--", "src")
            ),
        }
    except (OSError, subprocess.CalledProcessError):
        return unknown


def _git_output(root: Path, *words: str) -> str:
    # Optional locks would let this query disturb a user's own git command.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


# Columns of merged tables; beyond the share a time is marked as not comparable with those of other methods.
DRIFT, MOST_DRIFT = ("drift", "drifted"), 0.1
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


def drift_columns(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return for each record how far the speed of the cores differed within the comparison that it belongs to.

    A time is compared with those of the other methods on the same problem: the same run of the same cell. ``drift`` is
    the larger in size of two ratios, minus one, above zero where this row's cores were slower: the row's calibration
    against the median of those beside the problem's rows, and, for a row whose method did not repeat its work in turns
    with the others, the calibration after it against the one before. ``drifted`` marks a ``drift`` beyond a tenth. Both
    are ``None`` for a run that is not timed. Problems belong to one experiment, so a row has the same in the table of
    its experiment and in that of its system.
    """
    # Rows that were timed side by side share their calibrations, which count once.
    calibrations: dict[tuple[Any, ...], set[tuple[float, ...]]] = {}
    for record in records:
        calibrations.setdefault(_problem(record), set()).add(_calibrations(record))
    means = {problem: [statistics.fmean(pair) for pair in pairs if pair] for problem, pairs in calibrations.items()}
    medians = {problem: statistics.median(found) for problem, found in means.items() if found}
    return [_drift(record, medians.get(_problem(record))) for record in records]


def _problem(record: Record) -> tuple[Any, ...]:
    """Return what the rows have in common whose times are compared: all but the method, and the machine."""
    made, cell = record.provenance, [getattr(record, name) for name in record.CELL[:-1]]
    return record.experiment, record.dataset, *cell, record.run, made.processor, made.blas, made.blas_threads


def _calibrations(record: Record) -> tuple[float, ...]:
    both = (record.provenance.calibration_before_s, record.provenance.calibration_after_s)
    return tuple(seconds for seconds in both if seconds is not None)


def _drift(record: Record, median: float | None) -> dict[str, Any]:
    times = _calibrations(record)
    if median is None or not times:
        return dict.fromkeys(DRIFT)
    ratios = [statistics.fmean(times) / median]
    if not getattr(record, "repeats", 0):
        ratios.append(times[-1] / times[0])
    drift = max((ratio - 1.0 for ratio in ratios), key=abs)
    return {"drift": round(drift, 4), "drifted": abs(drift) > MOST_DRIFT}


def write_evidence(results: Path) -> dict[str, str]:
    """Write which code and packages there are, in files named by their content; return ``code_id`` and ``env_id``.

    They decide nothing. They tell afterwards in which modules and packages two rows differ.
    """
    root = Path(str(files("kdrbench")))
    modules = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in root.rglob("*.py")}
    code = {name: _sha256(path.read_bytes()) for path, name in modules.items()}
    named = ((one.metadata["Name"], one.version) for one in distributions())
    packages = {name: version for name, version in named if name and name != "kdrbench"}
    return {"code_id": _write(results, "code", code), "env_id": _write(results, "env", packages)}


def _write(results: Path, kind: str, content: Mapping[str, str]) -> str:
    text = json.dumps(content, indent=0, sort_keys=True) + "\n"
    digest = _sha256(text.encode())
    path = results / EVIDENCE / f"{kind}-{digest}.json"
    if not path.is_file():
        write_text(path, text)
    return digest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
