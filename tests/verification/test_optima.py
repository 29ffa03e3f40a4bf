"""The optima of an atlas and those stored of it: honest ones verify, and what was tampered with is found."""

import json
import shutil

import numpy as np
import pytest

from kdrbench.suite.systems.ikdr import recompute as ikdr
from kdrbench.suite.verification.verify import Record, verify
from support.calls import called_by
from support.configs import whole_config
from support.tampering import change_arrays, made_record, rows_of
from support.tampering import put as put_words


def atlas_config():
    """Two folds of Wine and its clusters, each charted from the papers' start and a random one, twice."""
    config = whole_config()
    shared = {"datasets": ["wine"], "kernels": ["gaussian"], "components": {"wine": 2}}
    folds = config["experiments"]["table4_supervised"] | shared | {"folds": 2}
    clusters = config["experiments"]["table4_unsupervised"] | shared
    atlas = config["experiments"]["atlas"] | {"datasets": ["wine"], "cells_of": ["folds", "clusters"]}
    atlas |= {"solvers": ["ism_converged"], "starts": 1, "draws": 2, "limits": {"time_s": 60, "memory_mib": 1024}}
    experiments = {"atlas": atlas, "folds": folds, "clusters": clusters}
    return config | {"run": ["atlas"], "seed": 0, "experiments": experiments}


@pytest.fixture(scope="session")
def charted(tmp_path_factory):
    """The folder of a record of an atlas, with what is stored of it."""
    return made_record(tmp_path_factory.mktemp("atlas"), atlas_config(), "atlas")


_KNOWN = {}


@pytest.fixture
def record(charted, tmp_path, monkeypatch):
    """A copy that a test may tamper with; what belongs to a projection is computed once for all tests."""
    compute = ikdr.RunToVerify.numbers

    def numbers(run):
        projection, form = run.arrays["projection"], (run.uses_degrees, *run.samples.train_rows.tolist())
        key = json.dumps(run.definition), form, projection.shape, projection.tobytes()
        if key not in _KNOWN:
            _KNOWN[key] = compute(run)
        return _KNOWN[key]

    monkeypatch.setattr(ikdr.RunToVerify, "numbers", numbers)
    return shutil.copytree(charted, tmp_path / "results", ignore=shutil.ignore_patterns(".workspace"))


def found_in(record):
    return verify(Record(record)).findings


@pytest.mark.slow("makes the atlas of all tests of this module")
def test_a_sound_atlas_verifies_by_no_function_of_the_runs(charted):
    read, verified = Record(charted), []
    assert read.grid.batches()
    assert called_by(lambda: verified.append(verify(read))) == set()
    (found,) = verified
    assert [str(finding) for finding in found.findings] == []
    assert found.numbers >= 12
    assert not found.left_out


def of_run(work):
    """Change the optima and their numbers of run 0 of the folds, by arrays and both names."""

    def changed(record):
        place = next(place for place, row in rows_of(record).items() if (row["cells_of"], row["run"]) == ("folds", "0"))
        change_arrays(record, place, lambda arrays, name: work(arrays, name("optima"), name("optima_numbers")))

    return changed


def turned(projection):
    other = projection.copy()
    other[..., 0, 0] += 1e-2
    return np.linalg.qr(other)[0]


def put(name, value):
    """What sets one of the two arrays that a tampering is given."""
    return lambda arrays, *names: arrays.update({names[name]: value(arrays[names[name]])})


def lower_first(numbers):
    other = numbers.copy()
    other[0, 0] *= 1 + 1e-6
    return other


def twice(arrays, optima, numbers):
    arrays.update({name: np.concatenate([arrays[name][:1], arrays[name]]) for name in (optima, numbers)})


ROW = {"best_cost": "-1e9", "best_quality": "0.123", "n_known": "99", "n_certified": "0"}
TAMPERINGS = {
    "a lower cost of an optimum": (of_run(put(1, lower_first)), "cost of optimum 0"),
    "a turned optimum": (of_run(put(0, turned)), "stationarity of optimum 0"),
    "an optimum twice": (of_run(twice), "distance of optimum 1"),
    "optima of NaN": (of_run(put(0, lambda optima: optima * np.nan)), "result"),
    "optima in two dimensions": (of_run(put(0, lambda optima: optima[0])), "result"),
    "optima of too few features": (of_run(put(0, lambda optima: optima[:, :-1])), "result"),
    "no numbers": (of_run(lambda arrays, _, numbers: arrays.pop(numbers)), "result"),
    "no optima": (of_run(lambda arrays, *names: [arrays.pop(name) for name in names]), "n_known"),
}


def test_changed_columns_of_a_row_are_found(record):
    put_words(record, next(iter(rows_of(record))), **ROW)
    assert {*ROW} <= {finding.column for finding in found_in(record)}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_optima_is_found(record, name):
    tamper, column = TAMPERINGS[name]
    tamper(record)
    found = found_in(record)
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]
