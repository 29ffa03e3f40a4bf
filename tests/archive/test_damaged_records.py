"""Packed records that are damaged: each fault is a sentence that names the file, and no results are left."""

import json
import lzma
import os
import shutil

import pytest

from kdrbench.errors import KdrbenchError
from kdrbench.files import write_text
from kdrbench.suite.archive import folder
from kdrbench.suite.archive.layers import record_at
from kdrbench.suite.archive.unpack import opened, unpack
from support.command_line import kdrbench


@pytest.fixture
def record(packed, tmp_path):
    return shutil.copytree(packed, tmp_path / "in/packed")


def rewrite(record, name, content, *, packed=None):
    """Put other content into a file, and its hash into the manifest."""
    path, manifest = record / f"{name}.xz", json.loads((record / "manifest.json").read_text())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(content) if packed is None else packed)
    manifest["files"][name] = {"bytes": 0, "sha256": folder.hashlib.sha256(path.read_bytes()).hexdigest()}
    (record / "manifest.json").write_text(json.dumps(manifest))


def text_of(record, name):
    return lzma.decompress((record / f"{name}.xz").read_bytes()).decode()


def replaced(name, old, new):
    def work(record):
        text = text_of(record, name)
        assert old in text
        rewrite(record, name, text.replace(old, new).encode())

    return work


def of_manifest(work):
    def change(record):
        manifest = json.loads((record / "manifest.json").read_text())
        work(manifest)
        (record / "manifest.json").write_text(json.dumps(manifest))

    return change


def cut(record):
    path = record / "rows/first.csv.xz"
    rewrite(record, "rows/first.csv", b"", packed=path.read_bytes()[:-20])


ROWS, ARRAYS, VALUES, TRACES = "rows/first.csv", "arrays/first.csv", "arrays/first.f4.npy", "traces/first.csv"
# By what is damaged: each fault, and what is said of it.
FAULTS = {
    "files": [
        (lambda r: (r / "rows/first.csv.xz").write_bytes(b"x"), "has not the SHA-256"),
        (lambda r: (r / "traces/first.csv.xz").unlink(), "is missing"),
        (cut, "is no file of xz"),
        (lambda r: rewrite(r, ROWS, b"", packed=b"no file of xz at all"), "is no file of xz"),
    ],
    "manifest": [
        (lambda r: (r / "manifest.json").write_text("[]"), "its format is not"),
        (of_manifest(lambda m: m.update(version=1)), "its version is 1"),
        (
            of_manifest(lambda m: m["files"].update({"charts/../../x.json": {"sha256": ""}})),
            "no file of such a record",
        ),
        (of_manifest(lambda m: m["experiments"].update(third={})), "has no rows of"),
    ],
    "rows": [
        (replaced(ROWS, "first/wine/", "first/../../wine/"), "no job's"),
        (replaced(ROWS, "converged", "conquered"), "unknown status"),
        (replaced("configuration.json", '"seed":', '"name":"../x","seed":'), "has no configuration"),
        (
            replaced("configuration.json", '"run":["first",', '"run":["other","first",'),
            "which is none of its experiments",
        ),
    ],
    "traces": [
        (replaced(TRACES, "wine/gaussian/ism,0,", "wine/gaussian/ism,0,x"), "is no point"),
        (replaced(TRACES, "ism,0,", "ism,0,0,0,0,0,"), "line 2 has 11 cells in place of 7"),
    ],
    "arrays": [
        (replaced(ARRAYS, "13x4", "130000x4"), "names no array"),
        (replaced(ARRAYS, ",f4,", ",x4,"), "names no array"),
        (replaced(ARRAYS, ",0,\n", ",0,../rows/first\n"), "names no arrays/../rows"),
        (lambda r: rewrite(r, VALUES, b"x"), "is no array of NumPy's"),
    ],
}


@pytest.mark.parametrize("part", FAULTS)
def test_each_fault_is_said_and_no_results_are_left(packed, tmp_path, part):
    for number, (work, said) in enumerate(FAULTS[part]):
        folder = tmp_path / str(number)
        record = shutil.copytree(packed, folder / "in/packed")
        work(record)
        with pytest.raises(KdrbenchError, match=said):
            unpack(record_at(record), folder / "out/results")
        # Nor is anything that could be taken for results.
        written = {path for path in tmp_path.rglob("*") if "in" not in path.relative_to(tmp_path).parts}
        assert written <= {folder, folder / "out", folder / "out/results"}, said
        shutil.rmtree(folder)


def test_a_killed_unpacking_leaves_no_results(record, tmp_path, monkeypatch):
    out, writes = tmp_path / "out", iter(range(100))

    def killed(path, text):
        if next(writes) == 1:
            os._exit(9)
        write_text(path, text)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr("kdrbench.suite.engine.publish.write_text", killed)
        unpack(record_at(record), out)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not (out / "config.json").exists()
    assert not (out / "runs").exists()
    (out / "data").mkdir()
    assert unpack(record_at(record), out) == ["first", "second"]
    assert {path.name for path in out.iterdir() if path.name.startswith(".")} == set()
    with pytest.raises(KdrbenchError, match="holds results"):
        unpack(record_at(record), out)


def test_a_trace_that_is_cut_is_said_by_its_path(results, tmp_path):
    mine = shutil.copytree(results, tmp_path / "mine")
    path = next(path for path in sorted((mine / "traces").rglob("*")) if path.is_file())
    path.write_bytes(path.read_bytes()[:-20])
    done = kdrbench("pack", mine, "--out", tmp_path / "out")
    assert (done.exit_code, f"{path} is no trace" in done.stderr) == (2, True), done.exception
    assert not (tmp_path / "out").exists()


def test_a_record_includes_no_other(record):
    replaced("configuration.json", '"seed":', '"include":"/tmp","seed":')(record)
    with opened(record) as place:
        assert "include" not in json.loads((place / "config.json").read_text())
