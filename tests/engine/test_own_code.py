"""The code of plug-ins: which files a hash covers."""

import sys

import pytest

from kdrbench.suite.engine.identity import is_own, own_code_sha256

SOLVER = """
import numpy as np
from my_tools.steps import step


class Mine:
    def run(self):
        from my_tools import late
        return step(late.LENGTH)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a user's solver with a package of its own, and return what changes one of its files."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_tools").mkdir()

    def write(name, text):
        (tmp_path / name).write_text(text)

    write("my_solver.py", SOLVER)
    write("my_tools/__init__.py", "")
    write("my_tools/steps.py", "from . import lengths\n\n\ndef step(length):\n    return lengths.HALF * length\n")
    write("my_tools/lengths.py", "HALF = 0.5\n")
    write("my_tools/late.py", "from my_tools.steps import step\n\nLENGTH = 1.0\n")
    yield write
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("my_solver.py", True),
        ("my_tools/steps.py", True),
        # Imported relatively, and within a function.
        ("my_tools/lengths.py", True),
        ("my_tools/late.py", True),
        ("my_tools/unused.py", False),
    ],
)
def test_every_own_file_that_is_imported_counts(written, name, counts):
    before = own_code_sha256("my_solver")
    written(name, "# other\n")
    assert (own_code_sha256("my_solver") != before) == counts


def test_a_users_module_may_be_called_like_a_standard_one(written, monkeypatch):
    # Other tests may have imported that of the standard library.
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    written("colorsys.py", "HUE = 1\n")
    written("my_solver.py", "import colorsys\nimport json.decoder\nimport os.path\n")
    before = own_code_sha256("my_solver")
    written("colorsys.py", "HUE = 2\n")
    assert own_code_sha256("my_solver") != before


def test_what_is_installed_or_missing_is_no_users():
    installed = ["kdrbench.solvers.ism", "numpy.linalg", "json.decoder"]
    assert not any(map(is_own, [*installed, "no_such_module", ""]))


def test_a_module_in_a_folder_without_init_counts(written, tmp_path):
    (tmp_path / "my_namespace").mkdir()
    written("my_namespace/solver.py", "STEP = 1.0\n")
    before = own_code_sha256("my_namespace.solver")
    written("my_namespace/solver.py", "STEP = 2.0\n")
    assert own_code_sha256("my_namespace.solver") != before
