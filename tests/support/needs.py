"""What a test may need beside the packages of ``envs/requirements-dev.lock``: ``@pytest.mark.needs("mirror")``.

A test with this marker belongs to ``make whole``. It is skipped, with the reason, where the requirement is missing.
"""

import os
import shutil
from importlib.util import find_spec

import pytest

MIRROR_VARIABLE = "KDRBENCH_MIRROR"
# The mirror that the user named, under a name that nothing else reads: daily tests do not see it, so that none of them
# rests on it unnoticed. Workers of pytest-xdist inherit the name.
_KEPT = "KDRBENCH_MIRROR_OF_TESTS"
MIRROR = os.environ[_KEPT] = os.environ.pop(MIRROR_VARIABLE, os.environ.get(_KEPT, ""))


def _programs(*names):
    # Debian puts daemons where a user's PATH may not lead.
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return all(shutil.which(name, path=path) for name in names)


def _modules(*names):
    return all(find_spec(name) for name in names)


# By name: whether it is there, and how to get it.
REQUIREMENTS = {
    "mirror": (lambda: bool(MIRROR), f"{MIRROR_VARIABLE} names no mirror of the data sets"),
    "slurm": (lambda: _programs("slurmctld", "slurmd", "munged"), "Slurm is not installed (slurm-wlm, munge)"),
    "tex": (lambda: _programs("pdflatex", "pdftotext"), "pdflatex or pdftotext is not installed"),
    "browser": (lambda: _programs("chromium") and _modules("playwright"), "Chromium or playwright is not installed"),
    "torch": (lambda: _modules("torch", "array_api_compat"), "torch or array-api-compat is not installed"),
    "array_api_strict": (lambda: _modules("array_api_strict", "array_api_compat"), "array-api-strict is not installed"),
    "root": (lambda: os.geteuid() == 0, "only root may do this"),
}


def mark_requirements(items):
    """Leave tests with requirements to ``make whole``, and skip those whose requirement is missing."""
    missing = {name: reason for name, (is_there, reason) in REQUIREMENTS.items() if not is_there()}
    for item in items:
        names = [name for marker in item.iter_markers("needs") for name in marker.args]
        if unknown := set(names) - set(REQUIREMENTS):
            raise pytest.UsageError(f"{item.nodeid} needs {sorted(unknown)}; known are {', '.join(REQUIREMENTS)}")
        if names:
            item.add_marker("whole")
        for name in names:
            if name in missing:
                item.add_marker(pytest.mark.skip(reason=missing[name]))


def show_mirror(item):
    """Let a test that needs the mirror see it, and no other."""
    if any("mirror" in marker.args for marker in item.iter_markers("needs")):
        os.environ[MIRROR_VARIABLE] = MIRROR
    else:
        os.environ.pop(MIRROR_VARIABLE, None)
