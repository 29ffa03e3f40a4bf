"""Each format and packing: what is read, and what is refused with the file and the reason."""

import gzip
import hashlib
import io
import re
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from kdrbench.datasets import load_registry, parsers
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import read_entry
from kdrbench.datasets.registry import read_registry
from kdrbench.errors import DataError


def write(folder, text, name="data"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_tables_leave_out_rows_and_columns_and_name_classes(tmp_path):
    first = write(tmp_path, "1,5,1.5,2\n\n2,?,1,4\n", "first")
    second = write(tmp_path, " 3, 7,-1e2, 4\n", "second")
    parsed = parsers.table(
        first, second, names=["a", "b"], skip=[0], missing="?", classes={"2": "benign", "4": "malignant"}
    )
    assert parsed.features.tolist() == [[5, 1.5], [7, -100]]
    assert parsed.labels == ["benign", "malignant"]
    assert parsed.feature_names == ["a", "b"]
    # The class may come first, and words be levels.
    path = write(tmp_path, "yes  low   small\nno high big\n")
    levels = [["low", "high"], ["small", "big"]]
    parsed = parsers.table(path, names=2, label=0, delimiter=" ", levels=levels)
    assert parsed.features.tolist() == [[0, 0], [1, 1]]
    assert (parsed.labels, parsed.feature_names) == (["yes", "no"], ["x1", "x2"])


def test_samples_are_drawn_from_the_kept_classes_by_the_seed(tmp_path):
    path = write(tmp_path, "".join(f"{row},{row % 4}\n" for row in range(100)))
    options = {"names": 1, "keep": ["1", "3"], "sample": 20}
    one, again, other = (parsers.table(path, **options, seed=seed) for seed in (1, 1, 2))
    rows = one.features.ravel()
    assert len(set(rows)) == 20
    assert np.all(np.diff(rows) > 0)
    assert [str(int(row) % 4) for row in rows] == one.labels
    assert set(one.labels) == {"1", "3"}
    np.testing.assert_array_equal(one.features, again.features)
    assert not np.array_equal(one.features, other.features)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1,2,a\n1,a\n", {}, "data is not a table of ASCII text: the number of columns changed from 3 to 2 at row 2"),
        ("1,a\n1,a\n", {}, "data has 2 columns; it must have 3"),
        ("1,2,a\n1,two,a\n", {}, "data: could not convert string to float: .*two"),
        ("1,2,a\n1,?,a\n", {}, "data: could not convert string to float: .*\\?"),
        ("1,2,a\n1,2,c\n", {"classes": {"a": "A", "b": "B"}}, "data: the class is 'c'; it must be one of a, b"),
        ("low,1,a\n", {"levels": [["low"], ["0"]]}, "data: '1' is none of 0"),
        ("\n \n", {}, "data holds no line with data"),
        ("1,\u00e4,a\n", {}, "data is not a table of ASCII text: .* byte 0xc3 in position 2"),
    ],
)
def test_faulty_tables_are_refused(tmp_path, text, options, words):
    with pytest.raises(DataError, match=words):
        parsers.table(write(tmp_path, text), names=2, **options)


def test_labels_in_own_files_are_codes(tmp_path):
    features, codes = write(tmp_path, "1,2\n3,4\n5,6\n", "features"), write(tmp_path, "2.0000\n10\n2\n", "codes")
    parsed = parsers.table_and_labels(features, codes, classes={"2": "x", "10": "y"})
    assert parsed.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (parsed.feature_names, parsed.labels) == (["x1", "x2"], ["x", "y", "x"])
    for text in ("1\n2\n", "1\n2\n2.5\n", "1,0\n1,1\n0,1\n"):
        with pytest.raises(DataError, match="wrong does not hold 3 labels, each a whole number"):
            parsers.table_and_labels(features, write(tmp_path, text, "wrong"), classes={})


def idx(magic, sizes, content):
    return gzip.compress(bytes(magic) + struct.pack(f">{len(sizes)}I", *sizes) + bytes(content))


def test_idx_files_are_read_and_refused_when_sizes_disagree(tmp_path):
    labels = write(tmp_path, idx((0, 0, 8, 1), (2,), (7, 0)), "labels")
    images = write(tmp_path, idx((0, 0, 8, 3), (2, 2, 3), [*range(11), 255]), "images")
    parsed = parsers.idx_images(images, labels)
    assert parsed.features.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 255]]
    assert parsed.labels == [7, 0]
    assert parsed.feature_names[4] == "row 1 column 1"
    for content, words in (
        (idx((0, 0, 8, 3), (2, 2, 3), range(11)), r"announces \(2, 2, 3\) bytes and holds 11"),
        (idx((0, 0, 8, 3), (2**31, 2**31, 4), range(12)), "announces"),
        (idx((0, 0, 13, 3), (2, 2, 3), range(12)), "not an IDX file of unsigned bytes with 3 axes"),
        (idx((0, 0, 8, 1), (2,), range(2)), "not an IDX file of unsigned bytes with 3 axes"),
        (gzip.compress(b"\0\0\x08\x03\0\0", mtime=0), "not an IDX file"),
    ):
        with pytest.raises(DataError, match=words):
            parsers.idx_images(write(tmp_path, content, "wrong"), labels)


