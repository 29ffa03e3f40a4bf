"""What a run leaves is read or refused: its batch ends with a row for each key, and a failed row says why."""

import json
import math
import os
import resource
import shutil
from contextlib import suppress

import numpy as np
import pytest

from kdrbench.status import Status
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import RecordError
from kdrbench.suite.engine.rows import row_message
from kdrbench.suite.engine.run import RunResult, collect, hand_over, read_results
from kdrbench.suite.engine.run_files import (
    Checkpoint,
    RunFiles,
    TraceLine,
    UnreadableError,
    kept_checkpoint,
    read_array,
    read_trace,
    save_array,
    write_checkpoint,
)
from support.one_batch import context_of, referee_in
from support.tiny_system import DATA, HALVES, TinyRecord, TinySystem, tiny_batch

LIMITS = Limits(time_s=5.0, memory_mib=256)


def run(system, results, limits=LIMITS, batches=()):
    bundle = Bundle("e/cheap", tuple(batches) or (tiny_batch(runs=[0]),))
    return run_job(system, bundle, lambda name: DATA, context_of(limits), JobFiles.of(results, bundle.path))


class Strikes(TinySystem):
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


def npy(header):
    """A file of NumPy's with this header and eight bytes."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def left_files(folder):
    """The files of a run as the bench writes them, with what reads each."""
    files = RunFiles(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hand_over(referee_in(folder), RunResult(Status.CONVERGED, "well", 0.5, 0.4, {"answer": 1.5}, ("first",)))
    hand_over(referee_in(folder), RunResult(Status.STALLED, "as well", 0.5, 0.4, {}, ("second",)))
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
    for number in range(80):
        readers = left_files(tmp_path / str(number))
        path, read = list(readers.items())[attack_rng.integers(len(readers))]
        path.write_bytes(damaged(path.read_bytes(), attack_rng))
        with suppress(UnreadableError):
            read()


def test_a_checkpoint_that_cannot_be_read_is_dropped(tmp_path):
    path = tmp_path / "checkpoint.npz"
    for write in (
        lambda: path.write_bytes(b"garbage"),
        lambda: write_checkpoint(path, Checkpoint(-1e9, 0.0, 0, {})),
        lambda: write_checkpoint(path, Checkpoint(math.nan, 0.0, 0, {})),
        lambda: np.savez(path, other=np.zeros(3)),
    ):
        write()
        assert kept_checkpoint(path) is None
        assert not path.exists()


@pytest.mark.parametrize("cut", [1, 40])
def test_an_unfinished_last_line_is_left_out(tmp_path, cut):
    files = RunFiles(tmp_path)
    files.results.write_text(line_of() + "\n" + line_of("second")[:-cut])
    assert list(read_results(files)) == [("first",)]
    files.results.write_text(line_of()[:-cut])
    assert read_results(files) == {}


def test_a_trace_ends_where_there_is_no_more_room(tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.engine.referee.MOST_TRACE", 60)
    referee = referee_in(tmp_path)
    for number in range(5):
        referee.note(TraceLine(float(number), -1.0, 0.5))
    assert [line.time_s for line in read_trace(referee.files.trace)] == [0.0, 1.0]


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"
OBJECTS = "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n"
# By name: the file, its bytes, and what is said of them.
FILES = {
    "garbage results": ("results.jsonl", b"\xff\x00garbage\n", "line 1 of results.jsonl is not JSON: "),
    "not a number": (
        "results.jsonl",
        line_of().replace("0.1", "NaN").encode() + b"\n",
        "line 1 of results.jsonl is not",
    ),
    "no result": ("results.jsonl", b'{"status": "fine", "key": []}\n', "line 1 of results.jsonl is no result: "),
    "a garbage trace": ("trace.jsonl", b"garbage\n", "line 1 of trace.jsonl is not JSON: b'garbage"),
    "a trace of words": ("trace.jsonl", b'["a", 1, 2]\n', "line 1 of trace.jsonl is none of a trace: "),
    "an empty array": ("answer.npy", b"", "answer.npy is no array of NumPy's: "),
    "a torn array": ("answer.npy", npy(HUGE), "answer.npy is no array of NumPy's: "),
    "pickled objects": ("answer.npy", npy(OBJECTS), "answer.npy is no array of NumPy's: "),
}


@pytest.mark.parametrize("what", FILES)
def test_files_that_cannot_be_read_fail_the_run_and_say_so(tmp_path, what):
    name, content, message = FILES[what]
    rows = run(Strikes(lambda referee: (referee.files.folder / name).write_bytes(content)), tmp_path)
    assert [(row.half, row.status) for row in rows] == [("first", "failed"), ("second", "failed")]
    assert rows[0].message.startswith(message)
    # Nothing is left that publishing, or reading the rows again, falls over.
    assert run(TinySystem(), tmp_path) == rows


def test_a_method_that_ended_by_itself_leaves_its_arrays(tmp_path):
    files = RunFiles(tmp_path)
    hand_over(referee_in(tmp_path), RunResult(Status.CONVERGED, "well", key=("first",)))
    hand_over(referee_in(tmp_path), RunResult(Status.TIME_LIMIT, "late", key=("second",)))
    results = collect(files, HALVES, ("answer",))
    assert [(one.status, one.message) for one in results.values()] == [
        ("failed", "the run left no answer; it said converged: well"),
        ("time_limit", "late"),
    ]
    save_array(files.array("answer"), np.ones(1))
    assert collect(files, HALVES[:1], ("answer",))["first",].status == "converged"


def test_an_early_time_limit_is_seen_within_the_run(tmp_path):
    class Early(TinySystem):
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
    shutil.rmtree(referee.files.folder)


def recurse(referee):
    recurse(referee)


def raise_what_cannot_be_shown(referee):
    class SilentError(Exception):
        def __str__(self):
            raise ValueError("not for you")

    raise SilentError


def blame_a_package_that_is_there(referee):
    raise ImportError("no numpy here", name="numpy")


EXHAUSTIONS = [
    use_up_files,
    forbid_large_files,
    close_everything,
    remove_the_folder,
    recurse,
    raise_what_cannot_be_shown,
    blame_a_package_that_is_there,
]


@pytest.mark.parametrize("strike", EXHAUSTIONS, ids=lambda strike: strike.__name__)
def test_a_run_that_spoils_its_own_process_has_its_rows(tmp_path, strike):
    rows = run(StrikesFirst(strike), tmp_path)
    # Some of these can be survived: what matters is that the batch ends and its rows can be read again.
    assert [row.half for row in rows] == ["first", "second"]
    assert run(TinySystem(), tmp_path) == rows
    assert strike is close_everything or {row.status for row in rows} == {"failed"}


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


def test_a_missing_package_is_the_benchs_fault_and_tried_once(tmp_path, capfd):
    def want(referee):
        import no_such_module  # noqa: F401

    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(StrikesFirst(want), tmp_path)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in capfd.readouterr().err


def test_a_folder_that_no_process_can_write_is_the_benchs_fault(tmp_path, monkeypatch):
    def fail(path, array):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kdrbench.suite.engine.referee.save_array", fail)
    monkeypatch.setattr("kdrbench.suite.engine.job.save_array", fail)
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(TinySystem(), tmp_path)


def test_what_cannot_be_evaluated_is_a_failed_row(tmp_path):
    class Unscored(TinySystem):
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


MESSAGES = ["\ud800", b"bytes", "\x00\x1b[31m\x9b\u2028\u202e\r", "x" * 3_000_000]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_is_one_short_line_in_its_row(tmp_path, message, capfd):
    class Says(TinySystem):
        def run(self, batch, dataset, number, referee):
            yield RunResult(Status.CONVERGED, message, key=("first",))
            raise ValueError(message)

    first, second = run(Says(), tmp_path)
    assert (first.status, second.status) == ("converged", "failed")
    for row in (first, second):
        assert row.message.isprintable()
        assert 0 < len(row.message) <= 1000
    assert run(TinySystem(), tmp_path) == [first, second]
    assert len(capfd.readouterr().err) < 10**6


def test_the_rest_of_a_message_is_in_the_log(capsys):
    assert row_message("a" * 1000) == "a" * 1000
    assert row_message("a" * 990 + "end of it all") == "a" * 990 + "end of ..."
    assert capsys.readouterr().err == "a message in full: " + "a" * 990 + "end of it all\n"
    assert row_message("caf\u00e9\u00a0\u2713 \\n") == "caf\u00e9\u00a0\u2713 \\n"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"columns": {"answer": math.nan}}, "ValueError: "),
        ({"status": "well"}, "ValueError: 'well' is not a valid Status"),
    ],
)
def test_odd_results_are_failed_rows_that_can_be_read(tmp_path, values, message):
    class Yields(TinySystem):
        def run(self, batch, dataset, number, referee):
            for key in batch.rows:
                yield RunResult(**{"status": Status.CONVERGED, "message": "well", **values}, key=key)

    rows = run(Yields(), tmp_path)
    assert [row.half for row in rows] == ["first", "second"]
    assert {row.status for row in rows} == {"failed"}
    assert all(row.message.startswith(message) for row in rows)
    assert run(Yields(), tmp_path) == rows


def test_a_column_of_the_wrong_type_blocks_no_other_cell(tmp_path):
    class Odd(TinySystem):
        def describe(self, batch, dataset, number):
            return {"n_samples": "three" if batch.cell == ("odd",) else 3}

    batches = [tiny_batch(method="odd", runs=[0]), tiny_batch(method="even", runs=[0])]
    with pytest.raises(RecordError, match="column n_samples holds 'three'"):
        run(Odd(), tmp_path, batches=batches)
    files = JobFiles.of(tmp_path, "e/cheap")
    assert files.workspace(batches[0], TinyRecord).records() == []
    assert len(files.workspace(batches[1], TinyRecord).records()) == 2
    # Once the system is corrected nothing of the odd rows is in the way.
    assert len(run(TinySystem(), tmp_path, batches=batches)) == 4


@pytest.mark.parametrize("column", ["status", "anwser"])
def test_a_system_gives_no_column_that_is_the_engines(tmp_path, column):
    class Odd(TinySystem):
        def describe(self, batch, dataset, number):
            return {"n_samples": 3, column: "converged"}

    with pytest.raises(RecordError, match=f"Odd gives the column '{column}', which is not its own"):
        run(Odd(), tmp_path)


def test_a_limit_that_cannot_be_set_is_no_fault_of_the_method(tmp_path, monkeypatch):
    def refuse(memory_mib):
        raise OSError("not permitted")

    monkeypatch.setattr("kdrbench.suite.engine.isolation.processes.limit_memory", refuse)
    with pytest.raises(SupervisionError, match="a run could not be set up"):
        run(TinySystem(), tmp_path)
