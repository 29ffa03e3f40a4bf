"""How far a grid has come, from made-up rows, traces and locks."""

import dataclasses
import json
import os
import platform
from contextlib import contextmanager
from pathlib import Path

import pytest

from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.commands.progress import progress_lines, summary_line
from kdrbench.suite.engine.progress import Costs, forecast, progress_of
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import append_records
from kdrbench.suite.engine.workspace import workspace_lock
from kdrbench.suite.experiments.config import load_grid
from support.made_up import record
from support.one_batch import grid_of, workspace_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def grid():
    return grid_of(**CELLS, runs_per_job=4)


CELLS = {"kernels": ["gaussian"], "solvers": ["ism", "sm", "gm"], "folds": 4}


def row(batch, number, **values):
    columns = {"time_limit_s": 1e6, "memory_limit_mib": 1e6} | batch.identity | values
    return record(batch.dataset, batch.cell[-1], number, experiment=batch.experiment, **columns)


def workspace_in(results, batch):
    return workspace_of(JobFiles.of(results, ""), batch)


@contextmanager
def at_work(results, batch):
    """Hold the lock of a batch's workspace."""
    workspace = workspace_in(results, batch)
    with workspace_lock(workspace.lock, workspace.folder):
        yield


@pytest.fixture
def results(tmp_path, grid):
    """ISM has ended; SM has two rows and is at work on the third; GM has not begun."""
    ism, sm, _ = grid.batches()
    statuses = enumerate(["converged", "converged", "converged", "time_limit"])
    rows = [row(ism, number, status=status, wall_s=2.0) for number, status in statuses]
    append_records(tmp_path / "runs" / f"{ism.path}.jsonl", rows)
    workspace = workspace_in(tmp_path, sm)
    workspace.append([row(sm, number, status="failed", message="no step", wall_s=10.0) for number in (0, 1)])
    workspace.run(2).folder.mkdir()
    points = [[0.1, -1.0, 0.5], [0.2, -4.0, 0.4], [1.5, -3.0, 0.3]]
    workspace.run(2).trace.write_text("".join(json.dumps(point) + "\n" for point in points))
    return tmp_path


def test_who_holds_a_batch_is_at_work_on_its_next_run(grid, results):
    _, sm, _ = grid.batches()
    idle = progress_of(grid, results)
    with at_work(results, sm):
        ism, sm, gm = progress_of(grid, results)
    assert [one.running for one in idle] == [None] * 3
    assert dataclasses.astuple(sm.running) == (2, 1.5, -4.0)
    assert (ism.running, gm.running) == (None, None)
    assert [one.left for one in (ism, sm, gm)] == [0, 2, 4]
    assert (ism.begun, sm.begun, gm.begun) == (False, True, False)


def test_what_is_left_is_estimated_from_what_has_ended(grid, results):
    progress = progress_of(grid, results)
    ism, sm, gm = (one.estimated_s for one in progress)
    assert sm == gm == pytest.approx(100 * ism)
    # SM's own mean for its two; for the four of GM what all took (4 at 2 s, 2 at 10 s) of what they were estimated to.
    all_took = (4 * 2.0 + 2 * 10.0) / (4 * ism + 2 * sm)
    # Never longer than its limits allow.
    of_gm = min(gm * all_took, grid.most_s("table4_supervised"))
    left = Costs(progress).core_s_left(progress)
    assert left == pytest.approx(2 * 10.0 + 4 * of_gm)
    # What `kdrbench plan` says is the same.
    (one,) = forecast(grid, results)
    assert one.core_s == left
    assert (one.runs, one.to_make, one.measured) == (12, 6, 2)
    nothing = progress_of(grid, results / "nowhere")
    assert Costs(nothing).core_s_left(nothing) == sum(one.core_s for one in forecast(grid, results / "nowhere")) > 0


