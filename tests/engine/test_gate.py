"""Whatever a run leaves, its batch ends with a row for each key, and a failed row says what was wrong."""

import os
import resource

import numpy as np
import pytest

from kdrbench.errors import visible
from kdrbench.status import Status
from kdrbench.suite.engine.gate import Asked, collect, row_message
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.run import RunResult, hand_over
from kdrbench.suite.engine.run_files import RunFiles, TraceLine, read_trace, save_array
from kdrbench.suite.engine.untrusted import remove
from support.left_by_runs import Strikes, StrikesFirst, line_of, npy, run
from support.one_batch import referee_in
from support.tiny_stage import HALVES, TinyRecord, TinyStage


def writes(text, name="results.jsonl"):
    """A strike that puts bytes in place of one of the files of a run, which are in a folder."""
    return lambda folder: (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def replaces(name, make):
    """A strike that puts something in place of one of the files of a run, which are in a folder."""

    def strike(folder):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return strike


def collected(folder, strike, used_s=1.0):
    """Return what is believed of a run whose files were struck when it had handed its results over."""
    files = RunFiles(folder)
    files.folder.mkdir()
    save_array(files.array("answer"), np.array([15.0]))
    for (half,) in HALVES:
        hand_over(files, RunResult(Status.CONVERGED, "well", 0.1, 0.1, {"answer": 15.0}, (half,)))
    strike(files.folder)
    return collect(files, Asked(HALVES, TinyRecord), used_s, 5.0)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"
OBJECTS = "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n"
FILES = {
    "garbage results": (writes(b"\xff\x00garbage\n"), "line 1 of results.jsonl is not JSON: "),
    "negative seconds": (writes(line_of(time_s=-1.0) + "\n"), "line 1 of results.jsonl is no result: "),
    "half a clock": (writes(line_of(clocked_s=None) + "\n"), "line 1 of results.jsonl is no result: "),
    "endless seconds": (writes(line_of().replace("0.1", "1e999") + "\n"), "line 1 of results.jsonl is no result: "),
    "not a number": (writes(line_of().replace("0.1", "NaN") + "\n"), "line 1 of results.jsonl is not JSON: "),
    "nested without end": (writes("[" * 100_000 + "\n"), "line 1 of results.jsonl is not JSON: "),
    "a long line": (writes("x" * 2**21), "line 1 of results.jsonl is longer than 1048576 bytes"),
    "30 MB of results": (writes(b"{}\n" * 10**7), "results.jsonl holds 30000000 bytes; at most 8388608 are read"),
    "a sparse file": (replaces("trace.jsonl", lambda path: truncate(path, 10**13)), "trace.jsonl holds 10000000000000"),
    "a garbage trace": (writes("garbage\n", "trace.jsonl"), "line 1 of trace.jsonl is not JSON: b'garbage"),
    "a trace of words": (writes('["a", 1, 2]\n', "trace.jsonl"), "line 1 of trace.jsonl is none of a trace: "),
    "an empty array": (writes(b"", "answer.npy"), "answer.npy is no array of NumPy's: it begins with b''"),
    "a huge array": (writes(npy(HUGE), "answer.npy"), "answer.npy holds 8 bytes of data; its header says 80000000000"),
    "pickled objects": (writes(npy(OBJECTS), "answer.npy"), "answer.npy holds object; only plain numbers"),
    "a folder": (replaces("answer.npy", os.mkdir), "answer.npy is no plain file"),
    "a pipe": (replaces("results.jsonl", os.mkfifo), "results.jsonl is no plain file"),
    "a link": (replaces("trace.jsonl", lambda path: path.symlink_to("/dev/zero")), "trace.jsonl is no plain file"),
}


def truncate(path, size):
    with path.open("wb") as stream:
        stream.truncate(size)


def test_a_trace_ends_where_there_is_no_more_room(tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.engine.referee.MOST_TRACE", 60)
    referee = referee_in(tmp_path)
    for number in range(5):
        referee.note(TraceLine(float(number), -1.0, 0.5))
    assert [line.time_s for line in read_trace(referee.files.trace)] == [0.0, 1.0]


@pytest.mark.parametrize("what", FILES)
def test_files_that_cannot_be_read_fail_the_run_and_say_so(tmp_path, what):
    strike, message = FILES[what]
    results = collected(tmp_path / "run", strike)
    assert list(results) == list(HALVES)
    assert {result.status for result in results.values()} == {"failed"}
    assert results["first",].message.startswith(message)


@pytest.mark.parametrize("what", ["garbage results", "an empty array", "a pipe"])
def test_a_batch_ends_with_rows_whatever_its_run_leaves(tmp_path, what):
    strike, message = FILES[what]
    rows = run(Strikes(lambda referee: strike(referee.files.folder)), tmp_path)
    assert [(row.half, row.status) for row in rows] == [("first", "failed"), ("second", "failed")]
    assert rows[0].message.startswith(message)
    # Nothing is left that publishing, or reading the rows again, falls over.
    assert run(TinyStage(), tmp_path) == rows


CLAIMS = {
    "skipped": ({"status": "skipped"}, "only the bench skips runs; it said skipped: well"),
    "time_limit": ({"status": "time_limit"}, "s of its limit of 5 s; it said time_limit: well"),
    "fine": ({"status": "fine"}, "'fine' is no status: well"),
    "a bench's column": ({"columns": {"time_limit_s": 9.0}}, "a run leaves no column 'time_limit_s' of TinyRecord; it"),
    "its own status": ({"columns": {"status": "converged"}}, "a run leaves no column 'status' of TinyRecord; it said"),
    "words": ({"columns": {"answer": "42"}}, "column answer holds '42', which is not of type float | None; it said"),
    "a truth": ({"columns": {"answer": True}}, "column answer holds True, which is not of type float | None; it said"),
    "too large": ({"columns": {"answer": 10**400}}, "which is not of type float | None; it said converged: well"),
}


@pytest.mark.parametrize("what", CLAIMS)
def test_a_run_may_not_claim_everything(tmp_path, what):
    changes, message = CLAIMS[what]
    both = "".join(line_of(half, **changes) + "\n" for half in ("first", "second"))
    results = collected(tmp_path / "run", writes(both))
    assert {result.status for result in results.values()} == {"failed"}
    assert message in results["first",].message


def test_a_time_limit_is_believed_when_the_process_took_it(tmp_path):
    said = writes(line_of(status="time_limit") + "\n")
    results = collected(tmp_path / "run", said, used_s=5.0)
    assert [(key, result.status) for key, result in results.items()] == [(("first",), "time_limit")]


def test_the_batch_knows_its_columns_and_a_method_its_status(tmp_path):
    first, second = line_of(columns={"n_samples": 1000}), line_of("second", status="max_iterations")
    write = writes(f"{first}\n{second}\n{line_of('third')}\n")
    rows = run(Strikes(lambda referee: write(referee.files.folder)), tmp_path)
    assert [(row.half, row.status, row.n_samples) for row in rows] == [
        ("first", "converged", 3),
        ("second", "max_iterations", 3),
    ]


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


def link_the_folder(referee):
    elsewhere = referee.files.folder.with_name("elsewhere")
    elsewhere.mkdir(exist_ok=True)
    remove(referee.files.folder)
    referee.files.folder.symlink_to(elsewhere)


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
    link_the_folder,
    recurse,
    raise_what_cannot_be_shown,
    blame_a_package_that_is_there,
]


@pytest.mark.parametrize("strike", EXHAUSTIONS, ids=lambda strike: strike.__name__)
def test_a_run_that_spoils_its_own_process_has_its_rows(tmp_path, strike):
    rows = run(StrikesFirst(strike), tmp_path)
    # Some of these can be survived: what matters is that the batch ends and its rows can be read again.
    assert [row.half for row in rows] == ["first", "second"]
    assert run(TinyStage(), tmp_path) == rows
    assert strike in (link_the_folder, close_everything) or {row.status for row in rows} == {"failed"}
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


def test_a_missing_package_is_the_benchs_fault_and_tried_once(tmp_path, capfd):
    def want(referee):
        import no_such_module  # noqa: F401

    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(StrikesFirst(want), tmp_path)
    # Once by the run, once by the batch.
    assert capfd.readouterr().err.count("ModuleNotFoundError: No module named 'no_such_module'") == 2


def test_a_folder_that_no_process_can_write_is_the_benchs_fault(tmp_path, monkeypatch):
    def fail(path, array):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kdrbench.suite.engine.referee.save_array", fail)
    monkeypatch.setattr("kdrbench.suite.engine.run.save_array", fail)
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


MESSAGES = ["\ud800", b"bytes", "\x00\x1b[31m\x9b\u2028\u202e\r", "x" * 3_000_000]


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
