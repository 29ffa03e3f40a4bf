"""What a grid will take: by estimates where nothing has run, by rows where some have."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from kdrbench.datasets import load_registry
from kdrbench.errors import ConfigError
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.engine.forecast import data_bytes, forecast
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.experiments.config import load_grid
from support.made_up import record
from support.one_batch import grid_of, workspace_of

ROOT = Path(__file__).parents[2]
CELLS = {"kernels": ["gaussian"], "solvers": ["ism", "sm", "gm"], "folds": 4, "runs_per_job": 4}


@pytest.fixture(scope="module")
def demo():
    return load_grid(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))


def add_rows(results, batch, *endings, **columns):
    """Add rows of the first runs of a batch with these statuses, each after 10 s."""
    hashes = batch.identity
    limits = {"time_limit_s": 1e6, "memory_limit_mib": 1e6}
    axes = {"experiment": batch.experiment, "wall_s": 10.0, **limits, **hashes, **columns}
    rows = [record(batch.dataset, batch.cell[-1], run, status=status, **axes) for run, status in enumerate(endings)]
    workspace_of(JobFiles.of(results, ""), batch).append(rows)


def test_the_demo_before_anything_has_run(demo, tmp_path):
    parts = forecast(demo, tmp_path)
    assert [one.experiment for one in parts] == demo.experiments
    assert sum(one.runs for one in parts) == sum(one.to_make for one in parts) == 409
    for one in parts:
        batches = demo.batches(one.experiment)
        limit_s, seconds, cut = demo.limits(one.experiment).time_s, 0.0, 0
        for batch in batches:
            for _ in batch.runs:
                seconds += min(demo.unlimited_s(batch), limit_s)
                cut += demo.unlimited_s(batch) > limit_s
        assert one.core_s == pytest.approx(demo.threads * seconds)
        assert (one.at_limit, one.measured, one.over_budget) == (cut, 0, 0)
        assert one.most_core_s > limit_s * one.runs
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow("what is loaded is asked of a process that has loaded nothing")
def test_definitions_are_known_without_scikit_learn():
    # It takes a second to load, in every job that merges, draws or tabulates.
    code = "import sys; from pathlib import Path; from kdrbench.suite.commands.options import read_configs; "
    code += "from kdrbench.suite.experiments.config import load_grid; "
    code += "grid = load_grid(read_configs(tuple(map(Path, sys.argv[1:])))); "
    code += "print(len(grid.batches()), sorted({'sklearn', 'pandas', 'numba'} & set(sys.modules)))"
    files = [ROOT / "config.yaml", ROOT / "config.demo.yaml"]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    batches, loaded = done.stdout.split(maxsplit=1)
    assert int(batches) > 50
    assert loaded == "[]\n"


def test_rows_decide_where_there_are_some(tmp_path):
    grid = grid_of(**CELLS)
    ism, sm, gm = grid.batches()
    add_rows(tmp_path, ism, "converged", "converged", "converged", "converged")
    add_rows(tmp_path, sm, "converged", "time_limit")
    (one,) = forecast(grid, tmp_path)
    # ISM is done, SM has two runs to make, one of which will be cut; GM takes what all took of their estimates.
    assert (one.runs, one.to_make, one.measured) == (12, 6, 2)
    ratio = 6 * 10.0 / (4 * grid.estimated_s(ism) + 2 * grid.estimated_s(sm))
    of_gm = min(grid.estimated_s(gm) * ratio, grid.most_s(gm.experiment))
    assert one.core_s == pytest.approx(grid.threads * (2 * 10.0 + 4 * of_gm))
    gm_is_cut = grid.unlimited_s(gm) * ratio > grid.limits(gm.experiment).time_s
    assert one.at_limit == 1 + 4 * gm_is_cut
    files = [path for path in (tmp_path / ".workspace").rglob("*") if path.is_file()]
    # The other six weigh the same, within what the demo's runs take, each of them as a hundred.
    used = sum(512 * path.stat().st_blocks for path in files)
    of_all = (used + 100 * 33_000) / 106
    assert one.disk_bytes == pytest.approx(6 * (used + 100 * of_all) / 106, abs=1)


@pytest.mark.parametrize(
    ("status", "limit"), [("time_limit", {"time_limit_s": 60.0}), ("memory_limit", {"memory_limit_mib": 256})]
)
def test_what_a_lower_limit_cut_short_is_no_measurement(status, limit, tmp_path):
    grid = grid_of(**CELLS | {"solvers": ["gm"]}, limits={"time_s": 259_200, "memory_mib": 4096})
    (batch,) = grid.batches()
    add_rows(tmp_path, batch, status, wall_s=5000.0, **limit)
    (one,) = forecast(grid, tmp_path)
    assert (one.to_make, one.measured, one.at_limit) == (3, 0, 0)
    assert grid.estimated_s(batch) < 5000.0
    assert one.core_s == pytest.approx(grid.threads * 3 * 5000.0)
    # Under the limits that cut it, it is what comes again.
    same = {"time_s": limit.get("time_limit_s", 60.0), "memory_mib": int(limit.get("memory_limit_mib", 4096))}
    (one,) = forecast(grid_of(**CELLS | {"solvers": ["gm"]}, limits=same), tmp_path)
    assert (one.measured, one.at_limit) == (3, 3)


def test_a_few_runs_change_the_bytes_of_the_others_little(tmp_path):
    grid = grid_of(**CELLS)
    (before,) = forecast(grid, tmp_path)
    add_rows(tmp_path, grid.batches()[0], "converged")
    large = tmp_path / "traces" / "table4_supervised" / "one.jsonl"
    large.parent.mkdir(parents=True)
    large.write_bytes(b" " * 330_000)
    (after,) = forecast(grid, tmp_path)
    # Ten times as large as expected.
    assert before.disk_bytes / 12 < after.disk_bytes / 11 < 1.25 * before.disk_bytes / 12


@pytest.mark.parametrize("share", [0.0, 0.4, 2.0])
def test_a_budget_leaves_out_what_comes_last(share, tmp_path):
    grid = grid_of(**CELLS | {"solvers": ["gm"]})
    run_s = grid.estimated_s(grid.batches()[0])
    # A little more than the share, so that rounding does not decide.
    budget_s = (4 * share + 0.01) * run_s
    limited = load_grid({**grid.config, "limits": {**grid.config["limits"], "budget_s": budget_s}})
    (one,) = forecast(limited, tmp_path)
    assert one.over_budget == max(0, 4 - math.floor(4 * share + 0.01))


def test_data_to_prepare_are_those_that_are_not_there(demo, tmp_path):
    wine = load_registry()["wine"]
    there = data_bytes(demo, tmp_path, ["demo_partitions"])
    assert there == 8 * wine.n_samples * wine.n_features
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wine.npz").touch()
    assert data_bytes(demo, tmp_path, ["demo_partitions"]) == 0


def test_an_unknown_experiment_is_answered_with_the_nearest(demo, tmp_path):
    assert [one.experiment for one in forecast(demo, tmp_path, ["demo_scaling"])] == ["demo_scaling"]
    with pytest.raises(ConfigError, match=r"unknown experiment in `run` 'demo_scalin'.*Did you mean 'demo_scaling'"):
        forecast(demo, tmp_path, ["demo_scalin"])
