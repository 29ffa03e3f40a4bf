"""Splits as a job: the rows of each method, whatever becomes of the split."""

import time
from dataclasses import replace

import numpy as np
import pytest

from kdrbench.status import Status
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.systems.kpca_trick.run import SplitRun
from kdrbench.suite.systems.kpca_trick.split import LearnedMap
from kdrbench.suite.systems.kpca_trick.system import KPCATrickRecord, KPCATrickSystem
from support.kpca_trick_cases import iris, kpca_batch
from support.one_batch import files_in
from support.system_cases import LIMITS, job_of

METHODS = ("plain", "aligned")


def endings(records):
    return [(record.run, record.variant, record.status) for record in records]


def test_every_method_of_every_split_leaves_a_row(tmp_path):
    batch = kpca_batch(variants=METHODS)
    records = job_of(batch, iris(), tmp_path)
    assert [record.axes for record in records] == batch.axes
    assert read_records(files_in(tmp_path).records, KPCATrickRecord) == records
    for record in records:
        assert (record.status, record.n_train, record.n_test, record.n_features) == ("converged", 100, 50, 4)
        assert 0.8 < record.accuracy <= 1.0
        assert record.provenance.wall_s >= record.learning_cpu_s
        assert record.provenance.calibration_after_s == 0.02
        assert record.time_s == pytest.approx(record.tuning_wall_s + record.learning_wall_s)


def result(variant, referee, **columns):
    """Iris as it is, whatever the variant."""
    LearnedMap(np.empty(0), np.empty((0, 0)), np.eye(4)).save(referee, f"{METHODS.index(variant)}_0")
    return RunResult(Status.CONVERGED, "", 1.0, 1.0, columns, ("dne", variant))


def job(tmp_path, monkeypatch, work, limits=LIMITS):
    monkeypatch.setattr(SplitRun, "run", lambda run, referee: work(run.batch, run.split, run.number, referee))
    return job_of(kpca_batch(variants=METHODS, runs=(0,)), iris(), tmp_path, limits, KPCATrickSystem())


def test_a_limit_takes_only_what_had_not_ended(tmp_path, monkeypatch):
    def stuck(batch, split, number, referee):
        yield result("plain", referee, accuracy=0.5)
        referee.timed(lambda: time.sleep(60))

    records = job(tmp_path, monkeypatch, stuck, Limits(0.3, 1024.0))
    assert endings(records) == [(0, "plain", "converged"), (0, "aligned", "time_limit")]
    # What a run says of its accuracy counts nothing.
    assert records[0].accuracy > 0.8
    assert records[1].accuracy is records[1].tuning_cpu_s is records[1].time_s is None
    assert records[1].message == "killed at the time limit of 0.3 s"


def test_failures_and_memory_are_rows(tmp_path, monkeypatch):
    def hoards(batch, split, number, referee):
        yield RunResult(Status.FAILED, "ValueError: no", key=("dne", "plain"))
        yield result("aligned", referee, kernel=str(bytearray(200 * 2**20)[0]))

    records = job(tmp_path, monkeypatch, hoards, Limits(60.0, 64.0))
    assert endings(records) == [(0, "plain", "failed"), (0, "aligned", "memory_limit")]
    assert records[0].message == "ValueError: no"
    assert (records[0].learning_cpu_s, records[0].n_train) == (None, 100)


MAP = LearnedMap(np.empty(0), np.empty((0, 0)), np.eye(4))
CHANGES = {
    "no number": ("projection", np.full((4, 4), np.nan), "projection must be finite numbers of shape (4, 4); got "),
    "rows of more features": ("projection", np.eye(5), "projection must be finite numbers of shape (4, 5); got "),
    "words": ("projection", np.full((4, 4), "1"), "projection must be finite numbers of shape (4, 4); got <U1 of "),
    "other kernels": ("weights", np.ones(7), "weights must be finite numbers of shape (3,); got float64 of (7,)"),
    "vectors of no kernel": ("vectors", np.ones((100, 4)), "vectors must be finite numbers of shape (0, 0); got "),
    "a negative weight": ("weights", np.array([1.0, -1.0, 0.0]), "a conic combination needs finite weights >= 0"),
}


@pytest.mark.attack("gate: claims")
@pytest.mark.parametrize("what", CHANGES)
def test_a_map_that_no_learner_of_ours_leaves_is_a_failed_row(tmp_path, monkeypatch, what):
    name, array, why = CHANGES[what]
    vectors = {"vectors": np.ones((100, 4))} if what == "a negative weight" else {}

    def leaves(batch, split, number, referee):
        yield result("plain", referee)
        yield result("aligned", referee)
        replace(MAP, **vectors, **{name: array}).save(referee, "1_0")

    good, bad = job(tmp_path, monkeypatch, leaves)
    assert (good.status, good.accuracy > 0.8) == ("converged", True)
    assert (bad.status, bad.accuracy) == ("failed", None)
    assert bad.message.startswith(f"what the run left cannot be evaluated: InputError: {why}")
    # The maps are no results to keep.
    assert not list(tmp_path.rglob("*_projection*"))


def test_a_claim_without_a_map_is_a_failed_row(tmp_path, monkeypatch):
    def claims(batch, split, number, referee):
        for key in batch.rows:
            yield RunResult(Status.CONVERGED, "", 1.0, 1.0, {"accuracy": 1.0, "test_selected": "[1.0]"}, key)

    for row in job(tmp_path, monkeypatch, claims):
        assert (row.status, row.accuracy, row.test_selected) == ("failed", None, "")
        assert "the run left no weights" in row.message