def test_only_plain_numbers_are_read_from_matlab_files(tmp_path):
    path = tmp_path / "x.mat"
    classes = {"-1": "no", "1": "yes"}
    scipy.io.savemat(path, {"X": np.arange(6.0).reshape(3, 2), "y": np.array([[1], [-1], [1]], np.int16)})
    parsed = parsers.matlab_arrays(path, features="X", labels="y", classes=classes)
    assert parsed.features.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert parsed.feature_names == ["x1", "x2"]
    assert parsed.labels == ["yes", "no", "yes"]
    cells = np.empty((3, 1), dtype=object)
    cells[:] = "text"
    for content, words in (
        ({"X": cells, "y": np.ones((3, 1))}, "variable 'X' is not a table of numbers but cell"),
        ({"X": np.eye(3)}, "variable 'y' is not a table of numbers but no such variable"),
        ({"X": np.eye(3), "y": np.array([[1], [2], [1]], np.int8)}, "'y' does not hold 3 labels out of -1, 1"),
        ({"X": np.eye(3), "y": np.array([[1], [-1]], np.int8)}, "'y' does not hold 3 labels out of -1, 1"),
    ):
        scipy.io.savemat(path, content)
        with pytest.raises(DataError, match=words):
            parsers.matlab_arrays(path, features="X", labels="y", classes=classes)
    path.write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    with pytest.raises(DataError, match=r"x\.mat is not a readable MATLAB 5 file"):
        parsers.matlab_arrays(path, features="X", labels="y", classes=classes)


def test_colours_of_an_image_are_distinct_and_sorted(tmp_path):
    from PIL import Image

    pixels = np.array([[[9, 0, 0], [1, 2, 3]], [[1, 2, 3], [0, 0, 255]]], np.uint8)
    Image.fromarray(pixels).quantize(8).save(tmp_path / "x.png")
    parsed = parsers.unique_colours(tmp_path / "x.png", width=2, height=2)
    assert parsed.features.tolist() == [[0, 0, 255], [1, 2, 3], [9, 0, 0]]
    assert list(parsed.labels) == []
    with pytest.raises(DataError, match="has 2 x 2 pixels; it must have 350 x 256"):
        parsers.unique_colours(tmp_path / "x.png", width=350, height=256)
    Image.fromarray(pixels).save(tmp_path / "x.bmp")
    for content in ((tmp_path / "x.bmp").read_bytes(), (tmp_path / "x.png").read_bytes()[:-30], b""):
        with pytest.raises(DataError, match="wrong is not a readable PNG image"):
            parsers.unique_colours(write(tmp_path, content, "wrong"), width=2, height=2)


FACE = b"P5\n32 30\n119\n" + bytes(range(240)) * 4


def archive_of_faces(folder, members):
    path = folder / "faces.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_faces_are_read_unscaled_in_the_order_of_their_names(tmp_path):
    members = {
        "f/b/b_up_sad_open_4.pgm": FACE,
        "f/b/b_up_sad_open_2.pgm": b"another size",
        "f/a/a_left_happy_sunglasses_4.pgm": b"P5 # a comment\n32 30 255\n" + bytes(960),
        "f/readme": b"",
    }
    parsed = parsers.cmu_faces(archive_of_faces(tmp_path, members))
    assert parsed.labels == ["a", "b"]
    assert parsed.features.dtype == np.uint8
    assert parsed.features[1].tobytes() == FACE[-960:]
    assert parsed.labellings == {
        "pose": ["left", "up"], "expression": ["happy", "sad"], "eyes": ["sunglasses", "open"]
    }  # fmt: skip
    for content, words in (
        (b"P5\n32 30\n255\n" + bytes(959), "b_up_sad_open_4.pgm holds 959 pixels; it must hold 960"),
        (b"P5\n30 32\n255\n" + bytes(960), "is not a binary PGM image of 32 x 30 bytes"),
        # A largest value beyond 255 means two bytes a pixel.
        (b"P5\n32 30\n256\n" + bytes(960), "is not a binary PGM image"),
        (b"P2\n32 30\n255\n" + bytes(960), "is not a binary PGM image"),
    ):
        with pytest.raises(DataError, match=words):
            parsers.cmu_faces(archive_of_faces(tmp_path, {"f/b/b_up_sad_open_4.pgm": content}))
    with pytest.raises(DataError, match="holds no image named <person>_<pose>_<expression>_<eyes>_4"):
        parsers.cmu_faces(archive_of_faces(tmp_path, {"readme": b""}))


