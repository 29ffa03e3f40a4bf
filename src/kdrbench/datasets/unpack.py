"""Reading files that may be packed: by gzip, by the Unix program compress as UCI's oldest files are, in tar or zip.

Python has no decoder for compress, and the packages on the index that do are one function each, seldom renewed: forty
lines here spare a dependency. Members of archives are read into memory; nothing is extracted to disk.
"""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from kdrbench.errors import DataError

_CLEAR = 256


def read_unpacked(path: Path) -> bytes:
    """Return the file's content, unpacked if its first bytes say gzip or compress; ``DataError`` where it is broken."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            return gzip.decompress(content)
        return decompress_lzw(content) if content[:2] == b"\x1f\x9d" else content
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def decompress_lzw(packed: bytes) -> bytes:
    """Undo Unix compress (a file that ends in .Z); ``ValueError`` where it is broken.

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
    width, previous, group, taken = 9, b"", 3, 0
    while True:
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
        if previous and len(sequences) < 1 << widest:
            sequences.append(previous + word[:1])
        previous = word
        if len(sequences) == 1 << width and width < widest:
            group, taken, width = group + width, 0, width + 1
        elif taken == 8:
            group, taken = group + width, 0
    return b"".join(pieces)


def read_archive(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the content of the regular files whose names are ``wanted``, by name.

    Raises ``DataError`` for files that are no readable tar (plain or packed) or zip.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return {name: archive.read(name) for name in archive.namelist() if wanted(name)}
        contents = {}
        with tarfile.open(path) as tar:
            for member in tar:
                if member.isreg() and wanted(member.name) and (stream := tar.extractfile(member)):
                    contents[member.name] = stream.read()
        return contents
    except Exception as error:
        # Which error it is depends on where in a broken file the reader of tar, zip, gzip or another packing stumbles.
        raise DataError(f"{path} is not a readable tar or zip archive: {error}") from error
