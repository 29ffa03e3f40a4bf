"""The code of plug-ins: a hash of the file of a user's own module and of the modules of the user's that it imports.

kdrbench cannot declare revisions of what a user writes, so every change of such a file counts. Modules of this project
and installed packages are not followed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = "kdrbench"
_STANDARD = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def is_own(module: str) -> bool:
    """Return whether a module is a user's: neither of this project nor installed."""
    return _own_file(module) is not None


def own_code_sha256(module: str) -> str:
    """Return the hash of a user's module: the names and bytes of its file and of all own files that it imports."""
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in files and (path := _own_file(name)) is not None:
            files[name] = path
            waiting += _imported(path, name)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\n".encode() + hashlib.sha256(files[name].read_bytes()).digest())
    return digest.hexdigest()


def _imported(path: Path, module: str) -> Iterator[str]:
    """Yield the names of all modules that a file may import; it counts with its bytes where it is no Python."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _base(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parents, *filter(None, [node.module])])


def _own_file(module: str) -> Path | None:
    top = module.partition(".")[0]
    if not top or top == _PACKAGE:
        return None
    try:
        # Looking for a part imports the whole, so the top comes first: what is installed need not be imported.
        if module != top and not _is_own_top(top):
            return None
        return _source(module)
    except (ImportError, ValueError, AttributeError):
        return None


def _is_own_top(top: str) -> bool:
    """Return whether a package is a user's; a folder without ``__init__.py`` may be one, too."""
    if _source(top) is not None:
        return True
    spec = importlib.util.find_spec(top)
    folders = (spec.submodule_search_locations or ()) if spec and spec.origin is None else ()
    return bool(folders) and not any(_is_installed(Path(folder)) for folder in folders)


def _source(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    path = spec.origin if spec and spec.origin and spec.origin.endswith(".py") else None
    return None if path is None or _is_installed(Path(path)) else Path(path)


def _is_installed(path: Path) -> bool:
    """Return whether a file is Python's own or a package's, by its place: a user's may be called ``random.py``."""
    return bool(_INSTALLED & set(path.parts)) or any(folder in path.parents for folder in _STANDARD)
