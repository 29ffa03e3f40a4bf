"""Test rows, and labels that a method is to find, are not in the memory of its run."""

import ctypes
import gc
import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import pytest
from sklearn.model_selection import StratifiedKFold

from kdrbench.baselines import BaselineTask
from kdrbench.bench.isolation.keeper import Keeper, Kept
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.isolation.supervisor import SupervisionError
from kdrbench.bench.job import run_job
from kdrbench.bench.seeds import rng_of, seed_of
from kdrbench.datasets import Dataset
from kdrbench.datasets.prepared import load_prepared, save_prepared
from kdrbench.errors import DataError
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.stages.ikdr.definition import CellDefinition
from kdrbench.stages.kpca_trick.stage import KPCATrickStage
from support.kpca_trick_cases import kpca_batch
from support.misbehaving import Misbehaving
from support.one_batch import IKDR, alone, context_of, files_in, grid_of

LIMITS = Limits(time_s=60.0, memory_mib=1024)
N_ROWS, N_FEATURES = 60, 40
PLACE = "KDRBENCH_TEST_FINDINGS"


def memory_of_this_process():
    """Yield all that can be read of this process's memory, in pieces that overlap."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:
        for line in maps:
            span, access, *_, name = [*line.split(maxsplit=5), ""][:6]
            # Code of libraries holds no data.
            library = name.startswith("/") and "w" not in access
            if not access.startswith("r") or library or name.startswith(("[vvar", "[vsyscall")):
                continue
            begin, end = (int(part, 16) for part in span.split("-"))
            for at in range(begin, end, 2**22):
                memory.seek(at)
                try:
                    yield memory.read(min(2**22 + 4096, end - at))
                except OSError:
                    break


def found_in_memory():
    """Return the numbers of the planted rows that are there, and how often the labels of all are, in their order."""
    # The pattern is made here, so that it is not itself in memory where it would be found.
    mark = bytes([0x5A, 0x17, 0xC3])
    few, rows, labels = (bytes(8) + b"\x01" + bytes(7)) * 4, set(), 0
    for piece in memory_of_this_process():
        found = mark in piece and re.findall(b"(..)" + re.escape(mark) + b".\xf0\x3f", piece, re.DOTALL)
        rows.update(int.from_bytes(row, "little") for row in found or ())
        at = piece.find(few)
        while at >= 0:
            labels += _are_all_labels(piece, at)
            at = piece.find(few, at + 1)
    return {"rows": sorted(rows), "labels": labels}


def _are_all_labels(piece, at):
    return all(piece[at + 8 * place : at + 8 * place + 1] == bytes([place % 2]) for place in range(N_ROWS))


def note_findings():
    Path(os.environ[PLACE]).write_text(json.dumps(found_in_memory()))


@dataclass(frozen=True)
class Searches(Misbehaving):
    """Looks for the rows that were planted in all of its memory."""

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


@dataclass(frozen=True)
class SearchesWhenItLearns:
    """A learner of distances."""

    def fit(self, features, labels):
        note_findings()
        return np.eye(features.shape[1])


@dataclass(frozen=True)
class LooksForData(Misbehaving):
    """Looks for the data set among all objects."""

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        found = [one for one in gc.get_objects() if isinstance(one, Dataset)]
        Path(os.environ[PLACE]).write_text(json.dumps({"rows": [len(found)]}))
        return SolverOutcome(start, Status.CONVERGED, "searched")


def planted():
    """Features between 1 and 2, whose bits hold the number of their row and a mark; so do those of nothing else."""
    numbers = np.arange(N_ROWS, dtype=np.uint64)[:, None] + np.zeros((1, N_FEATURES), dtype=np.uint64)
    noise = np.random.default_rng(0).integers(0, 256, size=(N_ROWS, N_FEATURES)).astype(np.uint64)
    bits = (
        (np.uint64(0x3FF0) << np.uint64(48))
        | (noise << np.uint64(40))
        | (np.uint64(0xC3175A) << np.uint64(16))
        | numbers
    )
    features = np.ascontiguousarray(bits.view(np.float64))
    labels = np.arange(N_ROWS) % 2
    names = tuple(f"f{place}" for place in range(N_FEATURES))
    return Dataset("planted", features, labels.astype(np.int64), names, ("a", "b"))


def planted_file(tmp_path, monkeypatch):
    """Write the planted rows to a file, and say where findings go."""
    path = tmp_path / "planted.npz"
    child = os.fork()
    if child == 0:
        # Not even this process has the rows.
        save_prepared(planted(), path)
        os._exit(0)
    os.waitpid(child, 0)
    monkeypatch.setenv(PLACE, str(tmp_path / "found"))
    return path


def run_on(method, tmp_path, monkeypatch, *, kind="solvers", withholds=True):
    """Run a method on fold 0 of the planted rows; return what it found and the rows of its test part."""
    path = planted_file(tmp_path, monkeypatch)
    monkeypatch.setattr(type(IKDR), "withholds", withholds)
    method = {"it": {"method": f"{__name__}:{method.__name__}"}}
    chosen = {"solvers": method} if kind == "solvers" else {"solvers": {"ism": {"method": "ism"}}, "baselines": method}
    batch = next(one for one in grid_of(runs_per_job=1, **chosen).batches() if one.cell[-1] == "it")
    batch = replace(batch, dataset="planted", data_sha256="")
    files = files_in(tmp_path)
    (row,) = run_job(IKDR, alone(batch), lambda name: load_prepared(path), context_of(LIMITS), files)
    assert row.status == "converged", row.message
    with Keeper(lambda: load_prepared(path)) as keeper:
        test = keeper.ask(rows_of_the_test_part, CellDefinition.of(batch))
    return row, json.loads((tmp_path / "found").read_text()), test


def rows_of_the_test_part(kept, cell):
    """The numbers of the rows in the test part of fold 0."""
    numbered = Dataset("planted", np.arange(float(N_ROWS))[:, None], kept.value.labels, ("f",), ("a", "b"))
    folds = StratifiedKFold(
        cell.sampling.n_folds, shuffle=True, random_state=seed_of("split", "planted", cell.seed) % 2**32
    )
    return set(next(iter(folds.split(numbered.features, numbered.labels)))[1].tolist())


@pytest.mark.attack("time: test rows")
@pytest.mark.parametrize(("method", "kind"), [(Searches, "solvers"), (SearchesWhenItFits, "baselines")])
def test_no_test_row_is_in_the_memory_of_a_run(method, kind, tmp_path, monkeypatch):
    row, found, test = run_on(method, tmp_path, monkeypatch, kind=kind)
    assert len(test) == row.n_test == N_ROWS // 10
    assert set(found["rows"]) & test == set()
    assert found["labels"] == 0
    # It is scored on them all the same.
    assert row.quality is not None


@pytest.mark.attack("time: test rows")
@pytest.mark.parametrize("withholds", [True, False])
def test_no_test_row_is_in_the_memory_of_a_learner(tmp_path, monkeypatch, withholds):
    path = planted_file(tmp_path, monkeypatch)
    monkeypatch.setattr(KPCATrickStage, "withholds", withholds)
    learner = f"{__name__}:{SearchesWhenItLearns.__name__}"
    batch = replace(kpca_batch((learner,), ("plain",), (0,), n_train=40), dataset="planted", data_sha256="")
    rows = run_job(
        KPCATrickStage(), alone(batch), lambda name: load_prepared(path), context_of(LIMITS), files_in(tmp_path)
    )
    order = rng_of("kpca split", "planted", 0, batch.seed).permutation(N_ROWS)
    test, found = set(order[40:].tolist()), json.loads((tmp_path / "found").read_text())
    assert {(row.status, row.n_test, row.accuracy is None) for row in rows} == {("converged", 20, False)}
    # Where nothing is withheld, the search finds them.
    assert (set(found["rows"]) & test, found["labels"] > 0) == (set() if withholds else test, not withholds)


def test_the_search_finds_rows_that_are_there(tmp_path, monkeypatch):
    _, found, test = run_on(Searches, tmp_path, monkeypatch, withholds=False)
    assert test <= set(found["rows"])
    assert found["labels"] > 0


@pytest.mark.attack("time: test rows")
def test_no_data_set_is_among_the_objects_of_a_run(tmp_path, monkeypatch):
    _, found, _ = run_on(LooksForData, tmp_path, monkeypatch)
    assert found == {"rows": [0]}


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


def test_a_keeper_whose_line_broke_is_not_at_work_while_its_process_is_still_there():
    with Keeper(lambda: 40) as keeper:
        with pytest.raises(SupervisionError, match="was killed or stopped"):
            keeper.ask(hang_up)
        assert not keeper.is_at_work()
        keeper.renew()
        assert keeper.ask(add, 2) == 42


def stop(kept):
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.attack("signals: of a keeper")
def test_a_keeper_that_is_stopped_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("kdrbench.bench.isolation.keeper._LOOK_S", 0.1)
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


def test_a_keeper_holds_no_lock_hides_its_memory_and_prints_where_its_batch_does(tmp_path, capfd):
    with (tmp_path / "lock").open("w") as lock, Keeper(lambda: 40) as keeper:
        assert keeper.ask(is_open, lock.fileno()) is False
        assert keeper.ask(is_readable_by_others) is False
        keeper.ask(prints)
    assert capfd.readouterr() == ("to one\n", "to the other\n")


def test_a_keeper_that_is_closed_leaves_no_process_and_no_file_open():
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
