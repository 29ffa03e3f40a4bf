"""From a name to a checked set; what is in a prepared file."""

import dataclasses
import re

import numpy as np
import pytest

from kdrbench.datasets import (
    Dataset,
    KernelSet,
    Labelling,
    check_dataset,
    check_kernel_set,
    load_dataset,
    load_kernel_set,
    load_prepared,
    load_registry,
    save_prepared,
)
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import is_picture, picture_bytes, read_entry, read_kernel_entry
from kdrbench.datasets.parsers import PARSERS
from kdrbench.errors import DataError

REGISTRY = load_registry()


def test_bundled_and_generated_sets_are_the_registered_ones():
    names = [name for name, entry in REGISTRY.items() if entry.bundled and entry.kind == "features"]
    assert len(names) > 20
    for name in names:
        # Loading compares shape, classes and content hash; what it cannot compare is how the arrays lie in memory.
        dataset = load_dataset(name)
        assert dataset.features.shape == (REGISTRY[name].n_samples, REGISTRY[name].n_features), name
        assert dataset.features.flags.c_contiguous, name
        assert (dataset.features.dtype, dataset.labels.dtype) == (np.float64, np.int64), name
        assert tuple(np.bincount(dataset.labels)) == REGISTRY[name].class_counts, name


def test_unknown_sets_are_named():
    with pytest.raises(
        DataError, match=r"unknown data set 'wines'\. Did you mean 'wine'\? Allowed: .*, wine, .* more\.$"
    ):
        load_dataset("wines")


def test_kernels_and_features_are_not_mistaken_for_each_other():
    with pytest.raises(DataError, match="'gyrb-standin' is a kernel matrix without features; load_kernel_set reads"):
        load_dataset("gyrb-standin")
    with pytest.raises(DataError, match="'wine' has features and is no kernel matrix; load_dataset reads it"):
        load_kernel_set("wine")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (1e-9, r"'wine' has values with SHA-256 .*; the registry says 3fdc6d"),
        (np.nan, "1 NaN or infinite values, the first in sample 17"),
    ],
)
def test_changed_values_are_noticed(monkeypatch, change, words):
    original = PARSERS["bundled_wine"]

    def changed():
        parsed = original()
        features = parsed.features.copy()
        features[17, 3] += change
        return parsed._replace(features=features)

    monkeypatch.setitem(PARSERS, "bundled_wine", changed)
    with pytest.raises(DataError, match=words):
        load_dataset("wine")


def test_pictures_are_those_read_by_their_colours():
    assert {name for name, entry in REGISTRY.items() if is_picture(entry)} == {"flower", "flower-106"}
    with pytest.raises(DataError, match="'wine' is no image of which the colours are the samples"):
        picture_bytes("wine")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_samples": 400 - 1}, r"'moons' has shape \(400, 4\); the registry says \(399, 4\)"),
        ({"classes": {"0": 200, "one": 200}}, r"'moons' has classes .*'1': 200.*; the registry says .*'one': 200"),
        ({"classes": {"0": 199, "1": 201}}, "'moons' has classes"),
        ({"labellings": {"second": {"0": 200, "1": 200}}}, "'moons' has labellings .*'second pair'"),
        ({"labellings": {}}, "'moons' has labellings"),
    ],
)
def test_each_registered_fact_is_compared(change, words):
    with pytest.raises(DataError, match=words):
        read_entry(dataclasses.replace(REGISTRY["moons"], **change), Sources(offline=True))


def test_prepared_file_holds_the_set_without_pickles(tmp_path):
    dataset = load_dataset("moons")
    save_prepared(dataset, tmp_path / "deep" / "moons.npz")
    again = load_prepared(tmp_path / "deep" / "moons.npz")
    np.testing.assert_array_equal(again.features, dataset.features)
    assert (again.feature_names, again.class_names) == (dataset.feature_names, dataset.class_names)
    assert again.content_sha256 == dataset.content_sha256
    assert again.labelling("second pair").class_names == ("0", "1")
    np.testing.assert_array_equal(again.labelling("second pair").codes, dataset.labellings[0].codes)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["moons.npz"]


def test_the_content_hash_sees_every_part_but_names(monkeypatch):
    from kdrbench.datasets import dataset as module

    base = load_dataset("moons")
    labelling = base.labellings[0]
    flipped = dataclasses.replace(labelling, codes=1 - labelling.codes)
    hashes = {
        base.content_sha256,
        dataclasses.replace(base, labellings=()).content_sha256,
        dataclasses.replace(base, labellings=(flipped,)).content_sha256,
        dataclasses.replace(base, labels=1 - base.labels).content_sha256,
        dataclasses.replace(base, features=base.features.reshape(800, 2)).content_sha256,
        dataclasses.replace(base, features=base.features[::-1]).content_sha256,
    }
    assert len(hashes) == 6
    whole = base.content_sha256
    # Rows of 32 bytes: blocks of three rows, the last one shorter, give the same.
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    assert len(module.blocks_of(base.features)) == 134
    assert base.content_sha256 == whole


