"""Fetching, with a real HTTP server on loopback where a network is needed."""

import dataclasses
import hashlib
import http.server
import threading

import pytest

from kdrbench.datasets import load_registry
from kdrbench.datasets.fetch import fetch_file
from kdrbench.errors import DataError

CONTENT = b"1,2,3\n"
ENTRY = dataclasses.replace(
    load_registry()["cancer"], name="tiny", file="tiny/data.csv", sha256=hashlib.sha256(CONTENT).hexdigest()
)


@pytest.fixture
def server(tmp_path):
    """Serve the folder ``served`` and return its URL."""
    folder = tmp_path / "served"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "data.csv").write_bytes(CONTENT)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture(autouse=True)
def _no_mirror_of_the_users(monkeypatch):
    monkeypatch.delenv("KDRBENCH_MIRROR", raising=False)


def test_canonical_address_is_asked_without_a_mirror(server, tmp_path):
    entry = dataclasses.replace(ENTRY, urls=(f"{server}/tiny/data.csv",))
    path = fetch_file(entry, cache=tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    assert tmp_path / "cache" in path.parents


def test_mirror_folder_comes_first(tmp_path, monkeypatch):
    (tmp_path / "mirror" / "tiny").mkdir(parents=True)
    (tmp_path / "mirror" / "tiny" / "data.csv").write_bytes(CONTENT)
    assert fetch_file(ENTRY, mirror=str(tmp_path / "mirror")) == tmp_path / "mirror" / "tiny" / "data.csv"
    monkeypatch.setenv("KDRBENCH_MIRROR", str(tmp_path / "mirror"))
    assert fetch_file(ENTRY, mirror="/no/such/mirror").read_bytes() == CONTENT


def test_mirror_may_be_an_address(server, tmp_path):
    assert fetch_file(ENTRY, mirror=server + "/", cache=tmp_path / "cache").read_bytes() == CONTENT


def test_wrong_bytes_are_never_used(server, tmp_path):
    wrong = dataclasses.replace(ENTRY, sha256="0" * 64, urls=(f"{server}/tiny/data.csv",))
    mirror = tmp_path / "served"
    with pytest.raises(DataError, match=r"SHA-256 is .* not 000.*; http://127.* \(ValueError: "):
        fetch_file(wrong, mirror=str(mirror), cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_missing_source_names_all_that_was_tried_and_the_way_out(server, tmp_path):
    entry = dataclasses.replace(ENTRY, urls=(f"{server}/gone.csv",))
    with pytest.raises(DataError) as caught:
        fetch_file(entry, mirror=str(tmp_path / "nowhere"), cache=tmp_path / "cache")
    message = str(caught.value)
    assert message.startswith("data set 'tiny' could not be fetched; tried: ")
    assert f"{tmp_path}/nowhere/tiny/data.csv (No such file or directory)" in message
    assert f"{server}/gone.csv (HTTPError: 404" in message
    assert message.endswith("KDRBENCH_MIRROR to a folder or URL that holds tiny/data.csv")
    assert "\n" not in message
