"""Methods, kernels and data from outside this project: a Python file, a module's class, or an entry point.

This is the one place that turns a name of a configuration into a class:

- ``path/to/file.py`` is the one class of the file that keeps the contract, ``path/to/file.py:Class`` the one named;
  relative paths start at the working directory, which is Snakemake's;
- ``module:Class`` is imported, from the Python path;
- any other name is looked up among the entry points that installed packages declare for its kind, :data:`GROUPS`.

A file becomes a module named after its path as given, so that its classes can be pickled, and so that a project that
is moved with its files is still the same. Read again, it is the same module until the file has changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from kdrbench.errors import InputError, in_words

# The group of entry points of each kind.
GROUPS = {
    "solver": "kdrbench.solvers",
    "kernel": "kdrbench.kernels",
    "data set": "kdrbench.datasets",
    "learner": "kdrbench.metric_learners",
    "baseline": "kdrbench.baselines",
    "system": "kdrbench.systems",
}
_PREFIX = "kdrbench_plugin_"


def is_file_name(place: str) -> bool:
    """Return whether the place is that of a Python file, with a class or without."""
    return _split(place)[0].endswith(".py")


def declared_places(kind: str) -> dict[str, str]:
    """Return by name, sorted, the ``module:Class`` that packages declare for a kind; of a name the first counts."""
    points = reversed(list(entry_points(group=GROUPS[kind])))
    return dict(sorted({point.name: f"{point.module}:{point.attr}" for point in points}.items()))


def load_class(kind: str, place: str, contract: Sequence[str]) -> type:
    """Return the class at a place.

    Raises ``InputError`` when the file or module cannot be loaded, when it has no such class, or when no class is
    named and not exactly one has the attributes of the ``contract``.
    """
    module, (module_name, class_name) = load_class_module(kind, place), _split(place)
    if not class_name:
        return _only_class(kind, place, module, contract)
    loaded = getattr(module, class_name, None)
    if loaded is None:
        raise InputError(
            f"{kind} method {place!r} cannot be loaded: {module_name} has no {class_name}; it defines "
            f"{', '.join(one.__name__ for one in classes_of(module)) or 'no class'}"
        )
    result: type = loaded
    return result


def load_class_module(kind: str, place: str) -> ModuleType:
    """Return the file or module of a place; ``InputError`` when it cannot be loaded."""
    name = _split(place)[0]
    try:
        # What it prints goes where messages go: standard output may be read by a program.
        with redirect_stdout(sys.stderr):
            return load_file(name) if is_file_name(place) else import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A user's file may raise anything when it is executed, also what ends a process.
        hint = "" if is_file_name(place) else "; is it on the PYTHONPATH?"
        if isinstance(error, SystemExit):
            hint = "; let it define classes, and end nothing when it is loaded"
        raise InputError(f"{kind} method {place!r} cannot be loaded: {_words(error)}{hint}") from error


def load_file(path: str) -> ModuleType:
    """Return a Python file as a module; one that has been loaded is loaded again only if it has changed."""
    place = Path(path).expanduser()
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {place} (looked for in {Path.cwd()})")
    place = place.resolve()
    name, content = module_name_of(path), hashlib.sha256(place.read_bytes()).hexdigest()
    loaded = sys.modules.get(name)
    spec = loaded.__spec__ if loaded else None
    if loaded and spec and (spec.origin, spec.loader_state) == (str(place), content):
        return loaded
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is no Python file")
    spec.loader_state = content
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Compiled from what is read here: byte code of an earlier second could be that of other text.
        exec(compile(place.read_bytes(), str(place), "exec"), module.__dict__)  # noqa: S102
    except BaseException:
        del sys.modules[name]
        raise
    return module


def module_name_of(path: str) -> str:
    """Return the name under which a file is a module."""
    stem = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in Path(path).stem)
    return f"{_PREFIX}{stem}_{hashlib.sha256(Path(path).as_posix().encode()).hexdigest()[:8]}"


def classes_of(module: ModuleType) -> list[type]:
    """Return the public classes that a module defines itself, in its order."""
    return [
        member
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__ == module.__name__ and not name.startswith("_")
    ]


def _only_class(kind: str, place: str, module: ModuleType, contract: Sequence[str]) -> type:
    classes = classes_of(module)
    # A class that lacks something is still the one that is meant, if it is the only one.
    fitting = [one for one in classes if all(hasattr(one, name) for name in contract)] or classes
    if len(fitting) != 1:
        names = ", ".join(one.__name__ for one in fitting)
        fault = f"defines {len(fitting)} that could be meant: {names}" if fitting else "defines no class"
        raise InputError(f"{kind} method {place!r} must name one class; the file {fault}. Write {place}:Class")
    return fitting[0]


def _split(place: str) -> tuple[str, str]:
    """Return file or module, and class or nothing."""
    first, colon, last = place.rpartition(":")
    return (first, last) if colon else (last, "")


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, (ImportError, FileNotFoundError)) else in_words(error)
