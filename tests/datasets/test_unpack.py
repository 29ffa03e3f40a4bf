"""Files packed by gzip and by Unix compress; the second against an encoder written here and against gzip itself."""

import gzip
import subprocess
import tracemalloc

import numpy as np
import pytest

from kdrbench.datasets.unpack import decompress_lzw, read_unpacked
from kdrbench.errors import DataError
from support.unix_compress import compress_lzw


def text(n_bytes, seed=0):
    numbers = np.random.default_rng(seed).integers(-300, 300, n_bytes // 3)
    return ",".join(map(str, numbers)).encode()[:n_bytes]


def cases():
    """Yield contents and options of the encoder."""
    for short in (b"", b"a", 29 * b"a", bytes(range(256)) * 3, text(2_000)):
        yield short, {}
    yield bytes(200_000), {}
    yield text(300_000), {}
    yield text(300_000), {"widest": 12}
    yield text(100_000), {"widest": 10}
    yield text(100_000), {"clear_at": 30_000}
    yield np.random.default_rng(1).bytes(100_000), {"clear_at": 50_000}


def test_compress_is_undone():
    for content, options in cases():
        assert decompress_lzw(compress_lzw(content, **options)) == content


@pytest.mark.whole
def test_gzip_reads_what_the_encoder_writes():
    for content, options in cases():
        packed = compress_lzw(content, **options)
        undone = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout
        assert undone == content


@pytest.mark.parametrize("name", ["plain", "gzip", "compress"])
def test_files_are_unpacked_by_first_bytes_within_a_limit(tmp_path, name):
    content = text(10_000)
    path = tmp_path / name
    path.write_bytes({"plain": content, "gzip": gzip.compress(content), "compress": compress_lzw(content)}[name])
    assert read_unpacked(path) == content
    assert read_unpacked(path, most_bytes=10_000) == content
    with pytest.raises(DataError, match=f"{name} unpacks to more than 9999 bytes"):
        read_unpacked(path, most_bytes=9_999)


def test_broken_files_are_refused(tmp_path):
    path = tmp_path / "broken"
    for content, words in (
        (gzip.compress(b"x" * 1000)[:-4], "Compressed file ended"),
        (b"\x1f\x8b\x08" + bytes(30), "cannot be read"),
        (b"\x1f\x9d\x88abc", "no header of compress"),
        (b"\x1f\x9d\x90\xff\xff", "code 511 occurs before its word is known"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read_unpacked(path)


def test_bombs_are_not_unpacked_to_their_end(tmp_path):
    path = tmp_path / "bomb"
    n_bytes = 30 * 2**20
    for packed in (gzip.compress(bytes(n_bytes)), compress_lzw(bytes(10**5))):
        path.write_bytes(packed)
        tracemalloc.start()
        with pytest.raises(DataError, match="unpacks to more than 1000 bytes"):
            read_unpacked(path, most_bytes=1000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < n_bytes / 10
    # The word that crosses the limit is the last one; words of zeros grow by one each.
    assert 1000 < len(decompress_lzw(packed, most_bytes=1000)) < 1100


def test_damaged_codes_give_other_bytes_or_a_value_error():
    content, rng, faults = compress_lzw(text(3_000)), np.random.default_rng(0), []
    for _ in range(200):
        damaged = bytearray(content)
        damaged[rng.integers(3, len(content))] ^= 1 << rng.integers(8)
        try:
            assert isinstance(decompress_lzw(bytes(damaged)), bytes)
        except ValueError as error:
            faults.append(str(error))
    assert faults
    assert all("occurs before its word is known" in fault for fault in faults)