def test_the_registry_is_sound():
    registry = load_registry()
    assert len(registry) == 62
    for name, entry in registry.items():
        assert name == entry.name
        assert entry.parser in parsers.PARSERS
        assert sum(entry.class_counts) in {entry.n_samples, 0}
        assert all(sum(counts.values()) == entry.n_samples for counts in entry.labellings.values())
        assert entry.licence
        assert entry.citation
        # Content is a check of a whole set: files that need it must be alone.
        assert len(entry.files) == 1 or not any(file.repackaged for file in entry.files)
        assert entry.content_sha256 or name == "gyrb"
        for file in entry.files:
            assert len(file.sha256) == 64 or name == "gyrb"
            assert not file.path.startswith("/")
            assert ".." not in file.path


def test_the_set_of_the_documentation_can_be_added(tmp_path, no_mirror):
    (text,) = re.findall(r"```toml\n(.*?)```", (Path(__file__).parents[2] / "docs" / "data.md").read_text(), re.S)
    content = "".join(f"{row},{row % 9},0.5,{row % 2 + 1}\n" for row in range(140)) + "140,?,1,1\n"
    (tmp_path / "seeds").mkdir()
    write(tmp_path / "seeds", content, "seeds.csv")
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    entry = read_registry(text.replace('sha256 = "..."', f'sha256 = "{sha256}"'))["seeds"]
    dataset = read_entry(entry, Sources(str(tmp_path), cache=tmp_path / "cache", offline=True))
    assert dataset.feature_names == ("area", "perimeter")
    assert dataset.class_names == ("Kama", "Rosa")
    assert dataset.features[3].tolist() == [3, 0.5]


def test_likes_and_series_of_a_registry():
    text = """
        [a]
        label = "A"
        title = "A"
        parser = "scaling"
        n_samples = 2
        n_features = 1
        classes = { x = 1, y = 1 }
        content_sha256 = "0"
        licence = "L"
        citation = "C"
        options = { seed = 3 }
        [b]
        like = "a"
        label = "B"
        series = { 5 = "five", 8 = "eight" }
        [c]
        like = "a"
        n_samples = 4
    """
    registry = read_registry(text)
    assert list(registry) == ["a", "b-5", "b-8", "c"]
    five = registry["b-5"]
    assert (five.label, five.n_samples, five.content_sha256) == ("B 5", 5, "five")
    assert (dict(five.classes), dict(five.options)) == ({"x": 3, "y": 2}, {"seed": 3, "n": 5})
    assert (registry["c"].n_samples, registry["c"].label) == (4, "A")


TABLE = b"1,2,a\n1,4,b\n1,2,a\n1,4,b\n"
# The same by the program compress.
COMPRESSED = b"\x1f\x9d\x901X\xc8`\x11FA@\x1a,\xc4\x18\x14Hp!B\x85"


def test_files_are_unpacked_by_their_first_bytes_or_refused(tmp_path):
    for packed in (TABLE, gzip.compress(TABLE), COMPRESSED):
        assert parsers.read_unpacked(write(tmp_path, packed)) == TABLE
    for content, words in (
        (gzip.compress(TABLE, mtime=0)[:-4], "Compressed file ended"),
        (b"\x1f\x8b\x08" + bytes(30), "cannot be read"),
        (b"\x1f\x9d\x90\xff\xff", "cannot be read: gzip: stdin: corrupt input"),
        (b"\x1f\x9d", "cannot be read: gzip: stdin: "),
    ):
        with pytest.raises(DataError, match=words):
            parsers.read_unpacked(write(tmp_path, content))


def test_held_out_rows_are_in_no_other_file_and_keep_their_label_as_a_feature(tmp_path):
    whole = write(tmp_path, "0,2\n1,0\n1,1\n0,2.0\n", "whole")
    known = write(tmp_path, "1.000,0.000\n", "known")
    parsed = parsers.held_out_rows(whole, known, names=["size", "safety"], label="safety")
    assert parsed.features.tolist() == [[0, 2], [1, 1], [0, 2]]
    assert (list(parsed.labels), parsed.feature_names) == (["2", "1", "2"], ["size", "safety"])
