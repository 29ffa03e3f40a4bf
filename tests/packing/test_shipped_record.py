"""The record of the papers as it is committed: small, whole, alone; and reports need neither data nor a network."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from kdrbench.bench.attestation import ATTESTATIONS
from kdrbench.bench.evidence import EVIDENCE
from kdrbench.packing import MANIFEST
from kdrbench.packing.folder import PackedFolder

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "results/reference"
# By this empty file a folder is known as made by `kdrbench pack`.
MARK = ".kdrbench-packed"
MOST_BYTES = 20_000_000


def files_of(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def test_the_record_is_small_and_has_the_files_of_its_manifest():
    assert 1_000_000 < sum(path.stat().st_size for path in files_of(REFERENCE).values()) <= MOST_BYTES
    manifest, files = PackedFolder(REFERENCE).manifest, files_of(REFERENCE)
    hashes = {f"{name}.xz": one["sha256"] for name, one in manifest["files"].items()} | manifest["plain"]
    audited = {ATTESTATIONS, *(name for name in files if name.startswith(f"{EVIDENCE}/"))}
    assert set(files) == {*hashes, MANIFEST, MARK} | audited
    wrong = [name for name, known in hashes.items() if hashlib.sha256(files[name].read_bytes()).hexdigest() != known]
    assert wrong == []
    assert len(hashes) > 100
    assert manifest["complete"] is True


@pytest.mark.whole
def test_every_row_was_made_of_committed_sources():
    record = PackedFolder(REFERENCE)
    found = {
        name: sum(row["git_dirty"] == "True" for row in record.rows(f"rows/{name}.csv"))
        for name in record.manifest["experiments"]
    }
    assert found == dict.fromkeys(record.manifest["experiments"], 0)
    assert {name: one["uncommitted"] for name, one in record.manifest["experiments"].items()} == found
    assert "uncommitted" not in (REFERENCE / "README.md").read_text()


def test_no_other_results_are_committed():
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout of git: what is committed cannot be listed")
    said = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = said.stdout.splitlines()
    assert names
    assert [name for name in names if not name.startswith("results/reference/")] == []
