"""Identifiers of source code that follow from its content: SWHIDs of version 1, which are git's hashes of the same."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kdrbench.errors import InputError, in_words

_COMMIT = re.compile(r"[0-9a-f]{40}")
# What git calls a file, one that can be run, a link, and a folder.
_FILE, _PROGRAM, _LINK, _FOLDER = b"100644", b"100755", b"120000", b"40000"
# A file's mode and its content, or of a folder what it holds.
Tree = Mapping[str, "tuple[bytes, bytes] | Tree"]


def directory_swhid(root: Path) -> str:
    """Return ``swh:1:dir:...`` of the files in a checkout that git tracks, as they lie there, edits included.

    Of a clean checkout it is the tree of its commit. Raises ``InputError`` where git lists no files.
    """
    tree: dict[str, object] = {}
    for name in _tracked(root):
        path, folder = root / name, tree
        # A tracked file may have been removed.
        if not os.path.lexists(path):
            continue
        for part in Path(name).parts[:-1]:
            folder = folder.setdefault(part, {})  # type: ignore[assignment]
        folder[path.name] = _entry(path)
    return f"swh:1:dir:{tree_hash(tree).hex()}"  # type: ignore[arg-type]


def revision_swhid(commit: str) -> str:
    """Return ``swh:1:rev:...`` of a commit, or nothing for a word that is none."""
    return f"swh:1:rev:{commit}" if _COMMIT.fullmatch(commit) else ""


def tree_hash(tree: Tree) -> bytes:
    """Return the hash of a folder: that of its entries, in git's order, each with mode, name and hash."""
    entries = []
    for name, held in tree.items():
        mode, digest = (_FOLDER, tree_hash(held)) if isinstance(held, Mapping) else (held[0], _hash(b"blob", held[1]))
        # Folders are sorted as if their names ended with a slash.
        order = os.fsencode(name) + (b"/" if mode == _FOLDER else b"")
        entries.append((order, mode + b" " + os.fsencode(name) + b"\0" + digest))
    return _hash(b"tree", b"".join(entry for _, entry in sorted(entries)))


def _entry(path: Path) -> tuple[bytes, bytes]:
    if path.is_symlink():
        return _LINK, os.fsencode(path.readlink())
    return (_PROGRAM if path.stat().st_mode & 0o100 else _FILE), path.read_bytes()


def _hash(kind: bytes, content: bytes) -> bytes:
    # The identifiers are defined with SHA-1.
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).digest()


def _tracked(root: Path) -> list[str]:
    try:
        done = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"git lists no files of {root} ({in_words(error)}); name a checkout of kdrbench") from error
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