def test_lines(grid, results, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    _, sm, _ = grid.batches()
    with at_work(results, sm):
        progress = progress_of(grid, results)
        lines = [*progress_lines(progress), summary_line(progress)]
        workspace_in(results, sm).run(2).trace.unlink()
        assert "run 0 failed: no step; run 2 has begun" in list(progress_lines(progress_of(grid, results)))[1]
    assert lines == [
        "table4_supervised/wine/gaussian/ism     4 of 4     3 converged, 1 at the time limit",
        "table4_supervised/wine/gaussian/sm      2 of 4     2 failed; run 0 failed: no step; run 2 running for 1.5s, "
        "lowest cost -4",
        "not begun: 1 cell",
        "6 of 12 runs ended (3 converged, 1 at the time limit, 2 failed), none of them out of date, 1 running; "
        "6 runs to make, about 0.021 core-hours (37.5s on 2 cores)",
    ]
    assert "2 runs to make, but no process here works on them" in list(progress_lines(progress_of(grid, results)))[1]


def test_rows_of_another_seed_are_out_of_date(grid, results):
    config = dict(grid.config) | {"seed": 1}
    found = progress_of(load_grid(config), results)
    assert [one.left for one in found] == [4, 4, 4]
    assert [one.reasons for one in found if one.ended] == [("seed 0 -> 1",)] * 2


def test_rows_of_earlier_revisions_are_out_of_date(grid, results):
    _, _, gm = grid.batches()
    path = results / "runs" / f"{gm.path}.jsonl"
    revisions = json.dumps(gm.revisions | {"solver/grassmann_trust_region": "0.1"})
    append_records(path, [row(gm, number, revisions=revisions) for number in gm.runs])
    assert [one.outdated for one in progress_of(grid, results)] == [False, False, True]
    assert [one.left for one in progress_of(grid, results)] == [0, 2, 4]
    progress = progress_of(grid, results)
    *_, line = progress_lines(progress)
    summary = summary_line(progress)
    assert line.endswith("4 of 4     4 converged; 4 out of date: solver/grassmann_trust_region: numbers 0 -> 1")
    assert "10 of 12 runs ended (7 converged, 1 at the time limit, 2 failed), 4 of them out of date; " in summary
    workspace_in(results, gm).append([row(gm, 0)])
    again = progress_of(grid, results)[-1]
    assert (len(again.ended), again.left, again.outdated) == (1, 3, False)


def test_batches_of_a_shared_job_are_distinguished(tmp_path):
    grid = grid_of(**CELLS, runs_per_job="auto")
    (bundle,), (ism, sm, _) = grid.bundles(), grid.batches()
    append_records(tmp_path / "runs" / f"{bundle.path}.jsonl", [row(ism, number) for number in ism.runs])
    workspace_in(tmp_path, sm).append([row(sm, 0)])
    with at_work(tmp_path, sm):
        cells = progress_of(grid, tmp_path)
    assert [len(one.ended) for one in cells] == [4, 1, 0]
    assert [one.running and one.running.run for one in cells] == [None, 1, None]


def test_a_lock_of_a_killed_job_or_of_another_machine_is_no_work(grid, results):
    _, sm, _ = grid.batches()
    for left in ("", f"{2**22 + 1} on {platform.node()}", "1 on elsewhere"):
        workspace_in(results, sm).lock.write_text(left)
        assert [one.running for one in progress_of(grid, results)] == [None] * 3


def test_the_demo_before_anything_has_run(tmp_path):
    demo = load_grid(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))
    parts = forecast(demo, tmp_path)
    assert [one.experiment for one in parts] == demo.experiments
    assert sum(one.runs for one in parts) == sum(one.to_make for one in parts) == 409
    for one in parts:
        batches = demo.batches(one.experiment)
        seconds = sum(len(batch.runs) * demo.estimated_s(batch) for batch in batches)
        assert one.core_s == pytest.approx(demo.threads * seconds)
        assert one.measured == 0
        assert one.most_core_s > demo.limits(one.experiment).time_s * one.runs
    assert list(tmp_path.iterdir()) == []
