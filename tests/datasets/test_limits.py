"""The limits that hold where none are given, and what the compressed formats reach at their own: by real files."""

import io
import struct
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest

from kdrbench.datasets.unpack import ArchiveLimits, decompress_lzw, read_archive, read_unpacked
from kdrbench.errors import DataError
from support.unix_compress import compress_lzw

MIB = 2**20


def nothing(name):
    return False


def announcing(path, sizes):
    """Write a zip whose members announce these sizes and hold nothing."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(len(sizes)):
            archive.writestr(f"m{number}", b"")
    content, begin = bytearray(path.read_bytes()), 0
    for size in sizes:
        begin = content.index(b"PK\x01\x02", begin) + 24
        content[begin : begin + 4] = struct.pack("<I", size)
    path.write_bytes(content)
    return path


def test_a_member_may_announce_64_mib_and_all_together_512(tmp_path):
    full = [64 * MIB] * 8
    assert read_archive(announcing(tmp_path / "full", full), nothing) == {}
    with pytest.raises(DataError, match=f"'m0' is refused: it announces {64 * MIB + 1} bytes; at most {64 * MIB}"):
        read_archive(announcing(tmp_path / "large", [64 * MIB + 1]), nothing)
    # One byte more in all is one too many, wherever it comes: all sizes before it count.
    for sizes in ([*full, 1], [1, *full], [*full[:4], 1, *full[4:]]):
        with pytest.raises(DataError, match=f"'m8' is refused: with it the archive announces more than {512 * MIB}"):
            read_archive(announcing(tmp_path / "much", sizes), nothing)


@pytest.mark.parametrize("kind", ["tar", pytest.param("zip", marks=pytest.mark.whole)])
def test_10_000_members_are_read_and_one_more_is_refused(tmp_path, kind):
    path, names = tmp_path / "many", [f"{number:05}" for number in range(10_001)]
    for last in (10_000, 10_001):
        if kind == "tar":
            # A header of 512 bytes is all there is of an empty member.
            headers = b"".join(tarfile.TarInfo(name).tobuf() for name in names[:last])
            path.write_bytes(headers + bytes(1024))
        else:
            with zipfile.ZipFile(path, "w") as archive:
                for name in names[:last]:
                    archive.writestr(zipfile.ZipInfo(name), b"")
        if last == 10_000:
            assert list(read_archive(path, lambda name: name in names[-2:])) == ["09999"]
        else:
            with pytest.raises(DataError, match="'10000' is refused: it is one of more than 10000 members"):
                read_archive(path, nothing)


def test_a_tar_may_be_as_large_as_its_limits_say(tmp_path):
    # A long name takes two blocks of 512 bytes, its header one, a byte of content one; the end fills a record.
    for members in (1, 20):
        limits = ArchiveLimits(members=members, member_bytes=1, total_bytes=members)
        with tarfile.open(tmp_path / "x", "w", format=tarfile.GNU_FORMAT) as archive:
            for number in range(members):
                info = tarfile.TarInfo(f"{number}".rjust(200, "n"))
                info.size = 1
                archive.addfile(info, io.BytesIO(b"x"))
        found = read_archive(tmp_path / "x", lambda name: True, limits)
        assert list(found.values()) == [b"x"] * members


@pytest.mark.whole
def test_a_file_unpacks_to_256_mib_and_to_no_byte_more(tmp_path):
    path = tmp_path / "sparse"
    for size in (256 * MIB, 256 * MIB + 1):
        with path.open("wb") as stream:
            stream.truncate(size)
        if size == 256 * MIB:
            assert len(read_unpacked(path)) == size
            continue
        tracemalloc.start()
        with pytest.raises(DataError, match=f"unpacks to more than {256 * MIB} bytes"):
            read_unpacked(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < size + MIB


@pytest.mark.parametrize("widest", [10, 11, 13, pytest.param(16, marks=pytest.mark.whole)])
def test_every_table_of_compress_fills_and_is_used_when_full(widest):
    # Two of 256 bytes a word: 2^16 words are full long before the end.
    content = np.random.default_rng(widest).integers(0, 256, 3 * 2**widest, dtype=np.uint8).tobytes()
    packed = compress_lzw(content, widest=widest)
    assert packed[2] & 0x1F == widest
    assert decompress_lzw(packed) == content


def test_headers_of_no_table_are_refused():
    for header in (b"\x1f\x9d", b"\x1f\x9d\x89", b"\x1f\x9d\x91", b"\x1f\x9d\x00", b"\x1f\x8b\x90"):
        with pytest.raises(ValueError, match="no header of compress"):
            decompress_lzw(header)


def test_a_header_alone_is_an_empty_file():
    assert decompress_lzw(b"\x1f\x9d\x90") == b""


def test_a_table_that_is_never_cleared_has_one_word_more():
    # Without the clear code its number, 256, is the first word: "aa" here, then "aaa".
    codes = [ord("a"), 256, 257]
    bits = sum(code << (9 * place) for place, code in enumerate(codes))
    assert decompress_lzw(b"\x1f\x9d\x10" + bits.to_bytes(4, "little")) == b"a" + b"aa" + b"aaa"