def small(features, labels=(0, 1), class_names=("a", "b"), labellings=()):
    values = np.array(features, dtype=float)
    return Dataset("tiny", values, np.array(labels, np.int64), ("height", "width"), class_names, labellings)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (small([[1, 2], [np.nan, 4]]), "1 NaN or infinite values, the first in sample 1, feature 'height'"),
        (small([[1, 2], [3, -np.inf]]), "first in sample 1, feature 'width'"),
        (small([[1, 2]]), "do not describe the same samples"),
        (small([[1, 2], [3, 4]], labels=()), "do not describe the same samples"),
        (small([[1], [2]]), "1 features but 2 feature names"),
        (small([[1, 2], [3, 4]], labels=(0, 0), class_names=("a",)), r"has 1 class\(es\); at least 2"),
        (small(np.eye(2), labellings=(Labelling("more", np.zeros(3, np.int64), ("a",)),)), "'more' has 3 labels for 2"),
    ],
)
def test_bad_sets_are_refused(dataset, message):
    with pytest.raises(DataError, match=message):
        check_dataset(dataset)


def test_the_standin_is_a_kernel_and_says_that_it_is_one():
    data, entry = load_kernel_set("gyrb-standin"), REGISTRY["gyrb-standin"]
    assert data.kernel.shape == (52, 52)
    assert data.kernel.flags.c_contiguous
    assert np.diag(data.kernel).tolist() == [1.0] * 52
    assert np.bincount(data.labels).tolist() == [10, 31, 11]
    # Shares of 400 sites; members of one species are more alike than those of two.
    assert np.array_equal(data.kernel, np.round(data.kernel * 400) / 400)
    same = data.labels[:, None] == data.labels
    assert data.kernel[same].min() > data.kernel[~same].max()
    assert entry.label == "gyrb-standin"
    assert "Synthetic" in entry.title
    assert not [other for other in REGISTRY if "gyrb" in other and other not in {"gyrb", "gyrb-standin"}]


@pytest.fixture
def own_kernel(tmp_path):
    """Write the stand-in as a user's file and return its folder's sources and the file."""
    data = load_kernel_set("gyrb-standin")
    path = tmp_path / "mirror" / "gyrb" / "gyrb.csv"
    path.parent.mkdir(parents=True)
    species = ["E. coli", "B. subtilis", "A. baumannii"]
    lines = [f"{species[code]}," + ",".join(map(str, row)) for code, row in zip(data.labels, data.kernel, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return Sources(str(tmp_path / "mirror"), cache=tmp_path / "cache", offline=True), path


@pytest.mark.usefixtures("no_mirror")
def test_a_users_kernel_is_taken_if_it_is_one(own_kernel):
    sources, path = own_kernel
    data = read_kernel_entry(REGISTRY["gyrb"], sources)
    np.testing.assert_array_equal(data.kernel, load_kernel_set("gyrb-standin").kernel)
    # Class names are sorted: the codes are others than the stand-in's.
    assert data.class_names == ("A. baumannii", "B. subtilis", "E. coli")
    text = path.read_text()
    for changed, words in (
        (re.sub(r"1\.0", "1.5", text, count=1).replace("0.", "1.", 1), "is not symmetric: entry"),
        (text.replace("1.0", "0.01"), "is not positive semidefinite: its smallest eigenvalue is -"),
        (text.replace("1.0", "nan", 1), "holds NaN or infinite values"),
        (text.replace("1.0", "one", 1), "line 1: could not convert string to float: 'one'"),
        (text.replace(",", ",0,", 1), "line 1: 54 fields; every line must have 53"),
        ("\n".join(text.splitlines()[1:]), r"has shape \(51, 52\) and 51 labels; it must be square"),
        (text.replace("E. coli", "B. subtilis", 1), r"has class sizes \[9, 11, 32\]; the registry says \[10, 11, 31\]"),
    ):
        path.write_text(changed)
        with pytest.raises(DataError, match=words):
            read_kernel_entry(REGISTRY["gyrb"], sources)


@pytest.mark.usefixtures("no_mirror")
def test_without_a_file_gyrb_says_how_to_supply_one(tmp_path):
    with pytest.raises(DataError, match=r"holds gyrb/gyrb\.csv\. No public copy is known\. .* gyrb-standin needs no"):
        read_kernel_entry(REGISTRY["gyrb"], Sources(cache=tmp_path))


def test_rounded_kernels_pass_and_indefinite_ones_do_not():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((52, 10))
    kernel = factor @ factor.T
    scale = np.abs(kernel).max()
    rounded = np.round(kernel / scale, 6) * scale
    rounded = (rounded + rounded.T) / 2
    labels = np.arange(52) % 2
    check_kernel_set(KernelSet("k", rounded, labels, ("a", "b")))
    with pytest.raises(DataError, match="kernel 'k' is not positive semidefinite"):
        check_kernel_set(KernelSet("k", rounded - 1e-4 * scale * np.eye(52), labels, ("a", "b")))
