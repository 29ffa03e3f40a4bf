"""`kdrbench doctor`: what of the surroundings works, and what to do about the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import counted
from kdrbench.extras import EXTRAS, MissingPackageError
from kdrbench.suite.commands.options import as_json

if TYPE_CHECKING:
    from kdrbench.datasets.fetch import Sources

_ANSWER_S = 20
# What every fit imports.
_LIBRARY = ("joblib", "numpy", "scipy", "sklearn", "threadpoolctl")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Answer:
    """One thing looked at: what was found, and what to do if it does not work.

    ``needed`` says whether anything of kdrbench's own stops without it; the rest is for some of its work.
    """

    what: str
    works: bool
    found: str
    to_do: str = ""
    needed: bool = False

    def __str__(self) -> str:
        """Return lines for a terminal."""
        mark = "well   " if self.works else ("BROKEN " if self.needed else "without")
        return f"{mark}  {self.what}: {self.found}" + (f"\n         {self.to_do}" if not self.works else "")


@click.command()
@as_json
def doctor(as_json: bool) -> None:
    """Look at the environment, threads, BLAS, data, Slurm, TeX, browser and conda: what works and what to do.

    Exit code 1 if something is broken without which nothing runs.
    """
    answers = []
    for ask in QUESTIONS:
        for answer in ask():
            answers.append(answer)
            if not as_json:
                click.echo(str(answer))
    if as_json:
        click.echo(json.dumps([asdict(answer) for answer in answers]))
    sys.exit(1 if any(answer.needed and not answer.works for answer in answers) else 0)


def _python() -> Iterator[Answer]:
    release = ".".join(map(str, sys.version_info[:3]))
    yield Answer(
        "Python", sys.version_info >= (3, 11), f"{release} at {sys.executable}", "install Python 3.11", needed=True
    )
    yield _packages("packages of the library", _LIBRARY, "kdrbench", needed=True)
    for extra, packages in EXTRAS.items():
        yield _packages(f"packages of the extra {extra}", packages, f"kdrbench[{extra}]")


def _packages(what: str, modules: Sequence[str], install: str, *, needed: bool = False) -> Answer:
    missing = [name for name in modules if not _is_there(name)]
    found = f"not there: {', '.join(missing)}" if missing else ", ".join(map(_named, modules))
    return Answer(what, not missing, found, f"pip install '{install}'", needed=needed)


def _threads() -> Iterator[Answer]:
    cores = len(os.sched_getaffinity(0))
    said = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ}
    limits = (
        ", ".join(f"{name}={value}" for name, value in said.items()) or "no limit on BLAS threads in the environment"
    )
    yield Answer(
        "threads",
        True,
        f"{counted(cores, 'core')} of {os.cpu_count()} for this process; {limits}. Timed runs set their own: "
        "timing.threads",
    )
    from threadpoolctl import threadpool_info

    import_module("scipy.linalg")
    libraries = [f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"]
    yield Answer(
        "BLAS",
        bool(libraries),
        "; ".join(dict.fromkeys(libraries)) or "none that threadpoolctl knows",
        "threads cannot be limited: times are not comparable; install numpy from PyPI or conda-forge",
    )
    load = os.getloadavg()[0]
    yield Answer(
        "load",
        load < 0.5 * cores,
        f"{load:.1f} on {counted(cores, 'core')}",
        "other work runs here: times will be longer, and runs that shared their core are marked `contaminated`",
    )


def _data() -> Iterator[Answer]:
    from kdrbench.datasets.fetch import MIRROR_VARIABLE, Sources

    sources = Sources()
    mirror, folder = sources.mirror_name, sources.mirror_folder
    if mirror:
        works = folder is None or folder.is_dir()
        place = f"{mirror} ({'an address' if folder is None else 'a folder' if works else 'no folder'})"
        yield Answer(
            "mirror", works, place, f"set {MIRROR_VARIABLE} to a folder that is there, or unset it", needed=True
        )
    else:
        to_do = (
            f"sets that are not bundled are downloaded; without a network set {MIRROR_VARIABLE} to a folder of files"
        )
        yield Answer("mirror", False, "none named", to_do)
    yield _cache(sources, needed=not mirror)
    free_gib = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Answer("disk", free_gib > 1.0, f"{free_gib:.1f} GiB free here", "results and prepared data want a few GiB")


def _cache(sources: Sources, *, needed: bool) -> Answer:
    try:
        cache = sources.cache_folder
    except MissingPackageError as error:
        return Answer("cache", False, "none", str(error))
    there = next(parent for parent in (cache, *cache.parents) if parent.exists())
    to_do = "downloads cannot be kept: set XDG_CACHE_HOME"
    return Answer("cache", os.access(there, os.W_OK), str(cache), to_do, needed=needed)


def _plugins() -> Iterator[Answer]:
    from kdrbench import plugins
    from kdrbench.errors import InputError

    faults, names = [], []
    for kind in plugins.GROUPS:
        for name in plugins.declared_names(kind):
            names.append(f"{kind} {name}")
            try:
                plugins.load_class(kind, plugins.entry_point_of(kind, name) or "", ())
            except InputError as error:
                faults.append(str(error))
    yield Answer(
        "installed plug-ins",
        not faults,
        "; ".join(faults) or ", ".join(names) or "none",
        "correct or uninstall the package",
    )


def _programs() -> Iterator[Answer]:
    yield _program("git", ("git", "--version"), "records will not name a commit: install git")
    to_do = "the cluster profiles need it, nothing else: ask who runs the cluster, or use profiles/cluster-generic"
    yield _program("Slurm", ("sinfo", "--noheader"), to_do)
    yield _program("TeX", ("pdflatex", "--version"), "tables are not typeset: install texlive-latex-recommended")
    browser = next((name for name in _BROWSERS if shutil.which(name)), _BROWSERS[0])
    yield _program("browser", (browser, "--version"), "pages are not tested in a browser: install chromium")
    conda = next((name for name in ("conda", "mamba", "micromamba") if shutil.which(name)), "conda")
    yield _program(
        "conda", (conda, "--version"), "`snakemake --software-deployment-method conda` needs it, nothing else"
    )


def _program(what: str, command: tuple[str, ...], to_do: str) -> Answer:
    if shutil.which(command[0]) is None:
        return Answer(what, False, f"no {command[0]} on the PATH", to_do)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(what, False, f"{command[0]} does not answer: {error}", to_do)
    first = next(iter((done.stdout or done.stderr).strip().splitlines()), "no words")
    return Answer(what, done.returncode == 0, first, to_do)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _named(module: str) -> str:
    """Return the distributions of a module that is there with their versions."""
    names = sorted(set(packages_distributions().get(module, [])))
    return ", ".join(f"{name} {version(name)}" for name in names) or module


QUESTIONS: tuple[Callable[[], Iterator[Answer]], ...] = (_python, _threads, _data, _plugins, _programs)
