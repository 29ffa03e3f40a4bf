"""The scores of a league: honest ones verify, whole and packed, and what was tampered with is found."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from kdrbench.bench.job import run_job
from kdrbench.bench.publish import JobFiles, merge_records
from kdrbench.cli import main
from kdrbench.csv_files import csv_text, read_csv
from kdrbench.datasets import load_dataset
from kdrbench.packing.folder import PackedFolder
from kdrbench.packing.unpack import unpack
from kdrbench.stages import build_stage
from kdrbench.stages.config import load_grid
from kdrbench.verification import league
from kdrbench.verification.batches import _data
from kdrbench.verification.record import Record
from kdrbench.verification.verify import verify
from support.calls import called_by
from support.configs import whole_config
from support.one_batch import Limits, context_of

LIMITS = Limits(60.0, 1024)
LDA, OTHER = ("wine", "lda", "0", "2"), ("wine", "lda", "1", "2")


def league_config():
    """A fold of each of two partitions of about 120 rows of Wine, by three maps, of which one is not linear."""
    config = whole_config()
    played = config["experiments"]["league_small"] | {
        "datasets": ["wine"],
        "methods": ["lda", "pca", "kernel_pca"],
        "components": [1, 2],
        "most_rows": 120,
        "folds": 3,
        "repeats": 2,
        "limits": {"time_s": 60, "memory_mib": 1024},
    }
    return config | {"run": ["league_small"], "seed": 0, "experiments": {"league_small": played}}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a record of a league, and the same record packed and unpacked."""
    results, stage, paths = tmp_path_factory.mktemp("league"), build_stage("league"), []
    grid = load_grid(league_config())
    for bundle in grid.bundles():
        files = JobFiles.of(results, bundle.path)
        run_job(stage, bundle, lambda name: load_dataset(name), context_of(LIMITS), files)
        paths.append(files.records)
    merge_records(paths, stage.record, grid.expected(grid.experiments), results / "league.csv")
    (results / "config.json").write_text(json.dumps(grid.config))
    place, unpacked = (tmp_path_factory.mktemp(name) / "results" for name in ("packed", "unpacked"))
    assert CliRunner().invoke(main, ["pack", str(results), "--out", str(place)]).exit_code == 0
    unpack(PackedFolder(place), unpacked, to_go_on=False)
    return {"whole": results, "packed": unpacked}


@pytest.fixture(params=["whole", "packed"])
def record(request, played, tmp_path):
    """A copy that a test may tamper with."""
    return shutil.copytree(played[request.param], tmp_path / "results", ignore=shutil.ignore_patterns(".workspace"))


def place_of(row):
    return tuple(row[name] for name in ("dataset", "method", "run", "n_components"))


