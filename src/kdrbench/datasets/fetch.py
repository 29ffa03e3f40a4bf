"""Getting a registered file: from a mirror if one is named, else from its canonical address."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kdrbench.datasets.registry import DatasetEntry, SourceFile
from kdrbench.errors import DataError
from kdrbench.extras import MissingPackageError, needed_for
from kdrbench.files import locked

MIRROR_VARIABLE = "KDRBENCH_MIRROR"
# Of a file whose size is not registered no more is downloaded: a longer one is not read either.
MOST_BYTES = 256 * 2**20
Accept = Callable[[Path], object]
_CHUNK = 2**16
# Worth another attempt: time-outs, too many requests, and whatever is the server's own trouble.
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Sources:
    """Where files may come from: a ``mirror`` (folder or http(s) URL; KDRBENCH_MIRROR wins) and the ``cache``.

    ``cache`` is the user's cache folder if not named. ``attempts`` and ``pause_s`` say how often and how patiently a
    failing download is tried, ``timeout_s`` how long a silent server is waited for. ``offline`` leaves out every
    address.
    """

    mirror: str | None = None
    cache: Path | None = None
    attempts: int = 4
    pause_s: float = 1.0
    timeout_s: float = 30.0
    offline: bool = False

    @property
    def mirror_name(self) -> str:
        """The mirror as given, or empty."""
        return (os.environ.get(MIRROR_VARIABLE) or self.mirror or "").rstrip("/")

    @property
    def mirror_folder(self) -> Path | None:
        """The mirror if it is a folder."""
        name = self.mirror_name
        return Path(name).expanduser() if name and not _is_url(name) else None

    @property
    def cache_folder(self) -> Path:
        """The folder that downloads are kept in."""
        if self.cache:
            return self.cache
        with needed_for("the cache of downloaded data"):
            import pooch

        return Path(pooch.os_cache("kdrbench"))

    @property
    def folders(self) -> dict[str, Path]:
        """The folders that are looked through: the ``mirror``, if it is one, then what is ``cached``."""
        folders = {"mirror": self.mirror_folder} if self.mirror_folder else {}
        # Without pooch nothing has been downloaded.
        with suppress(MissingPackageError):
            folders["cached"] = self.cache_folder
        return folders


class _Candidate(NamedTuple):
    """A form of the file: its path below mirror and cache, its SHA-256 ('' if only the content is known), addresses.

    At most ``size`` bytes are downloaded.
    """

    path: str
    sha256: str
    size: int
    urls: tuple[str, ...]


def fetch_file(entry: DatasetEntry, file: SourceFile, sources: Sources, *, accept: Accept) -> Path:
    """Return the path of a verified copy of one file of an entry.

    Tried in this order: a mirror folder, the cache, a mirror's address, the canonical addresses. Bytes with a
    registered SHA-256 are verified by it; others by ``accept``, which parses a file and raises ``DataError`` when the
    content is not the registered one. Downloads appear in the cache only when verified.

    Raises ``DataError`` naming the data set, each source tried with its fault, and how to point to a mirror.
    """
    local, faults = find_file(file, sources, accept=accept)
    if local:
        return local
    for candidate in [] if sources.offline else _candidates(file):
        mirror = [f"{sources.mirror_name}/{candidate.path}"] if _is_url(sources.mirror_name) else []
        for url in [*mirror, *candidate.urls]:
            try:
                return _download(url, candidate, sources, accept)
            except MissingPackageError:
                raise
            except Exception as error:
                faults.append(f"{url} ({type(error).__name__}: {_first_line(error)})")
    tried = "; ".join(faults) or "no source, for no mirror is named"
    # A file of one's own cannot be fetched from anywhere: the entry's notes say how to come by it.
    ending = "" if file.sha256 else f". {entry.notes}"
    raise DataError(
        f"data set {entry.name!r} could not be fetched; tried: {tried}. Set data.mirror in the config or the "
        f"environment variable {MIRROR_VARIABLE} to a folder or URL that holds {file.path}{ending}"
    )


def find_file(file: SourceFile, sources: Sources, *, accept: Accept) -> tuple[Path | None, list[str]]:
    """Return a verified copy in a mirror folder or the cache, if there is one, and the faults of those that are not."""
    faults = []
    for kind, folder in sources.folders.items():
        for candidate in _candidates(file):
            path = folder / candidate.path
            fault = _fault_of(path, candidate.sha256, accept)
            if not fault:
                return path, []
            if kind == "mirror" or path.exists():
                faults.append(f"{path} ({fault})")
    return None, list(dict.fromkeys(faults))


def _candidates(file: SourceFile) -> list[_Candidate]:
    repackaged = [_Candidate(file.path_of(url), "", MOST_BYTES, (url,)) for url in file.repackaged]
    return [_Candidate(file.path, file.sha256, file.size or MOST_BYTES, file.urls), *repackaged]


def _fault_of(path: Path, sha256: str, accept: Accept) -> str | None:
    try:
        # The open says in the system's words why a file is not there.
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest() if sha256 else ""
        if not sha256:
            accept(path)
    except DataError as error:
        return _first_line(error)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None if digest == sha256 else f"SHA-256 is {digest}, not {sha256}"


def _download(url: str, candidate: _Candidate, sources: Sources, accept: Accept) -> Path:
    with needed_for("a download"):
        import pooch

    # pooch announces each download on standard error, which belongs to the caller's own messages.
    pooch.get_logger().setLevel(logging.ERROR)
    target = sources.cache_folder / candidate.path
    # A part belongs to one address: pieces of different packagings must not be joined.
    part = target.with_name(f"{target.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part")
    accept_part = None if candidate.sha256 else accept
    downloader = ResumingDownloader(part, sources, most_bytes=candidate.size, accept=accept_part)
    with locked(target.with_name(f".{target.name}.lock")):
        # Another process may have been here while this one waited.
        if not _fault_of(target, candidate.sha256, accept):
            return target
        target.unlink(missing_ok=True)
        digest = f"sha256:{candidate.sha256}" if candidate.sha256 else None
        manager = pooch.create(sources.cache_folder, "", registry={candidate.path: digest}, urls={candidate.path: url})
        try:
            return Path(manager.fetch(candidate.path, downloader=downloader))
        except (ValueError, DataError):
            # Pieces of different versions of a file do not fit together: once more, from the beginning.
            if not downloader.resumed:
                raise
            return Path(manager.fetch(candidate.path, downloader=downloader))


def _is_url(mirror: str) -> bool:
    return mirror.startswith(("http://", "https://"))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


class ResumingDownloader:
    """Write ``url`` to a ``part`` file that outlives a killed process, then move it where pooch wants it.

    pooch checks the SHA-256 of what it is given and only then renames it to its place. ``accept`` is called with the
    whole part file and raises when its content is wrong: the check where bytes have no known hash. Connections that
    break, bodies that end early and passing errors of the server are tried again as ``sources`` say; the pauses double,
    and each attempt asks for the missing rest only. ``resumed`` tells
    whether the file was put together from several answers. Raises ``DataError`` for more than ``most_bytes``.
    """

    def __init__(self, part: Path, sources: Sources, *, most_bytes: int, accept: Accept | None = None) -> None:
        self.part, self.most_bytes, self.accept = part, most_bytes, accept
        self._sources, self.resumed = sources, False

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        """Download to ``output_file``, as pooch calls it; network errors are those of requests and urllib3."""
        with needed_for("a download"):
            import requests
            from urllib3.exceptions import HTTPError

        self.resumed = False
        for attempt in range(1, self._sources.attempts + 1):
            try:
                self._go_on(url)
                break
            except (requests.RequestException, HTTPError, _EndedEarlyError) as error:
                response = getattr(error, "response", None)
                passing = response is None or response.status_code in _PASSING_STATUS
                if not passing or attempt == self._sources.attempts:
                    raise
                time.sleep(self._sources.pause_s * 2 ** (attempt - 1))
            except (OSError, DataError):
                # A full disk stays full for as long as the part lies there.
                self.part.unlink(missing_ok=True)
                raise
        try:
            if self.accept:
                self.accept(self.part)
        except DataError:
            self.part.unlink(missing_ok=True)
            raise
        self.part.replace(output_file)

    def _go_on(self, url: str) -> None:
        """Ask for what the part file lacks and append it; start again where the server does not know how."""
        import requests

        have = self.part.stat().st_size if self.part.exists() else 0
        # The bytes themselves are wanted, not a packed form that requests would unpack.
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with requests.get(url, headers=headers, stream=True, timeout=self._sources.timeout_s) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable and have:
                # The part is as long as the file or longer: only a fresh copy tells which.
                self.part.unlink()
                raise _EndedEarlyError(f"the server has no byte {have}")
            response.raise_for_status()
            # Whether the pieces fit, their hash will tell.
            goes_on = response.status_code == requests.codes.partial_content
            self.resumed = self.resumed or goes_on
            self._append(response, have if goes_on else 0)

    def _append(self, response: Any, begin: int) -> None:
        length = response.headers.get("Content-Length", "")
        total, have = begin + int(length) if length.isdigit() else None, begin
        self._check_size(total or 0)
        with self.part.open("ab" if begin else "wb") as stream, _progress(total, begin, self.part) as bar:
            # urllib3 raises when fewer bytes come than were announced.
            for chunk in response.raw.stream(_CHUNK, decode_content=False):
                have += len(chunk)
                self._check_size(have)
                stream.write(chunk)
                bar.update(len(chunk))

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self.most_bytes:
            raise DataError(f"it is longer than the {self.most_bytes} bytes that are downloaded at most")


class _EndedEarlyError(Exception):
    """An answer that another request may complete."""


def _progress(total: int | None, begin: int, part: Path) -> Any:
    with needed_for("a download"):
        from tqdm import tqdm

    # None asks tqdm to be silent where standard error is no terminal.
    return tqdm(
        total=total,
        initial=begin,
        unit="B",
        unit_scale=True,
        desc=part.name.rsplit(".", 2)[0],
        file=sys.stderr,
        disable=None,
    )
