"""From a configuration to batches, jobs and what a cluster must grant them."""

import math
from pathlib import Path

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.errors import ConfigError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.experiments.config import load_grid
from support.configs import changed_config, table_4_config
from support.one_batch import IKDR, alone, context_of, grid_of


def test_grid_covers_every_run_of_every_cell_once():
    grid = load_grid(table_4_config(runs_per_job=4))
    batches, expected = grid.batches(), grid.expected(["table4_supervised"])
    axes = [axes for batch in batches for axes in batch.axes]
    assert len(axes) == len(set(axes)) == len(expected) == 2 * (2 * 8 + 3) * 10
    assert [batch.runs_label for batch in batches[:3]] == ["0-3", "4-7", "8-9"]
    assert len({batch.path for batch in batches}) == len(batches)
    # Rows are expected with the definition that they are made for.
    for batch in batches:
        assert {expected[axes] for axes in batch.axes} == {batch.definition_sha256}


def test_files_of_all_jobs_are_named_once():
    grid = grid_of(kernels=["gaussian"], folds=2, runs_per_job="auto", solvers={"ism": {"method": "ism"}})
    name = "table4_supervised"
    assert grid.experiment_paths(name, "records") == ["results/runs/table4_supervised/cheap.jsonl"]
    assert grid.experiment_paths(name, "traces", Path("here")) == ["here/traces/table4_supervised/cheap.jsonl"]
    assert grid.experiment_paths(name, "findings") == ["results/findings/table4_supervised/cheap.npz"]


def test_cluster_runtime_leaves_room_above_all_limits_of_a_batch():
    grid = load_grid(changed_config("limits.time_s", 90))
    # 1.1 x (10 + 1) x 90.25 s of runs and referee, one of them twice, and ten minutes.
    assert grid.runtime_min(grid.bundles()[0]) == 19 + 10


@pytest.mark.parametrize(("own", "general"), [(60, 3600), (60, 5)])
def test_cluster_runtime_is_by_the_experiments_own_limit(own, general):
    config = table_4_config(limits={"time_s": own})
    config["limits"] = config["limits"] | {"time_s": general}
    grid = load_grid(config)
    # Eleven times at most 61 s and the referee's share, and ten minutes; not eleven hours.
    assert 20 < grid.runtime_min(alone(grid.batches()[0])) < 40


def test_runtime_of_a_shared_job_is_below_the_sum_of_limits():
    config = table_4_config(runs_per_job="auto")
    for limit_s in (0.25, 90, 259200):
        config["limits"]["time_s"] = limit_s
        grid = load_grid(config)
        bundle = grid.bundle("table4_supervised/cheap")
        assert (bundle.datasets, len(bundle.batches)) == (["wine", "cancer"], 26)
        run_s = 1.1 * (limit_s + 0.25)
        # Cells of at most ten seconds: sixty times that, and at least a minute, unless their limit ends them first.
        most_s = [min(10 * run_s, max(60, 600 * grid.estimated_s(batch))) for batch in bundle.batches]
        assert grid.runtime_min(bundle) == math.ceil((2 * run_s + sum(most_s)) / 60) + 10
        assert max(most_s) <= 600


def test_an_unknown_job_is_answered_with_those_there_are():
    grid = grid_of(runs_per_job="auto")
    message = "unknown job 'table4_supervised/wine/gaussian/ism/0-9'.*Allowed: table4_supervised/cheap.*share one"
    with pytest.raises(ConfigError, match=message):
        grid.bundle("table4_supervised/wine/gaussian/ism/0-9")


def test_each_batch_of_a_shared_job_runs_on_its_own_data(tmp_path):
    changes = {"datasets": ["iris-bundled", "wine"], "components": {"iris-bundled": 2, "wine": 4}, "folds": 2}
    (bundle,) = grid_of(**changes, kernels=["gaussian"], solvers=["ism"], runs_per_job="auto").bundles()
    rows = run_job(IKDR, bundle, load_dataset, context_of(), JobFiles.of(tmp_path, bundle.path))
    assert {row.dataset: row.n_train + row.n_test for row in rows} == {"iris-bundled": 150, "wine": 178}
    with np.load(tmp_path / "findings" / f"{bundle.path}.npz") as findings:
        assert {findings[f"{name}/gaussian/ism/projection_0"].shape[0] for name in ("iris-bundled", "wine")} == {4, 13}


def test_a_cell_that_comes_moves_no_other():
    (few,) = grid_of(runs_per_job="auto", kernels=["gaussian"], solvers=["ism"]).bundles()
    (more,) = grid_of(runs_per_job="auto", kernels=["gaussian"], solvers=["gm", "ism", "dg"]).bundles()
    assert few.path == more.path == "table4_supervised/cheap"
    assert all(batch in more.batches for batch in few.batches)


def test_a_larger_problem_takes_longer_but_not_beyond_the_limit():
    changes = {"datasets": ["wine", "mnist"], "components": {"wine": 4, "mnist": 10}}
    grid = grid_of(**changes, kernels=["gaussian"], solvers=["ism", "sm"], limits={"time_s": 60.0})
    estimated = {(batch.dataset, batch.cell[-1]): grid.estimated_s(batch) for batch in grid.batches()}
    assert estimated["mnist", "ism"] > 1000 * estimated["wine", "ism"]
    assert estimated["mnist", "sm"] == 60.0
