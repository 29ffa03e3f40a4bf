"""Getting a registered file: from a mirror if one is named, else from its canonical address."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from pathlib import Path

from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import DataError

MIRROR_VARIABLE = "KDRBENCH_MIRROR"
_RETRIES = 2


def fetch_file(entry: DatasetEntry, *, mirror: str | None = None, cache: Path | None = None) -> Path:
    """Return the path of the entry's file, its SHA-256 verified.

    Tried in this order: the mirror (environment variable KDRBENCH_MIRROR, else ``mirror``; a folder or an
    http(s) URL holding ``entry.file``), then ``entry.urls``. Downloads go to ``cache`` (default: the user's
    cache folder) and appear there only when verified.

    Raises ``DataError`` naming the data set, each source tried with its fault, and how to point to a mirror.
    """
    mirror = os.environ.get(MIRROR_VARIABLE) or mirror
    faults: list[str] = []
    if mirror and not _is_url(mirror):
        path = Path(mirror).expanduser() / entry.file
        fault = _fault_of(path, entry.sha256)
        if not fault:
            return path
        faults.append(f"{path} ({fault})")
    addresses = [f"{mirror.rstrip('/')}/{entry.file}"] if mirror and _is_url(mirror) else []
    for url in [*addresses, *entry.urls]:
        try:
            return _download(url, entry, cache)
        except Exception as error:
            faults.append(f"{url} ({type(error).__name__}: {_first_line(error)})")
    tried = "; ".join(faults)
    raise DataError(
        f"data set {entry.name!r} could not be fetched; tried: {tried}. Set data.mirror in the config or the "
        f"environment variable {MIRROR_VARIABLE} to a folder or URL that holds {entry.file}"
    )


def _download(url: str, entry: DatasetEntry, cache: Path | None) -> Path:
    import pooch

    # pooch announces each download on standard error, which belongs to the caller's own messages.
    pooch.get_logger().setLevel(logging.ERROR)
    manager = pooch.create(
        path=cache or pooch.os_cache("kdrbench"),
        base_url="",
        registry={entry.file: f"sha256:{entry.sha256}"},
        urls={entry.file: url},
        retry_if_failed=_RETRIES,
    )
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    return Path(manager.fetch(entry.file, downloader=downloader))


def _fault_of(path: Path, sha256: str) -> str | None:
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return error.strerror or type(error).__name__
    return None if found == sha256 else f"SHA-256 is {found}, not {sha256}"


def _is_url(mirror: str) -> bool:
    return mirror.startswith(("http://", "https://"))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]
