"""What the results of a run depend on in code: the sources it uses, as one hash, and versions of packages.

Snakemake does not see that an imported module has changed. So each batch carries a hash of every module of this project
that its method can reach, and the versions of the installed packages that those modules import. Sources are read, not
run: a module is reached by an import statement anywhere in it, and through a package only the module that defines the
name is. Comments, docstrings, and where a module lies do not count: a module's hash is that of its code and of the
hashes of what it imports. Names in strings, as those of the registries of methods, are not followed: a method of the
user's that builds another by its name has to import it too.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kdrbench.bench.packages import packages_of_environment, versions_of

_PACKAGE, _ENGINE = "kdrbench", "kdrbench.bench."
# The modules of the engine that decide numbers: random draws, and how a method is timed. The others only carry them.
_DECIDES_NUMBERS = frozenset(f"{_ENGINE}{name}" for name in ("referee", "run", "seeds"))
_ROOT = Path(__file__).resolve().parents[1]
_STANDARD = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
State = tuple[int, ...]
_ImportStatement = ast.Import | ast.ImportFrom
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Sources:
    """``sha256`` of the code of ``modules``, and versions of the installed ``packages`` that they import.

    ``files`` holds for each module its file and the :func:`state` of that when it was read.
    """

    sha256: str
    modules: tuple[str, ...]
    packages: dict[str, str]
    files: dict[str, tuple[str, State]] = field(default_factory=dict)

    def packages_in(self, environment: Path | None) -> dict[str, str]:
        """Return the versions, or the hash of the conda environment's file where the modules run in that one."""
        if environment is None:
            return self.packages
        return packages_of_environment(environment)


class _Import(NamedTuple):
    """One imported name: the module that defines it, the name there (none for a module), and the name here."""

    module: str
    name: str
    alias: str


def sources_of(roots: Iterable[str]) -> Sources:
    """Return what the modules named ``roots`` can reach; those outside this project are followed to their own files.

    A root that cannot be found counts with its name alone: the error comes when it is imported.
    """
    reader = _Reader()
    # In one order, for the hash of a cycle depends on where it is entered.
    hashes = sorted([reader.hash_of(name) for name in sorted(set(roots))])
    text = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return Sources(text, tuple(sorted(reader.modules)), versions_of(reader.foreign), reader.files)


def state(path: str | Path) -> State:
    """Return what tells a file from one that was written since: size, time of the last change in ns, number."""
    try:
        seen = Path(path).stat()
    except OSError:
        return ()
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


class _Reader:
    """Hashes modules with all that they import; ``foreign`` are the installed packages met on the way."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}
        self.foreign: set[str] = set()
        self.files: dict[str, tuple[str, State]] = {}
        self._open: set[str] = set()
        self._installed: set[str] = set()

    def hash_of(self, name: str) -> str:
        """Return the hash of a module's code and of what it imports; a name for what is not followed."""
        if name in self.modules:
            return self.modules[name]
        if name in self._installed:
            return name
        if _only_carries(name):
            return _ENGINE
        if name in self._open:
            # A cycle of imports, in a user's own modules, is followed once.
            return name
        path = _path_of(name)
        if path is None:
            self._installed.add(name)
            self.foreign.add(name.partition(".")[0])
            return name
        self._open.add(name)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.files[name] = (str(path), state(path))
        code, imports = _read(path.read_bytes(), package)
        parts = sorted(f"{self.hash_of(one.module)} {one.name} {one.alias}" for one in imports)
        self._open.discard(name)
        self.modules[name] = hashlib.sha256("\n".join([code, *parts]).encode()).hexdigest()
        return self.modules[name]


def _only_carries(name: str) -> bool:
    return name.startswith(_ENGINE) and name not in _DECIDES_NUMBERS


