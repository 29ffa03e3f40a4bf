"""A record of some twenty runs, made once by the engine and copied for each tampering."""

import shutil

import pytest

from kdrbench.suite.archive.layers import record_at, unpack
from support.command_line import kdrbench
from support.configs import ikdr_config
from support.tampering import made_record

LIMIT_S = 300.0


def small_config():
    """Folds, all rows, clusters, an alternative clustering, hidden labels, a baseline, and a solver that fails."""
    config = ikdr_config() | {"limits": {"time_s": LIMIT_S, "memory_mib": 1024}}
    config["solvers"]["fails"] = {"method": "support.misbehaving:Raises"}
    shared = {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism"], "components": {"wine": 2}}
    whole = shared | {"split": "none", "start": "surrogate"}
    folds = shared | {"paradigm": "supervised", "solvers": ["ism", "fails"], "baselines": ["svm"], "folds": 2}
    folds |= {"kernels": ["gaussian", "polynomial", "multiquadric", "gaussian_polynomial"], "start": "surrogate"}
    others = whole | {"paradigm": "alternative", "datasets": ["four-gaussians"], "components": {"four-gaussians": 2}}
    others |= {"labellings": {"four-gaussians": {"given": "classes", "sought": "short side"}}}
    hidden = whole | {"paradigm": "semi_supervised", "shown": 5, "folds": 1, "baselines": ["label_spreading"]}
    config["experiments"] = {
        "folds": folds | {"title": "Two folds."},
        "rows": whole | {"paradigm": "supervised", "kernels": ["linear", "squared"], "title": "All rows."},
        "clusters": whole | {"paradigm": "unsupervised", "kernels": ["gaussian", "polynomial"], "title": "Clusters."},
        "others": others | {"title": "Alternative clusters."},
        "hidden": hidden | {"title": "Hidden."},
    }
    return config | {"run": list(config["experiments"])}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The folder of the record."""
    return made_record(tmp_path_factory.mktemp("record"), small_config(), "ikdr", LIMIT_S)


@pytest.fixture(scope="session")
def packed_place(made, tmp_path_factory):
    """The folder of the same record, packed."""
    place = tmp_path_factory.mktemp("packed") / "record"
    done = kdrbench("pack", made, "--out", place)
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture(scope="session")
def made_packed(packed_place, tmp_path_factory):
    """The folder of the same record, packed and unpacked: projections in float32, traces thinned."""
    results = tmp_path_factory.mktemp("unpacked") / "results"
    unpack(record_at(packed_place), results, to_go_on=False)
    return results


@pytest.fixture
def packed_record(made_packed, tmp_path):
    """A copy of it that a test may tamper with."""
    return shutil.copytree(made_packed, tmp_path / "results")


@pytest.fixture
def record(made, tmp_path):
    """A copy that a test may tamper with."""
    return shutil.copytree(made, tmp_path / "results", ignore=shutil.ignore_patterns(".workspace"))
