"""Files packed by gzip and by Unix compress; the second against an encoder written here and against gzip itself."""

import gzip
import shutil
import subprocess

import numpy as np
import pytest

from kdrbench.datasets.unpack import decompress_lzw, read_unpacked
from kdrbench.errors import DataError


class Encoder:
    """Unix compress: codes of growing width in groups of eight, least significant bit first."""

    def __init__(self, widest):
        self.widest, self.pieces, self.group = widest, [], []
        self.clear()

    def clear(self):
        self.table = {bytes((value,)): value for value in range(256)}
        self.next_code, self.width = 257, 9

    def emit(self, code):
        self.group.append(code)
        if len(self.group) == 8:
            self.flush(full=True)

    def flush(self, *, full):
        # Eight codes of one width fill as many bytes as the width has bits; only the last group may be shorter.
        number = sum(code << (self.width * place) for place, code in enumerate(self.group))
        size = self.width if full else -(-len(self.group) * self.width // 8)
        self.pieces.append(number.to_bytes(self.width, "little")[: size if self.group else 0])
        self.group.clear()

    def learn(self, word):
        if self.next_code < 1 << self.widest:
            self.table[word] = self.next_code
            self.next_code += 1
            # The decoder's table is one entry behind.
            if self.next_code > (1 << self.width) and self.width < self.widest:
                self.flush(full=True)
                self.width += 1


def compress_lzw(content, widest=16, clear_at=-1):
    """Pack as Unix compress does; the table is cleared once, at the first code from byte ``clear_at`` on."""
    encoder, word = Encoder(widest), b""
    for place, value in enumerate(content):
        longer = word + bytes((value,))
        if longer in encoder.table:
            word = longer
            continue
        encoder.emit(encoder.table[word])
        encoder.learn(longer)
        word = longer[-1:]
        if 0 <= clear_at <= place:
            encoder.emit(256)
            encoder.flush(full=True)
            encoder.clear()
            clear_at = -1
    if word:
        encoder.emit(encoder.table[word])
    encoder.flush(full=False)
    return b"\x1f\x9d" + bytes((0x80 | widest,)) + b"".join(encoder.pieces)


def text(n_bytes, seed=0):
    numbers = np.random.default_rng(seed).integers(-300, 300, n_bytes // 3)
    return ",".join(map(str, numbers)).encode()[:n_bytes]


CASES = [
    (b"", {}),
    (b"a", {}),
    (b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", {}),
    (bytes(range(256)) * 3, {}),
    (text(2_000), {}),
    (text(300_000), {}),
    (text(300_000), {"widest": 12}),
    (text(100_000), {"widest": 10}),
    (text(100_000), {"clear_at": 30_000}),
    (bytes(200_000), {}),
    (np.random.default_rng(1).bytes(100_000), {"clear_at": 50_000}),
]


@pytest.mark.parametrize(("content", "options"), CASES)
def test_compress_is_undone(content, options):
    assert decompress_lzw(compress_lzw(content, **options)) == content


@pytest.mark.skipif(not shutil.which("gzip"), reason="SKIPPED LOUDLY: no gzip, which undoes compress too")
def test_gzip_reads_what_the_encoder_writes():
    for content, options in CASES:
        packed = compress_lzw(content, **options)
        undone = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout
        assert undone == content


@pytest.mark.parametrize("name", ["plain", "gzip", "compress"])
def test_files_are_unpacked_by_their_first_bytes_and_within_a_limit(tmp_path, name):
    content = text(10_000)
    path = tmp_path / name
    path.write_bytes({"plain": content, "gzip": gzip.compress(content), "compress": compress_lzw(content)}[name])
    assert read_unpacked(path) == content
    assert read_unpacked(path, most_bytes=10_000) == content
    with pytest.raises(DataError, match=f"{name} unpacks to more than 9999 bytes"):
        read_unpacked(path, most_bytes=9_999)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(b"x" * 1000)[:-4], "Compressed file ended"),
        (b"\x1f\x8b\x08" + bytes(30), "cannot be read"),
        (b"\x1f\x9d\x88abc", "no header of compress"),
        (b"\x1f\x9d\x90\xff\xff", "code 511 stands before its word is known"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, words):
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_unpacked(path)