@cache
def _read(text: bytes, package: str) -> tuple[str, tuple[_Import, ...]]:
    """Return the hash of a module's code without docstrings and imports, and its imports.

    A module that is no Python, which another one may try to import, counts with its bytes.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return hashlib.sha256(text).hexdigest(), ()
    statements: list[_ImportStatement] = []
    code = _dump(tree, statements)
    imported = {one for statement in statements for one in _imports(statement, package)}
    return hashlib.sha256(code.encode()).hexdigest(), tuple(sorted(imported))


def _dump(value: object, imports: list[_ImportStatement]) -> str:
    """Return what ``ast.dump`` says of a part of a tree without docstrings and imports, which are collected.

    In one pass: to walk, change and dump the tree one after the other takes five times as long, at every start of the
    workflow.
    """
    if isinstance(value, ast.AST):
        kind = type(value)
        fields = [f"{name}={_dump(field, imports)}" for name, field in _fields(value)]
        return f"{kind.__name__}({', '.join(fields)})"
    if isinstance(value, list):
        parts = []
        for one in value:
            if isinstance(one, _ImportStatement):
                imports.append(one)
            else:
                parts.append(_dump(one, imports))
        return f"[{', '.join(parts)}]"
    return repr(value)


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the fields of a node that are there, by name; of a body without its docstring."""
    for name in node._fields:
        field = getattr(node, name, None)
        if field is None and getattr(type(node), name, ...) is None:
            continue
        if name == "body" and isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            field = node.body[1:]
        yield name, field


def _imports(node: _ImportStatement, package: str) -> Iterator[_Import]:
    if isinstance(node, ast.Import):
        yield from (_Import(alias.name, "", alias.asname or "") for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        parents = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*parents, base] if base else parents)
    for alias in node.names:
        module = _defining_module(base, alias.name)
        name = "" if module == f"{base}.{alias.name}" else alias.name
        yield _Import(module, name, alias.asname or alias.name)


def _defining_module(base: str, name: str) -> str:
    """Return the module that ``from base import name`` takes the name from, following a package's own imports."""
    if _path_of(f"{base}.{name}") is not None:
        return f"{base}.{name}"
    path = _path_of(base)
    if path is None or path.name != "__init__.py":
        return base
    module, imported = _exports(path.read_bytes(), base).get(name, (base, name))
    return base if module == base else _defining_module(module, imported)


@cache
def _exports(text: bytes, package: str) -> dict[str, tuple[str, str]]:
    """Return by the name here the module and the name there of what a package's own file imports from elsewhere."""
    exports: dict[str, tuple[str, str]] = {}
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):
        return exports
    for node in statements:
        if isinstance(node, ast.ImportFrom) and not node.level and node.module and node.module != package:
            for alias in node.names:
                exports.setdefault(alias.asname or alias.name, (node.module, alias.name))
    return exports


def _path_of(module: str) -> Path | None:
    """Return the file of a module of this project, or of a user's own; ``None`` for installed packages."""
    if module == _PACKAGE or module.startswith(f"{_PACKAGE}."):
        place = "/".join([str(_ROOT), *module.split(".")[1:]])
        candidates = (Path(f"{place}.py"), Path(f"{place}/__init__.py"))
        return next((path for path in candidates if path.is_file()), None)
    top = module.partition(".")[0]
    try:
        # Of the top first: looking for a part imports the whole, and what is installed need not be.
        if module != top and _is_own_folder(top):
            return _source(module)
        found = _source(top)
        return _source(module) if found is not None and module != top else found
    except (ImportError, ValueError):
        return None


def _is_own_folder(top: str) -> bool:
    """Return whether the name is that of a folder without ``__init__.py`` that was not installed."""
    spec = importlib.util.find_spec(top)
    folders = (spec.submodule_search_locations or ()) if spec and spec.origin is None else ()
    return bool(folders) and not any({"site-packages", "dist-packages"} & set(Path(one).parts) for one in folders)


def _source(module: str) -> Path | None:
    """Return the file of a module outside this project, unless it was installed."""
    spec = importlib.util.find_spec(module)
    path = spec.origin if spec and spec.origin and spec.origin.endswith(".py") else None
    return None if path is None or _is_installed(Path(path)) else Path(path)


@cache
def _is_installed(path: Path) -> bool:
    """Return whether a file is Python's own or a package's: by its place, for a user's may be called ``random.py``."""
    packaged = {"site-packages", "dist-packages"} & set(path.parts)
    return bool(packaged) or any(folder in path.parents for folder in _STANDARD)
