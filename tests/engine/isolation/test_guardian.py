"""Guardians: their neighbours, their ends, and how often they look."""

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

from kdrbench.suite.engine.isolation import guardian
from kdrbench.suite.engine.isolation.core_lock import prepare_process
from kdrbench.suite.engine.isolation.guardian import BENCH_FAULT, GRACE_S, Exit
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.isolation.supervisor import SupervisionError, Supervisor, supervise
from support.pids import is_running, wait_for_pids, wait_until_gone

LIMITS = Limits(time_s=0.3, memory_mib=256)


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


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.whole)])
def test_a_guardian_without_report_leaves_its_neighbours_alone(runs, tmp_path, number):
    with subprocess.Popen(["sleep", "600"]) as bystander:
        alone = runs(_noted_and_asleep(tmp_path / "alone"))
        os.kill(wait_for_pids(tmp_path / "alone")[0], number)
        with pytest.raises(SupervisionError):
            alone.wait()
        assert bystander.poll() is None
        ends, stays = runs(_noted_and_asleep(tmp_path / "ends")), runs(_noted_and_asleep(tmp_path / "stays"))
        family, others = wait_for_pids(tmp_path / "ends"), wait_for_pids(tmp_path / "stays")
        os.kill(family[0], number)
        with pytest.raises(SupervisionError, match="killed or has failed, as the log says, or the scheduler is gone"):
            ends.wait()
        wait_until_gone(family)
        # Not even as dead ones that were not reaped, and to close it again is no error.
        assert not psutil.pid_exists(family[0])
        ends.close()
        assert all(is_running(pid) for pid in [*others, bystander.pid])
        # To close a run is to wait until all of it is gone.
        stays.close()
        assert not any(is_running(pid) for pid in others)
        assert bystander.poll() is None
        bystander.kill()


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        (lambda: sys.exit(3), 3),
        (lambda: sys.exit(BENCH_FAULT), BENCH_FAULT),
        # A run that leaves without a number has not done its work.
        (lambda: sys.exit("words"), 1),
        (sys.exit, 1),
        (lambda: signal.raise_signal(signal.SIGINT), -signal.SIGINT),
        (lambda: signal.raise_signal(signal.SIGTERM), -signal.SIGTERM),
    ],
)
def test_exit_codes_and_signals_are_those_of_the_run(leave, code):
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


def test_a_run_that_is_paused_for_ever_ends_all_the_same(monkeypatch):
    monkeypatch.setattr(guardian, "_LONGEST_EXTRA_S", 0.0)
    # A run begins paused, and this one never says that its solver has begun.
    process = supervise(lambda: time.sleep(600), LIMITS, Pauses())
    assert process.end is Exit.TIME_LIMIT
    assert process.wall_s >= 3 * LIMITS.time_s


def test_the_guardian_looks_up_often_and_sleeps_meanwhile(monkeypatch, tmp_path):
    def noted(readers, writers, others, wait_s):
        with (tmp_path / "waits").open("a") as stream:
            stream.write(f"{wait_s}\n")
        return select.select(readers, writers, others, wait_s)

    monkeypatch.setattr(guardian, "select", SimpleNamespace(select=noted))
    process = supervise(lambda: time.sleep(600), Limits(time_s=0.5, memory_mib=256))
    asked = np.loadtxt(tmp_path / "waits", ndmin=1)
    # Its limit of memory and a scheduler that is gone are noticed within a second, the limit of time at once.
    assert asked.min() >= 0
    assert asked.max() <= 1
    # No wait goes beyond the limit.
    assert asked.sum() <= 0.5 + GRACE_S + 1e-6
    assert process.wall_s >= 0.5
    # It looks a few times a second: it shares a core with what is timed.
    assert len(asked) <= 20 * process.wall_s


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_batch_told_to_end_leaves_with_the_code_of_the_signal(number, code):
    def prepared():
        # Tests may have been started by nohup, which HUP does not end.
        signal.signal(number, signal.SIG_DFL)
        prepare_process(3)
        assert {os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")} == {"3"}
        signal.raise_signal(number)

    pid = os.fork()
    if pid == 0:
        guardian.in_child(prepared)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
