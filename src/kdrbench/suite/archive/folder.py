"""The files of a packed record: written with a manifest of their hashes, and read with a check of these."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.files import write_bytes, write_text
from kdrbench.suite.archive import MANIFEST
from kdrbench.suite.csv_files import csv_text, parse_csv

FORMAT, VERSION = "kdrbench-packed-record", 2
README, LICENCE = "README.md", "LICENSE"
CONFIGURATION = "configuration.json"
# Folders of a record, and what of a results folder each holds.
ROWS, TRACES, ARRAYS, CHARTS, OTHERS = "rows", "traces", "arrays", "charts", "others"
NAME = r"[A-Za-z0-9_-]{1,100}"
_FILE = re.compile(rf"{CONFIGURATION}|(?:{ROWS}|{TRACES}|{ARRAYS}|{CHARTS}|{OTHERS})/{NAME}(?:\.[A-Za-z0-9]+){{1,2}}")
_ENDING = ".xz"


@dataclass(frozen=True)
class PackedFolder:
    """The folder of a packed record, or of one of its layers."""

    place: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the record says of itself and of its files; ``DamagedError`` for a manifest that is none."""
        path = self.place / MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            if manifest.get("version") != VERSION:
                raise ValueError(f"its version is {str(manifest.get('version'))[:20]}, this kdrbench reads {VERSION}")
            if strange := [name for name in manifest["files"] if not _FILE.fullmatch(name)]:
                raise ValueError(f"it names {visible(strange[0][:100])!r}, which is no file of such a record")
            dict(manifest["experiments"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{path} is no manifest of a packed record ({in_words(error)})") from error
        return manifest

    @cached_property
    def values(self) -> dict[str, NDArray[Any]]:
        """The values of arrays by file, as far as they were read: experiments share files."""
        return {}

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one of the record's folders, without their compression's ending."""
        return [name.removeprefix(f"{folder}/") for name in self.manifest["files"] if name.startswith(f"{folder}/")]

    def content(self, name: str) -> bytes:
        """Return what a file of the record unfolds to; ``DamagedError`` where it is missing or has another hash."""
        path = self.place / f"{name}{_ENDING}"
        if name not in self.manifest["files"]:
            raise DamagedError(f"{self.place / MANIFEST} names no {visible(name[:200])}; take the whole record again")
        again = "take the whole record again from where it comes"
        try:
            packed = path.read_bytes()
        except OSError as error:
            fault = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            raise DamagedError(f"{path} {fault}; {again}") from error
        if hashlib.sha256(packed).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise DamagedError(f"{path} has not the SHA-256 that the manifest names; {again}")
        try:
            return lzma.decompress(packed, lzma.FORMAT_XZ)
        except lzma.LZMAError as error:
            raise DamagedError(f"{path} is no file of xz: {in_words(error)}") from error

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a table of the record; ``DamagedError`` for one that is none."""
        try:
            return parse_csv(self.content(name).decode("utf-8"))[1]
        except ValueError as error:
            raise DamagedError(f"{self.place / name} is no table: {in_words(error)}") from error

    def read_lines(self, name: str, read: Callable[[Mapping[str, str]], None], fault: str) -> None:
        """Read each line of a table, where there is one; ``DamagedError`` with the ``fault`` of one that it cannot."""
        for number, line in enumerate(self.rows(name) if name in self.manifest["files"] else (), 2):
            try:
                read(line)
            except (KeyError, ValueError, TypeError) as error:
                raise DamagedError(f"{self.place}: line {number} of {name} {fault} ({in_words(error)})") from error


class Writer:
    """Writes the files of a record into an empty folder, and the manifest last."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, content: bytes) -> None:
        """Write a file; the same content gives the same bytes."""
        if not _FILE.fullmatch(name):
            raise InputError(f"{visible(name[:200])!r} cannot be a file of a packed record: rename it")
        packed = lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_CRC64, filters=_filters(name))
        write_bytes(self._place / f"{name}{_ENDING}", packed, durable=False)
        self._files[name] = {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}

    def table(self, name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        """Write a table as CSV."""
        self.add(name, csv_text(columns, rows).encode())

    def finish(self, counts: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """Write plain ``texts`` and the manifest, with ``counts`` and the like of the record; return it."""
        for name, text in texts.items():
            write_text(self._place / name, text)
        plain = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        files = {"plain": plain, "files": dict(sorted(self._files.items()))}
        manifest = {"format": FORMAT, "version": VERSION, **counts, **files}
        write_text(self._place / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        return manifest

    @property
    def n_bytes(self) -> int:
        """Bytes of the files so far."""
        return sum(file["bytes"] for file in self._files.values())


def _filters(name: str) -> list[dict[str, int]]:
    """Return the settings of xz: of numbers each byte is coded by its place in the number."""
    size = int(re.sub(r"\D", "", name.rsplit(".", 2)[1])) if name.endswith(".npy") else 0
    places = {4: 2, 8: 3}.get(size, 0)
    # Of float32 a bit of the byte before tells more than it costs.
    coding = {"lc": 1 if size == 4 else 0, "lp": places, "pb": places} if places else {}
    return [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, **coding}]
