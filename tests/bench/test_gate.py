"""Whatever a run leaves, its batch ends with a row for each key, and a failed row says what was wrong."""

import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kdrbench.bench.batch import Bundle
from kdrbench.bench.gate import Asked, collect, read_results, row_message
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.isolation.supervisor import SupervisionError
from kdrbench.bench.job import run_job
from kdrbench.bench.publish import JobFiles
from kdrbench.bench.run import RunResult, hand_over
from kdrbench.bench.run_files import (
    Checkpoint,
    RunFiles,
    TraceLine,
    kept_checkpoint,
    read_array,
    read_trace,
    save_array,
    write_checkpoint,
)
from kdrbench.bench.untrusted import UnreadableError, remove, visible
from kdrbench.status import Status
from support.one_batch import context_of, referee_in
from support.tiny_stage import DATA, TinyRecord, TinyStage, tiny_batch

LIMITS = Limits(time_s=5.0, memory_mib=256)


def run(stage, results, limits=LIMITS):
    bundle = Bundle("e/cheap", (tiny_batch(runs=[0]),))
    return run_job(stage, bundle, lambda name: DATA, context_of(limits), JobFiles.of(results, bundle.path))


class Strikes(TinyStage):
    """Hands good results over, then strikes."""

    def __init__(self, strike):
        self.strike = strike

    def run(self, batch, dataset, number, referee):
        referee.save("answer", np.array([15.0]))
        for key in batch.rows:
            yield RunResult(Status.CONVERGED, "well", 0.1, 0.1, {"answer": 15.0}, key)
        self.strike(referee)


class StrikesFirst(Strikes):
    """Strikes before it hands anything over."""

    def run(self, batch, dataset, number, referee):
        self.strike(referee)
        yield from (RunResult(Status.CONVERGED, "well", key=key) for key in batch.rows)


def line_of(key="first", **changes):
    values = {"status": "converged", "message": "well", "time_s": 0.1, "cpu_s": 0.1, "columns": {}, "key": [key]}
    values |= {"clocked_s": 0.1, "clocked_cpu_s": 0.1}
    return json.dumps(values | changes)


