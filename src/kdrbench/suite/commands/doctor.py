"""`kdrbench doctor`: which parts of the environment work, and what to do about the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from typing import NamedTuple

import click

from kdrbench.errors import InputError, counted
from kdrbench.extras import EXTRAS, MissingPackageError
from kdrbench.suite.commands.options import as_json

_ANSWER_S = 20
# What every fit imports.
_LIBRARY = ("joblib", "numpy", "scipy", "sklearn", "threadpoolctl")
# By title: programs of which one is needed, the option that makes it answer, and what to do without.
_PROGRAMS = {
    "git": ("git", "--version", "records will not name a commit: install git"),
    "Slurm": ("sinfo", "--noheader", "only cluster profiles need it: ask who runs the cluster, or use cluster-generic"),
    "browser": (
        "chromium chromium-browser google-chrome chrome",
        "--version",
        "pages are not tested: install chromium",
    ),
    "conda": ("conda mamba micromamba", "--version", "only `--software-deployment-method conda` needs it"),
}


class Answer(NamedTuple):
    """One part of the environment: what was found, and what to do if it does not work.

    ``needed`` says whether anything of kdrbench's own stops without it; the rest is for some of its work.
    """

    what: str
    works: bool
    found: str
    to_do: str = ""
    needed: bool = False


@click.command()
@as_json
def doctor(as_json: bool) -> None:
    """Look at the environment, threads, BLAS, data, Slurm, browser and conda: what works and what to do.

    Exit code 1 if something is broken without which nothing runs.
    """
    answers = []
    for ask in QUESTIONS:
        for answer in ask():
            answers.append(answer)
            if not as_json:
                mark = "well   " if answer.works else "BROKEN " if answer.needed else "without"
                to_do = "" if answer.works else f"\n         {answer.to_do}"
                click.echo(f"{mark}  {answer.what}: {answer.found}{to_do}")
    if as_json:
        click.echo(json.dumps([answer._asdict() for answer in answers]))
    sys.exit(1 if any(answer.needed and not answer.works for answer in answers) else 0)


def _python() -> Iterator[Answer]:
    release = ".".join(map(str, sys.version_info[:3]))
    is_new = sys.version_info >= (3, 11)
    yield Answer("Python", is_new, f"{release} at {sys.executable}", "install Python 3.11", needed=True)
    groups = {"library": _LIBRARY, **{f"extra {extra}": packages for extra, packages in EXTRAS.items()}}
    for group, modules in groups.items():
        missing = [name for name in modules if not _is_there(name)]
        named = dict.fromkeys(name for module in modules for name in packages_distributions().get(module, [module]))
        state = f"not there: {', '.join(missing)}" if missing else ", ".join(f"{one} {version(one)}" for one in named)
        of_library = group == "library"
        install = "kdrbench" if of_library else f"kdrbench[{group.removeprefix('extra ')}]"
        yield Answer(f"packages of the {group}", not missing, state, f"pip install '{install}'", needed=of_library)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # Its package is missing, or an importer refuses it.
        return False


def _threads() -> Iterator[Answer]:
    from threadpoolctl import threadpool_info

    cores = f"{counted(len(os.sched_getaffinity(0)), 'core')} of {os.cpu_count()} for this process"
    yield Answer("threads", True, f"{cores}; timed runs set their own: timing.threads")
    import_module("scipy.linalg")
    libraries = {f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"}
    to_do = "threads cannot be limited: times are not comparable; install numpy from PyPI or conda-forge"
    yield Answer("BLAS", bool(libraries), "; ".join(sorted(libraries)) or "none that threadpoolctl knows", to_do)


def _data() -> Iterator[Answer]:
    from kdrbench.datasets.fetch import MIRROR_VARIABLE, Sources

    sources = Sources()
    folder, mirror = sources.mirror_folder, sources.mirror_name
    works = bool(mirror) and (folder is None or folder.is_dir())
    named = f"{mirror} ({'an address' if folder is None else 'a folder' if works else 'no folder'})"
    to_do = f"set {MIRROR_VARIABLE} to a folder that is there, or to none; bundled sets and a network need none"
    yield Answer("mirror", works, named if mirror else "none named", to_do, needed=bool(mirror))
    try:
        cache = sources.cache_folder
    except MissingPackageError as error:
        yield Answer("cache", False, "none", str(error))
        return
    there = next(parent for parent in (cache, *cache.parents) if parent.exists())
    to_do = "downloads cannot be kept: set XDG_CACHE_HOME"
    yield Answer("cache", os.access(there, os.W_OK), str(cache), to_do, needed=not mirror)


def _plugins() -> Iterator[Answer]:
    from kdrbench import plugins

    faults, names = [], []
    for kind in plugins.GROUPS:
        for name, place in plugins.declared_places(kind).items():
            names.append(f"{kind} {name}")
            try:
                plugins.load_class(kind, place, ())
            except InputError as error:
                faults.append(str(error))
    loaded = "; ".join(faults) or ", ".join(names) or "none"
    yield Answer("installed plug-ins", not faults, loaded, "correct or uninstall the package")


def _programs() -> Iterator[Answer]:
    for what, (names, option, to_do) in _PROGRAMS.items():
        name = next(filter(shutil.which, names.split()), "")
        works, answer = False, f"no {names.split()[0]} on the PATH"
        if name:
            try:
                done = subprocess.run([name, option], capture_output=True, text=True, check=False, timeout=_ANSWER_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                answer = f"{name} does not answer: {error}"
            else:
                works = done.returncode == 0
                answer = next(iter((done.stdout or done.stderr).strip().splitlines()), "no words")
        yield Answer(what, works, answer, to_do)


QUESTIONS: tuple[Callable[[], Iterator[Answer]], ...] = (_python, _threads, _data, _plugins, _programs)
