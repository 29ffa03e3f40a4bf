"""Solvers and baselines that go wrong in every way a real one can.

Each solver lets the referee see an iterate or more first.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil

from kdrbench.baselines import BaselineTask
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.solvers.dimension_growth import DimensionGrowth
from kdrbench.solvers.monitor import MonitorProxy


@dataclass(frozen=True)
class Misbehaving:
    requires: ClassVar[frozenset[str]] = frozenset({"value"})

    def run(self, problem, start, monitor):
        for _ in range(3):
            monitor.keep_going(start)
        self.go_wrong()
        return self.outcome(start, monitor)

    def go_wrong(self):
        """Do nothing yet: what goes wrong is the outcome."""

    def outcome(self, start, monitor):
        return SolverOutcome(start, Status.CONVERGED, "went well after all")


class Sleeps(Misbehaving):
    """Sits in C code that holds the interpreter: no signal handler of Python's would run."""

    def go_wrong(self):
        ctypes.PyDLL(None).sleep(600)


class ForksGrandchild(Misbehaving):
    """Starts a process in a session of its own, notes its number, and hangs."""

    def go_wrong(self):
        grandchild = subprocess.Popen(
            [sys.executable, "-c", "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"],
            start_new_session=True,
        )
        if note := os.environ.get("GRANDCHILD_NOTE"):
            Path(note).write_text(str(grandchild.pid))
        time.sleep(600)


class Allocates(Misbehaving):
    """Asks for 64 GiB at once."""

    def go_wrong(self):
        np.ones(2**33)


class AllocatesInChildren(Misbehaving):
    """Lets processes of its own hold the memory, each below the limit of a single process."""

    def go_wrong(self):
        for _ in range(8):
            if os.fork() == 0:
                hold = np.ones(2**24)
                time.sleep(600)
                os._exit(int(hold[0]))
        time.sleep(600)


class Raises(Misbehaving):
    def go_wrong(self):
        raise ZeroDivisionError("the step length is 0/0")


class IsKilled(Misbehaving):
    def go_wrong(self):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class IsStoppedOnce(Misbehaving):
    """Ends by a signal, as from outside, unless the note is there."""

    note: str = ""
    number: int = signal.SIGTERM

    def go_wrong(self):
        if not Path(self.note).exists():
            Path(self.note).touch()
            os.kill(os.getpid(), self.number)


class KillsItsGuardian(Misbehaving):
    """Leaves nobody who could say how it ended."""

    def go_wrong(self):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)


class Leaves(Misbehaving):
    def go_wrong(self):
        os._exit(7)


class Lies(Misbehaving):
    """Calls a matrix orthonormal that is not."""

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        return SolverOutcome(2.0 * start, Status.CONVERGED, "converged")


class NeverEnds(Misbehaving):
    """Goes on as long as it may, and asks."""

    def run(self, problem, start, monitor):
        while monitor.keep_going(start):
            time.sleep(0.01)
        return SolverOutcome(start, monitor.stop_status, monitor.stop_message)


class Diverges(Misbehaving):
    def outcome(self, start, monitor):
        monitor.keep_going(start * np.nan)


class HasItsOwnStatus(Misbehaving):
    def outcome(self, start, monitor):
        return SolverOutcome(start, "fine", "")


class WantsAnOracle(Misbehaving):
    requires: ClassVar[frozenset[str]] = frozenset({"third_derivative"})


class LiesAndGoesOn(Misbehaving):
    """Catches what the referee says of its iterate."""

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        with contextlib.suppress(ValueError):
            monitor.keep_going(2.0 * start)
        return SolverOutcome(start, Status.CONVERGED, "converged")


class TooWide(Misbehaving):
    """Takes more components than it was asked for."""

    def outcome(self, start, monitor):
        wide = np.linalg.qr(np.random.default_rng(0).standard_normal((start.shape[0], start.shape[1] + 1)))[0]
        monitor.keep_going(wide)
        return SolverOutcome(wide, Status.CONVERGED, "converged")


class DiesOfARealTimeSignal(Misbehaving):
    def go_wrong(self):
        os.kill(os.getpid(), 40)


class ConvergesTooLate(Misbehaving):
    """Ends by itself between the limit and the kill."""

    def go_wrong(self):
        time.sleep(0.55)


@dataclass(frozen=True)
class MisbehavingBaseline:
    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ()

    def fit(self, features, labels, n_components, rng):
        raise ZeroDivisionError("the covariance is 0/0")

    def predict(self, features):
        return np.zeros(len(features), dtype=int)


class FitsForEver(MisbehavingBaseline):
    """Does not ask whether time is left, as scikit-learn does not."""

    def fit(self, features, labels, n_components, rng):
        ctypes.PyDLL(None).sleep(600)


class FitsTooLong(MisbehavingBaseline):
    """Ends by itself between the limit and the kill."""

    def fit(self, features, labels, n_components, rng):
        time.sleep(0.55)
        return self


class FitsTooMuch(MisbehavingBaseline):
    def fit(self, features, labels, n_components, rng):
        np.ones(2**33)


class PredictsTooFew(MisbehavingBaseline):
    """Predicts fewer labels than there are samples."""

    def fit(self, features, labels, n_components, rng):
        return self

    def predict(self, features):
        return np.zeros(2, dtype=int)


class FailsToPredict(PredictsTooFew):
    def predict(self, features):
        raise ZeroDivisionError("no sample is nearest")


@dataclass(frozen=True)
class ClustersTooFew:
    task: ClassVar[BaselineTask] = BaselineTask.CLUSTERING
    imports: ClassVar[tuple[str, ...]] = ()

    def cluster(self, features, n_clusters, n_components, rng):
        return np.zeros(2, dtype=int)


class OfNoTask(MisbehavingBaseline):
    task: ClassVar[str] = "regression"


class NoBaseline:
    task, imports = BaselineTask.CLASSIFICATION, ()


@dataclass(frozen=True)
class CannotFit(NoBaseline):
    pass


class Wanders(Misbehaving):
    """Returns another projection each time, never the same twice in a row."""

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        return SolverOutcome(np.roll(start, 1, axis=0), Status.CONVERGED, "somewhere else")


@dataclass(frozen=True)
class IsKilledOnTheWay(Misbehaving):
    """Dimension Growth that is killed at its iterate number ``at``, or whose batch is, but only once."""

    victim: str = "run"
    at: int = 23

    def run(self, problem, start, monitor):
        return DimensionGrowth(tolerance=1e-3).run(problem, start, Killer(monitor, self))


class Killer(MonitorProxy):
    def __init__(self, monitor, plan):
        super().__init__(monitor)
        self.plan = plan

    def keep_going(self, iterate):
        going, note = self._monitor.keep_going(iterate), Path(os.environ["KILLED_NOTE"])
        if self.iterations == self.plan.at and not note.exists():
            note.touch()
            me = psutil.Process()
            (me if self.plan.victim == "run" else me.parent().parent()).kill()
            time.sleep(600)
        return going


class CountsThreads(Misbehaving):
    """Says, in its message, how many threads its libraries may use and how many cores there are for them."""

    def run(self, problem, start, monitor):
        from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
        from threadpoolctl import threadpool_info

        monitor.keep_going(start)
        found = {library["user_api"]: library["num_threads"] for library in threadpool_info()}
        found |= {"openmp in effect": _openmp_effective_n_threads(), "cores": len(os.sched_getaffinity(0))}
        return SolverOutcome(start, Status.CONVERGED, json.dumps(found))
