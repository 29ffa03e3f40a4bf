"""The downloader by itself: which errors pass, what a full disk leaves, what it says of pieces and progress."""

import http
import io
import resource
import sys

import pytest
import requests

from kdrbench.datasets.fetch import ResumingDownloader, Sources
from support.serving import TABLE, ranged, status, whole

PATH = "/data.csv"
# Those after which RFC 9110, 6585 and 8470 let a client send the same request again, later.
PASSING = {408, 425, 429, 500, 502, 503, 504}


def downloader_to(part, attempts=2, pause_s=0.0):
    sources = Sources(attempts=attempts, pause_s=pause_s, timeout_s=30.0)
    return ResumingDownloader(part, sources, most_bytes=2**30)


def test_errors_that_pass_are_asked_again_and_no_others(server, tmp_path):
    codes = [code for code in map(int, http.HTTPStatus) if code >= 400]
    assert set(codes) > PASSING
    for code in codes:
        server.requests.clear()
        server.answers[PATH] = [status(code), lambda handler: whole(handler, b"content")]
        downloader, target = downloader_to(tmp_path / "part"), tmp_path / f"{code}"
        if code in PASSING:
            downloader(server.url + PATH, str(target), None)
            assert target.read_bytes() == b"content"
        else:
            with pytest.raises(requests.HTTPError, match=str(code)):
                downloader(server.url + PATH, str(target), None)
        assert len(server.requests) == 1 + (code in PASSING), code


def test_a_full_disk_is_an_error_at_once_and_its_part_is_removed(server, tmp_path):
    # The largest file that may be written stands in for the disk.
    server.answers[PATH] = [whole]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            downloader_to(tmp_path / "part")(server.url + PATH, str(tmp_path / "target"), None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    assert len(server.requests) == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_goes_on_where_the_part_ended_and_to_the_end(server, tmp_path, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    have = len(TABLE) // 2
    (tmp_path / "data.csv.0123.part").write_bytes(TABLE[:have])
    server.answers[PATH] = [ranged]
    downloader_to(tmp_path / "data.csv.0123.part")(server.url + PATH, str(tmp_path / "target"), None)
    assert (tmp_path / "target").read_bytes() == TABLE
    shown = [line for line in stream.getvalue().split("\r") if "data.csv:" in line]
    shares = [int(line.partition("data.csv:")[2].partition("%")[0]) for line in shown]
    assert shares[0] == 50
    assert shares[-1] == 100
    assert sorted(shares) == shares
