"""Every file of a mirror with a MANIFEST.csv, and every set that is read from it."""

import csv
import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kdrbench.datasets import load_dataset, load_registry
from support import needs

pytestmark = pytest.mark.needs("mirror")
MIRROR = Path(needs.MIRROR)
REGISTRY = load_registry()
FROM_FILES = [name for name, entry in REGISTRY.items() if entry.files and name != "gyrb"]
# Files of the mirror that are no data set: a description, and splits of the book that nothing here uses.
OTHER = {
    "usps/zip.info.txt",
    "ssl-book/SSL,set=2,splits,labeled=10.mat",
    "ssl-book/SSL,set=2,splits,labeled=100.mat",
    # scikit-learn's copy is the registered one; the files are compared below.
    "wine/wine.data",
}
# What the authors ran, which no experiment uses: whole sets that are registered otherwise, and labels of Car.
OTHER |= {f"authors-hsic/{name}{part}.csv" for name in ("cancer", "wine") for part in ("", "_label")}
OTHER |= {f"authors-hsic/car_label{part}.csv" for part in ("", "_validation")}
OF_AUTHORS = ("authors-cancer/", "authors-face/", "authors-synthetic/")
# Rows that a set leaves out on purpose.
LEFT_OUT = {"cancer": 16, "breast": 16, "digits": 10992 - 317, "digits-3165": 10992 - 3165, "car-346": 1382}


@cache
def manifest():
    with (MIRROR / "MANIFEST.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def rows_of(name):
    by_file = {row["file"]: row for row in manifest()}
    return [by_file[file.path] for file in REGISTRY[name].files]


def counts_of(text):
    pairs = [pair.rsplit(":", 1) for pair in text.split(";") if ":" in pair]
    return {name.split()[-1]: int(count) for name, count in pairs}


def test_each_file_is_registered_as_in_the_manifest():
    registered = {file.path: file for entry in REGISTRY.values() for file in entry.files}
    assert len(manifest()) > 50
    for row in manifest():
        content = (MIRROR / row["file"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (int(row["bytes"]), row["sha256"]), row["file"]
        file = registered.get(row["file"])
        unused = row["file"] in OTHER or row["file"].startswith(OF_AUTHORS)
        assert file is not None or unused, row["file"]
        if file:
            assert file.sha256 == row["sha256"], row["file"]
            assert row["canonical_url"] in (*file.urls, *file.repackaged), row["file"]


@pytest.mark.parametrize("name", FROM_FILES)
def test_each_set_has_rows_and_classes_of_the_manifest(name):
    dataset, entry, rows = load_dataset(name), REGISTRY[name], rows_of(name)
    # Tables of text are read one after the other; elsewhere labels follow in files of their own.
    tables = rows if entry.parser == "table" else rows[:1]
    assert len(dataset.features) == sum(int(row["rows"]) for row in tables) - LEFT_OUT.get(name, 0)
    assert dataset.features.flags.c_contiguous
    assert dataset.features.dtype == np.float64
    assert dataset.content_sha256 == entry.content_sha256
    # The manifest counts names of samples and the class as columns, the registry does not.
    not_features = len(entry.options.get("skip", ())) + (entry.parser == "table")
    assert int(tables[0]["columns"]) == dataset.features.shape[1] + not_features
    if entry.classes and name not in LEFT_OUT:
        labels = [row for row in rows if ":" in row["classes"]]
        if entry.parser == "table":
            counts = np.sum([list(counts_of(row["classes"]).values()) for row in labels], axis=0).tolist()
        elif entry.parser == "cmu_faces":
            counts = list(counts_of(labels[0]["classes"].split(" | ")[1]).values())
        else:
            counts = list(counts_of(labels[0]["classes"]).values())
        assert sorted(counts) == sorted(entry.class_counts)


# Not by getrusage: its peak begins with that of the process that starts this one.
MEASURE = """
from pathlib import Path
from kdrbench.datasets import load_dataset
dataset = load_dataset("mnist-60k")
print(dataset.features.shape, dataset.features.flags.c_contiguous, dataset.features.dtype)
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def test_mnist_60k_loads_in_less_than_a_gibibyte():
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    description, peak_kib = done.stdout.splitlines()
    assert description == "(60000, 784) True float64"
    assert int(peak_kib) < 2**20
