"""Work that the clock of a method does not cover is seen from outside."""

import os
from dataclasses import dataclass

import pandas as pd
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.suite.engine.isolation.guardian import Exit, ProcessExit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.rows import unclocked
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.findings.outcome import clean_times
from support.misbehaving import Misbehaving
from support.one_batch import batch_of, context_of, files_in, run_batch

LIMITS = Limits(time_s=30.0, memory_mib=512)
WORK_S = 0.6


def works(seconds=WORK_S):
    """Keep a core busy."""
    until = os.times()
    while sum(os.times()[:2]) - sum(until[:2]) < seconds:
        sum(range(1000))


@dataclass(frozen=True)
class WorksInTheIterate(Misbehaving):
    """Does its work in what the referee calls to have the iterate, while the clock is stopped."""

    def run(self, problem, start, monitor):
        def lazily():
            works()
            return start

        monitor.keep_going(lazily)
        return SolverOutcome(start, Status.CONVERGED, "at once")


@dataclass(frozen=True)
class WorksOnTheClock(Misbehaving):
    """Is honest."""

    def run(self, problem, start, monitor):
        works()
        for _ in range(20):
            monitor.keep_going(start)
        return SolverOutcome(start, Status.CONVERGED, "at last")


def row_of(method, tmp_path):
    batch = batch_of(f"{__name__}:{method.__name__}")
    (row,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files_in(tmp_path))
    return row


def test_work_off_the_clock_is_marked(tmp_path):
    row = row_of(WorksInTheIterate, tmp_path)
    assert (row.status, row.provenance.unaccounted) == ("converged", True), row.message
    assert row.time_s < WORK_S / 2
    assert row.provenance.unclocked_s > WORK_S / 2
    assert row.provenance.evaluation_s < WORK_S / 2


def test_work_on_the_clock_is_not(tmp_path):
    row = row_of(WorksOnTheClock, tmp_path)
    assert row.time_s >= WORK_S
    assert row.provenance.unaccounted is False
    assert row.provenance.evaluation_s > 0


PROCESS = ProcessExit(Exit.EXITED, 0, wall_s=10.0, memory_mib=0.0, involuntary_switches=0, cpu_s=5.0)


def result(wall_s, cpu_s):
    return RunResult(Status.CONVERGED, "", clocked_s=wall_s, clocked_cpu_s=cpu_s)


@pytest.mark.parametrize(
    ("clocked_s", "cpu_s", "evaluation_s", "unaccounted"),
    [
        # Up to a fifth of what is claimed, or a tenth of a second.
        (5.0, 4.2, 0.0, False),
        (5.0, 4.1, 0.0, True),
        (5.0, 4.1, 0.5, False),
        (0.0, 0.0, 4.91, False),
        (0.0, 0.0, 4.89, True),
        # More wall seconds than the process took.
        (10.05, 5.0, 0.0, False),
        (10.2, 5.0, 0.0, True),
    ],
)
def test_the_rule(clocked_s, cpu_s, evaluation_s, unaccounted):
    found = unclocked(PROCESS, [result(clocked_s, cpu_s)], evaluation_s)
    assert found.unclocked_s == pytest.approx(10.0 - clocked_s)
    assert (found.evaluation_s, found.unaccounted) == (evaluation_s, unaccounted)


def test_what_is_not_known_is_not_judged():
    assert unclocked(PROCESS, [], 0.0).unclocked_s is None
    assert unclocked(PROCESS, [RunResult(Status.FAILED, "")], 0.0).unclocked_s is None
    found = unclocked(PROCESS, [result(1.0, 1.0), result(4.0, 4.0)], None)
    assert (found.unclocked_s, found.unaccounted) == (6.0, None)


def test_such_times_do_not_count():
    runs = pd.DataFrame({"timed": [True] * 3, "unaccounted": [True, False, None]})
    assert clean_times(runs).index.tolist() == [1, 2]
