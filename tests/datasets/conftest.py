"""A real HTTP server on loopback that answers as it is told, and a small data set to fetch from it."""

import hashlib
import http.server
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.datasets import DatasetEntry, SourceFile
from kdrbench.datasets.load import from_parsed
from kdrbench.datasets.parsers import Parsed
from support.serving import N_ROWS, TABLE, status


@pytest.fixture
def server(monkeypatch):
    """Serve ``answers``: by path a list of answers, one a request, the last one again and again."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,.invalid")
    answers, requests = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            script = answers.get(self.path, [status(404)])
            (script.pop(0) if len(script) > 1 else script[0])(self)

        def log_message(self, *args):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request, client_address):
            pass  # clients that are killed hang up

    with Server(("127.0.0.1", 0), Handler) as running:
        running.pause = threading.Event()
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{running.server_address[1]}", answers=answers, requests=requests)
        running.pause.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def tiny(server):
    """An entry whose one file is TABLE at /canonical/data.csv, its SHA-256 pinned."""
    numbers = np.arange(N_ROWS)
    parsed = Parsed(np.column_stack([numbers, numbers % 7]).astype(float), ["ab"[row % 2] for row in numbers], "xy")
    file = SourceFile("tiny/data.csv", hashlib.sha256(TABLE).hexdigest(), urls=(f"{server.url}/canonical/data.csv",))
    words = {"name": "tiny", "label": "Tiny", "title": "Tiny", "licence": "none", "citation": "none"}
    sizes = {"n_samples": N_ROWS, "n_features": 2, "classes": {"a": N_ROWS // 2, "b": N_ROWS // 2}}
    sha256 = from_parsed("tiny", parsed).content_sha256
    return DatasetEntry(**words, **sizes, parser="table", options={"names": 2}, content_sha256=sha256, files=(file,))


@pytest.fixture
def no_mirror(monkeypatch):
    """Forget the user's mirror."""
    monkeypatch.delenv("KDRBENCH_MIRROR", raising=False)
