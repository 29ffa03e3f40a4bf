"""Methods of a cell that repeat their work in turns, and what goes wrong with one of them meanwhile."""

import json
import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from kdrbench.status import Status
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.isolation import guardian
from kdrbench.suite.engine.isolation.core_lock import prepare_process
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import Record, read_records
from kdrbench.suite.engine.run import RunResult, repeated
from kdrbench.suite.engine.system import System
from support.one_batch import context_of, wait_until_free
from support.pids import is_running
from support.tiny_system import DATA, tiny_batch

LIMITS = Limits(time_s=60.0, memory_mib=256)
# For runs that hang.
SHORT = Limits(time_s=1.0, memory_mib=256)
REPEATS = 3


@dataclass(frozen=True, kw_only=True)
class TurnsRecord(Record):
    CELL: ClassVar[tuple[str, ...]] = ("method",)

    method: str
    warm_s: float | None = None
    warm_cpu_s: float | None = None
    warm_iqr_s: float | None = None
    repeats: int = 0


class TurnsSystem(System):
    """Each work writes method and run to the log, and does what the definition says: in seconds or by a name of ACTS.

    ``first`` is what the first work does, ``then`` what a repeat does.
    """

    record = TurnsRecord

    def expand(self, name, config):
        raise NotImplementedError

    def run(self, batch, dataset, number, referee):
        note, definition = Path(batch.definition["note"]), batch.definition

        def work(act):
            with (note / "log").open("a") as log:
                log.write(f"{batch.cell[-1]}{number} ")
            ACTS[act](note) if isinstance(act, str) else time.sleep(act)

        (note / batch.cell[-1]).write_text(json.dumps([os.getppid(), os.getpid()]))
        _, first = referee.timed(lambda: work(definition.get("first", 0.0)))
        result = RunResult(Status.CONVERGED, "well")
        yield from repeated(result, lambda: referee.timed(lambda: work(definition.get("then", 0.0)))[1], first, referee)


def raises(note):
    raise ZeroDivisionError("in a repeat")


def kills_b(note):
    """Kill what waits, and give its guardian time to say so."""
    os.kill(pids(note, "b")[1], signal.SIGKILL)


def kills_guardian_of_b(note):
    with suppress(ProcessLookupError):
        os.kill(pids(note, "b")[0], signal.SIGKILL)


def spins(note):
    """Leave a thread and a child at work, each of which writes all the time."""
    if os.fork() == 0:
        _write_for_ever(note / "child")
    threading.Thread(target=_write_for_ever, args=[note / "thread"], daemon=True).start()


def _write_for_ever(path):
    with path.open("ab", buffering=0) as stream:
        while True:
            stream.write(b".")
            time.sleep(0.001)


def watches(note):
    """Note how much what others left at work has written in a while."""
    before = _written(note)
    time.sleep(0.05)
    with (note / "watched").open("a") as stream:
        stream.write(f"{_written(note) - before} ")


def _written(note):
    return sum(path.stat().st_size for path in (note / "child", note / "thread") if path.exists())


ACTS = {
    "spins": spins,
    "watches": watches,
    "raises": raises,
    "hangs": lambda note: time.sleep(600),
    "leaves": lambda note: os._exit(3),
    "kills itself": lambda note: os.kill(os.getpid(), signal.SIGKILL),
    "kills b": kills_b,
    "kills the guardian of b": kills_guardian_of_b,
}


def pids(note, method):
    """The processes of a method's last run: its guardian and its own."""
    return json.loads((note / method).read_text())


def batches_of(note, *, runs=(0,), **definitions):
    """A batch for each method, with its definition."""
    batches = [tiny_batch(method=name, runs=runs, note=str(note), **values) for name, values in definitions.items()]
    return [replace(batch, rows=((),)) for batch in batches]


def run(batches, results, limits=LIMITS, repeat_for_s=0.5, **changes):
    bundle = Bundle("e/cheap", tuple(batches))
    context = context_of(limits, repeat_for_s, **changes)
    return run_job(TurnsSystem(), bundle, lambda name: DATA, context, JobFiles.of(results, bundle.path))


