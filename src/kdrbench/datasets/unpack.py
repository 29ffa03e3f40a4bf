"""Reading files that may be packed: by gzip, by the Unix program compress as UCI's oldest files are, in tar or zip.

Python has no decoder for compress, and the packages on the index that do are one function each, seldom renewed: forty
lines here spare a dependency. The format: codes of growing width, least significant bit first.

Members of archives are read into memory, without trusting the archive: nothing is ever extracted to disk. One hostile
member condemns the whole archive, wanted or not: a file that holds one is not the file it claims to be.
"""

from __future__ import annotations

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from kdrbench.errors import DataError

_MOST_BYTES = 256 * 2**20
# A name or another header of a member: names on disk end at 4096 bytes.
_MOST_HEADER_BYTES = 64 * 2**10
_HEADERS = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
}
_SHOWN = 100
_CLEAR = 256


def read_unpacked(path: Path, *, most_bytes: int = _MOST_BYTES) -> bytes:
    """Return the file's content, unpacked if its first bytes say gzip or compress; ``DataError`` beyond the limit."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(2)
            stream.seek(0)
            if magic == b"\x1f\x8b":
                content = gzip.GzipFile(fileobj=stream).read(most_bytes + 1)
            elif magic == b"\x1f\x9d":
                content = decompress_lzw(stream.read(most_bytes + 1), most_bytes=most_bytes)
            else:
                content = stream.read(most_bytes + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if len(content) > most_bytes:
        raise DataError(f"{path} unpacks to more than {most_bytes} bytes")
    return content


def decompress_lzw(packed: bytes, *, most_bytes: int = _MOST_BYTES) -> bytes:
    """Undo Unix compress (a file that ends in .Z); stops beyond ``most_bytes``; ``ValueError`` where it is broken.

    Codes come in groups of eight of equal width; when the width grows or the table is cleared, the rest of the group
    is padding (Welch, A technique for high-performance data compression, Computer 17, 1984, and ncompress's files).
    """
    # Programs disagree on what a header of 9 bits means.
    if packed[:2] != b"\x1f\x9d" or len(packed) < 3 or not 10 <= packed[2] & 0x1F <= 16:
        raise ValueError("no header of compress")
    widest, clears = packed[2] & 0x1F, bool(packed[2] & 0x80)
    first = 257 if clears else 256
    sequences = [bytes((value,)) for value in range(256)] + [b""] * (first - 256)
    pieces: list[bytes] = []
    width, previous, group, taken, size = 9, b"", 3, 0, 0
    while size <= most_bytes:
        # A group of eight codes of this width begins at byte `group`; `taken` of them have been read.
        begin = 8 * group + taken * width
        if begin + width > 8 * len(packed):
            break
        code = int.from_bytes(packed[begin // 8 : begin // 8 + 3], "little") >> (begin % 8) & ((1 << width) - 1)
        taken += 1
        if code == _CLEAR and clears:
            del sequences[first:]
            group, taken, width, previous = group + width, 0, 9, b""
            continue
        if code > len(sequences) or (code == len(sequences) and not previous):
            raise ValueError(f"code {code} occurs before its word is known")
        word = sequences[code] if code < len(sequences) else previous + previous[:1]
        pieces.append(word)
        size += len(word)
        if previous and len(sequences) < 1 << widest:
            sequences.append(previous + word[:1])
        previous = word
        if len(sequences) == 1 << width and width < widest:
            group, taken, width = group + width, 0, width + 1
        elif taken == 8:
            group, taken = group + width, 0
    return b"".join(pieces)


@dataclass(frozen=True)
class ArchiveLimits:
    """How many members an archive may have, and how many bytes one of them and all together may hold unpacked."""

    members: int = 10_000
    member_bytes: int = 64 * 2**20
    total_bytes: int = 512 * 2**20


def read_archive(path: Path, wanted: Callable[[str], bool], limits: ArchiveLimits | None = None) -> dict[str, bytes]:
    """Return the content of the regular files whose names are ``wanted``, by name.

    Raises ``DataError`` naming the member for absolute paths, '..', links, devices, names that occur twice,
    encrypted members and whatever exceeds ``limits``; and for files that are no readable tar (plain or gzipped) or zip.
    """
    guard = _Guard(path, limits or ArchiveLimits())
    try:
        if zipfile.is_zipfile(path):
            return _read_zip(path, wanted, guard)
        return _read_tar(path, wanted, guard)
    except DataError as error:
        raise error if str(path) in str(error) else DataError(f"{path}: {error}") from None
    except Exception as error:
        # Which error it is depends on where in a broken file the reader of tar, zip, gzip or another packing stumbles.
        raise DataError(f"{path} is not a readable tar or zip archive: {error}") from error


@dataclass
class _Guard:
    """Counts what has been seen of an archive and refuses what must not be there."""

    path: Path
    limits: ArchiveLimits

    def __post_init__(self) -> None:
        self._seen: set[str] = set()
        self._bytes = 0

    def admit(self, name: str, size: int, fault: str | None) -> None:
        """Raise ``DataError`` unless the member is harmless as far as its header says."""
        limits = self.limits
        key = str(PurePosixPath(name))
        self._bytes += size
        if _leaves_its_folder(name):
            fault = "its path leaves the archive's folder"
        elif key in self._seen:
            fault = "its name occurs twice"
        elif size < 0:
            fault = f"it announces {size} bytes"
        elif size > limits.member_bytes:
            fault = f"it announces {size} bytes; at most {limits.member_bytes} are read"
        elif self._bytes > limits.total_bytes:
            fault = f"with it the archive announces more than {limits.total_bytes} bytes"
        elif len(self._seen) >= limits.members:
            fault = f"it is one of more than {limits.members} members"
        if fault:
            raise DataError(f"{self.path}: member {name[:_SHOWN]!r} is refused: {fault}")
        self._seen.add(key)


def _leaves_its_folder(name: str) -> bool:
    # Windows' rules too: 'C:x' and '..\\x' are harmless here and not there.
    both = (PurePosixPath(name), PureWindowsPath(name))
    return not name or any(path.is_absolute() or path.anchor or ".." in path.parts for path in both)


class _Member(tarfile.TarInfo):
    """A member whose headers are of a sound size: tarfile reads a name into memory however long it is."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        """Read a block of 512 bytes; raises ``DataError`` for a size below zero, or that of an absurd name."""
        member = super().frombuf(buf, encoding, errors)
        if member.size < 0 or (member.type in _HEADERS and member.size > _MOST_HEADER_BYTES):
            raise DataError(f"the archive is refused: a header of a member announces {member.size} bytes")
        return member


class _Capped:
    """A stream that refuses to give more than a number of bytes: a bomb may hide where no member's size says so."""

    def __init__(self, stream: gzip.GzipFile | BinaryIO, path: Path, most: int) -> None:
        self._stream, self._path, self._left, self._most = stream, path, most, most

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise DataError(f"{self._path} unpacks to more than {self._most} bytes")
        return content


def _read_tar(path: Path, wanted: Callable[[str], bool], guard: _Guard) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        # Headers, long names and padding take 512 bytes each beside a member's content; the end fills a record.
        most = guard.limits.total_bytes + 2048 * guard.limits.members + tarfile.RECORDSIZE
        capped = _Capped(stream, path, most)
        with tarfile.open(fileobj=capped, mode="r|", tarinfo=_Member) as archive:  # type: ignore[call-overload]
            for member in archive:
                guard.admit(member.name, member.size if member.isreg() else 0, _fault_of_tar(member))
                if member.isreg() and wanted(member.name):
                    content = archive.extractfile(member)
                    contents[member.name] = content.read() if content else b""
    return contents


def _fault_of_tar(member: tarfile.TarInfo) -> str | None:
    if member.issym() or member.islnk():
        return f"it is a link to {member.linkname[:_SHOWN]!r}"
    if not member.isreg() and not member.isdir():
        return "it is neither a file nor a folder"
    return None


def _read_zip(path: Path, wanted: Callable[[str], bool], guard: _Guard) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            guard.admit(member.filename, member.file_size, _fault_of_zip(member))
        for member in archive.infolist():
            if not member.is_dir() and wanted(member.filename):
                with archive.open(member) as stream:
                    # zipfile itself stops at the announced size.
                    contents[member.filename] = stream.read(member.file_size)
    return contents


def _fault_of_zip(member: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link"
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "it is neither a file nor a folder"
    return "it is encrypted" if member.flag_bits & 1 else None
