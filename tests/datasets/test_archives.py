"""Archives made to do harm are refused, and the error names the member."""

import gzip
import io
import re
import stat
import struct
import tarfile
import zipfile
from itertools import product

import numpy as np
import pytest

from kdrbench.datasets.unpack import ArchiveLimits, read_archive
from kdrbench.errors import DataError

LIMITS = ArchiveLimits(members=5, member_bytes=1000, total_bytes=2500)


def tar(path, *members, packed=True):
    """Write members given as (name, content) or as a TarInfo."""
    with tarfile.open(path, "w:gz" if packed else "w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return path


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(path, *members, mode=None):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode or 0) << 16
            archive.writestr(info, content)
    return path


def everything(name):
    return True


@pytest.mark.parametrize("packed", [True, False])
def test_wanted_files_are_read_from_tar(tmp_path, packed):
    folder = special("a", tarfile.DIRTYPE)
    path = tar(tmp_path / "x", folder, ("a/1.txt", b"one"), ("a/2.csv", b"two"), ("./b", b""), packed=packed)
    assert read_archive(path, lambda name: name.endswith(".txt")) == {"a/1.txt": b"one"}
    assert read_archive(path, everything) == {"a/1.txt": b"one", "a/2.csv": b"two", "./b": b""}


def test_wanted_files_are_read_from_zip(tmp_path):
    path = zipped(tmp_path / "x.zip", ("a/", b""), ("a/1.txt", b"one"), ("a/2.csv", b"two"))
    assert read_archive(path, lambda name: name.endswith(".txt")) == {"a/1.txt": b"one"}
    assert read_archive(path, everything) == {"a/1.txt": b"one", "a/2.csv": b"two"}


NAMES = ["/etc/passwd", "../up", "a/../../up", "C:\\up", "C:up", "..\\up", "\\\\host\\share\\x", "a/.."]


@pytest.mark.parametrize("write", [tar, zipped])
def test_paths_that_lead_out_are_refused(tmp_path, write):
    for name in NAMES:
        path = write(tmp_path / "x", ("good", b"1"), (name, b"evil"))
        with pytest.raises(
            DataError, match=re.escape(repr(name)) + " is refused: its path leaves the archive's folder"
        ):
            read_archive(path, lambda name: name == "good")


REFUSED = [
    (special("way out", tarfile.SYMTYPE, "/etc"), "'way out' is refused: it is a link to '/etc'"),
    (special("hard", tarfile.LNKTYPE, "good"), "'hard' is refused: it is a link to 'good'"),
    (special("tty", tarfile.CHRTYPE), "'tty' is refused: it is neither a file nor a folder"),
    (special("sda", tarfile.BLKTYPE), "'sda' is refused: it is neither a file nor a folder"),
    (special("pipe", tarfile.FIFOTYPE), "'pipe' is refused: it is neither a file nor a folder"),
    (("good", b"again"), "'good' is refused: its name occurs twice"),
    (("./good", b"again"), r"'\./good' is refused: its name occurs twice"),
    (("large", bytes(1001)), "'large' is refused: it announces 1001 bytes; at most 1000 are read"),
]


def test_tar_members_that_do_harm_are_refused(tmp_path):
    for member, fault in REFUSED:
        path = tar(tmp_path / "x", ("good", b"1"), member)
        with pytest.raises(DataError, match=fault):
            read_archive(path, lambda name: name == "good", LIMITS)


def test_zip_members_that_are_no_files_are_refused(tmp_path):
    for mode in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO):
        fault = "it is a link" if mode == stat.S_IFLNK else "it is neither a file nor a folder"
        with pytest.raises(DataError, match=f"'way' is refused: {fault}"):
            read_archive(zipped(tmp_path / "x", ("way", b"/etc/passwd"), mode=mode | 0o644), everything)


def test_repeated_zip_names_and_encrypted_members_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "twice", ("a", b"1"), ("a", b"2"))
    with pytest.raises(DataError, match="'a' is refused: its name occurs twice"):
        read_archive(path, everything)
    path = zipped(tmp_path / "secret", ("a", b"1"))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="'a' is refused: it is encrypted"):
        read_archive(path, everything)


