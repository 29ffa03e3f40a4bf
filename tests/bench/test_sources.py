"""The sources that a run depends on."""

import sys

import pytest

from configs import table_4_config
from kdrbench.bench import sources
from kdrbench.bench.sources import sources_of
from kdrbench.solvers import SOLVERS
from kdrbench.stages.config import load_grid

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
    write("my_tools/__init__.py", "from my_tools.other import unused\n")
    write("my_tools/steps.py", "from . import lengths\n\n\ndef step(length):\n    return lengths.HALF * length\n")
    write("my_tools/lengths.py", "HALF = 0.5\n")
    write("my_tools/late.py", "LENGTH = 1.0\n")
    write("my_tools/other.py", "def unused():\n    pass\n")
    yield write
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]


def test_a_users_solver_is_followed_through_its_own_files(written):
    found = sources_of(["my_solver"])
    assert found.modules == ("my_solver", "my_tools.late", "my_tools.lengths", "my_tools.steps")
    assert set(found.packages) == {"numpy"}


@pytest.mark.parametrize(
    ("name", "text", "matters"),
    [
        ("my_solver.py", SOLVER.replace("step(late", "2 * step(late"), True),
        ("my_tools/lengths.py", "HALF = 0.25\n", True),
        ("my_tools/late.py", "LENGTH = 2.0\n", True),
        ("my_tools/late.py", '"""Lengths."""\n\n# In metres.\nLENGTH = 1.0\n', False),
        ("my_tools/other.py", "def unused():\n    return 1\n", False),
        ("my_tools/new.py", "LENGTH = 2.0\n", False),
    ],
)
def test_only_code_that_is_used_counts(written, name, text, matters):
    before = sources_of(["my_solver"]).sha256
    written(name, text)
    assert (sources_of(["my_solver"]).sha256 != before) == matters


def test_a_name_is_looked_up_where_a_package_takes_it_from(written):
    written("my_solver.py", "from my_tools import unused\n")
    assert sources_of(["my_solver"]).modules == ("my_solver", "my_tools.other")


@pytest.mark.parametrize("method", SOLVERS)
def test_a_solver_depends_on_itself_and_not_on_its_rivals(method):
    modules = set(sources_of([SOLVERS[method].split(":")[0]]).modules)
    own = {place.split(":")[0] for place in SOLVERS.values()} & modules
    assert SOLVERS[method].split(":")[0] in own
    # What shares code with another method says so by importing it.
    shared = {"kdrbench.solvers.ism"}
    assert own - shared <= {SOLVERS[method].split(":")[0]}
    assert not any(name.startswith(("kdrbench.reports", "kdrbench.cli")) for name in modules)


def test_packages_that_a_solver_imports_when_it_runs_are_named():
    assert "pymanopt" in sources_of(["kdrbench.solvers.grassmann_trust_region"]).packages
    assert "pymanopt" not in sources_of(["kdrbench.solvers.ism"]).packages


def test_a_module_that_is_not_there_is_nothing():
    assert sources_of(["no_such_module"]).modules == ()


def test_another_version_of_a_package_is_another_batch_of_those_who_import_it(monkeypatch):
    def batches():
        config = table_4_config()
        return {batch.path: batch.sha256 for batch in load_grid(config).batches()}

    before, honest = batches(), sources.version
    monkeypatch.setattr(sources, "version", lambda name: "9" if name == "pymanopt" else honest(name))
    changed = {path for path, sha256 in batches().items() if sha256 != before[path]}
    assert changed == {path for path in before if "/gm" in path}


def test_under_conda_the_file_of_the_environment_counts_and_not_the_packages_here(monkeypatch, tmp_path):
    environment = tmp_path / "run.yaml"

    def batches():
        return {batch.path: batch.sha256 for batch in load_grid(table_4_config(), environment).batches()}

    environment.write_text("dependencies: [numpy=1]\n")
    before, honest = batches(), sources.version
    monkeypatch.setattr(sources, "version", lambda name: "9" if name == "numpy" else honest(name))
    assert batches() == before
    environment.write_text("dependencies: [numpy=2]\n")
    after = batches()
    assert {path for path in before if before[path] != after[path]} == set(before)


@pytest.mark.parametrize("job", ["solver_job", "clustering_job"])
def test_no_solver_depends_on_another_through_what_all_share(job):
    shared = set(sources_of([f"kdrbench.bench.{job}"]).modules)
    assert not shared & {place.split(":")[0] for place in SOLVERS.values()}


def test_clusterings_depend_on_what_judges_them_and_supervised_runs_do_not():
    clustering, supervised = (
        set(sources_of([f"kdrbench.bench.{job}"]).modules) for job in ("clustering_job", "solver_job")
    )
    own = {"kdrbench.bench.clustering_job", "kdrbench.bench.rounds", "kdrbench.paradigms.reduced"}
    assert own <= clustering
    assert not own & supervised
    assert {"kdrbench.bench.fold", "kdrbench.bench.quality"} <= clustering & supervised
