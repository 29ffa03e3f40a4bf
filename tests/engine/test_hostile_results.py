"""What a method or stage leaves is input: a bad result is a failed row or a red job, and never blocks other rows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kdrbench.status import Status
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.own_code import own_code_sha256
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import RecordError
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.run_files import Checkpoint, write_checkpoint
from support.one_batch import alone, context_of, files_in
from support.tiny_stage import DATA, TinyRecord, TinyStage, tiny_batch

LIMITS = Limits(time_s=5.0, memory_mib=256)


def run(stage, batches, results, limits=LIMITS, **changes):
    bundle = Bundle("e/cheap", tuple(batches))
    return run_job(stage, bundle, lambda name: DATA, context_of(limits, **changes), JobFiles.of(results, bundle.path))


class Yields(TinyStage):
    """Yields one given result for each half."""

    def __init__(self, **values):
        self.values = {"status": Status.CONVERGED, "message": "well", **values}

    def run(self, batch, dataset, number, referee):
        for key in batch.rows:
            yield RunResult(**self.values, key=key)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"columns": {"answer": math.nan}}, "ValueError: "),
        ({"status": "well"}, "ValueError: 'well' is not a valid Status"),
    ],
)
def test_odd_results_are_failed_rows_that_can_be_read(tmp_path, values, message):
    first = run(Yields(**values), [tiny_batch(runs=[0])], tmp_path)
    assert [row.half for row in first] == ["first", "second"]
    assert {row.status for row in first} == {"failed"}
    assert all(row.message.startswith(message) for row in first)
    assert run(Yields(**values), [tiny_batch(runs=[0])], tmp_path) == first


def test_a_column_of_the_wrong_type_blocks_no_other_cell(tmp_path):
    class Odd(TinyStage):
        def describe(self, batch, dataset, number):
            return {"n_samples": "three" if batch.cell == ("odd",) else 3}

    batches = [tiny_batch(method="odd", runs=[0]), tiny_batch(method="even", runs=[0])]
    with pytest.raises(Exception, match="column n_samples holds 'three'"):
        run(Odd(), batches, tmp_path)
    files = JobFiles.of(tmp_path, "e/cheap")
    assert files.workspace(batches[0], TinyRecord).records() == []
    assert len(files.workspace(batches[1], TinyRecord).records()) == 2
    # Once the stage is corrected nothing of the odd rows is in the way.
    assert len(run(TinyStage(), batches, tmp_path)) == 4


@pytest.mark.parametrize("column", ["status", "anwser"])
def test_a_stage_gives_no_column_that_is_the_engines(tmp_path, column):
    class Odd(TinyStage):
        def describe(self, batch, dataset, number):
            return {"n_samples": 3, column: "converged"}

    with pytest.raises(RecordError, match=f"Odd gives the column '{column}', which is not its own"):
        run(Odd(), [tiny_batch(runs=[0])], tmp_path)


def test_a_limit_that_cannot_be_set_is_no_fault_of_the_method(tmp_path, monkeypatch):
    def refuse(memory_mib):
        raise OSError("not permitted")

    monkeypatch.setattr("kdrbench.suite.engine.isolation.processes.limit_memory", refuse)
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run(TinyStage(), [tiny_batch(runs=[0])], tmp_path)


def kept_checkpoint(files, batch, wall_s):
    path = files.workspace(batch, TinyRecord).run(0).checkpoint
    path.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(path, Checkpoint(wall_s, wall_s, 1, {"state": np.zeros(1)}))
    return path


@pytest.mark.parametrize(("wall_s", "stays"), [(1.0, True), (5.0, False), (40.0, False)])
def test_a_checkpoint_beyond_the_limit_of_today_is_dropped(tmp_path, wall_s, stays):
    files, batch = files_in(tmp_path), tiny_batch(runs=[0])
    workspace = files.workspace(batch, TinyRecord)
    with workspace.claimed(batch, LIMITS, Requirements(timed=True)):
        path = kept_checkpoint(files, batch, wall_s)
    with workspace.claimed(batch, LIMITS, Requirements(timed=True)):
        assert path.exists() == stays


def test_a_checkpoint_of_an_untimed_run_is_dropped_for_times(tmp_path):
    files, batch = files_in(tmp_path), tiny_batch(runs=[0])
    workspace = files.workspace(batch, TinyRecord)
    with workspace.claimed(batch, LIMITS, Requirements(timed=False)):
        path = kept_checkpoint(files, batch, 1.0)
    with workspace.claimed(batch, LIMITS, Requirements(timed=False)):
        assert path.exists()
    with workspace.claimed(batch, LIMITS, Requirements(timed=True)):
        assert not path.exists()


def test_rows_of_another_batch_in_the_workspace_do_not_count(tmp_path):
    batch, files = tiny_batch(runs=[0]), files_in(tmp_path)
    (first, second) = run_job(TinyStage(), alone(batch), lambda name: DATA, context_of(LIMITS), files)
    foreign = [replace(row, provenance=replace(row.provenance, definition_sha256="other")) for row in (first, second)]
    files.workspace(batch, TinyRecord).replace(foreign)
    again = run_job(TinyStage(), alone(batch), lambda name: DATA, context_of(LIMITS), files)
    assert {row.provenance.definition_sha256 for row in again} == {batch.definition_sha256}


def test_a_module_in_a_folder_without_init_counts(tmp_path, monkeypatch):
    folder = tmp_path / "my_namespace"
    folder.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    (folder / "solver.py").write_text("STEP = 1.0\n")
    before = own_code_sha256("my_namespace.solver")
    (folder / "solver.py").write_text("STEP = 2.0\n")
    assert own_code_sha256("my_namespace.solver") != before
