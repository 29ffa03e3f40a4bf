"""A sound record verifies; thirty and more kinds of tampering do not."""

import csv
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist

from kdrbench.bench.record import RecordError
from kdrbench.cli import main
from kdrbench.csv_files import read_csv
from kdrbench.errors import DataError
from kdrbench.verification import batches
from kdrbench.verification.large import median_distance, within_budget
from kdrbench.verification.record import Record
from kdrbench.verification.runs import RunToVerify
from kdrbench.verification.samples import RunSamples
from kdrbench.verification.verify import verify
from support.tampering import FOLD, HOSTILE, TAMPERINGS, change, change_config, last_digit, write


def test_a_sound_record_verifies(record):
    found = verify(Record(record, own_code=True))
    assert [str(finding) for finding in found.findings] == []
    # Of each solver's run on folds ten numbers, of others at least seven.
    assert found.rows == 25
    assert found.numbers > 200


def test_it_says_how_many_batches_are_verified(record):
    said = []
    read = Record(record, own_code=True)
    verify(read, n_jobs=2, progress=lambda done, total: said.append((done, total)))
    assert said == [(done + 1, len(list(read.grid.batches()))) for done in range(len(said))]
    assert len(said) == said[-1][1] > 1


def test_of_many_samples_cost_and_stationarity_are_computed_as_the_budget_allows(record):
    found = verify(Record(record, own_code=True), most=80)
    assert [str(finding) for finding in found.findings] == []
    assert found.left_out["accuracies and curvatures of runs of more than 80 samples"] > 10
    assert found.left_out["baselines of more than 80 samples"] > 0
    assert any(reason.startswith("clusterings") for reason in found.left_out)
    nothing = verify(Record(record, own_code=True), most=80, budget_s=0.0)
    assert nothing.left_out["runs that the budget did not reach, of more than 80 samples"] > 10
    last_digit(record, FOLD, "cost")
    assert "cost" in {finding.column for finding in verify(Record(record, own_code=True), most=80).findings}


def test_a_budget_chooses_by_the_seed_and_goes_as_far_as_it_can():
    places = [(str(number), 1.0) for number in range(100)]
    first, second = (within_budget(places, seed, 10.0) for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second
    assert first == within_budget(reversed(places), 0, 10.0)
    assert first < within_budget(places, 0, 50.0)


@pytest.mark.parametrize("n", [40, 41, 300])
def test_the_median_distance_of_many_is_that_of_all_pairs(n):
    samples = np.random.default_rng(n).normal(size=(n, 3))
    samples[3] = samples[4]
    assert median_distance(samples, most=10) == pytest.approx(np.median(cdist(samples, samples)), rel=1e-12)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_run_leaves_is_found(record, name):
    hostile, column = HOSTILE[name]
    hostile(record)
    found = verify(Record(record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


def without_column(record, name):
    rows = read_csv(record / "ikdr.csv")
    write(record, [{column: word for column, word in row.items() if column != name} for row in rows])


def longer_lines(record):
    path = record / "ikdr.csv"
    path.write_text(path.read_text().rstrip("\n") + ",1,2\n")


UNREADABLE = {
    "a column less": (lambda r: without_column(r, "trace_file"), "its columns differ .* in trace_file"),
    "cells too many": (longer_lines, "cells in place of"),
    "a cell of a megabyte": (lambda r: change(r, FOLD, message="x" * 2**20), "field larger than"),
    "a configuration of brackets": (lambda r: (r / "config.json").write_text("[" * 200_000), "RecursionError"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_cannot_be_read_is_said_to_be_none(record, name):
    hostile, said = UNREADABLE[name]
    hostile(record)
    found = CliRunner().invoke(main, ["verify", "--own-code", str(record)])
    assert found.exit_code == 2, found.output
    assert re.search(said, found.output)


def test_a_long_cell_is_refused_whatever_limit_another_reader_has_set(record):
    before = csv.field_size_limit(2**30)
    try:
        change(record, FOLD, message="x" * 2**20)
        with pytest.raises(RecordError, match=r"a field larger than 131072 characters: 1048576"):
            verify(Record(record, own_code=True))
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(record, name):
    tamper, column = TAMPERINGS[name]
    tamper(record)
    found = verify(Record(record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


def test_the_command_says_what_it_found(record):
    sound = CliRunner().invoke(main, ["verify", "--own-code", str(record)])
    assert sound.exit_code == 0, sound.output
    assert "0 findings" in sound.output
    last_digit(record, FOLD, "cost")
    tampered = CliRunner().invoke(main, ["verify", "--own-code", str(record), "--json"])
    assert tampered.exit_code == 1
    (finding,) = [one for one in json.loads(tampered.output)["findings"] if one["column"] == "cost"][:1]
    assert finding["place"] == FOLD


def test_code_that_a_record_names_is_run_on_request_only(record, tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\n")
    change_config(record, lambda config: config["solvers"]["fails"].update(method=f"{evil}:Solver"))
    refused = CliRunner().invoke(main, ["verify", str(record)])
    assert refused.exit_code == 2
    assert "names code that is not kdrbench's" in refused.output
    assert "--own-code" in refused.output
    assert not (tmp_path / "was_run").exists()


def test_data_that_cannot_be_had_are_asked_for_once_and_found(record, monkeypatch):
    asked = []

    def nowhere(name, definition, mirror):
        asked.append(name)
        raise DataError(f"data set {name!r} could not be fetched")

    monkeypatch.setattr(batches, "load_defined", nowhere)
    batches._data.cache_clear()
    found = verify(Record(record, own_code=True))
    assert sorted(asked) == ["four-gaussians", "wine"]
    assert [str(one) for one in found.findings] == [
        f"datasets/{name}: data is (data set {name!r} could not be fetched), should be readable"
        for name in sorted(asked)
    ]
    assert found.left_out == {"rows of data sets that cannot be had": 25}


def test_a_folder_without_a_record_is_said_to_be_none(tmp_path):
    nothing = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert nothing.exit_code == 2
    assert "config.json is not there: start the workflow" in nothing.output


def test_a_clustering_of_data_without_labels_is_computed_as_one_with_labels():
    rng = np.random.default_rng(0)
    samples = RunSamples(rng.standard_normal((20, 4)), np.empty((0, 4)), np.arange(20), np.arange(0), np.ones(20, bool))
    definition = {"kind": "solver", "paradigm": "unsupervised", "kernel": {"family": "gaussian", "sigma": 2.0}}
    definition |= {"parameters": {"n_clusters": 2}, "labellings": {}}
    codes = np.arange(20) % 2
    arrays = {"projection": np.linalg.qr(rng.standard_normal((4, 2)))[0], "labels": codes}
    labelled, plain = (
        RunToVerify(definition, samples, labels, {}, arrays).numbers() for labels in (codes, np.empty(0, np.int64))
    )
    assert labelled.pop("quality").value == 1.0
    assert plain == labelled
    assert {"cost", "stationarity"} <= set(plain)
