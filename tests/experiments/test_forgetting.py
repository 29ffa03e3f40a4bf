"""Runs that are forgotten are made again, and no others."""

import json
import shutil

import pytest
from click.testing import CliRunner

from kdrbench.errors import InputError
from kdrbench.suite.cli import main
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.experiments.forgetting import forget_runs
from support.made_up_results import two_experiments, write_results


@pytest.fixture
def made(tmp_path):
    """Results without workspaces, as unpacked, with their grid; rows are of today's sources, and timed."""
    grid = write_results(tmp_path / "results", two_experiments(), timed=True)
    return tmp_path / "results", grid


def jobs_left(results, grid, experiment):
    return [JobFiles.of(results, bundle.path).records.is_file() for bundle in grid.bundles(experiment)]


def test_without_workspaces_whole_jobs_are_made_again(made):
    results, grid = made
    known = [batch.path for batch in grid.batches()]
    with pytest.raises(InputError, match="holds no runs of 'first/wine/gaussian/isn'"):
        forget_runs(results, "first/wine/gaussian/isn", {1}, known=known)
    assert all(jobs_left(results, grid, "first"))
    forget_runs(results, "first/wine/gaussian/ism", {1}, known=known)
    assert not any(jobs_left(results, grid, "first")[:1])
    assert all(jobs_left(results, grid, "second"))


def test_only_disturbed_runs_of_an_unpacked_record_are_forgotten(tmp_path):
    def kdrbench(*words):
        done = CliRunner().invoke(main, [*map(str, words)])
        assert done.exit_code == 0, done.output
        return done.output

    source, results = tmp_path / "source", tmp_path / "unpacked"
    grid = write_results(source, two_experiments(), timed=True)
    job = JobFiles.of(source, grid.bundles("first")[0].path)
    lines = [json.loads(line) for line in job.records.read_text().splitlines()]
    lines[1]["contaminated"] = True
    job.records.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kdrbench("merge", source / "config.json", "first", "--results", source, "--out", source / "merged/first.csv")
    shutil.rmtree(source / ".workspace", ignore_errors=True)
    kdrbench("pack", source, "--out", tmp_path / "packed")
    kdrbench("unpack", tmp_path / "packed", "--out", results)
    said = kdrbench("forget", "--disturbed", "--results", results)
    assert "the workflow will make 1 run of first/wine/gaussian/ism again" in said
    assert not JobFiles.of(results, grid.bundles("first")[0].path).records.exists()
    assert all(jobs_left(results, grid, "second"))
