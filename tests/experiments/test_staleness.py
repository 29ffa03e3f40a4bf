"""Which jobs the workflow finds out of date from their results alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from kdrbench.suite.engine.progress import stale_in_words, stale_jobs
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import write_origin
from support.made_up_results import two_experiments, write_results


def changed(**changes):
    config = two_experiments(**changes)
    return load_grid(config)


@pytest.fixture
def results(tmp_path):
    write_results(tmp_path, two_experiments(), timed=True)
    return tmp_path


def test_results_of_what_is_asked_for_are_not_stale(results):
    assert stale_jobs(changed(), results) == {}
    assert stale_jobs(changed(), results / "nowhere") == {}


def test_another_seed_makes_every_job_stale(results):
    stale = stale_jobs(load_grid(two_experiments() | {"seed": 7}), results)
    assert {tuple(why) for why in stale.values()} == {("seed 0 -> 7",)}
    assert stale_in_words(stale) == "3 jobs out of date: seed 0 -> 7 (3 jobs)"


def test_another_number_of_components_makes_the_jobs_of_its_experiment_stale(results):
    stale = stale_jobs(changed(components={"wine": 3}), results)
    assert {job.partition("/")[0] for job in stale} == {"first"}


def test_rows_that_are_no_longer_asked_for_make_a_job_stale(results):
    (job, *_) = [path for path in (results / "runs").rglob("*.jsonl") if "second" in str(path)]
    lines = job.read_text().splitlines()
    more = json.loads(lines[0]) | {"run": 99}
    job.write_text("\n".join([*lines, json.dumps(more)]) + "\n")
    assert list(stale_jobs(changed(), results).values()) == [["1 row no longer asked for"]]
    job.write_text("\n".join(lines[1:]) + "\n")
    assert list(stale_jobs(changed(), results).values()) == [["1 row more asked for"]]
    job.write_text("half a li")
    assert list(stale_jobs(changed(), results).values()) == [["its rows cannot be read"]]


def kdrbench(*words):
    return CliRunner().invoke(main, [*map(str, words)])


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
    assert "8 of 8 runs ended" in (said := kdrbench("status", "--results", folder)).stdout
    assert "4 of them out of date" in said.stdout
    source.write_text("seed: [")
    assert kdrbench("why", "--results", folder).stdout == "8 runs up to date, none to make\n"
    assert "unknown experiment, cell or target 'frist'. Did you mean 'first'" in (
        kdrbench("why", "frist", "--results", folder).stderr
    )
