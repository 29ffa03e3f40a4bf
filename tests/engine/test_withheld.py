"""Test samples, and labels that a method is to find, are not in the process of its run but with a keeper."""

import ctypes
import gc
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import pytest

from kdrbench.baselines import BaselineTask
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.suite.engine.isolation.keeper import Keeper, Kept
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from support.misbehaving import Misbehaving
from support.one_batch import IKDR, alone, context_of, files_in, grid_of

LIMITS = Limits(time_s=60.0, memory_mib=1024)
# Of no other test.
N_ROWS = 113
PLACE = "KDRBENCH_TEST_FINDINGS"


def objects_here():
    """Yield the objects of this process that its containers and its running functions refer to."""
    # Those that were there before the run began are frozen.
    gc.unfreeze()
    tracked = gc.get_objects()
    yield from tracked
    for one in tracked:
        yield from gc.get_referents(one)
    frame = sys._getframe()
    while frame is not None:
        yield from frame.f_locals.values()
        frame = frame.f_back


def note_findings():
    """Note how many data sets are here, and how many arrays with a value for each sample."""
    data_sets, arrays = set(), set()
    for one in objects_here():
        if type(one) is Dataset and len(one.labels) == N_ROWS:
            data_sets.add(id(one))
        elif type(one) is np.ndarray and one.shape[:1] == (N_ROWS,):
            arrays.add(id(one))
    Path(os.environ[PLACE]).write_text(json.dumps([len(data_sets), len(arrays)]))


@dataclass(frozen=True)
class Searches(Misbehaving):
    """Looks for withheld samples among all objects."""

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        note_findings()
        return SolverOutcome(start, Status.CONVERGED, "searched")


@dataclass(frozen=True)
class SearchesWhenItFits:
    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ()

    def fit(self, features, labels, n_components, rng):
        note_findings()
        return self

    def predict(self, features):
        return np.arange(len(features)) % 2


@cache
def data():
    """Samples of a number that nothing else has."""
    features = np.random.default_rng(0).standard_normal((N_ROWS, 5))
    names = tuple(f"f{place}" for place in range(5))
    return Dataset("counted", features, np.arange(N_ROWS) % 2, names, ("a", "b"))


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Return what reads the findings of the run that has noted them."""
    monkeypatch.setenv(PLACE, str(tmp_path / "found"))
    # Only what a run holds may be among its objects, not what the tests do.
    data.cache_clear()
    return lambda: json.loads((tmp_path / "found").read_text())


def run_of(method, kind, folder):
    """Run a method on fold 0 of the samples; return its row."""
    method = {"it": {"method": f"{__name__}:{method.__name__}"}}
    chosen = {"solvers": method} if kind == "solvers" else {"solvers": {"ism": {"method": "ism"}}, "baselines": method}
    batch = next(one for one in grid_of(runs_per_job=1, **chosen).batches() if one.cell[-1] == "it")
    batch = replace(batch, dataset="counted", data_sha256="")
    (row,) = run_job(IKDR, alone(batch), lambda name: data(), context_of(LIMITS), files_in(folder))
    return row


@pytest.mark.parametrize(("method", "kind"), [(Searches, "solvers"), (SearchesWhenItFits, "baselines")])
def test_no_withheld_sample_is_in_the_process_of_a_run(method, kind, tmp_path, found):
    row = run_of(method, kind, tmp_path)
    assert (row.status, row.n_train + row.n_test) == ("converged", N_ROWS)
    # It is scored on the test samples all the same.
    assert row.n_test > 0
    assert row.quality is not None
    assert found() == [0, 0]


def test_the_search_finds_samples_that_are_not_withheld(tmp_path, found, monkeypatch):
    monkeypatch.setattr(type(IKDR), "withholds", False)
    run_of(Searches, "solvers", tmp_path)
    data_sets, arrays = found()
    assert data_sets >= 1
    assert arrays >= 2


def add(kept, number):
    return kept.value + number


def fail(kept):
    raise DataError("the data are wrong")


def leave(kept):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


def test_a_keeper_answers_and_raises():
    with Keeper(lambda: 40) as keeper:
        assert keeper.ask(add, 2) == 42
        with pytest.raises(DataError, match="the data are wrong"):
            keeper.ask(fail)
        assert keeper.ask(add, 3) == 43


def test_a_keeper_that_cannot_begin_says_why():
    with pytest.raises(ZeroDivisionError):
        Keeper(lambda: 1 / 0)


def test_a_keeper_that_is_killed_is_an_error_of_the_bench():
    with Keeper(lambda: 40) as keeper:
        for _ in range(2):
            with pytest.raises(SupervisionError, match="the process that holds the data was killed"):
                keeper.ask(leave)


def hang_up(kept):
    os.closerange(3, 256)
    time.sleep(600)


def test_a_keeper_whose_line_broke_is_not_at_work():
    with Keeper(lambda: 40) as keeper:
        with pytest.raises(SupervisionError, match="was killed or stopped"):
            keeper.ask(hang_up)
        assert not keeper.is_at_work()
        keeper.renew()
        assert keeper.ask(add, 2) == 42


def stop(kept):
    os.kill(os.getpid(), signal.SIGSTOP)


def test_a_keeper_that_is_stopped_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("kdrbench.suite.engine.isolation.keeper._LOOK_S", 0.1)
    with Keeper(lambda: 40) as keeper, pytest.raises(SupervisionError, match="was killed or stopped"):
        keeper.ask(stop)


def is_open(kept, number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def is_readable_by_others(kept):
    # PR_GET_DUMPABLE
    return bool(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))


def prints(kept):
    print("to one")
    print("to the other", file=sys.stderr)


def test_a_keeper_holds_no_lock_hides_its_memory_and_prints(tmp_path, capfd):
    with (tmp_path / "lock").open("w") as lock, Keeper(lambda: 40) as keeper:
        assert keeper.ask(is_open, lock.fileno()) is False
        assert keeper.ask(is_readable_by_others) is False
        keeper.ask(prints)
    assert capfd.readouterr() == ("to one\n", "to the other\n")


def test_a_keeper_that_is_closed_leaves_no_process_and_no_file():
    before = (list(Path("/proc/self/fd").iterdir()), psutil.Process().children())
    keeper = Keeper(lambda: 40)
    keeper.close()
    # Once more is no error.
    keeper.close()
    assert (list(Path("/proc/self/fd").iterdir()), psutil.Process().children()) == before


def test_what_was_made_last_is_made_once():
    kept, made = Kept(40), []
    answers = [kept.once(key, lambda key=key: made.append(key) or len(made)) for key in "aabba"]
    assert (made, answers) == (list("aba"), [1, 1, 2, 2, 3])
