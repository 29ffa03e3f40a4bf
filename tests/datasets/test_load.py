import os
from pathlib import Path

import numpy as np
import pytest

from kdrbench.datasets import Dataset, check_dataset, load_dataset, load_prepared, load_registry, save_prepared
from kdrbench.datasets.parsers import wisconsin_original
from kdrbench.errors import DataError

BUNDLED = [name for name, entry in load_registry().items() if entry.bundled]
mirror = os.environ.get("KDRBENCH_MIRROR", "")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_are_the_registered_ones(name):
    dataset, entry = load_dataset(name), load_registry()[name]
    assert dataset.features.shape == (entry.n_samples, entry.n_features)
    assert dataset.features.flags.c_contiguous
    assert dataset.features.dtype == np.float64
    assert tuple(np.bincount(dataset.labels)) == entry.class_counts


@pytest.mark.skipif(
    not Path(mirror, "breast-cancer-wisconsin").is_dir(),
    reason="SKIPPED LOUDLY: KDRBENCH_MIRROR names no mirror folder, so the original Wisconsin set is not tested",
)
def test_the_original_wisconsin_set_comes_from_the_mirror():
    dataset = load_dataset("cancer")
    assert dataset.features.shape == (683, 9)
    assert dict(zip(dataset.class_names, np.bincount(dataset.labels), strict=True)) == {"benign": 444, "malignant": 239}
    assert dataset.features[0].tolist() == [5, 1, 1, 1, 2, 1, 3, 1, 1]


def test_unknown_sets_are_named():
    with pytest.raises(DataError, match=r"unknown data set 'wines'; allowed: cancer, wdbc, wine\. Did you mean 'wine'"):
        load_dataset("wines")


def test_changed_values_are_noticed(monkeypatch):
    from kdrbench.datasets import parsers

    original = parsers.bundled_wine

    def changed():
        parsed = original()
        features = parsed.features.copy()
        features[17, 3] += 1e-9
        return parsed._replace(features=features)

    monkeypatch.setattr(parsers, "bundled_wine", changed)
    with pytest.raises(DataError, match=r"'wine' has values with SHA-256 .* the registry says"):
        load_dataset("wine")


def test_prepared_file_holds_the_set_without_pickles(tmp_path):
    dataset = load_dataset("wine")
    save_prepared(dataset, tmp_path / "deep" / "wine.npz")
    again = load_prepared(tmp_path / "deep" / "wine.npz")
    np.testing.assert_array_equal(again.features, dataset.features)
    assert (again.feature_names, again.class_names) == (dataset.feature_names, dataset.class_names)
    assert again.content_sha256 == dataset.content_sha256
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["wine.npz"]


def small(features, labels=(0, 1), class_names=("a", "b")):
    return Dataset("tiny", np.array(features, dtype=float), np.array(labels), ("height", "width"), class_names)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (small([[1, 2], [np.nan, 4]]), "1 NaN or infinite values, the first in sample 1, feature 'height'"),
        (small([[1, 2], [3, -np.inf]]), "first in sample 1, feature 'width'"),
        (small([[1, 2]]), "do not describe the same samples"),
        (small([[1], [2]]), "1 features but 2 feature names"),
        (small([[1, 2], [3, 4]], labels=(0, 0), class_names=("a",)), r"has 1 class\(es\); at least 2"),
    ],
)
def test_bad_sets_are_refused(dataset, message):
    with pytest.raises(DataError, match=message):
        check_dataset(dataset)


def test_wisconsin_parser_leaves_out_missing_values_and_names_wrong_rows(tmp_path):
    path = tmp_path / "data"
    path.write_text("1,5,1,1,1,2,1,3,1,1,2\n2,5,1,1,1,2,?,3,1,1,4\n3,5,1,1,1,2,1,3,1,1,4\n")
    parsed = wisconsin_original(path)
    assert parsed.features.shape == (2, 9)
    assert parsed.labels == ["benign", "malignant"]
    path.write_text("1,5,1,1,1,2,1,3,1,1,3\n")
    with pytest.raises(DataError, match="complete row 1 is not an id, 9 features and a class of 2 or 4"):
        wisconsin_original(path)
