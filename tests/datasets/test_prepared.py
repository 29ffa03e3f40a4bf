"""Prepared files that are damaged or missing are made again, of the set's own source."""

import numpy as np
import pytest

from kdrbench.datasets import PreparedFolder, load_dataset, load_prepared, save_prepared
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import DataError

LOADER = """
from dataclasses import dataclass

import numpy as np

@dataclass
class Mine:
    shift: float = 0.0

    def load(self):
        return np.arange(12.0).reshape(6, 2) + self.shift, ["ab"[row % 2] for row in range(6)]
"""


@pytest.fixture(scope="module")
def moons():
    return load_dataset("moons")


@pytest.fixture
def definition(tmp_path):
    (tmp_path / "mine.py").write_text(LOADER)
    return {"loader": f"{tmp_path / 'mine.py'}", "shift": 2.0}


def names_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_a_sound_file_is_read_and_nothing_else_is_done(tmp_path, moons, capsys):
    path = tmp_path / "anything.npz"
    save_prepared(moons, path)
    before = path.stat()
    for sha256 in ({}, {"anything": moons.content_sha256}, {"anything": ""}, {"another": "f" * 64}):
        assert PreparedFolder(tmp_path, sha256).load("anything").content_sha256 == moons.content_sha256
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names_in(tmp_path) == ["anything.npz"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other values"])
def test_a_damaged_file_is_named_and_made_again(tmp_path, moons, capsys, damage):
    path = tmp_path / "moons.npz"
    save_prepared(load_dataset("four-gaussians") if damage == "other values" else moons, path)
    if damage == "missing":
        path.unlink()
    elif damage != "other values":
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 1000])
    unfinished = tmp_path / ".moons.npz.abc"
    unfinished.write_bytes(b"half")
    prepared = PreparedFolder(tmp_path, {"moons": moons.content_sha256})
    assert prepared.load("moons").content_sha256 == moons.content_sha256
    said = capsys.readouterr().err
    assert said.startswith(f"kdrbench: {path} ")
    assert said.endswith("; it is made again\n")
    assert load_prepared(path).content_sha256 == moons.content_sha256
    assert names_in(tmp_path) == ["moons.npz"]
    # It is sound from now on.
    prepared.load("moons")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["file", "folder", "nothing"])
def test_a_damaged_file_without_a_source_is_removed(tmp_path, kind):
    path = tmp_path / "no such set.npz"
    if kind == "file":
        path.write_bytes(b"damaged")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(DataError, match=r"no such set\.npz is to be made again, but unknown data set"):
        PreparedFolder(tmp_path).load("no such set")
    # A folder may hold what is not ours.
    assert path.exists() is (kind == "folder")


def test_a_users_own_set_is_made_again_of_its_definition(tmp_path, definition):
    prepared = PreparedFolder(tmp_path / "prepared", definitions={"mine": definition})
    for _ in range(2):
        data = prepared.load("mine")
        np.testing.assert_array_equal(data.features, np.arange(12.0).reshape(6, 2) + 2.0)
        assert (data.name, data.class_names) == ("mine", ("a", "b"))
    # A definition comes before the registry, and without one the registry is asked.
    assert load_defined("moons", definition).features.shape == (6, 2)
    assert load_defined("moons", {}).content_sha256 == load_dataset("moons").content_sha256


def test_a_mirror_is_asked_for_what_is_to_be_made_again(tmp_path, no_mirror, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with pytest.raises(DataError, match=f"tried: {mirror}"):
        PreparedFolder(tmp_path, mirror=str(mirror)).load("gyrb")
