"""Downloading over HTTP as pooch's downloader: tries again, goes on where it stopped, and ends whole or not at all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kdrbench.errors import DataError
from kdrbench.extras import needed_for

_CHUNK = 2**16
# Worth another attempt: time-outs, too many requests, and whatever is the server's own trouble.
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class ResumingDownloader:
    """Write ``url`` to a ``part`` file that outlives a killed process, then move it where pooch wants it.

    pooch checks the SHA-256 of what it is given and only then renames it to its place. ``accept`` is called with the
    whole part file and raises when its content is wrong: the check where bytes have no known hash. Connections that
    break, bodies that end early and passing errors of the server are tried again up to ``attempts`` times in all,
    after pauses of ``pause_s``, twice that and so on; each attempt asks for the missing rest only. ``resumed`` tells
    whether the file was put together from several answers. Raises ``DataError`` for more than ``most_bytes``.
    """

    def __init__(
        self,
        part: Path,
        *,
        most_bytes: int,
        accept: Callable[[Path], object] | None = None,
        attempts: int,
        pause_s: float,
        timeout_s: float,
    ) -> None:
        self.part, self.most_bytes, self.accept = part, most_bytes, accept
        self.attempts, self.pause_s, self.timeout_s = attempts, pause_s, timeout_s
        self.resumed = False

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        """Download to ``output_file``, as pooch calls it; network errors are those of requests and urllib3."""
        with needed_for("a download"):
            import requests
            from urllib3.exceptions import HTTPError

        self.resumed = False
        for attempt in range(1, self.attempts + 1):
            try:
                self._go_on(url)
                break
            except (requests.RequestException, HTTPError, _EndedEarlyError) as error:
                response = getattr(error, "response", None)
                passing = response is None or response.status_code in _PASSING_STATUS
                if not passing or attempt == self.attempts:
                    raise
                time.sleep(self.pause_s * 2 ** (attempt - 1))
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
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout_s) as response:
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
