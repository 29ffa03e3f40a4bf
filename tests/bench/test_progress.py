"""How far a grid has come, from made-up rows, traces and locks."""

import dataclasses
import fcntl
import json

import pytest

from configs import table_4_config
from kdrbench.bench import progress
from kdrbench.bench.grid import Grid
from kdrbench.bench.progress import progress_of, seconds_left
from kdrbench.bench.record import append_record
from kdrbench.reports.progress import progress_lines
from made_up import record


@pytest.fixture
def grid():
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism", "sm", "gm"], "baselines": []}
    experiment |= {"folds": 4, "folds_per_job": 4}
    return Grid(config)


def row(batch, fold, **values):
    axes = {"experiment": batch.experiment, "dataset": batch.dataset, "solver": batch.solver, "fold": fold}
    hashes = {"batch_sha256": batch.sha256, "definition_sha256": batch.definition_sha256}
    return record(**axes, **hashes | values)


@pytest.fixture
def results(tmp_path, grid):
    """ISM has ended; SM has two rows and is at work on the third; GM has not begun."""
    ism, sm, _ = grid.batches()
    for fold, status in enumerate(["converged", "converged", "converged", "time_limit"]):
        append_record(tmp_path / "runs" / f"{ism.path}.jsonl", row(ism, fold, status=status, wall_s=2.0))
    state = tmp_path / ".state" / sm.path
    for fold in (0, 1):
        append_record(state / "rows.jsonl", row(sm, fold, status="failed", wall_s=10.0))
    (state / "fold-2").mkdir()
    points = [[0.1, -1.0, 0.5], [0.2, -4.0, 0.4], [1.5, -3.0, 0.3]]
    (state / "fold-2" / "trace.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
    return tmp_path


def test_who_holds_a_batch_is_at_work_on_its_next_fold(grid, results):
    _, sm, _ = grid.batches()
    with (results / ".state" / f"{sm.path}.lock").open("w") as lock:
        idle = progress_of(grid, results)
        fcntl.flock(lock, fcntl.LOCK_EX)
        ism, sm, gm = progress_of(grid, results)
    assert [one.running for one in idle] == [None] * 3
    assert dataclasses.astuple(sm.running) == (2, 1.5, -4.0)
    assert (ism.running, gm.running) == (None, None)
    assert [one.left for one in (ism, sm, gm)] == [0, 2, 4]
    assert (ism.begun, sm.begun, gm.begun) == (False, True, False)


def test_what_is_left_is_reckoned_from_what_has_ended(grid, results):
    progress = progress_of(grid, results)
    ism, sm, gm = (one.reckoned_s for one in progress)
    assert sm == gm == pytest.approx(100 * ism)
    # SM's own mean for its two; for the four of GM what all took (4 at 2 s, 2 at 10 s) of what they were reckoned to.
    all_took = (4 * 2.0 + 2 * 10.0) / (4 * ism + 2 * sm)
    assert seconds_left(progress) == pytest.approx(2 * 10.0 + 4 * gm * all_took)
    assert seconds_left(progress_of(grid, results / "nowhere")) is None


def test_lines(grid, results):
    _, sm, _ = grid.batches()
    with (results / ".state" / f"{sm.path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = list(progress_lines(progress_of(grid, results)))
    assert lines == [
        "table4_supervised/wine/gaussian/ism     4 of 4     3 converged, 1 at the time limit",
        "table4_supervised/wine/gaussian/sm      2 of 4     2 failed; fold 2 running for 1.5s, lowest cost -4",
        "1 cell(s) have not begun",
        "6 of 12 runs ended (3 converged, 1 at the time limit, 2 failed), 1 running, about 1.25m left",
    ]
    assert "folds 0-3 begun, held by no process here" in list(progress_lines(progress_of(grid, results)))[1]


def test_rows_of_another_batch_do_not_count(grid, results):
    config = dict(grid.config) | {"seed": 1}
    assert [one.left for one in progress_of(Grid(config), results)] == [4, 4, 4]


def test_rows_made_with_other_code_are_out_of_date_until_they_are_made_again(grid, results):
    _, _, gm = grid.batches()
    path = results / "runs" / f"{gm.path}.jsonl"
    for fold in gm.folds:
        append_record(path, row(gm, fold, batch_sha256="of other code"))
    assert [one.outdated for one in progress_of(grid, results)] == [False, False, True]
    assert [one.left for one in progress_of(grid, results)] == [0, 2, 4]
    *_, line, summary = progress_lines(progress_of(grid, results))
    assert line.endswith("4 of 4     4 converged; 4 out of date: code or packages have changed since")
    assert summary.startswith(
        "10 of 12 runs ended (7 converged, 1 at the time limit, 2 failed), 4 of them out of date, "
    )
    append_record(results / ".state" / gm.path / "rows.jsonl", row(gm, 0))
    again = progress_of(grid, results)[-1]
    assert (len(again.ended), again.left, again.outdated) == (1, 3, False)


def test_rows_made_in_the_environment_of_conda_are_not_out_of_date(grid, results, tmp_path, monkeypatch):
    environment = tmp_path / "ikdr.yaml"
    environment.write_text("dependencies: []")
    *_, gm = Grid(grid.config, environment).batches()
    assert gm.sha256 != grid.batches()[-1].sha256
    append_record(results / "runs" / f"{gm.path}.jsonl", row(gm, 0))
    assert progress_of(grid, results)[-1].outdated
    monkeypatch.setattr(progress, "_ENVIRONMENT", environment)
    assert not progress_of(grid, results)[-1].outdated


def test_batches_of_a_shared_job_are_told_apart(grid, tmp_path):
    grid.config["experiments"]["table4_supervised"]["folds_per_job"] = "auto"
    grid = Grid(grid.config)
    (bundle,), (ism, sm, _) = grid.bundles(), grid.batches()
    for fold in ism.folds:
        append_record(tmp_path / "runs" / f"{bundle.path}.jsonl", row(ism, fold))
    state = tmp_path / ".state" / bundle.path / "gaussian" / "sm"
    append_record(state / "0-3" / "rows.jsonl", row(sm, 0))
    with (state / "0-3.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = progress_of(grid, tmp_path)
    assert [len(one.ended) for one in found] == [4, 1, 0]
    assert [one.running and one.running.fold for one in found] == [None, 1, None]


def test_a_lock_of_the_same_number_on_another_device_is_another_lock(grid, results, monkeypatch):
    _, sm, _ = grid.batches()
    (results / ".state" / f"{sm.path}.lock").touch()
    inode = (results / ".state" / f"{sm.path}.lock").stat().st_ino
    (results / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE 1 fe:ed:{inode} 0 EOF\n")
    monkeypatch.setattr(progress, "_LOCKS", results / "locks")
    assert [one.running for one in progress_of(grid, results)] == [None] * 3


def test_a_larger_problem_is_expected_to_take_longer_but_not_beyond_the_limit():
    config = table_4_config()
    config["limits"] = config["limits"] | {"time_s": 60.0}
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "mnist"], "kernels": ["gaussian"], "solvers": ["ism", "sm"], "baselines": []}
    experiment |= {"components": {"wine": 4, "mnist": 10}}
    grid = Grid(config)
    reckoned = {(batch.dataset, batch.solver): grid.reckoned_s(batch) for batch in grid.batches()}
    assert reckoned["mnist", "ism"] > 1000 * reckoned["wine", "ism"]
    assert reckoned["mnist", "sm"] == 60.0
