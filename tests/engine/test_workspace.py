"""Which rows of an earlier job are used: those of the same batch that today's limits would not make otherwise."""

import numpy as np
import pytest

from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.run_files import Checkpoint, write_checkpoint
from support.one_batch import alone, context_of, files_in
from support.tiny_system import DATA, TinyRecord, TinySystem, tiny_batch

LIMITS = Limits(time_s=60.0, memory_mib=256)
SHORT = Limits(time_s=0.1, memory_mib=256)


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(batch, files, limits=LIMITS, **changes):
    return run_job(TinySystem(), alone(batch), lambda name: DATA, context_of(limits, **changes), files)


def made_again(files, batch, first, second):
    """Run a batch under two limits; return the numbers of the runs that were made again."""
    before = {row.run: row.provenance.wall_s for row in run(batch, files, first)}
    after = {row.run: row.provenance.wall_s for row in run(batch, files, second)}
    return {number for number, wall_s in after.items() if wall_s != before[number]}


def test_rows_that_ended_below_the_limits_are_kept(files):
    batch = tiny_batch(then="fails")
    assert made_again(files, batch, LIMITS, Limits(90.0, 999)) == set()
    assert {row.provenance.time_limit_s for row in files.workspace(batch, TinyRecord).records()} == {60.0}


def test_rows_at_a_limit_are_made_again_with_another(files):
    batch = tiny_batch(second_s=0.15, runs=[0])
    # A change of the other limit is none to them.
    assert made_again(files, batch, SHORT, Limits(0.1, 512)) == set()
    assert made_again(files, batch, SHORT, LIMITS) == {0}
    assert [row.status for row in run(batch, files)] == ["converged", "stalled"]


def test_rows_at_the_limit_of_memory_are_made_again_with_another(files):
    class Hoards(TinySystem):
        def _answer(self, definition, dataset):
            raise MemoryError("too much")

    def walls(limits):
        rows = run_job(Hoards(), alone(tiny_batch(runs=[0])), lambda name: DATA, context_of(limits), files)
        assert {row.status for row in rows} == {"memory_limit"}
        return {row.provenance.wall_s for row in rows}

    first = walls(LIMITS)
    assert walls(Limits(9.0, 256)) == first
    assert walls(Limits(60.0, 512)) != first


def test_files_of_finished_runs_stay_where_the_runs_left_them(files):
    run(tiny_batch(), files)
    folder = (workspace := files.workspace(tiny_batch(), TinyRecord)).folder
    assert workspace.batches_of_cell() == {tiny_batch().definition_sha256: tiny_batch()}
    assert folder == files.workspaces / "e/tiny/it/0-1"
    of_runs = (f"run-{n}/{name}" for n in (0, 1) for name in ("answer.npy", "evidence.json", "results.jsonl"))
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == ["batch.json", "rows.jsonl", *of_runs]


def test_a_workspace_of_another_schema_is_void(files, monkeypatch):
    batch = tiny_batch(runs=[0])
    before = run(batch, files)
    monkeypatch.setattr(TinyRecord, "SCHEMA_VERSION", 5)
    (again, _) = run(batch, files)
    assert (again.schema_version, before[0].schema_version) == (5, 4)


def test_a_run_that_lacks_one_of_its_rows_is_made_again(files):
    whole = run(tiny_batch(), files)
    workspace = files.workspace(tiny_batch(), TinyRecord)
    workspace.replace(whole[:3])
    with workspace.rows.open("a") as stream:
        stream.write('{"half a line')
    again = run(tiny_batch(), files)
    assert again[:2] == whole[:2]
    assert [row.axes for row in again] == [row.axes for row in whole]
    assert again[2] != whole[2]


def kept_checkpoint(files, batch, wall_s):
    path = files.workspace(batch, TinyRecord).run(0).checkpoint
    path.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(path, Checkpoint(wall_s, wall_s, 1, {"state": np.zeros(1)}))
    return path


@pytest.mark.parametrize(
    ("wall_s", "was_timed", "is_timed", "stays"),
    [(1.0, True, True, True), (60.0, True, True, False), (1.0, False, False, True), (1.0, False, True, False)],
)
def test_a_checkpoint_is_kept_below_the_limit_and_not_for_times(files, wall_s, was_timed, is_timed, stays):
    batch = tiny_batch(runs=[0])
    workspace = files.workspace(batch, TinyRecord)
    with workspace.claimed(batch, LIMITS, Requirements(timed=was_timed)):
        path = kept_checkpoint(files, batch, wall_s)
    with workspace.claimed(batch, LIMITS, Requirements(timed=is_timed)):
        assert path.exists() == stays


def test_a_run_does_not_go_on_beside_a_cut_iterate(files):
    path = kept_checkpoint(files, batch := tiny_batch(runs=[0]), 1.0)
    left = files.workspace(batch, TinyRecord).run(0)
    assert left.fault_of_checkpoint() is None
    (path.parent / "projection.npy").write_bytes(b"torn")
    assert left.fault_of_checkpoint().startswith("holds no readable state of its unfinished run")


def test_room_for_a_run_keeps_its_checkpoint_alone(files):
    batch = tiny_batch(runs=[0])
    workspace = files.workspace(batch, TinyRecord)
    with workspace.claimed(batch, LIMITS, Requirements(timed=True)):
        path = kept_checkpoint(files, batch, 1.0)
        results = workspace.run(0).results
        results.write_text("{}")
        kept = workspace.run(0).clear()
        assert (kept.wall_s, path.exists(), results.exists()) == (1.0, True, False)
        path.write_bytes(b"torn")
        (path.parent / "left.npy").touch()
        assert workspace.run(0).clear() is None
        assert list(path.parent.iterdir()) == []
