"""The record of the papers as it is committed, with its layers: small, whole, alone; reports need no data."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from kdrbench.suite.archive import MANIFEST
from kdrbench.suite.archive.layers import record_at

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "results/reference"
# By this empty file a folder is known as made by `kdrbench pack`.
MARK = ".kdrbench-packed"
# What lies below a record or beside its files, and is added to.
BESIDE = ("layers", "attestations.jsonl", "evidence")
# Of the base, and of all layers: of more, a new base is packed.
MOST_BYTES, MOST_OF_LAYERS = 20_000_000, 5_000_000


def files_of(folder):
    names = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in names.items() if name.split("/")[0] not in BESIDE}


def test_the_record_is_small_and_has_the_files_of_its_manifests():
    record = record_at(REFERENCE)
    base, *layers = (sum(path.stat().st_size for path in files_of(part.place).values()) for part in record.parts)
    assert 1_000_000 < base <= MOST_BYTES
    assert sum(layers) <= MOST_OF_LAYERS
    for part in record.parts:
        manifest, files = part.manifest, files_of(part.place)
        hashes = {f"{name}.xz": one["sha256"] for name, one in manifest["files"].items()} | manifest["plain"]
        assert set(files) == {*hashes, MANIFEST, MARK}
        found = {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in hashes}
        assert found == hashes
    assert len(record.base.manifest["files"]) > 100
    assert record.manifest["complete"] is True


@pytest.mark.whole
def test_every_row_was_made_of_committed_sources():
    record = record_at(REFERENCE)
    found = [
        row["git_dirty"] for part in record.parts for name in part.names("rows") for row in part.rows(f"rows/{name}")
    ]
    assert set(found) == {"False"}
    assert not any(one["uncommitted"] for one in record.manifest["experiments"].values())
    assert "uncommitted" not in (REFERENCE / "README.md").read_text()


def test_no_other_results_are_committed():
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout of git: what is committed cannot be listed")
    said = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = said.stdout.splitlines()
    assert names
    assert [name for name in names if not name.startswith("results/reference/")] == []
