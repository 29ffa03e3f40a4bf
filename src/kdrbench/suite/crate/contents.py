"""The files of a crate: where their bytes come from, what they are called in it, and how all are written."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kdrbench.errors import InputError
from kdrbench.files import replacing, replacing_folder

METADATA, README = "ro-crate-metadata.json", "README.md"
# By it a folder is known as made here.
_MARK = ".kdrbench-crate"
_FORMATS = {
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".npz": "application/zip",
}


@dataclass(frozen=True)
class Content:
    """A file of a crate: the one that it is a copy of, or its bytes."""

    source: Path | bytes

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes."""
        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest()
        with self.source.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def media_type(name: str) -> str:
    """Return the format of a file by the end of its name."""
    return _FORMATS.get(Path(name).suffix, "text/plain")


def inside(folder: Path, name: str) -> Path | None:
    """Return the plain file of this name in a folder, or ``None`` if there is none or it leads out of the folder."""
    try:
        path = (folder / name).resolve()
        return path if folder.resolve() in path.parents and path.is_file() else None
    except (OSError, ValueError):
        return None


def write(contents: Mapping[str, Content], out: Path) -> None:
    """Write all files, whole or not at all, into an archive if ``out`` ends with ``.zip`` and into a folder otherwise.

    Raises ``InputError`` where another thing is there that no earlier crate is.
    """
    with _archive(out) if out.suffix == ".zip" else replacing_folder(out, _MARK) as place:
        for name, content in contents.items():
            if isinstance(place, zipfile.ZipFile):
                _pack(place, name, content)
            else:
                _copy(content, place / name)


@contextmanager
def _archive(out: Path) -> Iterator[zipfile.ZipFile]:
    if out.exists() and not _is_crate(out):
        raise InputError(f"{out} is there and is no crate; name another file, or remove it")
    with replacing(out) as stream, zipfile.ZipFile(stream, "w") as archive:
        yield archive


def _is_crate(path: Path) -> bool:
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    with zipfile.ZipFile(path) as archive:
        return METADATA in archive.namelist()


def _pack(archive: zipfile.ZipFile, name: str, content: Content) -> None:
    # A folder that is described has to be a member.
    if "/" in name and (folder := f"{name.rpartition('/')[0]}/") not in archive.namelist():
        archive.writestr(_member(folder, 0o40755), b"")
    member = _member(name, 0o100644)
    if isinstance(content.source, bytes):
        archive.writestr(member, content.source)
        return
    with content.source.open("rb") as source, archive.open(member, "w") as target:
        shutil.copyfileobj(source, target)


def _member(name: str, mode: int) -> zipfile.ZipInfo:
    # Without the time of a file: the same record gives the same bytes.
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = mode << 16
    return member


def _copy(content: Content, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content.source, bytes):
        path.write_bytes(content.source)
    else:
        shutil.copyfile(content.source, path)
