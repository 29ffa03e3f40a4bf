"""Packed records of a stranger's: each fault is a sentence, and nothing is written outside the folder."""

import io
import json
import lzma
import os
import pickle
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from kdrbench.cli import main
from kdrbench.errors import KdrbenchError
from kdrbench.files import write_text
from kdrbench.packing import arrays, folder
from kdrbench.packing.layers import record_at
from kdrbench.packing.unpack import opened, unpack


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


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def linked(record):
    path = record / "rows/first.csv.xz"
    path.rename(record / "elsewhere")
    path.symlink_to(record / "elsewhere")


def piped(record):
    (record / "rows/first.csv.xz").unlink()
    os.mkfifo(record / "rows/first.csv.xz")


def linked_folder(record):
    (record / "rows").rename(record / "elsewhere")
    (record / "rows").symlink_to(record / "elsewhere")


def of_text(old, new):
    """Change the text of the manifest."""

    def work(record):
        path = record / "manifest.json"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return work


def cut(record):
    path = record / "rows/first.csv.xz"
    rewrite(record, "rows/first.csv", b"", packed=path.read_bytes()[:-20])


def endless(record):
    """Put a cell into a trace that is longer than any."""
    replaced(TRACES, "ism,0,", f"{'i' * 2**18},0,")(record)


def many_calls(text):
    head, first, rest = text.split("\n", 2)
    return "\n".join([head, f"{first.rpartition(',')[0]},{'9' * 4000}", rest]).encode()


ROWS, ARRAYS, VALUES, TRACES = "rows/first.csv", "arrays/first.csv", "arrays/first.f4.npy", "traces/first.csv"
# By what is damaged: each fault, and what is said of it.
FAULTS = {
    "files": [
        (lambda r: (r / "rows/first.csv.xz").write_bytes(b"x"), "has not the SHA-256"),
        (lambda r: (r / "traces/first.csv.xz").unlink(), "is missing"),
        (linked, "is no plain file"),
        (piped, "is no plain file"),
        (linked_folder, "is a link to another folder"),
        (cut, "is cut, or unfolds to more"),
        (lambda r: rewrite(r, ROWS, b"", packed=b"no file of xz at all"), "is no file of xz"),
        (lambda r: (r / "README.md").write_text("buy"), "README.md has not the SHA-256"),
        (lambda r: (r / "LICENSE").unlink(), "LICENSE is missing"),
        (lambda r: rewrite(r, "charts/x.json", b"<script>"), "charts/x.json is no JSON"),
    ],
    "manifest": [
        (lambda r: (r / "manifest.json").write_text("[]"), "its format is not"),
        (lambda r: (r / "manifest.json").write_text("[" * 10**5), "is no manifest"),
        (of_text('"whole": false', '"whole": NaN'), "is no manifest"),
        (of_text('"whole": false', '"whole": false, "whole": true'), "'whole' is there twice"),
        (of_manifest(lambda m: m.update(version=1)), "its version is 1"),
        (
            of_manifest(lambda m: m["files"].update({"charts/../../x.json": {"sha256": ""}})),
            "no file of such a record",
        ),
        (of_manifest(lambda m: m["experiments"].update(third={})), "has no rows of"),
        (
            of_manifest(lambda m: m["experiments"]["first"].update(other_limits_s={"-1": 3})),
            "3 rows with a limit of -1 s",
        ),
        (of_manifest(lambda m: m.update(licence="CC0-1.0")), "not of the licence that the manifest"),
    ],
    "rows": [
        (replaced(ROWS, "first/wine/", "first/../../wine/"), "no job's"),
        (replaced(ROWS, "converged", "conquered"), "unknown status"),
        (replaced(ROWS, "first,wine", "second,wine"), "a row of 'second' among those"),
        (replaced("configuration.json", '"seed":', '"name":"../x","seed":'), "has no configuration"),
        (
            replaced("configuration.json", '"run":["first",', '"run":["other","first",'),
            "which is none of its experiments",
        ),
    ],
    "traces": [
        (replaced(TRACES, "first/wine/gaussian/ism", "first/wine/gaussian/x"), "a job without rows"),
        (replaced(TRACES, "wine/gaussian/ism,0,", "wine/gaussian/ism,0,nan"), "is no point"),
        (replaced(TRACES, "wine/gaussian/ism,0,", "wine/gaussian/ism,0,-"), "is no point"),
        (lambda r: rewrite(r, TRACES, many_calls(text_of(r, TRACES))), "is no point"),
        (replaced(TRACES, "ism,0,", "ism,0,0,0,0,0,"), "more cells than there are columns"),
        (endless, "is no table"),
    ],
    "arrays": [
        (replaced(ARRAYS, "labels_0", "projection_0"), "is there already"),
        (replaced(ARRAYS, "first/wine/gaussian/ism", "first/wine/x"), "a job without rows"),
        (replaced(ARRAYS, ",wine/", ",../wine/"), "names no array"),
        (replaced(ARRAYS, "13x4", "130000x4"), "names no array"),
        (replaced(ARRAYS, "13x4", "-13x-4"), "names no array"),
        (replaced(ARRAYS, ",f4,", ",O8,"), "names no array"),
        (replaced(ARRAYS, ",f4,f4,", ",U9999,f4,"), "holds U9999, .* stored as f4"),
        (replaced(ARRAYS, ",0,\n", ",0,../rows/first\n"), "names no arrays/../rows"),
        (lambda r: rewrite(r, VALUES, npy(np.array([{}], dtype=object))), "only plain numbers"),
        (lambda r: rewrite(r, VALUES, pickle.dumps(print)), "is no array of NumPy's"),
        (lambda r: rewrite(r, VALUES, npy(np.zeros(104))), "holds float64"),
    ],
}