def log_of(note):
    return (note / "log").read_text().split()


def what_came_out(rows):
    return [(row.method, row.status, row.repeats, row.warm_s is not None) for row in rows]


def rows_in(results):
    return [row for path in sorted(results.rglob("rows.jsonl")) for row in read_records(path, TurnsRecord)]


@pytest.fixture(autouse=True)
def few_repeats(monkeypatch):
    monkeypatch.setattr("kdrbench.suite.engine.run.MOST_REPEATS", REPEATS)


@pytest.fixture
def note(tmp_path):
    """Where methods write, of whom no process may be left."""
    (tmp_path / "note").mkdir()
    before = psutil.Process().children(recursive=True)
    yield tmp_path / "note"
    after = [process for process in psutil.Process().children(recursive=True) if process not in before]
    assert [process.cmdline() for process in after if is_running(process.pid)] == []


def test_methods_of_a_cell_repeat_their_work_in_turns_run_by_run(note, tmp_path):
    rows = run(batches_of(note, a={}, b={}, runs=(0, 1)), tmp_path)
    assert log_of(note) == ["a0", "b0"] * (1 + REPEATS) + ["a1", "b1"] * (1 + REPEATS)
    assert [row.axes[2:] for row in rows] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert what_came_out(rows) == [(row.method, "converged", REPEATS, True) for row in rows]


def test_the_first_work_is_cold_and_the_repeats_are_warm(note, tmp_path):
    short, long = run(batches_of(note, a={"first": 0.4, "then": 0.01}, b={"first": 0.6}), tmp_path)
    assert short.time_s >= 0.4 > short.warm_s >= 0.01
    # It sleeps.
    assert (short.cpu_s < short.time_s, short.warm_cpu_s < short.warm_s, short.warm_iqr_s >= 0.0) == (True, True, True)
    assert long.time_s >= 0.6
    assert (long.repeats, long.warm_s, long.warm_cpu_s, long.warm_iqr_s) == (0, None, None, None)


def test_a_method_that_has_repeated_enough_leaves_the_turns(note, tmp_path):
    rows = run(batches_of(note, a={"then": 0.3}, b={}, c={"first": 0.6}), tmp_path, repeat_for_s=0.5)
    assert log_of(note) == ["a0", "b0", "c0", "a0", "b0", "a0", "b0", "b0"]
    assert [row.repeats for row in rows] == [2, 3, 0]


@pytest.mark.parametrize("act", ["hangs", "raises", "kills itself"])
def test_a_repeat_that_goes_wrong_leaves_the_first_result(note, tmp_path, act):
    rows = run(batches_of(note, a={}, b={"then": act}, c={}), tmp_path, SHORT)
    assert log_of(note) == ["a0", "b0", "c0"] * 2 + ["a0", "c0"] * (REPEATS - 1)
    whole = (REPEATS, True)
    assert what_came_out(rows) == [("a", "converged", *whole), ("b", "converged", 0, False), ("c", "converged", *whole)]


def test_what_a_method_leaves_at_work_is_stopped_while_it_waits(note, tmp_path):
    rows = run(
        batches_of(note, a={"first": "spins", "then": 0.02}, b={"first": "watches", "then": "watches"}), tmp_path
    )
    assert [row.repeats for row in rows] == [REPEATS, REPEATS]
    # It was at work while it had its turn, and not a moment else.
    assert min((note / name).stat().st_size for name in ("child", "thread")) > 0
    # A write under way when it is stopped may end; at work each would make some fifty.
    seen = [int(word) for word in (note / "watched").read_text().split()]
    assert len(seen) == 1 + REPEATS
    assert max(seen) <= 2


def test_a_run_killed_while_it_waits_keeps_its_first_result(note, tmp_path):
    rows = run(batches_of(note, a={}, b={}, c={"first": "kills b"}), tmp_path)
    assert log_of(note) == ["a0", "b0", "c0"] + ["a0", "c0"] * REPEATS
    assert [row.repeats for row in rows] == [REPEATS, 0, REPEATS]
    assert {row.status for row in rows} == {"converged"}


