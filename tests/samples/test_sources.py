"""Samples that are read in passes: the same rows from every source, and clear errors where a source fails."""

import pickle
from itertools import pairwise

import dask.array
import numpy as np
import pytest
import zarr
from sklearn.preprocessing import StandardScaler

from kdrbench.errors import InputError
from kdrbench.samples import ArraySamples, coded_labels, is_streamed, parts_of, samples_of
from kdrbench.samples.sources import FileSamples

TABLE = np.random.default_rng(0).standard_normal((9000, 5)).astype(np.float32)
UNEQUAL = [TABLE[:1], TABLE[1:1], TABLE[1:7000], TABLE[7000:]]


def mapped(tmp_path, table=TABLE):
    np.save(tmp_path / "table.npy", table)
    return np.load(tmp_path / "table.npy", mmap_mode="r")


SOURCES = {
    "array": lambda path: TABLE,
    "file": mapped,
    "part of a file": lambda path: mapped(path, np.vstack([TABLE[:7], TABLE, TABLE[:3]]))[7:-3],
    "columns of a file": lambda path: mapped(path, np.hstack([TABLE, TABLE]))[:, 5:],
    "zarr": lambda path: zarr.array(TABLE, chunks=(700, 3)),
    "dask": lambda path: dask.array.from_array(TABLE, chunks=(1300, 2)),
    "chunks": lambda path: UNEQUAL,
    "function": lambda path: lambda: iter(UNEQUAL),
    "pairs": lambda path: [(chunk, np.zeros(len(chunk))) for chunk in UNEQUAL],
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_the_same_rows(name, tmp_path):
    samples = samples_of(SOURCES[name](tmp_path))
    assert (samples.shape, samples.dtype, len(samples)) == (TABLE.shape, np.float32, 9000)
    for begin, end in ((0, 9000), (0, 1), (6999, 7002), (1, 7000), (8999, 9000), (3, 5)):
        rows = samples.rows(slice(begin, end))
        assert rows.dtype == np.float64
        np.testing.assert_array_equal(rows, TABLE[begin:end])
    places = np.random.default_rng(1).permutation(9000)[:50]
    np.testing.assert_array_equal(samples.take(places), TABLE[places])
    assert samples.checksum() == ArraySamples(TABLE).checksum()
    part = samples.part(slice(7, 7100))
    assert (part.shape, len(part)) == ((7093, 5), 7093)
    np.testing.assert_array_equal(part.rows(slice(1, 3)), TABLE[8:10])
    blocks = [block for block, _ in samples.blocks(slice(10, 9000))]
    assert blocks[0].start == 10
    assert blocks[-1].stop == 9000
    assert is_streamed(SOURCES[name](tmp_path)) == (
        name not in ("array", "file", "part of a file", "columns of a file")
    )


@pytest.mark.parametrize("name", ["file", "part of a file", "zarr", "dask"])
def test_a_pickle_holds_no_rows(name, tmp_path):
    source = SOURCES[name](tmp_path)
    if name == "zarr":
        source = zarr.create_array(tmp_path / "table", data=TABLE)
    if name == "dask":
        source = dask.array.from_zarr(zarr.create_array(tmp_path / "table", data=TABLE))
    sent = pickle.dumps(samples_of(source).standardised())
    assert len(sent) < TABLE.nbytes // 10
    again = pickle.loads(sent)
    np.testing.assert_allclose(again.rows(slice(5, 9)) * again.scale + again.mean, TABLE[5:9], atol=1e-6)


def test_chunks_are_read_by_the_process_that_has_them():
    with pytest.raises(InputError, match="write it to a Zarr array or a file"):
        pickle.dumps(samples_of(UNEQUAL))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_standardised_samples_are_those_of_scikit_learn(offset):
    table = np.hstack([TABLE.astype(float) * np.arange(1, 6) + offset, np.full((9000, 1), offset)])
    samples = samples_of([table[:4000], table[4000:]])
    scaler = StandardScaler()
    for _, rows in samples.blocks(slice(0, 9000)):
        scaler.partial_fit(rows)
    expected = StandardScaler().fit_transform(table)
    # Both means are rounded, by sums of blocks of up to 4096 rows that add one row after the other.
    atol = 2 * 4096 * 1.2e-16 * (10 + offset)
    for found in (samples.standardised(), samples.scaled(scaler.mean_, scaler.scale_)):
        np.testing.assert_allclose(found.rows(slice(0, 9000)), expected, atol=atol)
    with pytest.raises(InputError, match="scale must be positive"):
        samples.scaled(scaler.mean_, 0.0 * scaler.scale_)
    with pytest.raises(InputError, match="mean must be 6 finite numbers"):
        samples.scaled(scaler.mean_[:2], scaler.scale_)


def test_what_is_no_table_is_refused_and_bad_values_named():
    for given, words in {
        "an iterator": ((chunk for chunk in UNEQUAL), "give a function that returns a new iterator"),
        "another width": ([TABLE, TABLE[:, :2]], "chunk 1 has 2 columns, those before have 5"),
        "one row": (lambda: [TABLE, TABLE[0]], "chunk 1 must be a table of rows"),
        "no rows": (lambda: [], "non-empty"),
        "words": (lambda: [TABLE.astype(str)], "real numbers"),
        "labels of another length": ([(TABLE, np.zeros(3))], "chunk 0 has 9000 rows but 3 labels"),
        "some labels": ([TABLE, (TABLE, np.zeros(9000))], "differs from those before in whether"),
        "unknown rows": (dask.array.from_array(TABLE)[dask.array.from_array(TABLE[:, 0]) > 0], "compute_chunk_sizes"),
    }.values():
        with pytest.raises(InputError, match=words):
            samples_of(given)
    chunks = [TABLE[begin : begin + 1000].copy() for begin in range(0, 9000, 1000)]
    chunks[6][17, 3] = np.nan
    chunks[8][0, 0] = np.inf
    with pytest.raises(InputError, match="2 NaN or infinite values, the first at row 6017, column 3"):
        samples_of(chunks).check_finite()
    samples_of([TABLE.astype(float) * 1e300]).check_finite()


@pytest.mark.parametrize(
    "later", [UNEQUAL[:-1], [*UNEQUAL, TABLE[:1]], [TABLE[:7000], TABLE[7000:]], [*UNEQUAL[:-1], TABLE[:2000]]]
)
def test_chunks_that_change_between_passes_are_refused(later):
    passes = iter([UNEQUAL, UNEQUAL, later])
    samples = samples_of(lambda: next(passes))
    samples.check_finite()
    with pytest.raises(InputError, match="not what it was in the first pass"):
        samples.check_finite()


def test_a_file_that_is_cut_short_or_written_to_is_refused(tmp_path):
    samples = samples_of(mapped(tmp_path))
    assert isinstance(samples, FileSamples)
    with (tmp_path / "table.npy").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(InputError, match=r"table.npy was changed while its samples were in use .* to 1000 bytes"):
        samples.rows(slice(0, 9000))
    (tmp_path / "table.npy").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        samples.rows(slice(0, 1))


@pytest.mark.parametrize("kind", ["numbers", "words", "truth values"])
def test_labels_become_small_codes(kind):
    rng = np.random.default_rng(0)
    drawn = {"numbers": rng.integers(-5, 300, 2000), "words": rng.choice(["b", "a", "cc"], 2000)}
    labels = drawn.get(kind, TABLE[:, 0] > 0)
    for given in (labels, list(labels), dask.array.from_array(labels, chunks=300)):
        classes, codes = coded_labels(given)
        expected, places = np.unique(labels, return_inverse=True)
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(codes, places)
        # Signed, so that differences of neighbours are right.
        assert codes.dtype == (np.int8 if len(expected) <= 128 else np.int16)


def test_numbers_are_no_labels():
    with pytest.raises(InputError, match="numbers are no labels unless target_kernel is given"):
        coded_labels(np.arange(50_000.0))


def test_parts_hold_all_rows_and_are_small():
    for n_samples in (1, 4096, 4097, 70_001, 1_048_576, 10_000_000):
        parts = parts_of(n_samples)
        assert parts[0].start == 0
        assert parts[-1].stop == n_samples
        assert all(before.stop == after.start for before, after in pairwise(parts))
        assert max(part.stop - part.start for part in parts) <= 65_536
        assert len(parts) >= min(16, -(-n_samples // 4096))
