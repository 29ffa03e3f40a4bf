"""From a name to a checked set; standardised features, made sets, and prepared files."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdrbench.datasets import Dataset, Labelling, Standardiser, check_dataset, load_dataset, load_registry
from kdrbench.datasets.dataset import check_kernel
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import is_picture, picture_bytes, read_entry
from kdrbench.datasets.parsers import PARSERS
from kdrbench.datasets.prepared import PreparedFolder, load_defined, load_prepared, save_prepared
from kdrbench.errors import DataError, InputError

REGISTRY = load_registry()


def test_bundled_sets_are_the_registered_ones_and_two_pictures():
    names = [name for name, entry in REGISTRY.items() if entry.bundled and entry.kind == "features"]
    assert len(names) > 20
    for name in names:
        # Loading compares shape, classes and content hash; what it cannot compare is how the arrays lie in memory.
        dataset = load_dataset(name)
        assert dataset.features.shape == (REGISTRY[name].n_samples, REGISTRY[name].n_features), name
        assert dataset.features.flags.c_contiguous, name
        assert (dataset.features.dtype, dataset.labels.dtype) == (np.float64, np.int64), name
        assert tuple(np.bincount(dataset.labels)) == REGISTRY[name].class_counts, name
    assert {name for name, entry in REGISTRY.items() if is_picture(entry)} == {"flower", "flower-106"}
    with pytest.raises(DataError, match="'wine' is no image of which the colours are the samples"):
        picture_bytes("wine")


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


def test_a_prepared_file_holds_what_the_content_hash_sees(tmp_path):
    dataset = load_dataset("moons")
    save_prepared(dataset, tmp_path / "deep" / "moons.npz")
    again = load_prepared(tmp_path / "deep" / "moons.npz")
    np.testing.assert_array_equal(again.features, dataset.features)
    assert (again.feature_names, again.class_names) == (dataset.feature_names, dataset.class_names)
    assert again.content_sha256 == dataset.content_sha256
    assert again.labelling("second pair").class_names == ("0", "1")
    np.testing.assert_array_equal(again.labelling("second pair").codes, dataset.labellings[0].codes)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["moons.npz"]
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
    data, entry = load_dataset("gyrb-standin"), REGISTRY["gyrb-standin"]
    assert data.features.shape == (52, 52)
    assert data.features.flags.c_contiguous
    assert np.diag(data.features).tolist() == [1.0] * 52
    assert np.bincount(data.labels).tolist() == [10, 31, 11]
    # Shares of 400 sites; members of one species are more alike than those of two.
    assert np.array_equal(data.features, np.round(data.features * 400) / 400)
    same = data.labels[:, None] == data.labels
    assert data.features[same].min() > data.features[~same].max()
    assert entry.label == "gyrb-standin"
    assert "Synthetic" in entry.title
    assert not [other for other in REGISTRY if "gyrb" in other and other not in {"gyrb", "gyrb-standin"}]


@pytest.fixture
def own_kernel(tmp_path):
    """Write the stand-in as a user's file and return its folder's sources and the file."""
    data = load_dataset("gyrb-standin")
    path = tmp_path / "mirror" / "gyrb" / "gyrb.csv"
    path.parent.mkdir(parents=True)
    species = ["E. coli", "B. subtilis", "A. baumannii"]
    lines = [
        f"{species[code]}," + ",".join(map(str, row)) for code, row in zip(data.labels, data.features, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return Sources(str(tmp_path / "mirror"), cache=tmp_path / "cache", offline=True), path


@pytest.mark.usefixtures("no_mirror")
def test_a_users_kernel_is_taken_if_it_is_there_and_is_one(own_kernel, tmp_path):
    sources, path = own_kernel
    data = read_entry(REGISTRY["gyrb"], sources)
    np.testing.assert_array_equal(data.features, load_dataset("gyrb-standin").features)
    # Class names are sorted: the codes are others than the stand-in's.
    assert data.class_names == ("A. baumannii", "B. subtilis", "E. coli")
    text = path.read_text()
    for changed, words in (
        (re.sub(r"1\.0", "1.5", text, count=1).replace("0.", "1.", 1), "is not symmetric: entry"),
        (text.replace("1.0", "0.01"), "is not positive semidefinite: its smallest eigenvalue is -"),
        (text.replace("1.0", "nan", 1), "holds NaN or infinite values"),
        (text.replace("1.0", "one", 1), "could not convert string to float: .*one"),
        (text.replace(",", ",0,", 1), "has 54 columns; it must have 53|number of columns changed"),
        ("\n".join(text.splitlines()[1:]), r"has shape \(51, 52\) and 51 labels; it must be square"),
        (text.replace("E. coli", "B. subtilis", 1), r"has class sizes \[9, 11, 32\]; the registry says \[10, 11, 31\]"),
    ):
        path.write_text(changed)
        with pytest.raises(DataError, match=words):
            read_entry(REGISTRY["gyrb"], sources)
    with pytest.raises(DataError, match=r"holds gyrb/gyrb\.csv\. No public copy is known\. .* gyrb-standin needs no"):
        read_entry(REGISTRY["gyrb"], Sources(cache=tmp_path))


def test_rounded_kernels_pass_and_indefinite_ones_do_not():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((52, 10))
    kernel = factor @ factor.T
    scale = np.abs(kernel).max()
    rounded = np.round(kernel / scale, 6) * scale
    rounded = (rounded + rounded.T) / 2
    labels = np.arange(52) % 2
    check_kernel(Dataset("k", rounded, labels, (), ("a", "b")))
    with pytest.raises(DataError, match="kernel 'k' is not positive semidefinite"):
        check_kernel(Dataset("k", rounded - 1e-4 * scale * np.eye(52), labels, (), ("a", "b")))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**31), scale=st.floats(1e-150, 1e150), shift=st.floats(-10, 10))
def test_training_columns_get_mean_zero_and_spread_one(seed, scale, shift):
    features = scale * (np.random.default_rng(seed).standard_normal((20, 3)) + shift)
    standard = Standardiser.fit(features).transform(features)
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), 1.0, rtol=1e-12)


def test_bad_features_are_refused():
    with pytest.raises(InputError, match="hold 1 NaN or infinite values, the first at row 1, column 0"):
        Standardiser.fit(np.array([[1.0], [np.nan]]))
    with pytest.raises(InputError, match="non-empty n x d array"):
        Standardiser.fit(np.empty((0, 3)))
    with pytest.raises(InputError, match=r"expected n x 2 features as fitted, got shape \(4, 3\)"):
        Standardiser.fit(np.eye(4, 2)).transform(np.eye(4, 3))


def test_features_of_any_size_are_standardised():
    features = np.random.default_rng(0).standard_normal((30, 2))
    expected = Standardiser.fit(features).transform(features)
    for size in (1e-300, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(Standardiser.fit(size * features).transform(size * features), expected, rtol=1e-9)
    for value in (0.0, 0.1, -1e300, 1e-300, 5e-324):
        features = np.column_stack([np.full(7, value), np.arange(7.0)])
        fitted = Standardiser.fit(features)
        assert fitted.constant.tolist() == [True, False]
        # In other samples, too.
        assert np.all(fitted.transform(features + 3.0)[:, 0] == 0.0)
        assert fitted.scale[0] == 1.0


LOADER = """
from dataclasses import dataclass

