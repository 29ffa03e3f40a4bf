"""What a packed record states of itself is compared with what is there."""

import hashlib
import json
import lzma
import shutil

import pytest
from click.testing import CliRunner

from kdrbench.suite.archive.folder import PackedFolder
from kdrbench.suite.archive.unpack import opened
from kdrbench.suite.cli import main
from kdrbench.suite.verification.manifest import of_figures, of_stated
from kdrbench.suite.verification.record import Record
from kdrbench.suite.verification.verify import verify


@pytest.fixture
def place(packed_place, tmp_path):
    return shutil.copytree(packed_place, tmp_path / "record")


def change(place, work):
    path = place / "manifest.json"
    manifest = json.loads(path.read_text())
    work(manifest)
    path.write_text(json.dumps(manifest))


def add(place, name, content):
    path = place / f"{name}.xz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(content))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    change(place, lambda m: m["files"].update({name: {"bytes": path.stat().st_size, "sha256": sha256}}))


def found_in(place):
    with opened(place) as folder:
        findings = verify(Record(folder, own_code=True), figures=["clusters_scatter"]).findings
    return {(finding.place, finding.column) for finding in findings}


def drop(place, name, *, said=True):
    """Take an experiment out of a record with its files; ``said`` is what the record then says of itself."""

    def work(manifest):
        del manifest["experiments"][name]
        kept = {file: one for file, one in manifest["files"].items() if f"/{name}." not in file}
        manifest |= {"files": kept, "complete": said}

    change(place, work)
    for path in [*place.rglob(f"{name}.*")]:
        path.unlink()


@pytest.mark.slow("makes and packs the record of all tests of this module")
@pytest.mark.parametrize("said", [True, False])
def test_an_experiment_that_is_missing_is_found(place, said):
    drop(place, "folds", said=said)
    assert found_in(place) == {("folds", "experiment"), *([("manifest.json", "complete")] if said else [])}


COUNTS = ["rows", "jobs", "jobs_missing", "timed", "disturbed", "projections_not_stored"]


def test_all_that_is_stated_is_compared(place):
    def work(manifest):
        one = manifest["experiments"]["folds"]
        one |= {word: one[word] + 1 for word in COUNTS}
        one |= {"complete": not one["complete"], "other_limits_s": {"7.0": 3}}
        manifest |= {"complete": False, "whole": "yes"}

    change(place, work)
    stated = {("manifest.json/folds", word) for word in [*COUNTS, "complete", "other_limits_s"]}
    assert found_in(place) == {*stated, ("manifest.json", "complete"), ("manifest.json", "whole")}


@pytest.mark.slow("packs a record in another way")
def test_a_record_without_some_projections_is_not_whole(made, tmp_path):
    words = ["pack", str(made), "--out", str(tmp_path / "record"), "--cell-kib", "0"]
    assert CliRunner().invoke(main, words).exit_code == 0
    with opened(tmp_path / "record") as folder:
        found = verify(Record(folder, own_code=True))
    assert found.findings == []
    # The second folds of four kernels and two solvers.
    assert found.left_out["projections that the record does not store"] == 8
    change(tmp_path / "record", lambda manifest: manifest.update(whole=True))
    assert found_in(tmp_path / "record") == {("manifest.json", "whole")}


def test_charts_and_findings_that_nothing_makes_are_found(place):
    add(place, "charts/nothing.json", b"{}")
    add(place, "others/checks-nothing.json", b"{}")
    assert found_in(place) == {("charts/nothing", "file"), ("checks/nothing", "file")}


def test_charts_of_the_configuration_are_counted(place):
    assert "charts/clusters_scatter.json" not in PackedFolder(place).manifest["files"]
    add(place, "charts/clusters_scatter.json", b"{}")
    with opened(place) as folder:
        assert list(of_figures(Record(folder, own_code=True), ["clusters_scatter"])) == [
            "figures that show samples of data"
        ]


def test_results_that_were_not_packed_state_nothing(made):
    assert list(of_stated(Record(made, own_code=True), {})) == []
