"""Which jobs are out of date, and workspaces that are gone, made of the published files: nothing is made twice."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kdrbench.errors import DamagedError, KdrbenchError
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.progress import stale_in_words, stale_jobs
from kdrbench.suite.engine.publish import JobFiles, publish, read_points
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.engine.workspace import workspace_lock
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import write_origin
from kdrbench.suite.experiments.forgetting import forget_runs, restore_workspaces
from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results

LIMITS = Limits(time_s=10.0, memory_mib=1000)
GRID = load_grid(two_experiments())


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
    restore_workspaces(results, grid, grid.bundles("first"))
    for bundle in grid.bundles("first"):
        files = JobFiles.of(results, bundle.path)
        before = contents(files)
        for path in (files.records, files.traces, files.findings):
            path.unlink()
        publish(bundle, files, grid.system("first").record)
        assert contents(files) == before


def test_only_forgotten_runs_are_made_again(made):
    results, grid = made
    restore_workspaces(results, grid, grid.bundles("first"))
    forget_runs(results, "first/wine/gaussian/ism", {1})
    for batch, workspace in workspaces(results, grid, "first"):
        with workspace.claimed(batch, LIMITS, Requirements(timed=True)) as usable:
            assert usable == ({0} if batch.cell[-1] == "ism" else {0, 1})


def test_rows_of_earlier_revisions_are_not_used(tmp_path):
    grid = write_results(tmp_path, two_experiments(), timed=True, revisions="")
    restore_workspaces(tmp_path, grid, grid.bundles("first"))
    for batch, workspace in workspaces(tmp_path, grid, "first"):
        with workspace.claimed(batch, LIMITS, Requirements(timed=True)) as usable:
            assert usable == set()


def test_a_workspace_that_is_there_stays_as_it_is(made):
    results, grid = made
    restore_workspaces(results, grid, grid.bundles("first"))
    forget_runs(results, "first/wine/gaussian/ism", {1})
    write_results(results, two_experiments(), timed=True)
    restore_workspaces(results, grid, grid.bundles("first"))
    rows = {batch.cell[-1]: workspace.records() for batch, workspace in workspaces(results, grid, "first")}
    assert [row.run for row in rows["ism"]] == [0]


def test_a_job_that_has_not_ended_has_nothing_to_restore(made):
    results, grid = made
    files = JobFiles.of(results, grid.bundles("first")[0].path)
    files.findings.unlink()
    restore_workspaces(results, grid, grid.bundles("first"))
    assert not (results / ".workspace" / "first/wine/gaussian/ism").exists()


def test_files_that_cannot_be_read_are_named(made):
    for content in ["no trace\n", '{"cell": "c", "run": 0, "else": 1}\n', "[]\n"]:
        results, grid = made
        files = JobFiles.of(results, grid.bundles("first")[0].path)
        files.traces.write_text(content)
        with pytest.raises(DamagedError, match="cannot be read"):
            restore_workspaces(results, grid, grid.bundles("first"))


def test_nothing_is_restored_while_a_process_works_there(made):
    results, grid = made
    _batch, workspace = next(workspaces(results, grid, "first"))
    workspace.folder.parent.mkdir(parents=True)
    with workspace_lock(workspace.lock, workspace.folder), pytest.raises(KdrbenchError, match="another process works"):
        restore_workspaces(results, grid, grid.bundles("first"))


def test_only_disturbed_runs_of_an_unpacked_record_are_forgotten(tmp_path):
    def succeed(*words):
        done = kdrbench(*words)
        assert done.exit_code == 0, done.output
        return done.output

    source, results = tmp_path / "source", tmp_path / "unpacked"
    grid = write_results(source, two_experiments(), timed=True)
    job = JobFiles.of(source, grid.bundles("first")[0].path)
    lines = [json.loads(line) for line in job.records.read_text().splitlines()]
    lines[1]["contaminated"] = True
    job.records.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    succeed("merge", source / "config.json", "first", "--results", source, "--out", source / "merged/first.csv")
    shutil.rmtree(source / ".workspace", ignore_errors=True)
    succeed("pack", source, "--out", tmp_path / "packed")
    succeed("unpack", tmp_path / "packed", "--out", results)
    said = succeed("forget", "--disturbed", "--results", results)
    assert "the workflow will make 1 run of first/wine/gaussian/ism again" in said
    kept = {batch.cell[-1]: len(workspace.records()) for batch, workspace in workspaces(results, grid, "first")}
    assert sum(kept.values()) == 3
    assert read_records(JobFiles.of(results, grid.bundles("second")[0].path).records, grid.system("second").record)


@pytest.fixture
def results(tmp_path):
    write_results(tmp_path, two_experiments(), timed=True)
    return tmp_path


def test_results_of_what_is_asked_for_are_not_stale(results):
    assert stale_jobs(GRID, results) == {}
    assert stale_jobs(GRID, results / "nowhere") == {}


def test_another_seed_makes_every_job_stale(results):
    stale = stale_jobs(load_grid(two_experiments() | {"seed": 7}), results)
    assert {tuple(why) for why in stale.values()} == {("seed 0 -> 7",)}
    assert stale_in_words(stale) == "3 jobs out of date: seed 0 -> 7 (3 jobs)"


def test_another_number_of_components_makes_the_jobs_of_its_experiment_stale(results):
    stale = stale_jobs(load_grid(two_experiments(components={"wine": 3})), results)
    assert {job.partition("/")[0] for job in stale} == {"first"}


def test_rows_that_are_no_longer_asked_for_make_a_job_stale(results):
    (job, *_) = [path for path in (results / "runs").rglob("*.jsonl") if "second" in str(path)]
    lines = job.read_text().splitlines()
    more = json.loads(lines[0]) | {"run": 99}
    job.write_text("\n".join([*lines, json.dumps(more)]) + "\n")
    assert list(stale_jobs(GRID, results).values()) == [["1 row no longer asked for"]]
    job.write_text("\n".join(lines[1:]) + "\n")
    assert list(stale_jobs(GRID, results).values()) == [["1 row more asked for"]]
    job.write_text("half a line\n")
    assert list(stale_jobs(GRID, results).values()) == [["its rows cannot be read"]]


def test_why_compares_with_the_files_as_they_are_now(results):
    folder = results / "results"
    write_results(folder, two_experiments(), timed=True)
    source = Path(results / "config.json")
    write_origin(folder, "", [source], {})
    assert kdrbench("why", "--results", folder).stdout == "8 runs up to date, none to make\n"
    source.write_text(json.dumps(two_experiments(components={"wine": 3})))
    done = kdrbench("why", "first", "--results", folder)
    assert "first/wine/gaussian/ism: 2 runs out of date: its definition changed" in done.stdout
    assert "the configuration has changed since the workflow was started" in done.stderr
    assert "8 of 8 runs ended" in (said := kdrbench("status", folder)).stdout
    assert "4 of them out of date" in said.stdout
    source.write_text("seed: [")
    assert kdrbench("why", "--results", folder).stdout == "8 runs up to date, none to make\n"
    assert "unknown experiment, cell or target 'frist'. Did you mean 'first'" in (
        kdrbench("why", "frist", "--results", folder).stderr
    )