def test_a_method_that_does_not_come_to_its_turn_is_a_row(note, tmp_path):
    rows = run(
        batches_of(note, a={}, b={"first": "hangs"}, c={"first": "raises"}, d={"first": "leaves"}), tmp_path, SHORT
    )
    assert [(row.method, row.status, row.repeats) for row in rows] == [
        ("a", "converged", REPEATS),
        ("b", "time_limit", 0),
        ("c", "failed", 0),
        ("d", "failed", 0),
    ]


def test_a_run_whose_guardian_is_killed_leaves_no_row(note, tmp_path):
    batches = batches_of(note, a={}, b={}, c={"first": "kills the guardian of b"}, runs=(0, 1))
    with pytest.raises(SupervisionError, match="the guardian of a run was killed"):
        run(batches, tmp_path)
    assert not is_running(pids(note, "b")[1])
    rows = rows_in(tmp_path)
    assert [row.axes[2:] for row in rows] == [("a", 0), ("a", 1), ("c", 0), ("c", 1)]
    assert [row.repeats for row in rows] == [REPEATS] * 4


def test_time_does_not_pass_for_a_run_that_waits(note, tmp_path, monkeypatch):
    # It waits for 1.2 s, longer than its limit and its grace, and longer than what would be taken to hang.
    monkeypatch.setattr(guardian, "_LONGEST_FACTOR", 0.0)
    monkeypatch.setattr(guardian, "_LONGEST_EXTRA_S", 1.0)
    slow = {"first": 0.6}
    rows = run(batches_of(note, a={}, b=slow, c=slow), tmp_path, Limits(0.9, 256))
    assert [row.repeats for row in rows] == [REPEATS, 0, 0]
    wall_s = [row.provenance.wall_s for row in rows]
    assert wall_s[0] < 0.6 < min(wall_s[1:])


def test_too_many_methods_to_be_alive_together_are_groups(note, tmp_path, monkeypatch):
    monkeypatch.setattr("kdrbench.suite.engine.job.MOST_TOGETHER", 2)
    run(batches_of(note, a={}, b={}, c={}), tmp_path)
    assert log_of(note) == ["a0", "b0"] * (1 + REPEATS) + ["c0"] * (1 + REPEATS)


def test_a_resumed_job_takes_turns_among_those_that_are_missing(note, tmp_path):
    a, b, c = batches_of(note, a={}, b={}, c={}, runs=(0, 1))
    made = run([b], tmp_path)
    (note / "log").unlink()
    rows = run([a, b, c], tmp_path)
    assert log_of(note) == [*["a0", "c0"] * (1 + REPEATS), *["a1", "c1"] * (1 + REPEATS)]
    assert [row.time_s for row in rows[2:4]] == [row.time_s for row in made]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.whole)])
def test_nothing_outlives_a_job_that_ends_between_turns(note, tmp_path, number):
    batches = batches_of(note, a={"then": 0.05}, b={"then": 0.05}, c={"first": 0.6}, runs=(0, 1))
    child = os.fork()
    if child == 0:
        prepare_process(1)
        try:
            run(batches, tmp_path)
        finally:
            os._exit(7)
    until = time.monotonic() + 30
    # In the second run, when both have begun to repeat.
    while not (note / "log").exists() or log_of(note).count("b1") < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(child, number)
    os.waitpid(child, 0)
    for batch in batches:
        wait_until_free(JobFiles.of(tmp_path, "e/cheap").workspace(batch, TurnsRecord).lock)
    assert not [pid for method in "abc" for pid in pids(note, method) if is_running(pid)]
    # The run that had ended beside those that waited has its row.
    assert [row.axes[2:] for row in rows_in(tmp_path)] == [("a", 0), ("b", 0), ("c", 0), ("c", 1)]
    rows = run(batches, tmp_path)
    assert [row.axes[2:] for row in rows] == [(method, number) for method in "abc" for number in (0, 1)]
