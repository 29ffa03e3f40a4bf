"""What a run leaves is read or refused: its batch ends with a row for each key, and a failed row says why."""

import json
import math
import os
import resource
import shutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.plugins import load_file
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import RecordError
from kdrbench.suite.engine.run import RunResult, collect, hand_over, read_results, row_message
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
from support.damage import DAMAGES
from support.one_batch import context_of, referee_in
from support.tiny_system import DATA, HALVES, TinyRecord, TinySystem, tiny_batch

LIMITS = Limits(time_s=5.0, memory_mib=256)


def run(system, results, limits=LIMITS, batches=()):
    bundle = Bundle("e/cheap", tuple(batches) or (tiny_batch(runs=[0]),))
    return run_job(system, bundle, lambda name: DATA, context_of(limits), JobFiles.of(results, bundle.path))


class Strikes(TinySystem):
    """Strikes before it hands anything over."""

    def __init__(self, strike):
        self.strike = strike

    def run(self, batch, dataset, number, referee):
        self.strike(referee)
        yield from (RunResult(Status.CONVERGED, "well", key=key) for key in batch.rows)


def line_of(key="first", **changes):
    values = {"status": "converged", "message": "well", "time_s": 0.1, "cpu_s": 0.1, "columns": {}, "key": [key]}
    values |= {"clocked_s": 0.1, "clocked_cpu_s": 0.1}
    return json.dumps(values | changes)


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


@pytest.mark.attack("gate: damaged files")
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, attack_rng):
    for number in range(80):
        readers = list(left_files(tmp_path / str(number)).items())
        # Those that a later process goes on from.
        path, read = readers[attack_rng.integers(2, 4)]
        DAMAGES[attack_rng.integers(4)](path, attack_rng)
        with suppress(UnreadableError):
            read()


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


def use_up_files(referee):
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    while True:
        os.open("/dev/null", os.O_RDONLY)


def remove_the_folder(referee):
    shutil.rmtree(referee.files.folder)


def recurse(referee):
    recurse(referee)


@pytest.mark.parametrize("strike", [use_up_files, remove_the_folder, recurse], ids=lambda strike: strike.__name__)
def test_a_run_that_spoils_its_own_process_has_its_rows(tmp_path, strike):
    rows = run(Strikes(strike), tmp_path)
    assert [(row.half, row.status) for row in rows] == [("first", "failed"), ("second", "failed")]
    assert run(TinySystem(), tmp_path) == rows


def test_a_method_may_leave_its_folder(tmp_path, monkeypatch):
    # Results are named by a path from here, as Snakemake names them.
    monkeypatch.chdir(tmp_path)
    rows = run(Strikes(lambda referee: os.chdir("/")), Path("results"))
    assert {row.status for row in rows} == {"converged"}


def test_who_blames_the_bench_twice_has_failed(tmp_path):
    tries = tmp_path / "tries"

    def blame(referee):
        with tries.open("a") as stream:
            stream.write("once\n")
        os._exit(70)

    rows = run(Strikes(blame), tmp_path)
    assert tries.read_text() == "once\nonce\n"
    message = "could not write its result, and the batch can, twice"
    assert {(row.status, row.message) for row in rows} == {("failed", message)}


def test_a_missing_package_is_the_benchs_fault_and_tried_once(tmp_path, capfd):
    # The statement is one of an installed module.
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(Strikes(lambda referee: import_module("no_such_module")), tmp_path)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in capfd.readouterr().err


def test_a_package_that_a_file_of_the_users_own_lacks_is_its_failure(tmp_path):
    (tmp_path / "mine.py").write_text("def want(referee):\n    import no_such_module\n")
    rows = run(Strikes(load_file(str(tmp_path / "mine.py")).want), tmp_path)
    message = "ModuleNotFoundError: No module named 'no_such_module'"
    assert {(row.status, row.message) for row in rows} == {("failed", message)}


@pytest.mark.parametrize(
    "names", [("referee.save_array", "job.save_array"), ("isolation.processes.limit_memory",)], ids=["write", "limit"]
)
def test_what_no_process_can_do_is_the_benchs_fault(tmp_path, monkeypatch, names):
    def fail(*_):
        raise OSError(28, "No space left on device")

    for name in names:
        monkeypatch.setattr(f"kdrbench.suite.engine.{name}", fail)
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(TinySystem(), tmp_path)


def test_what_cannot_be_evaluated_is_a_failed_row(tmp_path):
    def unscored(files):
        raise ArithmeticError("the kernel is 0/0")

    class Unscored(TinySystem):
        def prepare(self, batch, dataset, context):
            made = super().prepare(batch, dataset, context)
            return lambda number: SimpleNamespace(arrays=(), run=made(number).run, score=unscored)

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
        ({"status": Status.TIME_LIMIT}, "said time_limit after 0 s of 5 s"),
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
