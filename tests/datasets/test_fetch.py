"""Fetching from a mirror and over HTTP: whole and verified, or not at all; the downloader by itself."""

import contextlib
import dataclasses
import gzip
import http
import io
import resource
import sys

import pytest
import requests

from kdrbench.datasets import fetch as fetch_module
from kdrbench.datasets.fetch import ResumingDownloader, Sources, fetch_file
from kdrbench.datasets.load import read_entry
from kdrbench.errors import DataError
from support.serving import TABLE, cut, dripping, ranged, redirect, send, status, whole

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


def test_without_a_mirror_the_address_is_asked_once(tiny, server, sources, tmp_path):
    server.answers[CANONICAL] = [whole]
    path = fetch(tiny, sources)
    assert path == tmp_path / "cache" / "tiny" / "data.csv"
    assert path.read_bytes() == TABLE
    assert fetch(tiny, sources) == path
    assert server.requests == [(CANONICAL, None)]
    assert kept(tmp_path / "cache") == ["data.csv"]


def test_the_environment_comes_before_the_mirror_that_is_named(tiny, tmp_path, monkeypatch, sources):
    mirror = put(tmp_path / "mirror")
    found = fetch(tiny, dataclasses.replace(sources, mirror=mirror))
    assert found == tmp_path / "mirror" / "tiny" / "data.csv"
    monkeypatch.setenv("KDRBENCH_MIRROR", mirror)
    assert fetch(tiny, dataclasses.replace(sources, mirror="/no/such/mirror")) == found


def test_mirror_may_be_an_address(tiny, server, sources):
    server.answers["/mirror/tiny/data.csv"] = [whole]
    assert fetch(tiny, dataclasses.replace(sources, mirror=f"{server.url}/mirror/")).read_bytes() == TABLE
    assert server.requests == [("/mirror/tiny/data.csv", None)]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([dripping], id="slow"),
        pytest.param([status(500), whole], id="500 then 200"),
        pytest.param([status(503), status(429), status(500), whole], id="three passing errors"),
        pytest.param([cut(100_000), whole], id="cut, then a server without ranges"),
        pytest.param([cut(100_000), ranged], id="cut, then the rest"),
        pytest.param([cut(100_000), cut(100_000), cut(100_000), ranged], id="in four pieces"),
        pytest.param([redirect("/elsewhere")], id="redirect"),
    ],
)
def test_difficult_servers_give_the_whole_file_in_the_end(tiny, server, sources, tmp_path, script):
    server.answers.update({CANONICAL: script, "/elsewhere": [whole]})
    assert fetch(tiny, sources).read_bytes() == TABLE
    assert kept(tmp_path / "cache") == ["data.csv"]


def test_a_server_that_packs_what_it_sends_is_asked_not_to(tiny, server, sources):
    def obliging(handler):
        if "gzip" in handler.headers.get("Accept-Encoding", ""):
            send(handler, 200, gzip.compress(TABLE), {"Content-Encoding": "gzip"})
        else:
            whole(handler)

    server.answers[CANONICAL] = [obliging]
    assert fetch(tiny, sources).read_bytes() == TABLE


def test_pieces_that_do_not_fit_are_fetched_again(tiny, server, sources, tmp_path):
    server.answers[CANONICAL] = [cut(100_000, b"x" * len(TABLE)), ranged, whole]
    assert fetch(tiny, sources).read_bytes() == TABLE
    assert [asked for _, asked in server.requests] == [None, "bytes=100000-", None]
    assert kept(tmp_path / "cache") == ["data.csv"]


