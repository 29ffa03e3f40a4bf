"""The page of dependencies counts what is installed."""

import re
from importlib.metadata import requires

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.checkout import ROOT

LINUX = default_environment() | {"sys_platform": "linux", "platform_system": "Linux", "python_full_version": "3.11.9"}
LINUX |= {"python_version": "3.11"}
OURS = "kdrbench"


def is_needed(requirement, extras):
    return requirement.marker is None or any(requirement.marker.evaluate(LINUX | {"extra": one}) for one in extras)


def locked(name):
    """What pip installs of a lock on Linux, and the package itself."""
    lines = re.findall(r"^([a-z0-9][^\\\n]*)", (ROOT / name).read_text(), re.M)
    needed = (one for one in map(Requirement, lines) if is_needed(one, [""]))
    return {canonicalize_name(one.name) for one in needed} | {OURS}


def brought(*extras):
    """What the package brings with extras, as the installed packages declare it."""
    found, waiting = set(), [(OURS, frozenset(["", *extras]))]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        for one in map(Requirement, requires(name) or ()):
            if is_needed(one, wanted):
                waiting.append((canonicalize_name(one.name), frozenset(["", *one.extras])))
    return {name for name, _ in found}


@pytest.mark.parametrize(
    ("command", "installed"),
    [
        ("make demo", lambda: locked("requirements.lock")),
        ("make test", lambda: locked("requirements-dev.lock")),
        ("pip install .", brought),
        ('pip install ".[workflow]"', lambda: brought("workflow")),
    ],
)
def test_the_page_counts_the_packages_that_a_command_installs(command, installed):
    page = (ROOT / "docs" / "dependencies.md").read_text()
    (count,) = re.findall(rf"^\| `{re.escape(command)}` \| (\d+) \|", page, re.M)
    assert int(count) == len(installed())
