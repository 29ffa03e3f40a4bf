"""One clock over several rounds."""

import time

import numpy as np
import pytest

from kdrbench.suite.systems.ikdr.monitor import OutOfTimeError, Round, TimedMonitor
from support.one_batch import referee_in

START = np.eye(3)[:, :1]
# Far above what the clock can miss, far below what a test may take.
PAUSE_S = 0.05


@pytest.fixture
def monitor_of(tmp_path):
    """Make a monitor with a time limit."""
    return lambda time_s: TimedMonitor(referee_in(tmp_path, time_s))


def test_each_round_counts_its_own_iterations(monitor_of):
    monitor = monitor_of(60.0)
    monitor.begin()
    counts = []
    for iterations in (2, 3):
        one = Round(monitor)
        one.begin()
        for _ in range(iterations):
            assert one.keep_going(START)
        one.end()
        one.accept(START)
        counts.append(one.iterations)
    assert counts == [2, 3]
    assert monitor.iterations == 5


def test_the_clock_is_paused_while_a_result_is_noted(monitor_of):
    monitor = monitor_of(60.0)
    noted = []
    monitor.begin()
    one = Round(monitor, lambda projection: (noted.append(projection), time.sleep(10 * PAUSE_S)))
    one.begin()
    one.end()
    one.accept(START)
    time.sleep(PAUSE_S)
    monitor.end()
    assert PAUSE_S <= monitor.clock.wall_s < 10 * PAUSE_S
    assert len(noted) == 1


def test_after_the_limit_no_round_is_accepted(monitor_of):
    monitor = monitor_of(PAUSE_S)
    monitor.begin()
    one = Round(monitor)
    time.sleep(PAUSE_S)
    assert not one.keep_going(START)
    with pytest.raises(OutOfTimeError, match=r"stopped at the time limit of 0\.05 s"):
        one.accept(START)
