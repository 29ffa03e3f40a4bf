"""A reference beside one's own runs: its rows of the same problems, without times, and of no others."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kdrbench.suite.archive.beside import opened_beside
from kdrbench.suite.reports.records import read_runs
from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results

ROOT = Path(__file__).parents[2]


def own_config(**changes):
    """A solver that the reference does not have, on the problems of its first experiment."""
    config = two_experiments()
    mine = config["experiments"]["first"] | {"solvers": ["dg"], "title": "Mine."} | changes
    return config | {"run": ["mine"], "experiments": {"mine": mine}}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "results"
    write_results(folder, own_config(), calibration_before_s=0.02, calibration_after_s=0.02)
    return folder


def both(own, packed):
    """The rows of both, and what is left out."""
    with opened_beside(own, own, str(packed)) as (folder, left_out):
        return read_runs(folder / "ikdr.csv"), left_out


def test_rows_of_the_same_problems_are_beside_ones_own(own, packed, results):
    runs, left_out = both(own, packed)
    # The redrawn folds are the same problems for their first two runs, which are there once.
    assert runs.groupby("method").size().to_dict() == {"dg": 2, "gm_reference": 2, "ism_reference": 2}
    theirs = read_runs(results / "merged/first.csv").set_index(["method", "run"])
    for row in runs[runs["method"] != "dg"].to_dict("records"):
        measured = theirs.loc[row["method"].removesuffix("_reference"), row["run"]]
        assert (row["cost"], row["quality"]) == (measured["cost"], measured["quality"])
        assert np.isnan(row["time_s"])
        assert not row["timed"]
        assert row["message"].startswith("[reference] ")
    assert left_out == []


@pytest.mark.parametrize(
    ("changes", "others", "reason"),
    [
        ({"folds": 3}, {}, "another n_folds"),
        ({"scaling": "own"}, {}, "another scaling"),
        (
            {},
            {"seed": 1, "kernels": {"gaussian": {"family": "gaussian", "sigma": "0.5 median"}}},
            "another kernel, seed",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_of_other_problems_are_left_out_with_the_reason(packed, tmp_path, changes, others, reason):
    write_results(tmp_path, own_config(**changes) | others)
    with opened_beside(tmp_path, tmp_path, str(packed)) as (folder, left_out):
        assert set(read_runs(folder / "ikdr.csv")["method"]) == {"dg"}
    assert f"first on wine with kernel gaussian: {reason}" in left_out


def test_experiments_of_other_problems_stay_packed(own, tmp_path):
    config = two_experiments()
    config["experiments"]["second"] |= {"components": {"wine": 3}}
    write_results(tmp_path / "results", config)
    assert kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed").exit_code == 0
    for path in (tmp_path / "packed").glob("*/second.*"):
        path.write_bytes(b"not read")
    runs, left_out = both(own, tmp_path / "packed")
    assert runs.groupby("method").size().to_dict() == {"dg": 2, "gm_reference": 2, "ism_reference": 2}
    assert left_out == ["second on wine with kernel gaussian: another n_components"]


def test_rows_of_other_data_are_left_out(own, tmp_path):
    write_results(tmp_path, two_experiments(), data_sha256="0" * 64)
    with opened_beside(own, own, str(tmp_path)) as (folder, left_out):
        assert set(read_runs(folder / "ikdr.csv")["method"]) == {"dg"}
    assert "first on wine: its rows are of other data" in left_out


def test_compare_shows_both_without_times_or_says_why_not(own, packed, tmp_path):
    done = kdrbench("compare", "--results", own, "--with", packed)
    assert done.exit_code == 0, done.output
    assert "ISM, reference" in done.stdout
    done = kdrbench("compare", "dg", "ism_reference", "--json", "--results", own, "--with", packed)
    assert {pair["metric"] for pair in json.loads(done.stdout)} == {"accuracy", "cost"}
    assert "no times are compared" in done.stderr
    done = kdrbench("compare", "--results", own, "--with", tmp_path / "absent")
    assert done.exit_code == 2
    assert f"there is no reference {tmp_path}/absent: name the folder of a record" in done.stderr
    done = kdrbench("compare", "dg", "dg", "--results", own)
    assert done.exit_code == 2
    assert "both solvers are 'dg'; name two that differ" in done.stderr


def test_times_do_not_drift_from_those_of_a_reference(own, tmp_path):
    write_results(tmp_path, two_experiments(), calibration_before_s=0.04, calibration_after_s=0.04)
    runs, _ = both(own, tmp_path)
    mine = runs[runs["method"] == "dg"]
    assert mine["drift"].tolist() == [0.0, 0.0]
    assert not mine["drifted"].astype(bool).any()


def test_where_nothing_fits_it_is_said_why(packed, tmp_path):
    config = own_config(kernels=["linear"])
    write_results(tmp_path, config)
    done = kdrbench("compare", "--results", tmp_path, "--with", packed)
    reason = "mine on wine: the record has supervised with gaussian"
    assert f"of the reference is left out: {reason}" in done.stderr
    done = kdrbench("compare", "dg", "ism_reference", "--results", tmp_path, "--with", packed)
    assert "unknown method" in done.stderr
    assert "No row of the record is of the same problem" in done.stderr
    assert f"of the reference is left out: {reason}" in done.stderr


def test_compare_and_status_show_the_record_that_the_configuration_includes(packed, tmp_path):
    write_results(tmp_path, own_config() | {"include": str(packed)})
    assert "ISM, reference" in kdrbench("compare", "--results", tmp_path).stdout
    assert "reference" not in kdrbench("compare", "--results", tmp_path, "--with", "none").stdout
    done = kdrbench("compare", "dg", "ism_reference", "--results", tmp_path)
    assert done.exit_code == 0, done.output
    assert "_reference" in json.dumps(json.loads(kdrbench("compare", "--json", "--results", tmp_path).stdout))
    own = kdrbench("status", tmp_path)
    assert own.exit_code == 0, own.output
    assert "reference" in own.stdout
    write_results(tmp_path, own_config() | {"include": str(tmp_path / "absent")})
    own = kdrbench("status", tmp_path)
    assert (own.exit_code, "(mine)" in own.stdout) == (0, True)
    assert "shown without the record that is included: there is no reference" in own.stderr


def test_a_reference_is_in_tables_and_in_no_claim(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_results(tmp_path / "results", own_config() | {"include": str(packed)})
    assert kdrbench("reports", "mine", "--out", tmp_path).exit_code == 0
    text = (tmp_path / "mine.csv").read_text()
    assert "wine,gaussian,ism_reference,cost" in text
    assert "wine,gaussian,ism_reference,time_s,,N/A,not published" in text
    assert kdrbench("papers", "--out", tmp_path).exit_code == 0
    for name in ("claims.json", "published_vs_ours.csv"):
        assert "reference" not in (tmp_path / name).read_text()


def test_a_layer_of_a_reference_counts(own, packed, tmp_path):
    place, newer = shutil.copytree(packed, tmp_path / "packed"), tmp_path / "newer"
    write_results(newer, two_experiments(), git_commit="new")
    assert kdrbench("pack", newer, "--out", place, "--layer", "1").exit_code == 0
    runs, _ = both(own, place)
    assert runs.groupby("method").size().to_dict() == {"dg": 2, "gm_reference": 2, "ism_reference": 2}
    assert set(runs.loc[runs["method"] != "dg", "git_commit"]) == {"new"}
