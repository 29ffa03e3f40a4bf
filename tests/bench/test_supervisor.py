import faulthandler
import os
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from kdrbench.bench.isolation import guardian, limits, processes
from kdrbench.bench.isolation.core_lock import prepare_process
from kdrbench.bench.isolation.guardian import BENCH_FAULT, GRACE_S, Exit, Watched
from kdrbench.bench.isolation.limits import Limits, Pauses
from kdrbench.bench.isolation.supervisor import SupervisionError, Supervisor, supervise
from kdrbench.errors import InputError

LIMITS = Limits(time_s=0.3, memory_mib=256)


def test_a_run_that_ends_by_itself():
    process = supervise(lambda: None, LIMITS)
    assert (process.end, process.code) == (Exit.EXITED, 0)


def test_an_exception_is_an_exit_code(capfd):
    def fail():
        raise ValueError("no")

    assert supervise(fail, LIMITS).code == 1
    assert "ValueError: no" in capfd.readouterr().err


def test_a_signal_is_reported():
    def crash():
        # pytest's fault handler would print pages of frames.
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)

    process = supervise(crash, LIMITS)
    assert (process.end, process.code) == (Exit.SIGNALLED, signal.SIGSEGV)


def test_a_run_beyond_its_time_is_gone_within_a_second():
    process = supervise(lambda: time.sleep(600), LIMITS)
    assert process.end is Exit.TIME_LIMIT
    assert LIMITS.time_s <= process.wall_s < LIMITS.time_s + 1.0


def test_descendants_that_hide_in_sessions_of_their_own_are_gone_too(tmp_path):
    note = tmp_path / "pids"

    def spawn():
        for _ in range(2):
            hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
            with note.open("a") as stream:
                stream.write(f"{hidden.pid}\n")

    process = supervise(spawn, LIMITS)
    assert process.end is Exit.EXITED
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_other_children_of_the_parent_are_left_alone():
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        supervise(lambda: time.sleep(600), LIMITS)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_memory_beyond_the_limit_is_refused_at_once(tmp_path):
    def allocate():
        try:
            np.ones(2**26)
        except MemoryError:
            (tmp_path / "refused").touch()

    supervise(allocate, LIMITS)
    assert (tmp_path / "refused").exists()


def test_memory_below_the_limit_is_granted_and_measured():
    process = supervise(lambda: np.ones(2**24).sum(), Limits(time_s=30, memory_mib=256))
    assert (process.end, process.code) == (Exit.EXITED, 0)
    # The array takes 128 MiB; pages of libraries touched on the way take less than as much again.
    assert 128 <= process.memory_mib < 256


def test_memory_of_descendants_counts():
    def spread():
        for _ in range(8):
            if os.fork() == 0:
                held = np.ones(2**23)
                time.sleep(600)
                os._exit(int(held[0]))
        time.sleep(600)

    assert supervise(spread, Limits(time_s=30, memory_mib=256)).end is Exit.MEMORY_LIMIT


def test_pauses_do_not_count_against_the_limit():
    pauses = Pauses()

    def paused_then_asleep():
        time.sleep(2.0 * LIMITS.time_s)
        pauses.end()
        time.sleep(600)

    process = supervise(paused_then_asleep, LIMITS, pauses)
    assert process.end is Exit.TIME_LIMIT
    assert 3.0 * LIMITS.time_s <= process.wall_s < 3.0 * LIMITS.time_s + 1.0


def test_nothing_of_the_batch_is_open_in_the_run(tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        note = tmp_path / "note"
        supervise(lambda: note.write_text(str(_is_open(lock.fileno()))), LIMITS)
        assert note.read_text() == "False"


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("killed", ["batch", "guardian", "guardian of a stopped batch", "scheduler"])
def test_nothing_outlives_a_killed_batch_guardian_or_scheduler(tmp_path, killed):
    note = tmp_path / "pids"
    scheduler = subprocess.Popen(["sleep", "600"])
    script = f"""
import os, subprocess, time
from pathlib import Path
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.isolation.supervisor import supervise
def run():
    hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path({str(note)!r}).write_text(f"{{os.getppid()}} {{os.getpid()}} {{hidden.pid}} .")
    time.sleep(600)
supervise(run, Limits(600, 256), scheduler={scheduler.pid if killed == "scheduler" else None})
"""
    batch = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    guardian, run, hidden = _wait_for_pids(note)
    if "stopped" in killed:
        # Nobody but the kernel can end the run then; the batch clears the rest when it goes on.
        batch.send_signal(signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        _wait_until_gone([run])
        batch.send_signal(signal.SIGCONT)
    elif killed == "scheduler":
        scheduler.kill()
        scheduler.wait()
    else:
        os.kill(batch.pid if killed == "batch" else guardian, signal.SIGKILL)
    assert batch.wait(timeout=20) != 0
    _wait_until_gone([guardian, run, hidden])
    scheduler.kill()
    scheduler.wait()


def _wait_until_gone(pids):
    deadline = time.monotonic() + 20
    while left := [pid for pid in pids if psutil.pid_exists(pid) and _is_running(pid)]:
        assert time.monotonic() < deadline, f"processes {left} live on"
        time.sleep(0.01)


def _is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _wait_for_pids(note):
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text().endswith(".")):
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.01)
    return [int(word) for word in note.read_text().split()[:-1]]


