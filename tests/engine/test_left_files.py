"""Files of a run are read as they were written, or refused with what is wrong."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kdrbench.status import Status
from kdrbench.suite.engine.gate import Asked, collect, read_results
from kdrbench.suite.engine.run import RunResult, hand_over
from kdrbench.suite.engine.run_files import (
    Checkpoint,
    RunFiles,
    kept_checkpoint,
    read_array,
    save_array,
    write_checkpoint,
)
from kdrbench.suite.engine.untrusted import UnreadableError, remove
from support.left_by_runs import left_files, line_of, npy
from support.tiny_stage import TinyRecord


def test_sound_files_are_read_as_they_were_written(tmp_path):
    readers = left_files(tmp_path / "run")
    results, trace, projection, kept = (read() for read in readers.values())
    assert [one.message for one in results.values()] == ["well", "as well"]
    assert [line.calls for line in trace] == [7, 9]
    assert projection.flags.f_contiguous
    np.testing.assert_array_equal(projection, np.eye(5)[:, :2])
    assert (kept.wall_s, kept.cpu_s, kept.iterations, kept.state["rule"].tolist()) == (1.5, 1.25, 3, ["a"])
    np.testing.assert_array_equal(kept.state["state"], np.arange(6.0))


def damaged(content, rng):
    """Cut, flip bits of, repeat or replace some of these bytes."""
    how, at = rng.integers(5), int(rng.integers(len(content)))
    if how == 0:
        return content[:at]
    if how == 1:
        return rng.bytes(int(rng.integers(400)))
    changed = bytearray(content)
    if how == 2:
        for place in rng.integers(len(content), size=rng.integers(1, 9)):
            changed[place] ^= 1 << int(rng.integers(8))
    elif how == 3:
        changed[at:at] = rng.bytes(int(rng.integers(1, 50)))
    else:
        changed[at : at + 40] = content[: int(rng.integers(1, 200))]
    return bytes(changed)


@pytest.mark.attack("gate: damaged files")
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, attack_rng):
    for number in range(80):
        readers = left_files(tmp_path / str(number))
        path, read = list(readers.items())[attack_rng.integers(len(readers))]
        path.write_bytes(damaged(path.read_bytes(), attack_rng))
        with suppress(UnreadableError):
            read()
        remove(tmp_path / str(number))


def test_a_checkpoint_that_cannot_be_read_is_dropped(tmp_path):
    path = tmp_path / "checkpoint.npz"
    for write in (
        lambda: path.write_bytes(b"garbage"),
        lambda: path.mkdir(),
        lambda: write_checkpoint(path, Checkpoint(-1e9, 0.0, 0, {})),
        lambda: np.savez_compressed(path, clock=np.zeros(3), bomb=np.zeros(10**6)),
        lambda: np.savez(path, bomb=np.zeros(3)),
    ):
        write()
        assert kept_checkpoint(path) is None
        assert not path.exists()


def test_removing_follows_no_link_and_opens_locked_folders(tmp_path):
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    (kept / "inside").mkdir(parents=True)
    (folder / "locked").mkdir(parents=True)
    (folder / "link").symlink_to(kept)
    (folder / "locked").chmod(0)
    remove(folder)
    assert not folder.exists()
    assert (kept / "inside").is_dir()
    Path(tmp_path / "other").symlink_to(kept)
    remove(tmp_path / "other")
    assert (kept / "inside").is_dir()


@pytest.mark.parametrize("arrays", [(), ("answer",)])
def test_of_what_a_run_leaves_only_its_own_files_stay(tmp_path, arrays):
    files = RunFiles(tmp_path / "run")
    left_files(files.folder)
    save_array(files.array("answer"), np.ones(1))
    for name in ("answer.txt", "notes", ".hidden.npy", "x y.npy"):
        (files.folder / name).write_text("of the method")
    (files.folder / "folder" / "below").mkdir(parents=True)
    results = collect(files, Asked((("first",),), TinyRecord, arrays), 1.0, 5.0)
    assert [(key, one.status, one.message) for key, one in results.items()] == [(("first",), "converged", "well")]
    named = {f"{name}.npy" for name in arrays or ("answer", "projection")}
    own = {files.results.name, files.trace.name, files.checkpoint.name}
    assert {path.name for path in files.folder.iterdir()} == own | named


@pytest.mark.parametrize(
    "changes",
    [{"key": "first"}, {"key": {}}, {"key": [{}]}, {"columns": [["answer", 1.0]]}, {"columns": None}, {"cpu_s": True}],
)
def test_a_line_without_a_key_columns_or_seconds_is_no_result(tmp_path, changes):
    files = RunFiles(tmp_path)
    files.results.write_text(line_of() + "\n" + json.dumps(json.loads(line_of()) | changes) + "\n")
    with pytest.raises(UnreadableError, match=r"line 2 of results.jsonl is no result: "):
        read_results(files)


@pytest.mark.parametrize("shape", [(0, 3), ()])
def test_arrays_without_a_side_or_entries_are_read(tmp_path, shape):
    save_array(tmp_path / "answer.npy", np.ones(shape))
    assert read_array(tmp_path / "answer.npy").shape == shape


@pytest.mark.parametrize("shape", ["(-1, -1)", "(-2, 0)", "(True, -1)", f"(0, {2**62}, {2**62})"])
def test_an_impossible_shape_is_refused(tmp_path, shape):
    path = tmp_path / "answer.npy"
    for data in (b"", bytes(8)):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n"
        path.write_bytes(npy(header)[:-8] + data)
        with pytest.raises(UnreadableError, match=r"^answer.npy "):
            read_array(path)


@pytest.mark.parametrize(("names", "refused"), [(["answer"], False), (["a", "b"], True)])
def test_arrays_alone_and_all_of_them_count_as_arrays(tmp_path, monkeypatch, names, refused):
    monkeypatch.setattr("kdrbench.suite.engine.gate.MOST_ARRAY", 300)
    files = RunFiles(tmp_path)
    files.trace.write_text("[0.1, -3.5, 0.01, 7]\n" * 100)
    hand_over(files, RunResult(Status.CONVERGED, "well", key=("first",)))
    for name in names:
        # The header takes 128 bytes.
        save_array(files.array(name), np.ones(10))
    results = collect(files, Asked((("first",),), TinyRecord), 1.0, 5.0)
    message = "the arrays up to b.npy hold more than 300 bytes" if refused else "well"
    assert [one.message for one in results.values()] == [message]


@pytest.mark.parametrize("cut", [1, 40])
def test_an_unfinished_last_line_is_left_out(tmp_path, cut):
    files = RunFiles(tmp_path)
    files.results.write_text(line_of() + "\n" + line_of("second")[:-cut])
    assert list(read_results(files)) == [("first",)]
    files.results.write_text(line_of()[:-cut])
    assert read_results(files) == {}