def writes(text, name="results.jsonl"):
    """A strike that puts bytes in place of one of the run's files."""

    def strike(referee):
        (referee.files.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return strike


def replaces(name, make):
    """A strike that puts something in place of one of the run's files."""

    def strike(referee):
        path = referee.files.folder / name
        path.unlink(missing_ok=True)
        make(path)

    return strike


def npy(header):
    """A file of NumPy's with this header and eight bytes."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"
OBJECTS = "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n"
RECORDS = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}\n"
DEEP = "{'descr': '<f8', 'shape': " + "(" * 4000 + "\n"
FILES = {
    "garbage results": (writes(b"\xff\x00garbage\n"), "line 1 of results.jsonl is not JSON: "),
    "a list": (writes("[1]\n"), "line 1 of results.jsonl is no result: [1]"),
    "no column is one": (writes(line_of(columns=[]) + "\n"), "line 1 of results.jsonl is no result: "),
    "a key of keys": (writes(line_of(key=[["first"]]) + "\n"), "line 1 of results.jsonl is no result: "),
    "negative seconds": (writes(line_of(time_s=-1.0) + "\n"), "line 1 of results.jsonl is no result: "),
    "seconds of words": (writes(line_of(cpu_s="1") + "\n"), "line 1 of results.jsonl is no result: "),
    "half a clock": (writes(line_of(clocked_s=None) + "\n"), "line 1 of results.jsonl is no result: "),
    "endless seconds": (writes(line_of().replace("0.1", "1e999") + "\n"), "line 1 of results.jsonl is no result: "),
    "not a number": (writes(line_of().replace("0.1", "NaN") + "\n"), "line 1 of results.jsonl is not JSON: "),
    "nested without end": (writes("[" * 100_000 + "\n"), "line 1 of results.jsonl is not JSON: "),
    "a long line": (writes("x" * 2**21), "line 1 of results.jsonl is longer than 1048576 bytes"),
    "30 MB of results": (writes(b"{}\n" * 10**7), "results.jsonl holds 30000000 bytes; at most 8388608 are read"),
    "a sparse file": (replaces("trace.jsonl", lambda path: truncate(path, 10**13)), "trace.jsonl holds 10000000000000"),
    "a garbage trace": (writes("garbage\n", "trace.jsonl"), "line 1 of trace.jsonl is not JSON: b'garbage"),
    "a trace of words": (writes('["a", 1, 2]\n', "trace.jsonl"), "line 1 of trace.jsonl is none of a trace: "),
    "an infinite trace": (writes("[0.1, 1e999, 1]\n", "trace.jsonl"), "line 1 of trace.jsonl is none of a trace: "),
    "an empty array": (writes(b"", "answer.npy"), "answer.npy is no array of NumPy's: it begins with b''"),
    "an empty further array": (writes(b"", "more.npy"), "more.npy is no array of NumPy's"),
    "a huge array": (writes(npy(HUGE), "answer.npy"), "answer.npy holds 8 bytes of data; its header says 80000000000"),
    "pickled objects": (writes(npy(OBJECTS), "answer.npy"), "answer.npy holds object; only plain numbers"),
    "records": (writes(npy(RECORDS), "answer.npy"), "answer.npy holds [('a', '<f8')]; only plain numbers"),
    "a deep header": (writes(npy(DEEP), "answer.npy"), "answer.npy is no array of NumPy's"),
    "a folder": (replaces("answer.npy", os.mkdir), "answer.npy is no plain file"),
    "a pipe": (replaces("results.jsonl", os.mkfifo), "results.jsonl is no plain file"),
    "a link": (replaces("trace.jsonl", lambda path: path.symlink_to("/dev/zero")), "trace.jsonl is no plain file"),
}


def truncate(path, size):
    with path.open("wb") as stream:
        stream.truncate(size)


def test_many_large_arrays_are_refused(tmp_path):
    def strike(referee):
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (16777216,)}\n"
        for name in "ab":
            path = referee.files.array(name)
            path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            os.truncate(path, path.stat().st_size + 2**27)

    rows = run(Strikes(strike), tmp_path, Limits(20.0, 256))
    assert {row.message for row in rows} == {"the arrays up to b.npy hold more than 268435456 bytes"}


def test_a_trace_ends_where_there_is_no_more_room(tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.bench.referee.MOST_TRACE", 60)
    referee = referee_in(tmp_path)
    for number in range(5):
        referee.note(TraceLine(float(number), -1.0, 0.5))
    assert [line.time_s for line in read_trace(referee.files.trace)] == [0.0, 1.0]


@pytest.mark.attack("gate: files of a run")
@pytest.mark.parametrize("what", FILES)
def test_what_cannot_be_read_is_a_failed_row_that_says_so(tmp_path, what):
    strike, message = FILES[what]
    rows = run(Strikes(strike), tmp_path)
    assert [row.half for row in rows] == ["first", "second"]
    assert {row.status for row in rows} == {"failed"}
    assert rows[0].message.startswith(message), rows[0].message
    # Nothing is left that publishing, or reading the rows again, falls over.
    assert run(TinyStage(), tmp_path) == rows


CLAIMS = {
    "skipped": ({"status": "skipped"}, "only the bench skips runs; it said skipped: well"),
    "time_limit": ({"status": "time_limit"}, "s of its limit of 5 s; it said time_limit: well"),
    "fine": ({"status": "fine"}, "'fine' is no status: well"),
    "a status of lists": ({"status": [[]]}, "'[[]]' is no status: well"),
    "a bench's column": ({"columns": {"time_limit_s": 9.0}}, "a run leaves no column 'time_limit_s' of TinyRecord; it"),
    "its own status": ({"columns": {"status": "converged"}}, "a run leaves no column 'status' of TinyRecord; it said"),
    "no column": ({"columns": {"anwser": 1.0}}, "a run leaves no column 'anwser' of TinyRecord; it said converged"),
    "words": ({"columns": {"answer": "42"}}, "column answer holds '42', which is not of type float | None; it said"),
    "a truth": ({"columns": {"answer": True}}, "column answer holds True, which is not of type float | None; it said"),
    "too large": ({"columns": {"answer": 10**400}}, "which is not of type float | None; it said converged: well"),
}


@pytest.mark.attack("gate: claims")
@pytest.mark.parametrize("what", CLAIMS)
def test_a_run_may_not_say_everything(tmp_path, what):
    changes, message = CLAIMS[what]
    both = "".join(line_of(half, **changes) + "\n" for half in ("first", "second"))
    rows = run(Strikes(writes(both)), tmp_path)
    assert {row.status for row in rows} == {"failed"}
    assert message in rows[0].message
    assert rows[0].provenance.time_limit_s == 5.0


def test_what_the_batch_knows_is_not_for_the_run_to_say(tmp_path):
    lines = line_of(columns={"n_samples": 1000}) + "\n" + line_of("second") + "\n" + line_of("third") + "\n"
    rows = run(Strikes(writes(lines)), tmp_path)
    assert [(row.half, row.status, row.n_samples) for row in rows] == [
        ("first", "converged", 3),
        ("second", "converged", 3),
    ]


def test_a_method_may_say_that_it_stalled_or_used_its_iterations_up(tmp_path):
    lines = line_of(status="stalled") + "\n" + line_of("second", status="max_iterations") + "\n"
    assert [row.status for row in run(Strikes(writes(lines)), tmp_path)] == ["stalled", "max_iterations"]


def test_an_early_time_limit_is_seen_within_the_run(tmp_path):
    class Early(TinyStage):
        def run(self, batch, dataset, number, referee):
            for key in batch.rows:
                yield RunResult(Status.TIME_LIMIT, "no time", key=key)

    rows = run(Early(), tmp_path)
    assert {(row.status, row.message) for row in rows} == {("failed", "said time_limit after 0 s of 5 s")}


HELD = []


def use_up_files(referee):
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    while True:
        HELD.append(os.open("/dev/null", os.O_RDONLY))


def forbid_large_files(referee):
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


def close_everything(referee):
    os.closerange(0, 256)


def remove_the_folder(referee):
    remove(referee.files.folder)


def put_a_file_for_the_folder(referee):
    remove(referee.files.folder)
    referee.files.folder.write_text("mine")


def link_the_folder(referee):
    elsewhere = referee.files.folder.with_name("elsewhere")
    elsewhere.mkdir(exist_ok=True)
    remove(referee.files.folder)
    referee.files.folder.symlink_to(elsewhere)


def lock_the_folder(referee):
    referee.files.folder.chmod(0)


def recurse(referee):
    recurse(referee)


def forbid_recursion(referee):
    sys.setrecursionlimit(60)


def raise_what_cannot_be_shown(referee):
    class SilentError(Exception):
        def __str__(self):
            raise ValueError("not for you")

    raise SilentError


def blame_the_bench(referee):
    os._exit(70)


def blame_a_package_that_is_there(referee):
    raise ImportError("no numpy here", name="numpy")


EXHAUSTIONS = [
    use_up_files,
    forbid_large_files,
    close_everything,
    remove_the_folder,
    put_a_file_for_the_folder,
    link_the_folder,
    lock_the_folder,
    recurse,
    forbid_recursion,
    raise_what_cannot_be_shown,
    blame_the_bench,
    blame_a_package_that_is_there,
]


@pytest.mark.attack("gate: exhaustion")
@pytest.mark.parametrize("strike", EXHAUSTIONS, ids=lambda strike: strike.__name__)
def test_a_run_that_spoils_its_own_process_has_its_rows(tmp_path, strike):
    rows = run(StrikesFirst(strike), tmp_path)
    # Some of these can be survived: what matters is that the batch ends and its rows can be read again.
    assert [row.half for row in rows] == ["first", "second"]
    assert run(TinyStage(), tmp_path) == rows
    assert strike in (link_the_folder, lock_the_folder, close_everything) or {row.status for row in rows} == {"failed"}
    assert not (tmp_path / ".workspace/e/tiny/it/0-0/run-0").is_symlink()


def test_who_blames_the_bench_twice_has_failed(tmp_path):
    tries = tmp_path / "tries"

    def blame(referee):
        with tries.open("a") as stream:
            stream.write("once\n")
        os._exit(70)

    rows = run(StrikesFirst(blame), tmp_path)
    assert tries.read_text() == "once\nonce\n"
    message = "could not write its result, or lacks a package; the batch lacks neither, twice"
    assert {(row.status, row.message) for row in rows} == {("failed", message)}


def test_a_package_that_is_missing_is_the_benchs_fault_and_tried_once(tmp_path, capfd):
    def want(referee):
        import no_such_module  # noqa: F401

    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(StrikesFirst(want), tmp_path)
    # Once by the run, once by the batch.
    assert capfd.readouterr().err.count("ModuleNotFoundError: No module named 'no_such_module'") == 2


def test_a_folder_that_no_process_can_write_is_the_benchs_fault(tmp_path, monkeypatch):
    def fail(path, array):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kdrbench.bench.referee.save_array", fail)
    monkeypatch.setattr("kdrbench.bench.run.save_array", fail)
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(TinyStage(), tmp_path)


def test_what_cannot_be_evaluated_is_a_failed_row(tmp_path):
    class Unscored(TinyStage):
        def prepare(self, batch, dataset, context):
            made = super().prepare(batch, dataset, context)

            class Bad:
                arrays = ()

                def run(self, referee):
                    return made(0).run(referee)

                def score(self, files):
                    raise ArithmeticError("the kernel is 0/0")

            return lambda number: Bad()

    rows = run(Unscored(), tmp_path)
    why = "what the run left cannot be evaluated: ArithmeticError: the kernel is 0/0; it said converged: well"
    assert (rows[0].status, rows[0].message, rows[0].n_samples) == ("failed", why, 3)


MESSAGES = ["gone\r", "\ud800", b"bytes", 42, "\x00\x1b[31m\x9b\u2028\u202e", "=cmd|' /C calc'!A0", "x" * 30_000_000]


@pytest.mark.attack("gate: message")
@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_is_one_short_line_in_its_row(tmp_path, message, capfd):
    class Says(TinyStage):
        def run(self, batch, dataset, number, referee):
            yield RunResult(Status.CONVERGED, message, key=("first",))
            raise ValueError(message)

    first, second = run(Says(), tmp_path)
    assert (first.status, second.status) == ("converged", "failed")
    for row in (first, second):
        assert row.message.isprintable()
        assert 0 < len(row.message) <= 1000
    assert run(TinyStage(), tmp_path) == [first, second]
    assert len(capfd.readouterr().err) < 10**6


def test_the_rest_of_a_message_is_in_the_log(capsys):
    assert row_message("a" * 1000) == "a" * 1000
    assert row_message("a" * 990 + "end of it all") == "a" * 990 + "end of ..."
    assert capsys.readouterr().err == "a message in full: " + "a" * 990 + "end of it all\n"
    assert row_message("caf\u00e9\u00a0\u2713 \\n") == "caf\u00e9\u00a0\u2713 \\n"


@pytest.mark.attack("gate: message")
def test_random_messages_are_visible_and_stay_as_they_are(attack_rng):
    codes = attack_rng.integers(0, 0x11_0000, 2000)
    codes[: len(codes) // 2] %= 0x100
    text = "".join(map(chr, codes))
    shown = visible(text)
    assert visible(shown) == shown
    assert "\r" not in shown
    assert len(shown.splitlines()) == 1
    assert shown.encode() is not None


def left_files(folder):
    """The files of a run as the bench writes them, with what reads each."""
    files = RunFiles(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hand_over(files, RunResult(Status.CONVERGED, "well", 0.5, 0.4, {"answer": 1.5}, ("first",)))
    hand_over(files, RunResult(Status.STALLED, "as well", 0.5, 0.4, {}, ("second",)))
    files.trace.write_text("[0.1, -3.5, 0.01, 7]\n[0.2, -4.5, 0.001, 9]\n")
    save_array(files.array("projection"), np.asfortranarray(np.eye(5)[:, :2]))
    write_checkpoint(files.checkpoint, Checkpoint(1.5, 1.25, 3, {"state": np.arange(6.0), "rule": np.array(["a"])}))
    return {
        files.results: lambda: read_results(files),
        files.trace: lambda: read_trace(files.trace),
        files.array("projection"): lambda: read_array(files.array("projection")),
        files.checkpoint: lambda: kept_checkpoint(files.checkpoint),
    }


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
    for number in range(200):
        readers = left_files(tmp_path / str(number))
        path, read = list(readers.items())[attack_rng.integers(len(readers))]
        path.write_bytes(damaged(path.read_bytes(), attack_rng))
        with suppress(UnreadableError):
            read()
        remove(tmp_path / str(number))


@pytest.mark.attack("gate: damaged files")
def test_a_batch_ends_with_its_rows_whatever_is_damaged(tmp_path, attack_rng):
    for number in range(4):
        name = attack_rng.choice(["results.jsonl", "trace.jsonl", "answer.npy", "checkpoint.npz", "x\n.npy", "\udc80"])
        seed = int(attack_rng.integers(2**32))

        def strike(referee, name=name, seed=seed):
            path = referee.files.folder / str(name)
            content = path.read_bytes() if path.exists() else b"PK\x03\x04 some bytes"
            path.write_bytes(damaged(content, np.random.default_rng(seed)))

        results = tmp_path / str(number)
        rows = run(Strikes(strike), results)
        assert [row.half for row in rows] == ["first", "second"]
        assert all(row.status == "converged" or row.message for row in rows)
        assert run(TinyStage(), results) == rows


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
def test_a_line_whose_key_columns_or_seconds_are_none_is_no_result(tmp_path, changes):
    files = RunFiles(tmp_path)
    files.results.write_text(line_of() + "\n" + json.dumps(json.loads(line_of()) | changes) + "\n")
    with pytest.raises(UnreadableError, match=r"line 2 of results.jsonl is no result: "):
        read_results(files)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_arrays_without_a_side_or_without_entries_are_read_as_they_are(tmp_path, shape):
    save_array(tmp_path / "answer.npy", np.ones(shape))
    assert read_array(tmp_path / "answer.npy").shape == shape


@pytest.mark.parametrize("shape", ["(-1, -1)", "(-1,)", "(-2, 0)", "(True, -1)"])
def test_a_shape_below_nothing_is_refused(tmp_path, shape):
    path = tmp_path / "answer.npy"
    for data in (b"", bytes(8)):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n"
        path.write_bytes(npy(header)[:-8] + data)
        with pytest.raises(UnreadableError, match=r"^answer.npy "):
            read_array(path)


def test_an_empty_array_of_an_impossible_shape_is_refused(tmp_path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': (0, {2**62}, {2**62})}}\n"
    (tmp_path / "answer.npy").write_bytes(npy(header)[:-8])
    with pytest.raises(UnreadableError, match=r"answer.npy has the impossible shape"):
        read_array(tmp_path / "answer.npy")


@pytest.mark.parametrize(("names", "refused"), [(["answer"], False), (["a", "b"], True)])
def test_arrays_alone_and_all_of_them_count_as_arrays(tmp_path, monkeypatch, names, refused):
    monkeypatch.setattr("kdrbench.bench.gate.MOST_ARRAY", 300)
    files = RunFiles(tmp_path)
    files.trace.write_text("[0.1, -3.5, 0.01, 7]\n" * 100)
    hand_over(files, RunResult(Status.CONVERGED, "well", key=("first",)))
    for name in names:
        # The header takes 128 bytes.
        save_array(files.array(name), np.ones(10))
    results = collect(files, Asked((("first",),), TinyRecord), 1.0, 5.0)
    message = "the arrays up to b.npy hold more than 300 bytes" if refused else "well"
    assert [one.message for one in results.values()] == [message]


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_an_unfinished_last_line_is_left_out(tmp_path, cut):
    files = RunFiles(tmp_path)
    files.results.write_text(line_of() + "\n" + line_of("second")[:-cut])
    assert list(read_results(files)) == [("first",)]
    files.results.write_text(line_of()[:-cut])
    assert read_results(files) == {}
