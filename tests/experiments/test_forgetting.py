"""Workspaces that are gone, made again of the published files: nothing that was made is made a second time."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from kdrbench.errors import DamagedError, KdrbenchError
from kdrbench.suite.cli import main
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import JobFiles, publish, read_points
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.engine.workspace import workspace_lock
from kdrbench.suite.experiments.forgetting import forget_runs, restore_workspaces
from support.made_up_results import two_experiments, write_results

LIMITS = Limits(time_s=10.0, memory_mib=1000)


@pytest.fixture
def made(tmp_path):
    """Results whose workspaces are gone, with their grid; rows are of today's sources, and timed."""
    grid = write_results(tmp_path / "results", two_experiments(), timed=True)
    return tmp_path / "results", grid


def contents(files):
    with np.load(files.findings) as arrays:
        return files.records.read_text(), read_points(files.traces), {name: arrays[name].tolist() for name in arrays}


def workspaces(results, grid, experiment):
    for bundle in grid.bundles(experiment):
        for batch in bundle.batches:
            yield batch, JobFiles.of(results, bundle.path).workspace(batch, grid.system(experiment).record)


def test_restored_workspaces_publish_the_same_files(made):
    results, grid = made
    restore_workspaces(results, grid, "first")
    for bundle in grid.bundles("first"):
        files = JobFiles.of(results, bundle.path)
        before = contents(files)
        for path in (files.records, files.traces, files.findings):
            path.unlink()
        publish(bundle, files, grid.system("first").record)
        assert contents(files) == before


def test_only_forgotten_runs_are_made_again(made):
    results, grid = made
    restore_workspaces(results, grid, "first")
    forget_runs(results, "first/wine/gaussian/ism", {1})
    for batch, workspace in workspaces(results, grid, "first"):
        with workspace.claimed(batch, LIMITS, Requirements(timed=True)) as usable:
            assert usable == ({0} if batch.cell[-1] == "ism" else {0, 1})


def test_rows_of_earlier_revisions_are_not_used(tmp_path):
    grid = write_results(tmp_path, two_experiments(), timed=True, revisions="")
    restore_workspaces(tmp_path, grid, "first")
    for batch, workspace in workspaces(tmp_path, grid, "first"):
        with workspace.claimed(batch, LIMITS, Requirements(timed=True)) as usable:
            assert usable == set()


def test_a_workspace_that_is_there_stays_as_it_is(made):
    results, grid = made
    restore_workspaces(results, grid, "first")
    forget_runs(results, "first/wine/gaussian/ism", {1})
    write_results(results, two_experiments(), timed=True)
    restore_workspaces(results, grid, "first")
    rows = {batch.cell[-1]: workspace.records() for batch, workspace in workspaces(results, grid, "first")}
    assert [row.run for row in rows["ism"]] == [0]


def test_a_job_that_has_not_ended_has_nothing_to_restore(made):
    results, grid = made
    files = JobFiles.of(results, grid.bundles("first")[0].path)
    files.findings.unlink()
    restore_workspaces(results, grid, "first")
    assert not (results / ".workspace" / "first/wine/gaussian/ism").exists()


def test_files_that_cannot_be_read_are_named(made):
    for content in ["no trace\n", '{"cell": "c", "run": 0, "else": 1}\n', "[]\n"]:
        results, grid = made
        files = JobFiles.of(results, grid.bundles("first")[0].path)
        files.traces.write_text(content)
        with pytest.raises(DamagedError, match="cannot be read"):
            restore_workspaces(results, grid, "first")


def test_nothing_is_restored_while_a_process_works_there(made):
    results, grid = made
    _batch, workspace = next(workspaces(results, grid, "first"))
    workspace.folder.parent.mkdir(parents=True)
    with workspace_lock(workspace.lock, workspace.folder), pytest.raises(KdrbenchError, match="another process works"):
        restore_workspaces(results, grid, "first")


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
    kept = {batch.cell[-1]: len(workspace.records()) for batch, workspace in workspaces(results, grid, "first")}
    assert sum(kept.values()) == 3
    assert read_records(JobFiles.of(results, grid.bundles("second")[0].path).records, grid.system("second").record)
