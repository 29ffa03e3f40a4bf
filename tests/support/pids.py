"""Processes that tests wait for."""

import time

import psutil


def wait_until_gone(pids):
    deadline = time.monotonic() + 20
    while left := [pid for pid in pids if psutil.pid_exists(pid) and is_running(pid)]:
        assert time.monotonic() < deadline, f"processes {left} live on"
        time.sleep(0.01)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_pids(note):
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text().endswith(".")):
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.01)
    return [int(word) for word in note.read_text().split()[:-1]]
