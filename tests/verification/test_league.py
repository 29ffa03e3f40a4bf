"""The scores of a league: honest ones verify, whole and packed, and what was tampered with is found."""

import shutil

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.suite.archive.layers import record_at, unpack
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.league import recompute as league
from kdrbench.suite.verification.verify import Record, _loaded, verify
from support.calls import called_by
from support.command_line import kdrbench
from support.configs import whole_config
from support.tampering import change_array, made_record, put, scaled


def league_config():
    """A fold of each of two partitions of about 120 rows of Wine, by three maps, of which one is not linear."""
    config = whole_config()
    played = config["experiments"]["league_small"] | {"datasets": ["wine"], "methods": ["lda", "pca", "kernel_pca"]}
    played |= {"components": [1, 2], "most_rows": 120, "folds": 3, "repeats": 2}
    played |= {"limits": {"time_s": 60, "memory_mib": 1024}}
    return config | {"run": ["league_small"], "seed": 0, "experiments": {"league_small": played}}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a record of a league, and the same record packed and unpacked."""
    results = made_record(tmp_path_factory.mktemp("league"), league_config(), "league")
    place, unpacked = (tmp_path_factory.mktemp(name) / "results" for name in ("packed", "unpacked"))
    assert kdrbench("pack", results, "--out", place).exit_code == 0
    unpack(record_at(place), unpacked, to_go_on=False)
    return {"whole": results, "packed": unpacked}


@pytest.fixture(params=["whole", "packed"])
def record(request, played, tmp_path):
    """A copy that a test may tamper with."""
    return shutil.copytree(played[request.param], tmp_path / "results", ignore=shutil.ignore_patterns(".workspace"))


def changed_map(work):
    """What changes the map of a place by its values; ``None`` removes it."""

    def changed(record, place):
        change_array(record, place, f"projection_{place.rpartition('/')[2]}", lambda found, _: work(found))

    return changed


def turned(found):
    rows, columns = found.shape
    return found + np.float32(0.02) * np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)


@pytest.mark.slow("makes the league of all tests of this module")
def test_an_honest_league_verifies_by_no_function_of_the_league(record):
    read, verified = Record(record), []
    assert read.grid.batches()
    _loaded.cache_clear()
    assert called_by(lambda: verified.append(verify(read))) == set()
    (found,) = verified
    assert [str(finding) for finding in found.findings] == []
    assert found.rows == 36
    # Of 24 linear maps four sizes, three scores and the number of columns; of 12 others the sizes.
    assert found.numbers == 24 * 8 + 12 * 4
    assert +found.left_out == {"scores of maps that are not linear, of which nothing is stored": 12}


# By place and column in which it is found: what is done.
TAMPERINGS = {
    ("lda/0/2", "knn_accuracy"): lambda r, p: scaled(r, p, "knn_accuracy", 0.9),
    ("lda/0/2", "linear_accuracy"): lambda r, p: scaled(r, p, "linear_accuracy", 0.5),
    ("lda/0/2", "n_found"): lambda r, p: put(r, p, n_found="1", n_test="10", n_classes="2"),
    ("lda/0/2", "n_test"): lambda r, p: None,
    ("lda/0/2", "n_classes"): lambda r, p: None,
    ("lda/1/2", "distance_correlation"): lambda r, p: scaled(r, p, "distance_correlation", 1.001),
    ("lda/2/2", "distance_correlation"): changed_map(turned),
    ("lda/3/2", "knn_accuracy"): changed_map(lambda _: None),
    ("lda/4/2", "result"): changed_map(lambda found: found[:-1]),
    ("lda/5/2", "result"): changed_map(lambda found: np.hstack([found] * 2)),
    ("pca/0/2", "result"): changed_map(lambda found: found * np.nan),
}


def test_tampering_is_found(record):
    for (place, _), tamper in TAMPERINGS.items():
        tamper(record, f"league_small/wine/{place}")
    found = {(finding.place, finding.column) for finding in verify(Record(record)).findings}
    assert {(f"league_small/wine/{place}", column) for place, column in TAMPERINGS} <= found


def test_rounding_changes_less_than_is_allowed_and_little_more_is_found(played):
    batch = next(one for one in Record(played["packed"]).grid.batches() if one.cell == ("lda",))
    data = load_dataset("wine")
    fold = league.samples_of(batch.definition, data, 0, batch.seed)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        exact = rng.standard_normal((13, 2))
        there = league.scores_of(fold, data.labels, exact, 2)

        def here(unit, exact=exact, rng=rng):
            moved = exact * (1.0 + unit * rng.uniform(-1.0, 1.0, (13, 2)))
            return league.scores_of(fold, data.labels, moved.astype(np.float32), 2)

        for name in league.SCORES:
            number = here(2.0**-16)[name]
            assert abs(number.value - there[name].value) <= number.allowed
        correlation = here(2.0**-4)["distance_correlation"]
        assert abs(correlation.value - there["distance_correlation"].value) > correlation.allowed


def test_draws_of_a_fold_are_those_of_the_engine():
    """The only place in which the evaluator and the engine meet: both must draw the same rows."""
    from kdrbench.suite.systems.league.fold_run import fold_of_run

    for most_rows in (0, 120):
        config = league_config()
        config["experiments"]["league_small"] |= {"most_rows": most_rows or 1000}
        batch = load_grid(config).batches()[0]
        data = load_dataset("wine")
        for run in batch.runs:
            own, made = league.samples_of(batch.definition, data, run, batch.seed), fold_of_run(batch, data, run)
            assert np.allclose(own.train, made.train, rtol=1e-12, atol=1e-12)
            assert np.allclose(own.test, made.test, rtol=1e-12, atol=1e-12)
            assert (data.labels[own.train_rows] == made.train_codes).all()