@pytest.mark.parametrize(
    ("time_s", "memory_mib", "message"),
    [
        (0, 1, "time limit must be a finite number > 0, got 0"),
        (-1, 1, "time limit must be a finite number > 0, got -1"),
        (float("inf"), 1, "time limit must be a finite number > 0, got inf"),
        (1, 0, "memory limit must be a finite number > 0, got 0"),
    ],
)
def test_limits_must_be_positive(time_s, memory_mib, message):
    with pytest.raises(InputError, match=message):
        Limits(time_s, memory_mib)


@pytest.fixture
def runs():
    """Start runs of one supervisor, by what they do; those that live are ended after the test."""
    supervisor, started = Supervisor(), []

    def start(target):
        started.append(supervisor.start(target, Limits(time_s=600, memory_mib=256)))
        return started[-1]

    yield start
    for run in started:
        run.close()


def _noted_and_asleep(note):
    """A run that notes its guardian, itself and a child in a session of its own, and sleeps."""

    def run():
        hidden = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note.write_text(f"{os.getppid()} {os.getpid()} {hidden.pid} .")
        time.sleep(600)

    return run


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_guardian_that_reports_nothing_leaves_no_row_no_process_and_its_neighbours_alone(runs, tmp_path, number):
    with subprocess.Popen(["sleep", "600"]) as bystander:
        alone = runs(_noted_and_asleep(tmp_path / "alone"))
        os.kill(_wait_for_pids(tmp_path / "alone")[0], number)
        with pytest.raises(SupervisionError):
            alone.wait()
        assert bystander.poll() is None
        ends, stays = runs(_noted_and_asleep(tmp_path / "ends")), runs(_noted_and_asleep(tmp_path / "stays"))
        family, others = _wait_for_pids(tmp_path / "ends"), _wait_for_pids(tmp_path / "stays")
        os.kill(family[0], number)
        with pytest.raises(SupervisionError, match="guardian of a run was killed, or the scheduler is gone; start the"):
            ends.wait()
        _wait_until_gone(family)
        # Not even as dead ones that were not reaped, and to close it again is no error.
        assert not psutil.pid_exists(family[0])
        ends.close()
        assert all(_is_running(pid) for pid in [*others, bystander.pid])
        # To close a run is to wait until all of it is gone.
        stays.close()
        assert not any(_is_running(pid) for pid in others)
        assert bystander.poll() is None
        bystander.kill()


def test_no_dead_guardian_is_left_unreaped():
    before = {child.pid for child in psutil.Process().children()}
    for _ in range(5):
        supervise(lambda: None, Limits(time_s=60, memory_mib=256))
    assert {child.pid for child in psutil.Process().children()} <= before


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        (lambda: sys.exit(0), 0),
        (lambda: sys.exit(3), 3),
        (lambda: sys.exit(BENCH_FAULT), BENCH_FAULT),
        # A run that leaves without a number has not done its work.
        (lambda: sys.exit("words"), 1),
        (sys.exit, 1),
        (lambda: os._exit(255), 255),
        (lambda: signal.raise_signal(signal.SIGINT), -signal.SIGINT),
        (lambda: signal.raise_signal(signal.SIGTERM), -signal.SIGTERM),
        (lambda: signal.raise_signal(signal.SIGHUP), -signal.SIGHUP),
    ],
)
def test_exit_codes_and_signals_are_those_of_the_run_whatever_the_batch_does_with_them(leave, code):
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        process = supervise(leave, Limits(time_s=60, memory_mib=256))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (process.end, process.code) == (Exit.SIGNALLED if code < 0 else Exit.EXITED, abs(code))


def test_a_run_returns_into_no_code_of_the_batch(capfd, tmp_path):
    def interrupted():
        print("last words", end="")
        raise KeyboardInterrupt

    try:
        assert supervise(interrupted, Limits(time_s=60, memory_mib=256)).code == 1
    finally:
        # A run or a guardian that came back would be here as well.
        with (tmp_path / "here").open("a") as stream:
            stream.write("once ")
    printed = "".join(capfd.readouterr())
    assert "last words" in printed
    assert "KeyboardInterrupt" in printed
    assert (tmp_path / "here").read_text() == "once "


