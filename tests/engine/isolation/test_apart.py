"""Work that must report from a process of its own: its answer, or what it did instead."""

import ctypes
import os
import signal
import sys
import time

import numpy as np
import pytest

from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import report_of

LIMITS = Limits(time_s=20, memory_mib=256)


def test_what_the_work_returns_comes_back_as_json_holds_it():
    assert report_of(lambda: {"a": (1, None)}, LIMITS)[1] == {"a": [1, None]}
    # Orphans are no longer adopted afterwards.
    adopts = ctypes.c_int(-1)
    # PR_GET_CHILD_SUBREAPER
    ctypes.CDLL(None).prctl(37, ctypes.byref(adopts), 0, 0, 0)
    assert adopts.value == 0


def test_what_it_prints_is_in_the_log(capfd):
    def says_both():
        print("to one", flush=True)
        print("to the other", file=sys.stderr, flush=True)
        os.system("echo of a child")
        return True

    assert report_of(says_both, LIMITS)[1]
    assert capfd.readouterr().err == "  | to one\n  | to the other\n  | of a child\n"


@pytest.mark.parametrize(
    ("work", "end", "code"),
    [
        (lambda: os._exit(0), Exit.EXITED, 0),
        (lambda: object(), Exit.EXITED, 1),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), Exit.SIGNALLED, 9),
    ],
)
def test_who_ends_before_the_end_of_the_work_has_not_reported(work, end, code):
    ending, answer = report_of(work, LIMITS)
    assert (ending.end, ending.code, answer) == (end, code, None)


def holds_memory():
    held = np.ones(2**22)
    for _ in range(6):
        if os.fork() == 0:
            held += 1.0
            time.sleep(600)
    time.sleep(600)


def test_limits_are_named():
    ending, _ = report_of(lambda: time.sleep(600), Limits(0.2, 256))
    assert ending.end is Exit.TIME_LIMIT
    ending, _ = report_of(holds_memory, Limits(20, 128))
    assert ending.end is Exit.MEMORY_LIMIT