@pytest.mark.parametrize("surplus", [0, 7])
def test_a_part_as_long_as_the_file_or_longer_is_fetched_again(tiny, server, sources, surplus):
    server.answers[CANONICAL] = [status(500)]
    with pytest.raises(DataError):
        fetch(tiny, dataclasses.replace(sources, attempts=1))
    server.answers[CANONICAL] = [cut(100_000), status(500)]
    with pytest.raises(DataError):
        fetch(tiny, dataclasses.replace(sources, attempts=2))
    (part,) = sources.cache.rglob("*.part")
    assert part.stat().st_size == 100_000
    part.write_bytes(b"y" * (len(TABLE) + surplus))
    server.answers[CANONICAL] = [ranged]
    assert fetch(tiny, sources).read_bytes() == TABLE


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
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while not handler.server.pause.is_set():
            handler.wfile.write(bytes(2**16))


@pytest.mark.attack("data: downloads")
def test_an_endless_download_ends_at_the_registered_size(tiny, server, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_module, "MOST_BYTES", 3 * 2**20)
    for size, most in ((len(TABLE), len(TABLE)), (0, 3 * 2**20)):
        server.answers[CANONICAL] = [endless]
        entry = dataclasses.replace(tiny, files=(dataclasses.replace(tiny.files[0], size=size),))
        with pytest.raises(
            DataError, match=rf"data\.csv \(DataError: it is longer than the {most} bytes that are down"
        ):
            fetch(entry, sources)
        # It is not asked again, and nothing of it is kept.
        assert len(server.requests) == 1
        server.requests.clear()
        assert kept(tmp_path / "cache") == []


@pytest.mark.attack("data: downloads")
def test_a_download_that_announces_too_much_is_not_begun(tiny, server, sources, tmp_path):
    server.answers[CANONICAL] = [lambda handler: send(handler, 200, b"x", length=10**15)]
    with pytest.raises(DataError, match="it is longer than the 268435456 bytes"):
        fetch(tiny, sources)
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


def repackaged(entry, server):
    """Return the entry with an address that gives its table gzipped, in bytes nobody has a hash of."""
    file = dataclasses.replace(entry.files[0], urls=(), repackaged=(f"{server.url}/old/data.csv.gz",))
    return dataclasses.replace(entry, files=(file,))


def test_another_packing_is_verified_by_its_content(tiny, server, sources, tmp_path):
    entry = repackaged(tiny, server)
    packed = gzip.compress(TABLE)
    server.answers["/old/data.csv.gz"] = [cut(30_000, packed), lambda handler: ranged(handler, packed)]
    assert read_entry(entry, sources).content_sha256 == tiny.content_sha256
    assert kept(tmp_path / "cache") == ["data.csv.gz"]
    assert (tmp_path / "cache" / "tiny" / "data.csv.gz").read_bytes() == packed
    read_entry(entry, sources)
    assert len(server.requests) == 2  # both for the first reading


@pytest.mark.parametrize("place", ["server", "mirror", "cache"])
def test_a_changed_byte_in_another_packing_is_noticed(tiny, server, sources, tmp_path, place):
    entry = repackaged(tiny, server)
    changed = gzip.compress(TABLE.replace(b"\n20,6,a\n", b"\n20,5,a\n"))
    assert len(changed) != len(gzip.compress(TABLE)) or changed != gzip.compress(TABLE)
    if place == "server":
        server.answers["/old/data.csv.gz"] = [lambda handler: whole(handler, changed)]
    else:
        put(tmp_path / place, changed, "data.csv.gz")
        sources = dataclasses.replace(sources, mirror=str(tmp_path / "mirror"), offline=place == "cache")
    with pytest.raises(DataError, match=r"'tiny' has values with SHA-256 .* the registry says"):
        read_entry(entry, sources)
    if place != "cache":
        assert kept(tmp_path / "cache") == []


def test_what_comes_half_and_has_no_hash_is_not_used(tiny, server, sources, tmp_path):
    packed = gzip.compress(TABLE)
    # No Content-Length: only the content tells that something is missing.
    server.answers["/old/data.csv.gz"] = [lambda handler: without_length(handler, packed[:-50_000])]
    with pytest.raises(DataError, match="cannot be read"):
        read_entry(repackaged(tiny, server), sources)
    assert kept(tmp_path / "cache") == []


def without_length(handler, content):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content)


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