@pytest.mark.parametrize("part", FAULTS)
def test_each_fault_is_said_and_nothing_is_written_elsewhere(packed, tmp_path, part):
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
        monkeypatch.setattr("kdrbench.bench.publish.write_text", killed)
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
    done = CliRunner().invoke(main, ["pack", str(mine), "--out", str(tmp_path / "out")])
    assert (done.exit_code, f"{path} is no trace" in done.stderr) == (2, True), done.exception
    assert not (tmp_path / "out").exists()


def test_a_record_includes_no_other(record):
    replaced("configuration.json", '"seed":', '"include":"/tmp","seed":')(record)
    with opened(record) as place:
        assert "include" not in json.loads((place / "config.json").read_text())


def test_what_unfolds_to_more_than_is_read_is_refused(record, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_MOST_UNFOLDED", 1000)
    with pytest.raises(KdrbenchError, match="unfolds to more than 1000 bytes"):
        unpack(record_at(record), tmp_path / "out")


def test_sizes_of_arrays_are_added_up_before_any_is_read(record, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_MOST_DECLARED", 13 * 4 * 4 + 1)
    monkeypatch.setattr(arrays, "array_of", None)
    with pytest.raises(KdrbenchError, match="with it the arrays take more than 209 bytes"):
        unpack(record_at(record), tmp_path / "out")


@pytest.mark.parametrize("name", [ROWS, TRACES, ARRAYS])
def test_a_table_of_too_many_lines_is_refused(record, tmp_path, monkeypatch, name):
    others = [text_of(record, one).count("\n") for one in (ROWS, TRACES, ARRAYS)]
    text = text_of(record, name)
    rewrite(record, name, (text + (text.splitlines()[-1] + "\n") * max(others)).encode())
    monkeypatch.setattr(folder, "MOST_LINES", max(others))
    with pytest.raises(KdrbenchError, match=f"{name} has [0-9]+ lines; at most {max(others)} are read"):
        unpack(record_at(record), tmp_path / "out")


def test_a_record_larger_than_memory_is_refused(record, tmp_path, monkeypatch):
    def none(*_):
        raise MemoryError

    monkeypatch.setattr("kdrbench.packing.unpack.read_traces", none)
    with pytest.raises(KdrbenchError, match="needs more memory than there is"):
        unpack(record_at(record), tmp_path / "out")
    assert not (tmp_path / "out/config.json").exists()
