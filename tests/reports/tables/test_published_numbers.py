import csv
import os
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from kdrbench.suite.reports.tables.published_numbers import find_published, published_numbers

FOLDER = files("kdrbench.suite.reports.tables")
TEXT = FOLDER.joinpath("published.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(TEXT.splitlines()))
TEXT_ROWS = [
    row
    for name in ("published_lowrank.csv", "published_text.csv")
    for row in csv.DictReader(FOLDER.joinpath(name).read_text(encoding="utf-8").splitlines())
]


def test_every_number_of_every_table_is_there():
    per_table = Counter((row["paper"], row["table"]) for row in ROWS)
    assert per_table == {
        # settings x data sets x kernels x methods x metrics
        ("neurips2019", "4"): 2 * 4 * 2 * 4 * 3,
        ("neurips2019", "5"): 56,
        ("ismplus", "5"): 96,
        ("ismplus", "6"): 84,
        ("kpca_trick", "1"): 30,
        ("kpca_trick", "2"): 30,
        ("kpca_trick", "3"): 30,
    }


@pytest.mark.needs("mirror")
def test_the_packaged_copy_is_the_one_beside_the_mirror():
    path = Path(os.environ["KDRBENCH_MIRROR"]).parent / "published/published.csv"
    assert path.read_text(encoding="utf-8") == TEXT


def published(dataset, kernel, method, metric):
    axes = {"paper": "neurips2019", "table": "4", "setting": "supervised"}
    return find_published(**axes, dataset=dataset, kernel=kernel, method=method, metric=metric)


def test_numbers_come_in_our_units():
    number = published("cancer", "polynomial", "ism", "cost")
    assert (number.value, number.std, number.text) == (-1.894e6, 47e3, "-1894\u00b147")
    assert "printed in thousands" in number.why
    assert published("cancer", "gaussian", "ism", "cost").value == -32249
    assert published("wine", "gaussian", "gm", "time_s").value == 1008.0
    assert published("mnist", "gaussian", "dg", "time_s").status == "time_limit"
    assert published("iris", "gaussian", "ism", "cost") is None


def test_every_reading_holds_for_some_printed_number():
    readings = tomllib.loads(FOLDER.joinpath("readings.toml").read_text(encoding="utf-8"))["reading"]
    assert len(readings) > 20
    for reading in readings:
        said = {"scale", "why", "fitted", "protocol", "runs_of"}
        place = {name: value for name, value in reading.items() if name not in said}
        assert any(place.items() <= row.items() for row in [*ROWS, *TEXT_ROWS]), place
        assert reading.keys() & {"why", "fitted"}


def test_cells_in_which_nothing_is_printed_are_no_numbers():
    table = {"paper": "ismplus", "table": "6", "setting": "unsupervised"}
    numbers = published_numbers(**table)
    assert {axes["method"] for axes in numbers if axes["metric"] == "cost"} == {"ism", "ism2018", "dg", "sm", "gm"}
    assert {axes["method"] for axes in numbers} >= {"pca", "none"}
    # A printed bound is one.
    bound = {"setting": "supervised", "dataset": "mnist", "kernel": "gaussian", "method": "dg", "metric": "time_s"}
    four = published_numbers(paper="neurips2019", table="4", setting="supervised")
    assert {"paper": "neurips2019", "table": "4", **bound} in four
