"""What a grid will take: by estimates where nothing has run, by rows where some have."""

import subprocess
import sys
from pathlib import Path

import pytest

from kdrbench.errors import ConfigError
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.engine.progress import forecast
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
        limit_s = demo.limits(one.experiment).time_s
        seconds = sum(len(batch.runs) * demo.estimated_s(batch) for batch in batches)
        assert one.core_s == pytest.approx(demo.threads * seconds)
        assert one.measured == 0
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


def test_an_unknown_experiment_is_answered_with_the_nearest(demo, tmp_path):
    assert [one.experiment for one in forecast(demo, tmp_path, ["demo_scaling"])] == ["demo_scaling"]
    with pytest.raises(ConfigError, match=r"unknown experiment in `run` 'demo_scalin'.*Did you mean 'demo_scaling'"):
        forecast(demo, tmp_path, ["demo_scalin"])