def change(record, place, **columns):
    rows = read_csv(record / "league.csv")
    (row,) = [row for row in rows if place_of(row) == place]
    for name, value in columns.items():
        assert row[name] != value
        row[name] = value
    (record / "league.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))


def value(record, place, name):
    return next(row[name] for row in read_csv(record / "league.csv") if place_of(row) == place)


def change_maps(record, work):
    """Let ``work`` change the maps of LDA by name."""
    path = (record / "findings" / value(record, LDA, "trace_file")).with_suffix(".npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    work(arrays)
    np.savez(path, **arrays)


def key(place):
    dataset, method, run, count = place
    return f"{dataset}/{method}/projection_{count}_{run}"


def exchange(arrays):
    arrays[key(LDA)], arrays[key(OTHER)] = arrays[key(OTHER)], arrays[key(LDA)]


def turn(arrays):
    arrays[key(LDA)] = arrays[key(LDA)] + np.float32(0.02) * np.arange(26, dtype=np.float32).reshape(13, 2)


def test_an_honest_league_verifies(record):
    found = verify(Record(record))
    assert [str(finding) for finding in found.findings] == []
    assert found.rows == 36
    # Of 24 linear maps four sizes, three scores and the number of columns; of 12 others the sizes.
    assert found.numbers == 24 * 8 + 12 * 4
    assert +found.left_out == {"scores of maps that are not linear, of which nothing is stored": 12}


def test_no_function_of_the_league_is_called(played):
    read = Record(played["packed"])
    assert read.grid.batches()
    _data.cache_clear()
    assert called_by(lambda: verify(read)) == set()


TAMPERINGS = {
    "an accuracy": (
        lambda r: change(r, LDA, knn_accuracy=repr(float(value(r, LDA, "knn_accuracy")) - 0.1)),
        "knn_accuracy",
    ),
    "a linear accuracy": (lambda r: change(r, LDA, linear_accuracy="0.5"), "linear_accuracy"),
    "a distance correlation": (
        lambda r: change(r, LDA, distance_correlation=repr(float(value(r, LDA, "distance_correlation")) + 1e-3)),
        "distance_correlation",
    ),
    "a number of components found": (lambda r: change(r, LDA, n_found="1"), "n_found"),
    "a number of test rows": (lambda r: change(r, LDA, n_test="10"), "n_test"),
    "a number of classes": (lambda r: change(r, LDA, n_classes="2"), "n_classes"),
    "two runs' maps exchanged": (lambda r: change_maps(r, exchange), "distance_correlation"),
    "a map turned a little": (lambda r: change_maps(r, turn), "distance_correlation"),
    "a map that is missing": (lambda r: change_maps(r, lambda arrays: arrays.pop(key(LDA))), "knn_accuracy"),
    "a map of another shape": (
        lambda r: change_maps(r, lambda arrays: arrays.update({key(LDA): arrays[key(LDA)][:-1]})),
        "result",
    ),
    "a map of more columns": (
        lambda r: change_maps(r, lambda arrays: arrays.update({key(LDA): np.hstack([arrays[key(LDA)]] * 2)})),
        "result",
    ),
    "a map of NaN": (
        lambda r: change_maps(r, lambda arrays: arrays.update({key(LDA): arrays[key(LDA)] * np.nan})),
        "result",
    ),
    "a linear map called another": (lambda r: change(r, LDA, linear="False"), "result"),
    "an archive that is missing": (
        lambda r: (r / "findings" / value(r, LDA, "trace_file")).with_suffix(".npz").unlink(),
        "result",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(record, name):
    tamper, column = TAMPERINGS[name]
    tamper(record)
    found = verify(Record(record)).findings
    place = "/".join(("league_small", *LDA))
    assert column in {finding.column for finding in found if finding.place == place}, [str(one) for one in found]


@pytest.mark.parametrize("seed", range(4))
def test_rounding_explains_what_it_does_and_little_more(played, seed):
    batch = next(one for one in Record(played["packed"]).grid.batches() if one.cell == ("lda",))
    fold, rng = league.fold_of(batch.definition, load_dataset("wine"), 0, batch.seed), np.random.default_rng(seed)
    exact = rng.standard_normal((13, 2))
    there = league.scores_of(fold, exact, 2)

    def here(unit):
        return league.scores_of(fold, (exact * (1.0 + unit * rng.uniform(-1.0, 1.0, (13, 2)))).astype(np.float32), 2)

    for name in league.SCORES:
        assert abs(here(2.0**-16)[name].value - there[name].value) <= here(2.0**-16)[name].bound < 0.2
    correlation = here(2.0**-7)["distance_correlation"]
    assert abs(correlation.value - there["distance_correlation"].value) > correlation.bound


def test_draws_of_a_fold_are_those_of_the_engine():
    """The only place in which the evaluator and the engine meet: both must draw the same rows."""
    from kdrbench.stages.league.fold_run import make_fold_run

    for most_rows in (0, 120):
        config = league_config()
        config["experiments"]["league_small"] |= {"most_rows": most_rows or 1000}
        batch = load_grid(config).batches()[0]
        data = load_dataset("wine")
        for run in batch.runs:
            own, made = league.fold_of(batch.definition, data, run, batch.seed), make_fold_run(batch, data, run).fold
            assert np.allclose(own.train, made.train, rtol=1e-12, atol=1e-12)
            assert np.allclose(own.test, made.test, rtol=1e-12, atol=1e-12)
            assert (own.train_codes == made.train_codes).all()
