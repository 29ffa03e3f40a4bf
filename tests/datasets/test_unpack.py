"""Packed files and archives: gzip, Unix compress against an encoder written here and gzip itself, tar and zip."""

import gzip
import io
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest

from kdrbench.datasets.unpack import decompress_lzw, read_archive, read_unpacked
from kdrbench.errors import DataError
from support.unix_compress import compress_lzw


def text(n_bytes, seed=0):
    numbers = np.random.default_rng(seed).integers(-300, 300, n_bytes // 3)
    return ",".join(map(str, numbers)).encode()[:n_bytes]


def cases():
    """Yield contents and options of the encoder; two of 256 bytes a word fill each table long before the end."""
    for short in (b"", b"a", 29 * b"a", bytes(range(256)) * 3, text(2_000)):
        yield short, {}
    yield bytes(200_000), {}
    yield text(300_000), {}
    yield text(300_000), {"widest": 12}
    yield text(100_000), {"clear_at": 30_000}
    yield np.random.default_rng(1).bytes(100_000), {"clear_at": 50_000}
    for widest in (10, 11, 13):
        yield np.random.default_rng(widest).bytes(3 * 2**widest), {"widest": widest}


def test_compress_is_undone():
    for content, options in cases():
        assert decompress_lzw(compress_lzw(content, **options)) == content
    # Without the clear code its number, 256, is the first word: "aa" here, then "aaa".
    bits = sum(code << (9 * place) for place, code in enumerate([ord("a"), 256, 257]))
    assert decompress_lzw(b"\x1f\x9d\x10" + bits.to_bytes(4, "little")) == b"a" + b"aa" + b"aaa"


@pytest.mark.whole
def test_gzip_reads_what_the_encoder_writes():
    for content, options in cases():
        packed = compress_lzw(content, **options)
        assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == content


def test_files_are_unpacked_by_their_first_bytes(tmp_path):
    content, path = text(10_000), tmp_path / "file"
    for packed in (content, gzip.compress(content), compress_lzw(content)):
        path.write_bytes(packed)
        assert read_unpacked(path) == content


def test_broken_files_are_refused(tmp_path):
    path = tmp_path / "broken"
    headers = (b"\x1f\x9d", b"\x1f\x9d\x88abc", b"\x1f\x9d\x89", b"\x1f\x9d\x91", b"\x1f\x9d\x00")
    for content, words in (
        (gzip.compress(b"x" * 1000)[:-4], "Compressed file ended"),
        (b"\x1f\x8b\x08" + bytes(30), "cannot be read"),
        (b"\x1f\x9d\x90\xff\xff", "code 511 occurs before its word is known"),
        *((header, "no header of compress") for header in headers),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read_unpacked(path)


def tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("write", [tar, zipped])
def test_wanted_files_are_read_and_damaged_archives_refused(tmp_path, write):
    path = tmp_path / "x"
    write(path, {"a/1.txt": b"one", "a/2.csv": b"two"})
    assert read_archive(path, lambda name: name.endswith(".txt")) == {"a/1.txt": b"one"}
    write(path, {f"m{number}": bytes(range(200)) * number for number in range(8)})
    content, rng, refusals = path.read_bytes(), np.random.default_rng(0), []
    for number in range(100):
        damaged = bytearray(content if number > 4 else content[: number * len(content) // 5])
        for place in rng.integers(0, len(damaged), 3) if damaged else ():
            damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_archive(path, lambda name: True)
        except DataError as error:
            refusals.append(str(error))
    assert len(refusals) > 20
    assert all(refusal.startswith(f"{path} is not a readable tar or zip archive: ") for refusal in refusals)
