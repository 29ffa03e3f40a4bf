"""One engine serves every system: a system made for this test is run, limited, killed, resumed and merged."""

import json

import numpy as np
import pytest

from kdrbench.errors import ConfigError
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.experiments.config import load_grid
from support.one_batch import context_of
from support.tiny_system import DATA, TinyRecord, TinySystem, tiny_batch, tiny_config

LIMITS = Limits(time_s=60.0, memory_mib=256)
# Runs of this system take no time of their own.
SHORT = Limits(time_s=0.4, memory_mib=256)


def run(batches, results, limits=LIMITS):
    bundle = Bundle("e/cheap", tuple(batches))
    return run_job(TinySystem(), bundle, lambda name: DATA, context_of(limits), JobFiles.of(results, bundle.path))


def rows_of(records):
    return [(row.run, row.half, row.status, row.message, row.answer) for row in records]


def test_each_run_leaves_its_two_rows_though_one_fails(tmp_path):
    records = run([tiny_batch(then="fails", answer=2)], tmp_path)
    failed = ("failed", "ZeroDivisionError: no second half", None)
    assert rows_of(records) == [
        (0, "first", "converged", "well", 30.0),
        (0, "second", *failed),
        (1, "first", "converged", "well", 30.0),
        (1, "second", *failed),
    ]
    assert records[0].axes == ("e", "tiny", "it", 0, "first")
    assert {row.n_samples for row in records} == {3}
    assert records[0].time_s is not None
    assert records[1].time_s is None
    # The process is that of the run, and so is its provenance.
    assert records[0].provenance.wall_s == records[1].provenance.wall_s
    assert read_records(tmp_path / "runs/e/cheap.jsonl", TinyRecord) == records
    with np.load(tmp_path / "findings/e/cheap.npz") as found:
        answers = {name: array.tolist() for name, array in found.items()}
    assert answers == {"tiny/it/answer_0": [30.0], "tiny/it/answer_1": [30.0]}


def test_a_run_killed_after_its_first_row_keeps_that_row(tmp_path):
    records = run([tiny_batch(then="is killed", runs=[0])], tmp_path)
    assert rows_of(records) == [
        (0, "first", "converged", "well", 15.0),
        (0, "second", "failed", "ended by SIGKILL", None),
    ]


def test_only_the_clock_of_the_method_counts_against_the_limit(tmp_path):
    (first, second) = run([tiny_batch(prepares_s=0.6, runs=[0])], tmp_path, SHORT)
    assert [first.status, second.status] == ["converged", "stalled"]
    assert first.provenance.wall_s > 0.6 > first.time_s


def test_the_time_of_all_methods_of_a_run_counts_together(tmp_path):
    late = "stopped at the time limit of 0.4 s"
    both = tiny_batch(method="both", first_s=0.25, second_s=0.25, runs=[0])
    first = tiny_batch(method="first", first_s=0.45, runs=[0])
    killed = tiny_batch(method="killed", second_s=600.0, runs=[0])
    records = run([both, first, killed], tmp_path, SHORT)
    assert [(row.method, row.half, row.status, row.message) for row in records] == [
        ("both", "first", "converged", "well"),
        ("both", "second", "time_limit", late),
        # The work that made a row too late has made it: what it answered is known.
        ("first", "first", "time_limit", late),
        ("first", "second", "time_limit", late),
        ("killed", "first", "converged", "well"),
        ("killed", "second", "time_limit", "killed at the time limit of 0.4 s"),
    ]
    assert [row.answer for row in records] == [15.0, None, 15.0, None, 15.0, None]


def test_a_configuration_names_the_system():
    grid = load_grid(tiny_config(answers={"a": 1, "b": 2}))
    assert isinstance(grid, Grid)
    assert [batch.path for batch in grid.batches()] == ["e/wine/a/0-1", "e/wine/b/0-1"]
    assert grid.systems == {"support.tiny_system:TinySystem": ["e"]}
    assert len(grid.expected(["e"])) == 2 * 2 * 2
    assert len(grid.bundles()) == 1
    assert json.loads(grid.to_json())["experiments"]["e"]["system"] == "support.tiny_system:TinySystem"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "config: the key 'answers' is missing in experiments.e"),
        ({"answers": {}}, "config: experiments.e.answers holds no method"),
        ({"answers": {"a": 1}, "folds": 2}, "config: unknown key in experiments.e: 'folds'; allowed: answers, "),
        ({"system": "tiny"}, "config: experiments.e.system: unknown system 'tiny'; allowed: atlas, ikdr"),
        ({"system": "support.tiny_system:TinyRecord"}, "config: experiments.e.system: .*TinyRecord"),
    ],
)
def test_its_faults_are_those_of_the_configuration(changes, message):
    with pytest.raises(ConfigError, match=message):
        load_grid(tiny_config(**changes))
