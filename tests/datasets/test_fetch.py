"""Fetching from a mirror and over HTTP: whole and verified, or not at all; by several processes and a killed one."""

import contextlib
import dataclasses
import gzip
import http
import io
import resource
import subprocess
import sys
import time

import pytest
import requests

from kdrbench.datasets import fetch as fetch_module
from kdrbench.datasets.fetch import Sources, fetch_file
from kdrbench.datasets.load import read_entry
from kdrbench.errors import DataError
from support.serving import TABLE, cut, dripping, redirect, send, stalling, status, whole

pytestmark = pytest.mark.usefixtures("no_mirror")
CANONICAL = "/canonical/data.csv"


def never(path):
    raise AssertionError("bytes with a known hash need no look at their content")


def fetch(entry, sources, accept=never):
    return fetch_file(entry, entry.files[0], sources, accept=accept)


def kept(folder):
    """Return all files below a folder but the empty ones that processes lock."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


@pytest.fixture
def sources(tmp_path):
    return Sources(cache=tmp_path / "cache", pause_s=0.0)


def put(folder, content=TABLE, name="data.csv"):
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / name).write_bytes(content)
    return str(folder)


def test_without_a_mirror_the_address_is_asked_once(tiny, server, sources, tmp_path, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    server.answers[CANONICAL] = [whole]
    path = fetch(tiny, sources)
    shown = [line for line in stream.getvalue().split("\r") if "data.csv:" in line]
    assert shown[-1].startswith("data.csv: 100%")
    assert path == tmp_path / "cache" / "tiny" / "data.csv"
    assert path.read_bytes() == TABLE
    assert fetch(tiny, sources) == path
    assert server.requests == [CANONICAL]
    assert kept(tmp_path / "cache") == ["data.csv"]


def test_the_environment_comes_before_the_mirror_that_is_named(tiny, server, tmp_path, monkeypatch, sources):
    mirror = put(tmp_path / "mirror")
    found = fetch(tiny, dataclasses.replace(sources, mirror=mirror))
    assert found == tmp_path / "mirror" / "tiny" / "data.csv"
    monkeypatch.setenv("KDRBENCH_MIRROR", mirror)
    assert fetch(tiny, dataclasses.replace(sources, mirror="/no/such/mirror")) == found
    # A mirror may be an address.
    monkeypatch.delenv("KDRBENCH_MIRROR")
    server.answers["/mirror/tiny/data.csv"] = [whole]
    assert fetch(tiny, dataclasses.replace(sources, mirror=f"{server.url}/mirror/")).read_bytes() == TABLE
    assert server.requests == ["/mirror/tiny/data.csv"]


def packing(handler):
    """Give up where it may pack what it sends, which would be unpacked unseen."""
    (status(406) if "gzip" in handler.headers.get("Accept-Encoding", "") else whole)(handler)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([dripping], id="slow"),
        pytest.param([status(503), status(429), status(500), whole], id="three passing errors"),
        pytest.param([cut(100_000), cut(200_000), cut(0), whole], id="cut three times"),
        pytest.param([redirect("/elsewhere")], id="redirect"),
        pytest.param([packing], id="packing"),
    ],
)
def test_difficult_servers_give_the_whole_file_in_the_end(tiny, server, sources, tmp_path, script):
    server.answers.update({CANONICAL: script, "/elsewhere": [whole]})
    assert fetch(tiny, sources).read_bytes() == TABLE
    assert kept(tmp_path / "cache") == ["data.csv"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([status(404)], "HTTPError: 404 Client Error"),
        ([status(500)], "HTTPError: 500 Server Error"),
        ([cut(1000, TABLE), status(404)], "HTTPError: 404"),
        ([lambda handler: whole(handler, TABLE[:-1])], r"ValueError: SHA256 hash of downloaded file \(data\.csv\)"),
        ([lambda handler: whole(handler, TABLE.replace(b"1,1,b", b"1,2,b"))], "does not match the known hash"),
        ([lambda handler: None], "ConnectionError"),
        ([redirect(CANONICAL)], "TooManyRedirects"),
    ],
)
def test_what_cannot_be_had_whole_is_not_there_at_all(tiny, server, sources, tmp_path, script, words):
    server.answers[CANONICAL] = script
    with pytest.raises(DataError, match=words) as caught:
        fetch(tiny, sources)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache" / "tiny" / "data.csv").exists()


def endless(handler):
    """Send for ever, with no length."""
    without_length(handler, b"")
    with contextlib.suppress(OSError):
        while not handler.server.pause.is_set():
            handler.wfile.write(bytes(2**16))


@pytest.mark.attack("data: downloads")
def test_no_more_than_the_registered_size_is_downloaded(tiny, server, sources, tmp_path, monkeypatch):
    server.answers[CANONICAL] = [lambda handler: send(handler, 200, b"x", length=10**15)]
    with pytest.raises(DataError, match="it is longer than the 268435456 bytes"):
        fetch(tiny, sources)
    assert kept(tmp_path / "cache") == []
    monkeypatch.setattr(fetch_module, "MOST_BYTES", 3 * 2**20)
    for size, most in ((len(TABLE), len(TABLE)), (0, 3 * 2**20)):
        server.requests.clear()
        server.answers[CANONICAL] = [endless]
        entry = dataclasses.replace(tiny, files=(dataclasses.replace(tiny.files[0], size=size),))
        with pytest.raises(DataError, match=rf"data\.csv \(DataError: it is longer than the {most} bytes that"):
            fetch(entry, sources)
        # It is not asked again, and nothing of it is kept.
        assert len(server.requests) == 1
        assert kept(tmp_path / "cache") == []


def test_a_missing_source_names_all_that_was_tried(tiny, server, sources, tmp_path):
    mirror = put(tmp_path / "mirror", b"other")
    with pytest.raises(DataError) as caught:
        fetch(tiny, dataclasses.replace(sources, mirror=mirror))
    message = str(caught.value)
    assert message.startswith("data set 'tiny' could not be fetched; tried: ")
    assert f"{mirror}/tiny/data.csv (SHA-256 is " in message
    assert f"{server.url}{CANONICAL} (HTTPError: 404" in message
    assert message.endswith("KDRBENCH_MIRROR to a folder or URL that holds tiny/data.csv")


PACKED = gzip.compress(TABLE)


@pytest.fixture
def repackaged(tiny, server):
    """The entry with an address that gives its table gzipped, in bytes nobody has a hash of."""
    file = dataclasses.replace(tiny.files[0], urls=(), repackaged=(f"{server.url}/old/data.csv.gz",))
    return dataclasses.replace(tiny, files=(file,))


def without_length(handler, content):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content)


def test_another_packing_is_verified_by_its_content(repackaged, server, sources, tmp_path):
    # No Content-Length: only the content tells that something is missing.
    server.answers["/old/data.csv.gz"] = [lambda handler: without_length(handler, PACKED[:-50_000])]
    with pytest.raises(DataError, match="cannot be read"):
        read_entry(repackaged, sources)
    assert kept(tmp_path / "cache") == []
    server.requests.clear()
    server.answers["/old/data.csv.gz"] = [cut(30_000, PACKED), lambda handler: whole(handler, PACKED)]
    assert read_entry(repackaged, sources).content_sha256 == repackaged.content_sha256
    assert kept(tmp_path / "cache") == ["data.csv.gz"]
    assert (tmp_path / "cache" / "tiny" / "data.csv.gz").read_bytes() == PACKED
    read_entry(repackaged, sources)
    assert len(server.requests) == 2  # both for the first reading


@pytest.mark.parametrize("place", ["server", "mirror", "cache"])
def test_a_changed_byte_in_another_packing_is_noticed(repackaged, server, sources, tmp_path, place):
    changed = gzip.compress(TABLE.replace(b"\n20,6,a\n", b"\n20,5,a\n"))
    if place == "server":
        server.answers["/old/data.csv.gz"] = [lambda handler: whole(handler, changed)]
    else:
        put(tmp_path / place, changed, "data.csv.gz")
        sources = dataclasses.replace(sources, mirror=str(tmp_path / "mirror"), offline=place == "cache")
    with pytest.raises(DataError, match=r"'tiny' has values with SHA-256 .* the registry says"):
        read_entry(repackaged, sources)
    if place != "cache":
        assert kept(tmp_path / "cache") == []


# Those after which RFC 9110, 6585 and 8470 let a client send the same request again, later.
PASSING = {408, 425, 429, 500, 502, 503, 504}


def test_errors_that_pass_are_asked_again_and_no_others(tiny, server, sources):
    codes = [code for code in map(int, http.HTTPStatus) if code >= 400]
    assert set(codes) > PASSING
    for code in codes:
        server.requests.clear()
        server.answers[CANONICAL] = [status(code), whole]
        if code in PASSING:
            fetch(tiny, sources).unlink()
        else:
            with pytest.raises(DataError, match=f"HTTPError: {code}"):
                fetch(tiny, sources)
        assert len(server.requests) == 1 + (code in PASSING), code


def test_a_host_without_connection_is_asked_once_for_all_files(tiny, server, sources, monkeypatch):
    asked, get = [], requests.get
    monkeypatch.setattr(requests, "get", lambda url, **more: asked.append(url) or get(url, **more))
    # No server listens at port 1; names that end so are never resolved (RFC 6761).
    nowhere = ("http://127.0.0.1:1/data.csv", "http://kdrbench.invalid/data.csv")
    file = dataclasses.replace(tiny.files[0], urls=(*nowhere, *tiny.files[0].urls))
    server.answers[CANONICAL] = [status(500), whole]
    for _ in range(2):
        fetch(dataclasses.replace(tiny, files=(file,)), sources).unlink()
    assert asked == [*nowhere, *[server.url + CANONICAL] * 3]


def test_a_full_disk_is_an_error_at_once_and_its_part_is_removed(tiny, server, sources):
    # The largest file that may be written stands in for the disk.
    server.answers[CANONICAL] = [whole]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(DataError, match="File too large"):
            fetch(tiny, sources)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept(sources.cache) == []
    assert len(server.requests) == 1


# A process of its own that fetches the tiny file: arguments are its URL, SHA-256, cache.
SCRIPT = """
import sys, types
from pathlib import Path
from kdrbench.datasets import SourceFile
from kdrbench.datasets.fetch import Sources, fetch_file
url, sha256, cache = sys.argv[1:]
file = SourceFile("tiny/data.csv", sha256, urls=(url,))
entry = types.SimpleNamespace(name="tiny", files=(file,), notes="")
print(fetch_file(entry, file, Sources(cache=Path(cache), pause_s=0.0), accept=None))
"""


def start(tiny, cache):
    arguments = [*tiny.files[0].urls, tiny.files[0].sha256, str(cache)]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_at_once_download_once(tiny, server, tmp_path):
    server.answers[CANONICAL] = [dripping]
    for process in [start(tiny, tmp_path), start(tiny, tmp_path)]:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out.strip()) == (0, str(tmp_path / "tiny" / "data.csv")), err
    assert server.requests == [CANONICAL]
    assert (tmp_path / "tiny" / "data.csv").read_bytes() == TABLE
    assert kept(tmp_path) == ["data.csv"]


def test_a_killed_download_is_made_again(tiny, server, tmp_path):
    server.answers[CANONICAL] = [stalling(300_000), whole]
    process = start(tiny, tmp_path)
    try:
        wait_for_a_part(process, tmp_path)
    finally:
        process.kill()
        process.communicate()
    assert "data.csv" not in kept(tmp_path)
    assert fetch(tiny, Sources(cache=tmp_path, pause_s=0.0)).read_bytes() == TABLE
    assert not list(tmp_path.rglob("*.part"))


def wait_for_a_part(process, folder):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any(path.stat().st_size for path in folder.rglob("*.part")):
            return
        time.sleep(0.01)
    pytest.fail("the download never began")
