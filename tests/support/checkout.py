"""A checkout of its own, as a user has it: what is written in it is apart from ours."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PARTS = (
    *("Snakefile", "Makefile", "config.yaml", "config.demo.yaml", "config.papers.yaml", "pyproject.toml"),
    *("rules", "envs", "profiles"),
)


def checkout_at(folder):
    """Make and return a checkout in ``folder``: sources, tests and the packed record are links to ours."""
    folder.mkdir(parents=True)
    for part in _PARTS:
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
    for part in ("src", "tests"):
        (folder / part).symlink_to(ROOT / part)
    (folder / "results").mkdir()
    (folder / "results" / "reference").symlink_to(ROOT / "results" / "reference")
    return folder


def write_table(path, n_rows=90):
    """Write a table of three classes, in the column ``species``, beside two columns of numbers."""
    rows = "".join(f"{index % 3 + index / n_rows},{index % 7},{'abc'[index % 3]}\n" for index in range(n_rows))
    path.write_text(f"length,width,species\n{rows}")


def is_there(name, experiments):
    """Return whether a search that a reason names is a file of the checkout or one of the experiments."""
    return (ROOT / name).is_file() if "/" in name else name in experiments


def searches_in(why):
    """Return the experiments and benchmarks by which a reason was sought, as it names them in brackets."""
    names = re.findall(r"\((?:experiments? )?((?:benchmarks/\w+\.py|[a-z]\w+)(?:, \w+)*)\)", why)
    return [name for found in names for name in found.split(", ")]
