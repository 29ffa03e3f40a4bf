"""Downloads by several processes, by one that is killed, and onto a disk that is full."""

import signal
import subprocess
import sys
import time

import pytest

from kdrbench.datasets.fetch import Sources, fetch_file
from support.serving import TABLE, dripping, stalling, whole

pytestmark = pytest.mark.usefixtures("no_mirror")
CANONICAL = "/canonical/data.csv"
# A process of its own that fetches the tiny file: arguments are its URL, SHA-256, cache.
SCRIPT = """
import sys, types
from pathlib import Path
from kdrbench.datasets import SourceFile
from kdrbench.datasets.fetch import Sources, fetch_file
url, sha256, cache = sys.argv[1:]
file = SourceFile("tiny/data.csv", sha256, urls=(url,))
entry = types.SimpleNamespace(name="tiny", files=(file,), notes="")
try:
    print(fetch_file(entry, file, Sources(cache=Path(cache), pause_s=0.0), accept=None))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def start(tiny, cache):
    file = tiny.files[0]
    arguments = [file.urls[0], file.sha256, str(cache)]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def kept(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def test_two_processes_at_once_download_once(tiny, server, tmp_path):
    server.answers[CANONICAL] = [dripping]
    for code, out, err in map(finish, [start(tiny, tmp_path), start(tiny, tmp_path)]):
        assert (code, out.strip()) == (0, str(tmp_path / "tiny" / "data.csv")), err
    assert server.requests == [CANONICAL]
    assert (tmp_path / "tiny" / "data.csv").read_bytes() == TABLE
    assert kept(tmp_path) == ["data.csv"]


def test_a_killed_download_is_made_again(tiny, server, tmp_path):
    server.answers[CANONICAL] = [stalling(300_000), whole]
    process = start(tiny, tmp_path)
    try:
        wait_for_a_part(process, tmp_path)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert "data.csv" not in kept(tmp_path)
    path = fetch_file(tiny, tiny.files[0], Sources(cache=tmp_path, pause_s=0.0), accept=None)
    assert path.read_bytes() == TABLE
    assert not list(tmp_path.rglob("*.part"))


def wait_for_a_part(process, folder):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any(path.stat().st_size for path in folder.rglob("*.part")):
            return
        time.sleep(0.01)
    pytest.fail("the download never began")
