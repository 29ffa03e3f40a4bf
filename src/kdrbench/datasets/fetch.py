"""Getting a registered file: from a mirror if one is named, else from its canonical address."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kdrbench.datasets.registry import DatasetEntry, SourceFile
from kdrbench.errors import DataError
from kdrbench.extras import MissingPackageError, needed_for
from kdrbench.files import locked

if TYPE_CHECKING:
    from requests import RequestException

MIRROR_VARIABLE = "KDRBENCH_MIRROR"
# Download limit for files without a registered size; a longer file is not read either.
MOST_BYTES = 256 * 2**20
Accept = Callable[[Path], object]
_CHUNK = 2**16
# A firewall that drops packets never answers; the most distant host does so in a second or two.
_CONNECT_S = 5.0
# Responses after which the same request may succeed: RFC 9110, 6585 and 8470.
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Sources:
    """Where files may come from: a ``mirror`` (folder or http(s) URL; KDRBENCH_MIRROR wins) and the ``cache``.

    ``cache`` is the user's cache folder if not named. A download that fails in passing is tried ``attempts`` times,
    after ``pause_s``, twice that, and so on; a silent server ends an attempt after ``timeout_s``. ``offline`` leaves
    out every address. A host to which no connection can be made is asked once for all files: it is ``unreachable``.
    """

    mirror: str | None = None
    cache: Path | None = None
    attempts: int = 4
    pause_s: float = 1.0
    timeout_s: float = 30.0
    offline: bool = False
    unreachable: set[str] = field(default_factory=set, compare=False)

    @property
    def mirror_name(self) -> str:
        """The mirror as given, or empty."""
        return (os.environ.get(MIRROR_VARIABLE) or self.mirror or "").rstrip("/")

    @property
    def mirror_folder(self) -> Path | None:
        """The mirror if it is a folder."""
        name = self.mirror_name
        return None if not name or name.startswith(("http://", "https://")) else Path(name).expanduser()

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


def fetch_file(entry: DatasetEntry, file: SourceFile, sources: Sources, *, accept: Accept) -> Path:
    """Return the path of a verified copy of one file of an entry.

    Tried in this order: a mirror folder, the cache, a mirror's address, the canonical addresses. Bytes with a
    registered SHA-256 are verified by it; others by ``accept``, which parses a file and raises ``DataError`` when the
    content is not the registered one. Downloads appear in the cache only when verified.

    Raises ``DataError`` naming the data set, each source tried with its fault, and how to point to a mirror.
    """
    faults = []
    for kind, folder in sources.folders.items():
        for form in file.forms:
            path = folder / form.path
            fault = _fault_of(path, form.sha256, accept)
            if not fault:
                return path
            if kind == "mirror" or path.exists():
                faults.append(f"{path} ({fault})")
    has_url = sources.mirror_name and not sources.mirror_folder
    for form in () if sources.offline else file.forms:
        mirror = [f"{sources.mirror_name}/{form.path}"] if has_url else []
        for url in [*mirror, *form.urls]:
            try:
                return _download(url, form, sources, accept)
            except MissingPackageError:
                raise
            except Exception as error:
                faults.append(f"{url} ({type(error).__name__}: {_first_line(error)})")
    tried = "; ".join(dict.fromkeys(faults)) or "no source, for no mirror is named"
    # A file of one's own cannot be fetched from anywhere: the entry's notes say how to come by it.
    ending = "" if file.sha256 else f". {entry.notes}"
    raise DataError(
        f"data set {entry.name!r} could not be fetched; tried: {tried}. Set data.mirror in the config or the "
        f"environment variable {MIRROR_VARIABLE} to a folder or URL that holds {file.path}{ending}"
    )


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


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def _download(url: str, form: SourceFile, sources: Sources, accept: Accept) -> Path:
    """Return the verified file from ``url`` in the cache; errors are those of requests, pooch and ``accept``."""
    with needed_for("a download"):
        import pooch
        from requests import RequestException

    host = urlsplit(url).netloc
    if host in sources.unreachable:
        raise DataError(f"no connection could be made to {host} for an earlier file")
    # pooch announces each download on standard error, which belongs to the caller's own messages.
    pooch.get_logger().setLevel(logging.ERROR)
    target = sources.cache_folder / form.path
    part = target.with_name(f".{target.name}.part")

    def download(url: str, output_file: str, _: object) -> None:
        try:
            _write_part(url, part, form.size or MOST_BYTES, sources.timeout_s)
            if not form.sha256:
                accept(part)
            part.replace(output_file)
        finally:
            part.unlink(missing_ok=True)

    digest = f"sha256:{form.sha256}" if form.sha256 else None
    manager = pooch.create(sources.cache_folder, "", registry={form.path: digest}, urls={form.path: url})
    with locked(target.with_name(f".{target.name}.lock")):
        # Another process may have been here while this one waited.
        if not _fault_of(target, form.sha256, accept):
            return target
        target.unlink(missing_ok=True)
        attempt = 1
        while True:
            try:
                return Path(manager.fetch(form.path, downloader=download))
            except RequestException as error:
                if host := _without_connection(error):
                    sources.unreachable.add(host)
                passing = error.response is None or error.response.status_code in _PASSING_STATUS
                if host or not passing or attempt == sources.attempts:
                    raise
            time.sleep(sources.pause_s * 2 ** (attempt - 1))
            attempt += 1


def _without_connection(error: RequestException) -> str:
    """Return the host of a request to which no connection could be made; empty if there was one."""
    from urllib3.exceptions import ConnectTimeoutError

    reason = getattr(error.args[0] if error.args else None, "reason", None)
    # That of a proxy is wrapped once more. Names that are not resolved and refusals are of this class, too.
    no_connection = isinstance(getattr(reason, "original_error", reason), ConnectTimeoutError)
    return urlsplit(str(error.request.url)).netloc if no_connection and error.request else ""


def _write_part(url: str, part: Path, most_bytes: int, timeout_s: float) -> None:
    """Write the body of one response to a file; ``DataError`` for more than ``most_bytes``."""
    with needed_for("a download"):
        import requests
        from tqdm import tqdm

    def check_size(n_bytes: int) -> None:
        if n_bytes > most_bytes:
            raise DataError(f"it is longer than the {most_bytes} bytes that are downloaded at most")

    # Without this header a server may pack the body, and requests would unpack it.
    headers = {"Accept-Encoding": "identity"}
    response = requests.get(url, headers=headers, stream=True, timeout=(min(_CONNECT_S, timeout_s), timeout_s))
    with response, part.open("wb") as stream:
        response.raise_for_status()
        length = int(response.headers.get("Content-Length") or 0)
        check_size(length)
        # With None, tqdm is silent where standard error is no terminal.
        shown = {"unit": "B", "unit_scale": True, "file": sys.stderr, "disable": None}
        with tqdm(total=length or None, desc=part.stem.lstrip("."), **shown) as bar:
            for chunk in response.iter_content(_CHUNK):
                check_size(stream.tell() + len(chunk))
                stream.write(chunk)
                bar.update(len(chunk))
