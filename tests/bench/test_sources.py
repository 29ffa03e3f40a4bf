"""The sources that a run depends on."""

import sys

import pytest

from kdrbench.bench import packages, sources
from kdrbench.bench.sources import sources_of
from kdrbench.solvers import SOLVERS
from kdrbench.stages.config import load_grid
from support.configs import table_4_config

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


def test_a_solver_depends_on_itself_and_not_on_its_rivals():
    # What shares code with another method says so by importing it.
    shared = {"kdrbench.solvers.ism", "kdrbench.solvers.stiefel_cayley"}
    modules = {place.split(":")[0] for place in SOLVERS.values()}
    for module in modules:
        found = set(sources_of([module]).modules)
        assert module in found
        assert found & modules - shared <= {module}
        assert not any(name.startswith(("kdrbench.reports", "kdrbench.cli")) for name in found)


def test_packages_that_a_solver_imports_when_it_runs_are_named():
    assert "pymanopt" in sources_of(["kdrbench.solvers.grassmann_trust_region"]).packages
    assert "pymanopt" not in sources_of(["kdrbench.solvers.ism"]).packages


def test_a_module_that_is_not_there_is_nothing():
    assert sources_of(["no_such_module"]).modules == ()


def test_another_version_of_a_package_changes_who_imports_it(monkeypatch):
    def batches():
        config = table_4_config()
        return {batch.path: batch.sha256 for batch in load_grid(config).batches()}

    before, honest = batches(), packages.version
    monkeypatch.setattr(packages, "version", lambda name: "9" if name == "pymanopt" else honest(name))
    changed = {path for path, sha256 in batches().items() if sha256 != before[path]}
    assert changed == {path for path in before if "/gm" in path}


def test_under_conda_the_file_of_the_environment_counts(monkeypatch, tmp_path):
    environment = tmp_path / "run.yaml"

    def batches():
        return {batch.path: batch.sha256 for batch in load_grid(table_4_config(), environment).batches()}

    environment.write_text("dependencies: [numpy=1]\n")
    before, honest = batches(), packages.version
    monkeypatch.setattr(packages, "version", lambda name: "9" if name == "numpy" else honest(name))
    assert batches() == before
    environment.write_text("dependencies: [numpy=2]\n")
    after = batches()
    assert {path for path in before if before[path] != after[path]} == set(before)


RUNS = [f"kdrbench.stages.ikdr.{name}" for name in ("solver_run", "clustering_run", "baseline_run")]


def test_no_solver_depends_on_another_through_what_all_share():
    shared = set(sources_of(RUNS).modules)
    assert not shared & {place.split(":")[0] for place in SOLVERS.values()}


def test_only_clusterings_depend_on_what_scores_them():
    supervised, clustering, _ = (set(sources_of([module]).modules) for module in RUNS)
    own = {"kdrbench.stages.ikdr.clustering_run", "kdrbench.stages.ikdr.rounds"}
    assert own <= clustering
    assert not own & supervised
    assert {"kdrbench.stages.ikdr.definition", "kdrbench.stages.ikdr.scores"} <= clustering & supervised


def test_of_the_engine_only_what_decides_numbers_is_reached():
    reached = {name for module in RUNS for name in sources_of([module]).modules if name.startswith("kdrbench.bench")}
    assert reached == {"kdrbench.bench.referee", "kdrbench.bench.run", "kdrbench.bench.seeds"}


PROJECT = {
    "stages/mine.py": "from kdrbench.bench.publish import FOLDER\n"
    "from kdrbench.bench.referee import CLOCK\n"
    "from kdrbench.solvers.steps import STEP\n\nANSWER = STEP * CLOCK\n",
    "solvers/steps.py": "from kdrbench.solvers.lengths import HALF as SHORT\n\nSTEP = 2 * SHORT\n",
    "solvers/lengths.py": "HALF = 0.5\n",
    "bench/publish.py": "FOLDER = 'results'\n",
    "bench/referee.py": "CLOCK = 1\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return what gives the hash of a project of these files in place of this one."""

    def sha256(files, root="kdrbench.stages.mine"):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        monkeypatch.setattr(sources, "_ROOT", folder)
        return sources_of([root]).sha256

    return sha256


def moved(files, old, new):
    """Return the files with a module elsewhere, and all imports of it."""
    names = [path.removesuffix(".py").replace("/", ".") for path in (old, new)]
    places = {new if path == old else path: text for path, text in files.items()}
    return {path: text.replace(f"kdrbench.{names[0]} ", f"kdrbench.{names[1]} ") for path, text in places.items()}


@pytest.mark.parametrize(
    ("old", "new", "root"),
    [
        ("solvers/steps.py", "solvers/safeguarded/pace.py", "kdrbench.stages.mine"),
        ("bench/publish.py", "bench/isolation/files.py", "kdrbench.stages.mine"),
        ("stages/mine.py", "paradigms/ours.py", "kdrbench.paradigms.ours"),
    ],
)
def test_where_a_module_lies_does_not_count(project, old, new, root):
    elsewhere = moved(PROJECT, old, new)
    assert set(elsewhere) != set(PROJECT)
    assert project(elsewhere, root) == project(PROJECT)


@pytest.mark.parametrize(
    ("name", "old", "new", "counts"),
    [
        ("stages/mine.py", "STEP * CLOCK", "STEP + CLOCK", True),
        # A constant of a module that is reached through another one.
        ("solvers/lengths.py", "0.5", "0.25", True),
        ("solvers/steps.py", "import HALF as", "import WHOLE as", True),
        ("bench/referee.py", "1", "2", True),
        # The engine carries rows and files; it does not decide what is in them.
        ("bench/publish.py", "results", "outcomes", False),
        ("solvers/lengths.py", "HALF", "# Half of a unit.\nHALF", False),
    ],
)
def test_what_counts_of_a_project(project, name, old, new, counts):
    changed = PROJECT | {name: PROJECT[name].replace(old, new)}
    assert changed != PROJECT
    assert (project(changed) != project(PROJECT)) == counts


def test_modules_that_import_each_other_have_one_hash(written):
    written("my_tools/one.py", "from my_tools.two import TWO\n\nONE = 1\n")
    written("my_tools/two.py", "from my_tools.one import ONE\n\nTWO = 2\n")
    roots = ["my_tools.one", "my_tools.two"]
    before = sources_of(roots).sha256
    assert sources_of(roots[::-1]).sha256 == before
    written("my_tools/two.py", "from my_tools.one import ONE\n\nTWO = 3\n")
    assert sources_of(roots).sha256 != before


def test_a_users_module_may_be_called_like_a_standard_one(written, monkeypatch):
    # Other tests may have imported that of the standard library.
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    written("colorsys.py", "HUE = 1\n")
    written("my_solver.py", "import colorsys\nimport json.decoder\nimport os.path\n")
    before = sources_of(["my_solver"])
    assert before.modules == ("colorsys", "my_solver")
    written("colorsys.py", "HUE = 2\n")
    assert sources_of(["my_solver"]).sha256 != before.sha256
    assert before.packages == {}


def test_files_that_are_no_python_count_with_what_they_hold(written, tmp_path):
    (tmp_path / "my_tools/late.py").write_bytes("# -*- coding: latin-1 -*-\nLENGTH = '\u00e9'\n".encode("latin-1"))
    first = sources_of(["my_solver"]).sha256
    (tmp_path / "my_tools/late.py").write_text("LENGTH = = 1\n")
    second = sources_of(["my_solver"]).sha256
    (tmp_path / "my_tools/late.py").write_text("LENGTH = = 2\n")
    assert len({first, second, sources_of(["my_solver"]).sha256}) == 3