def test_a_run_that_is_paused_for_ever_ends_at_a_multiple_of_its_limit(monkeypatch):
    monkeypatch.setattr(guardian, "_LONGEST_EXTRA_S", 0.0)
    # A run begins paused, and this one never says that its solver has begun.
    process = supervise(lambda: time.sleep(600), LIMITS, Pauses())
    assert process.end is Exit.TIME_LIMIT
    assert process.wall_s >= 3 * LIMITS.time_s


def test_a_limit_is_moved_by_pauses_and_a_hanging_run_by_none(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    watched = Watched(lambda: None, Limits(time_s=100, memory_mib=1), Pauses())
    now[0] += 40.0
    watched.pauses.end()
    assert Watched(lambda: None, watched.limits).limit_at(1000.0) == 1000 + 100 + GRACE_S
    assert watched.limit_at(1000.0) == 1000 + 40 + 100 + GRACE_S
    assert watched.hangs_at(1000.0) == 1000 + 3 * 100 + 600
    assert 0 < GRACE_S < 1


def test_the_guardian_looks_up_often_and_sleeps_meanwhile(monkeypatch, tmp_path):
    def noted(readers, writers, others, wait_s):
        with (tmp_path / "waits").open("a") as stream:
            stream.write(f"{wait_s}\n")
        return select.select(readers, writers, others, wait_s)

    monkeypatch.setattr(guardian, "select", SimpleNamespace(select=noted))
    process = supervise(lambda: time.sleep(600), Limits(time_s=1.0, memory_mib=256))
    asked = np.loadtxt(tmp_path / "waits", ndmin=1)
    # Its limit of memory and a scheduler that is gone are noticed within a second, the limit of time at once.
    assert asked.min() >= 0
    assert asked.max() <= 1
    # No wait goes beyond the limit.
    assert asked.sum() <= 1.0 + GRACE_S + 1e-6
    assert process.wall_s >= 1.0
    # It looks a few times a second: it shares a core with what is timed.
    assert len(asked) <= 20 * process.wall_s


@pytest.fixture
def child():
    """Do something in a process of its own, which exits with 0 if that holds; return its exit status."""

    def fork(work):
        pid = os.fork()
        if pid == 0:
            guardian.in_child(work)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    return fork


def test_who_is_not_the_child_of_its_parent_leaves_at_once(child):
    me = os.getpid()
    assert child(lambda: processes.follow_parent_in_death(me, signal.SIGTERM)) == 0
    assert child(lambda: processes.follow_parent_in_death(me + 1, signal.SIGTERM)) == 1


def test_the_spared_and_their_descendants_live_and_all_others_are_killed_and_reaped(child, tmp_path):
    def kill():
        processes.adopt_orphans()
        spared = subprocess.Popen(["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/below; wait"])
        others = [subprocess.Popen(["sh", "-c", "sleep 600 & sleep 600; true"]) for _ in range(2)]
        while not (tmp_path / "below").exists() or not (tmp_path / "below").read_text().strip():
            time.sleep(0.01)
        below = int((tmp_path / "below").read_text())
        processes.kill_descendants({spared.pid})
        assert {process.pid for process in psutil.Process().children(recursive=True)} == {spared.pid, below}
        assert not any(psutil.pid_exists(process.pid) for process in others)
        processes.kill_descendants(set())
        assert psutil.Process().children(recursive=True) == []

    assert child(kill) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_batch_that_is_told_to_end_leaves_with_the_code_of_the_signal(child, number, code):
    def prepared():
        # Tests may have been started by nohup, which HUP does not end.
        signal.signal(number, signal.SIG_DFL)
        prepare_process(3)
        assert {os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")} == {"3"}
        signal.raise_signal(number)

    assert child(prepared) == code


@pytest.mark.parametrize("value", [float("nan"), -float("inf"), -1e-300])
def test_no_limit_is_a_number_that_nothing_is_below(value):
    for bad in ((value, 1.0), (1.0, value)):
        with pytest.raises(InputError, match=f"limit must be a finite number > 0, got {value!r}"):
            Limits(*bad)
    assert Limits(1e-300, 1e-300).time_s == 1e-300


@pytest.mark.attack("signals: of a guardian")
def test_a_guardian_that_its_run_stops_is_not_waited_for(monkeypatch, tmp_path):
    monkeypatch.setattr("kdrbench.bench.isolation.supervisor._LOOK_S", 0.1)
    note = tmp_path / "pids"

    def stop():
        note.write_text(f"{os.getppid()} {os.getpid()}")
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(600)

    with pytest.raises(SupervisionError, match="the guardian of a run was stopped"):
        supervise(stop, LIMITS)
    assert not any(psutil.pid_exists(int(number)) for number in note.read_text().split())
