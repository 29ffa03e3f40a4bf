"""Which tests of ``make whole`` a run on a change makes: those that the change can reach, and a tenth of the others.

A test module reaches the modules that it imports, directly or through others, and itself. Modules that commands load
by name count as imported by the command line. Tests that start Snakemake reach the whole package and every rule.
The tenth rotates by date, so that ten days make all of them.
"""

import ast
import subprocess
import time
import zlib
from datetime import date
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = 10
LEFT_OUT = "left to make whole: the time of this run is used up"
# Whatever lies here is reached by tests of the workflow.
_WORKFLOW = ("src/", "rules/", "profiles/", "Snakefile", "config", "tests/support/", "tests/workflow/")
# What any test may rest on.
_OF_ALL = ("pyproject.toml", "envs/requirements-dev.lock", "tests/conftest.py")


def changed_files(base):
    """Return the files that differ between a commit and the working tree, by their path in the repository."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", base]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@cache
def _imports(path):
    """Return the files of the project that a file imports, at its top or within functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = {file for name in names if (file := _file_of(name))}
    if path.name == "cli.py":
        found |= set((ROOT / "src" / "kdrbench" / "suite" / "commands").glob("*.py"))
    return found


def _file_of(name):
    for root in (ROOT / "src", ROOT / "tests", ROOT / "benchmarks"):
        path = root.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def reached_by(path):
    """Return the files that a test module reaches, by their path in the repository."""
    reached, waiting = set(), [path]
    while waiting:
        if (file := waiting.pop()) not in reached:
            reached.add(file)
            waiting += _imports(file)
    return frozenset(str(file.relative_to(ROOT)) for file in reached)


def is_reached(path, changed):
    """Return whether a change of these files can change what the tests of a module see."""
    if any(file.startswith(_OF_ALL) for file in changed):
        return True
    if "workflow" in path.relative_to(ROOT).parts:
        return any(file.startswith(_WORKFLOW) for file in changed)
    return bool(reached_by(path) & changed)


def is_of_today(name, today):
    """Return whether a test belongs to the part of a date."""
    return zlib.crc32(name.encode()) % PARTS == today.toordinal() % PARTS


class Selection:
    """The plug-in of pytest behind ``--changed-since`` and ``--most-seconds``."""

    def __init__(self, config):
        self.base, self.most_s = config.getoption("changed_since"), config.getoption("most_seconds")
        self.began = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        """Keep what the change reaches, modules that reach little first, and today's part of the others."""
        if not self.base:
            return
        changed, today = changed_files(self.base), date.today()
        reached = {path: is_reached(path, changed) for path in {item.path for item in items}}
        kept = [item for item in items if reached[item.path] or is_of_today(item.nodeid, today)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = sorted(kept, key=lambda item: (not reached[item.path], len(reached_by(item.path))))

    def pytest_runtest_setup(self):
        """Skip what would begin after the time of the run."""
        if self.most_s and time.monotonic() - self.began > self.most_s:
            pytest.skip(LEFT_OUT)
