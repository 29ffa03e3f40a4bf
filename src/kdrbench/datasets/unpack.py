"""Reading single files that may be packed: by gzip, or by the Unix program compress as UCI's oldest files are.

Python has no decoder for the second, and the packages on the index that do are one function each, seldom renewed: the
forty lines below spare a dependency. The format: codes of growing width, least significant bit first.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from kdrbench.errors import DataError

_MOST_BYTES = 256 * 2**20
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
    words = [bytes((value,)) for value in range(256)] + [b""] * (first - 256)
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
            del words[first:]
            group, taken, width, previous = group + width, 0, 9, b""
            continue
        if code > len(words) or (code == len(words) and not previous):
            raise ValueError(f"code {code} occurs before its word is known")
        word = words[code] if code < len(words) else previous + previous[:1]
        pieces.append(word)
        size += len(word)
        if previous and len(words) < 1 << widest:
            words.append(previous + word[:1])
        previous = word
        if len(words) == 1 << width and width < widest:
            group, taken, width = group + width, 0, width + 1
        elif taken == 8:
            group, taken = group + width, 0
    return b"".join(pieces)
