"""What a wheel holds, what works without the workflow's packages, and what an import loads."""

import re
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
# What only some calls need; each of these takes longer to import than all of kdrbench.
HEAVY = {"autograd", "dask", "distributed", "joblib", "matplotlib", "numba", "pandas", "PIL", "pooch", "pymanopt"}
HEAVY |= {"requests", "sklearn", "torch", "zarr"}
LIBRARY = ["errors", "methods", "kernels", "problems", "lowrank", "evaluation", "solvers", "paradigms"]
LIBRARY += ["metric_learning", "baselines", "datasets"]
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def python(program, *words):
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)


def loaded_by(statement):
    done = python(f"import sys\n{statement}\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def bounds_of(part):
    """Return the lower bounds of the packages that a list of pyproject.toml names."""
    listed = re.search(rf"^{part} = \[\n(.*?)^\]", PYPROJECT, re.M | re.S)[1]
    return dict(re.findall(r'"([\w-]+)>=([\w.]+)"', listed))


def names_of(extra):
    """Return the importable names of the distributions that an extra adds."""
    wanted = {name.lower() for name in bounds_of(extra)}
    return {name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & wanted}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("kdrbench-*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


def test_the_wheel_holds_every_file_of_the_package(wheel):
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "egg-info" not in str(path)
    }
    assert {"kdrbench/py.typed", "kdrbench/datasets/registry.toml"} <= files
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files


def test_the_wheel_names_its_extras_program_and_licence(wheel):
    (folder,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = wheel.read(f"{folder}/METADATA").decode()
    extras = set(re.findall(r"^Provides-Extra: (\w+)", metadata, re.M))
    assert extras == {"workflow", "cluster", "compiled", "large", "gpu", "docs", "test", "dev"}
    assert "kdrbench = kdrbench.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_the_library_works_without_the_packages_of_the_workflow():
    program = """
from sklearn.datasets import load_iris
from kdrbench import estimators
from kdrbench.datasets import load_dataset
X, y = load_iris(return_X_y=True)
for name in estimators.__all__:
    print(name, getattr(estimators, name)().fit(X[::5], y[::5]).transform(X).shape)
print(load_dataset("wine").features.shape)
"""
    done = python(f"BLOCKED = {names_of('workflow')!r}\n{BLOCKER}{program}")
    assert done.returncode == 0, done.stderr
    assert "KPCATrick" in done.stdout
    assert "(178, 13)" in done.stdout
    assert {"snakemake", "matplotlib", "pandas", "jinja2", "yaml"} <= names_of("workflow")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--help"], 0, "published-vs-ours"),
        (["data", "list"], 0, "wine"),
        (["merge", "c.json", "r", "--out", "o.csv"], 2, "needs the package .*kdrbench.workflow"),
    ],
)
def test_the_program_works_without_them_or_says_what_is_missing(words, code, said, tmp_path):
    (tmp_path / "c.json").write_text("{}")
    program = f"BLOCKED = {names_of('workflow')!r}\n{BLOCKER}from kdrbench.cli import main\nmain(sys.argv[1:])"
    words = [str(tmp_path / word) if word.endswith(".json") else word for word in words]
    done = python(program, *words)
    assert done.returncode == code, done.stderr
    assert re.search(said, done.stdout + done.stderr)


def test_the_package_itself_loads_nothing_else():
    assert loaded_by("import kdrbench") - loaded_by("") <= {"kdrbench"}


@pytest.mark.parametrize("package", LIBRARY)
def test_packages_of_the_library_load_nothing_that_only_some_calls_need(package):
    loaded = loaded_by(f"import kdrbench.{package}")
    assert not HEAVY & loaded
    assert "scipy.optimize" not in loaded


def test_estimators_load_no_more_of_scikit_learn_than_an_estimator_needs():
    frame = "import sklearn.base, sklearn.utils.multiclass, sklearn.utils.validation"
    more = loaded_by("import kdrbench.estimators") - loaded_by(f"{frame}, {', kdrbench.'.join(['kdrbench', *LIBRARY])}")
    assert {name.split(".")[0] for name in more} == {"kdrbench"}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-oldest.lock"])
def test_locks_hold_every_dependency(lock):
    assert set(bounds_of("dependencies") | bounds_of("workflow")) <= set(locked_in(lock))


def test_the_oldest_lock_is_the_oldest_that_is_allowed():
    locked = locked_in("requirements-oldest.lock")
    for name, bound in (
        bounds_of("dependencies") | bounds_of("workflow") | bounds_of("compiled") | bounds_of("test")
    ).items():
        # The last number may be missing from either, or there may be no release with just these.
        assert locked[name].split(".")[:2] == (bound + ".0").split(".")[:2], f"{name}: make lock-oldest"


@pytest.mark.parametrize("lock", [path.name for path in sorted(ROOT.glob("*.lock"))])
def test_every_entry_of_a_lock_is_one_version_with_hashes(lock):
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+( ; [^\n]*)? \\\n", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}$", entry, re.M), entry
        assert "://" not in entry, f"{entry}: a lock names packages, no place to get them from"


def test_make_installs_nothing_without_hashes():
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert len(installs) > 4
    for line in installs:
        assert "--require-hashes -r requirements" in line or re.search(
            r"--no-deps .*(\.|\$\(OLDEST\)/wheel/\*\.whl)$", line
        ), line


def locked_in(lock):
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / lock).read_text(), re.M))