import numpy as np

@dataclass
class Mine:
    shift: float = 0.0

    def load(self):
        return np.arange(12.0).reshape(6, 2) + self.shift, ["ab"[row % 2] for row in range(6)]
"""


@pytest.fixture(scope="module")
def moons():
    return load_dataset("moons")


@pytest.fixture
def definition(tmp_path):
    (tmp_path / "mine.py").write_text(LOADER)
    return {"loader": f"{tmp_path / 'mine.py'}", "shift": 2.0}


def names_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_a_sound_file_is_read_and_nothing_else_is_done(tmp_path, moons, capsys):
    path = tmp_path / "anything.npz"
    save_prepared(moons, path)
    before = path.stat()
    for sha256 in ({}, {"anything": moons.content_sha256}, {"anything": ""}, {"another": "f" * 64}):
        assert PreparedFolder(tmp_path, sha256).load("anything").content_sha256 == moons.content_sha256
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names_in(tmp_path) == ["anything.npz"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other values"])
def test_a_damaged_file_is_named_and_made_again(tmp_path, moons, capsys, damage):
    path = tmp_path / "moons.npz"
    save_prepared(load_dataset("four-gaussians") if damage == "other values" else moons, path)
    if damage == "missing":
        path.unlink()
    elif damage != "other values":
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 1000])
    unfinished = tmp_path / ".moons.npz.abc"
    unfinished.write_bytes(b"half")
    prepared = PreparedFolder(tmp_path, {"moons": moons.content_sha256})
    assert prepared.load("moons").content_sha256 == moons.content_sha256
    said = capsys.readouterr().err
    assert said.startswith(f"kdrbench: {path} ")
    assert said.endswith("; it is made again\n")
    assert load_prepared(path).content_sha256 == moons.content_sha256
    assert names_in(tmp_path) == ["moons.npz"]
    # It is sound from now on.
    prepared.load("moons")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["file", "folder", "nothing"])
def test_a_damaged_file_without_a_source_is_removed(tmp_path, kind):
    path = tmp_path / "no such set.npz"
    if kind == "file":
        path.write_bytes(b"damaged")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(DataError, match=r"no such set\.npz is to be made again, but unknown data set"):
        PreparedFolder(tmp_path).load("no such set")
    # A folder may hold what is not ours.
    assert path.exists() is (kind == "folder")


def test_a_users_own_set_is_made_again_of_its_definition(tmp_path, definition):
    prepared = PreparedFolder(tmp_path / "prepared", definitions={"mine": definition})
    for _ in range(2):
        data = prepared.load("mine")
        np.testing.assert_array_equal(data.features, np.arange(12.0).reshape(6, 2) + 2.0)
        assert (data.name, data.class_names) == ("mine", ("a", "b"))
    # A definition comes before the registry, and without one the registry is asked.
    assert load_defined("moons", definition).features.shape == (6, 2)
    assert load_defined("moons", {}).content_sha256 == load_dataset("moons").content_sha256


def test_a_mirror_is_asked_for_what_is_to_be_made_again(tmp_path, no_mirror, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with pytest.raises(DataError, match=f"tried: {mirror}"):
        PreparedFolder(tmp_path, mirror=str(mirror)).load("gyrb")