@pytest.mark.parametrize("write", [tar, zipped])
def test_too_many_members_and_too_many_bytes_are_refused(tmp_path, write):
    path = write(tmp_path / "many", *[(f"m{number}", b"") for number in range(6)])
    with pytest.raises(DataError, match="'m5' is refused: it is one of more than 5 members"):
        read_archive(path, everything, LIMITS)
    path = write(tmp_path / "much", *[(f"m{number}", bytes(900)) for number in range(3)])
    with pytest.raises(DataError, match="'m2' is refused: with it the archive announces more than 2500 bytes"):
        read_archive(path, lambda name: False, LIMITS)


def test_a_bomb_in_an_extended_header_is_not_swallowed(tmp_path):
    # The header of a long name announces 60 KiB of it: no member's size says so.
    path = with_header(tmp_path / "x.tar.gz", tarfile.GNUTYPE_LONGNAME, 60 * 2**10, b"a" * 60 * 2**10)
    with pytest.raises(DataError, match=r"x\.tar\.gz unpacks to more than 22980 bytes"):
        read_archive(path, everything, LIMITS)


def with_header(path, kind, announced, content=b""):
    """Write a tar whose first header announces that number of bytes of a name or another extension."""
    info = tarfile.TarInfo("././@LongLink")
    info.type = kind
    # Negative and huge sizes are those of GNU's base 256.
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = tarfile.itn(announced, 12, tarfile.GNU_FORMAT)
    header[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(header))[0]
    path.write_bytes(gzip.compress(bytes(header) + content + bytes(1024)))
    return path


KINDS = [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.REGTYPE]


@pytest.mark.attack("archives: absurd headers")
def test_an_absurd_header_is_refused_before_it_is_read(tmp_path, attack_rng):
    sizes = [500 * 2**20, -int(attack_rng.integers(1, 2**40)), 2**62]
    for kind, announced in product(KINDS, sizes):
        path = with_header(tmp_path / "x.tar.gz", kind, announced, bytes(8192))
        with pytest.raises(DataError) as caught:
            read_archive(path, everything)
        assert str(caught.value).startswith(f"{path}: ")
        assert f"announces {announced} bytes" in str(caught.value)
        assert len(str(caught.value)) < 400


@pytest.mark.attack("archives: absurd headers")
def test_a_long_name_is_shown_in_part(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("../" + "a" * 60_000))
    with pytest.raises(DataError, match=r"member '\.\./a+' is refused: its path leaves") as caught:
        read_archive(path, everything)
    assert len(str(caught.value)) < 400


def test_a_zip_that_lies_about_sizes_is_refused(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(10**6))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        begin = content.index(signature) + offset
        content[begin : begin + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.zip is not a readable tar or zip archive: Bad CRC-32"):
        read_archive(path, everything, LIMITS)


def test_other_files_and_torn_archives_are_refused(tmp_path):
    path = tar(tmp_path / "x", *[(f"m{number}", bytes(range(256)) * number) for number in range(1, 40)])
    content = path.read_bytes()
    torn = [content[: int(share * len(content))] for share in (0.3, 0.9)]
    for other in (b"", b"no archive at all", b"\x1f\x8b broken", *torn):
        path.write_bytes(other)
        with pytest.raises(DataError, match="x is not a readable tar or zip archive: "):
            read_archive(path, everything)


@pytest.mark.parametrize("write", [tar, zipped])
def test_damaged_archives_are_read_or_refused_but_nothing_else(tmp_path, write):
    members = [(f"m{number}", bytes(range(200)) * number) for number in range(8)]
    path = write(tmp_path / "x", *members)
    content, rng, refusals = path.read_bytes(), np.random.default_rng(0), []
    for _ in range(200):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_archive(path, everything)
        except DataError as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert all(str(path) in refusal for refusal in refusals)
