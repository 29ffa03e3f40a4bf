"""The packages that not every installation has: which extra brings each, and what is said where one is missing.

`pip install kdrbench` brings what a fit needs. All else is imported by the call that needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kdrbench.errors import KdrbenchError

# What is imported, by the extra of pyproject.toml that brings it.
EXTRAS: dict[str, tuple[str, ...]] = {
    "rivals": ("autograd", "pymanopt"),
    "data": ("PIL", "pooch", "requests", "tqdm", "urllib3"),
    "cli": ("click", "jsonschema", "psutil", "yaml"),
    "plots": ("matplotlib",),
    "workflow": ("itables", "jinja2", "pandas", "plotly", "rocrate", "snakemake"),
    "compiled": ("numba",),
    "large": ("dask", "distributed", "zarr"),
    "umap": ("umap",),
    "gpu": ("array_api_compat", "torch"),
}
# Of Python itself, but not on every system.
_OF_UNIX = frozenset({"fcntl", "grp", "pwd", "resource", "termios"})


class MissingPackageError(KdrbenchError, ModuleNotFoundError):
    """A package that is not installed, or a module that this system does not have; the message says what to do."""


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Import in this block what ``what``, the subject of the sentence, needs.

    Raises ``MissingPackageError``, which names the extra to install, where a package of one is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingPackageError) or not (sentence := said_of_missing(error, what)):
            raise
        raise MissingPackageError(sentence, name=error.name) from error


def check_system(what: str) -> None:
    """Raise ``MissingPackageError`` on a system without the means of Linux to watch and end processes."""
    if sys.platform != "linux":
        raise MissingPackageError(_linux_alone(what, f"this is {sys.platform}"))


def said_of_missing(error: ModuleNotFoundError, what: str) -> str:
    """Return in one sentence what ``what`` lacks and how to get it; empty for a module of kdrbench itself."""
    package = str(error.name).partition(".")[0]
    if package == "kdrbench":
        return ""
    if package in _OF_UNIX:
        return _linux_alone(what, f"there is no module {package} here")
    extra = next((name for name, packages in EXTRAS.items() if package in packages), "")
    remedy = f"pip install 'kdrbench[{extra}]', in a clone '.[{extra}]'" if extra else f"pip install {package}"
    return f"{what} needs the package {package}, which is not installed: {remedy}"


def _linux_alone(what: str, found: str) -> str:
    return (
        f"{what} needs Linux, which can watch and end whole families of processes, and {found}: "
        "use a machine, virtual machine or container with Linux; estimators and data sets work everywhere"
    )
