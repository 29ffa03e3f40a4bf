"""What a wheel and each environment hold, what works without further packages, and what an import loads."""

import json
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import kdrbench
from kdrbench import estimators
from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.extras import EXTRAS, MissingPackageError
from kdrbench.suite.engine.batch import Order
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import supervise
from kdrbench.suite.experiments.config import load_grid
from support.record_folders import whole_config as frozen_config

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
# What a program without the extra `workflow` and what that brings lacks.
NO_WORKFLOW = ["rivals", "data", "plots", "workflow", "compiled", "large", "umap", "gpu"]
# What only some calls need; each of these takes longer to import than all of kdrbench.
HEAVY = {"autograd", "dask", "distributed", "joblib", "matplotlib", "numba", "pandas", "PIL", "pooch", "pymanopt"}
HEAVY |= {"requests", "sklearn", "torch", "zarr"}
# The extras of users, in the order in which they build on each other, but for those that only name others.
OF_USERS = ["rivals", "data", "cli", "plots", "workflow", "compiled", "large", "umap", "gpu"]
OF_UNIX = {"fcntl", "grp", "pwd", "resource", "termios"}
LIBRARY = ["errors", "extras", "methods", "kernels", "problems", "lowrank", "evaluation", "solvers", "paradigms"]
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


@cache
def packages_distributions():
    return metadata.packages_distributions()


def bounds_of(part):
    """Return the lower bounds of the packages that a list of pyproject.toml names itself."""
    listed = re.search(rf"^{part} = \[\n(.*?)^\]", PYPROJECT, re.M | re.S)[1]
    return dict(re.findall(r'"([\w-]+)(?:\[\w+\])?>=([\w.]+)"', listed))


def names_of(*parts):
    """Return the importable names of the distributions that lists of pyproject.toml add."""
    wanted = {name.lower() for part in parts for name in bounds_of(part)}
    return {name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & wanted}


def without(blocked, program, *words):
    """Run a program in a Python that lacks some packages."""
    return python(f"BLOCKED = {set(blocked)!r}\n{BLOCKER}{program}", *words)


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
    assert extras == {*OF_USERS, "cluster", "all", "docs", "test", "dev"}
    assert "kdrbench = kdrbench.__main__:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_an_index_gets_a_readme_whose_links_lead_somewhere(wheel):
    (place,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    page = wheel.read(place).decode().partition("\n\n")[2]
    assert page.startswith("# kdrbench\n\n*Files that this page names")
    assert [link for link in re.findall(r"\]\(([^)]*)\)", page) if not link.startswith("https://")] == []
    assert "three systems (docs/systems.md)" in page
    assert "Picture docs/cost_against_time.png: Relative gap" in page


def test_the_classifiers_are_the_tested_versions_of_python():
    tested = re.search(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())[1]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert named == re.findall(r'"([\d.]+)"', tested)
    assert f'requires-python = ">={named[0]}"' in PYPROJECT


@pytest.mark.slow("fits every estimator in a process of its own, without the extras")
def test_a_fit_needs_five_packages():
    program = """
from sklearn.datasets import load_iris
from kdrbench import estimators
from kdrbench.datasets import load_dataset
X, y = load_iris(return_X_y=True)
for name in estimators.__all__:
    print(name, getattr(estimators, name)().fit(X[::5], y[::5]).transform(X).shape)
print(load_dataset("wine").features.shape)
"""
    done = without(names_of(*OF_USERS), program)
    assert done.returncode == 0, done.stderr
    assert "KPCATrick" in done.stdout
    assert "(178, 13)" in done.stdout
    assert set(bounds_of("dependencies")) == {"joblib", "numpy", "scikit-learn", "scipy", "threadpoolctl"}


def test_the_table_of_extras_is_that_of_pyproject():
    assert list(EXTRAS) == OF_USERS
    # What is not installed here, such as torch, cannot be looked up.
    there = [extra for extra in OF_USERS if set(EXTRAS[extra]) <= set(packages_distributions())]
    assert len(there) >= len(OF_USERS) - 1
    for extra in there:
        # A distribution may hold other modules as well, which are not imported.
        assert set(EXTRAS[extra]) <= names_of(extra)
        owners = {one.lower() for name in EXTRAS[extra] for one in packages_distributions()[name]}
        assert owners == {name.lower() for name in bounds_of(extra)}


@pytest.mark.parametrize(
    ("lacking", "words", "code", "said"),
    [
        (NO_WORKFLOW, ["data", "list"], 0, "wine"),
        (NO_WORKFLOW, ["list", "solvers"], 0, "ism_converged"),
        pytest.param(
            *(NO_WORKFLOW, ["run", "wine", "linear", "ism", "--time-limit", "9"], 0, "^converged"),
            marks=pytest.mark.whole,
        ),
        (NO_WORKFLOW, ["compare", "ism", "dg"], 2, r"needs the package pandas.*'.*\[workflow\]'$"),
        (["data"], ["data", "fetch", "ionosphere"], 2, r"needs the package pooch.*'.*\[data\]'"),
        pytest.param(
            *(["rivals"], ["run", "wine", "linear", "gm_converged"], 2, r"pymanopt.*'.*\[rivals\]'$"),
            marks=pytest.mark.whole,
        ),
        (OF_USERS, ["--help"], 2, r"^kdrbench: the program kdrbench needs the package click.*'.*\[cli\]'$"),
    ],
)
def test_the_program_works_without_an_extra_or_names_it(lacking, words, code, said, tmp_path):
    # Jobs are processes of their own.
    (tmp_path / "sitecustomize.py").write_text(f"BLOCKED = {names_of(*lacking)!r}\n{BLOCKER}")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "ikdr.csv").touch()
    (tmp_path / "results" / "config.json").write_text(json.dumps(frozen_config(["e"]) | {"run": ["e"]}))
    surroundings = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}", "XDG_CACHE_HOME": str(tmp_path)}
    surroundings.pop("KDRBENCH_MIRROR", None)
    command = [sys.executable, "-m", "kdrbench", *words]
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert re.search(said, done.stdout + done.stderr, re.M), done.stderr
    assert "Traceback" not in done.stderr


CALLS = {
    "InterpretableKDR(2, solver='gm_converged').fit(X, y)": "grassmann_trust_region needs the package",
    "InterpretableKDR(2, solver='cg_converged').fit(X, y)": "needs the package pymanopt",
    "InterpretableKDR(2, evaluation={'evaluator': 'autograd'}).fit(X, y)": "evaluator autograd needs the package",
    "load_dataset('ionosphere')": r"a download needs the package pooch.*: pip install '.*\[data\]'$",
    "unique_colours(None, width=1, height=1)": r"is an image needs the package PIL.*'.*\[data\]'$",
}


@pytest.mark.slow("in a process of its own, without the extras")
def test_a_call_says_in_one_sentence_which_extra_it_needs():
    program = """
from sklearn.datasets import load_iris
from kdrbench import InterpretableKDR
from kdrbench.datasets import load_dataset
from kdrbench.datasets.parsers import unique_colours
from kdrbench.errors import KdrbenchError
X, y = load_iris(return_X_y=True)
for call in sys.argv[1:]:
    try:
        eval(call)
    except KdrbenchError as error:
        print(error)
"""
    done = without(names_of(*OF_USERS), program, *CALLS)
    assert done.returncode == 0, done.stderr
    for line, said in zip(done.stdout.splitlines(), CALLS.values(), strict=True):
        assert re.search(said, line), line


@pytest.mark.whole
def test_estimators_and_data_work_without_modules_of_unix(tmp_path):
    program = """
from pathlib import Path
from sklearn.datasets import load_iris
from kdrbench import InterpretableKDR
from kdrbench.datasets import load_dataset
from kdrbench.files import locked
with locked(Path(sys.argv[1])):
    print(load_dataset("wine").features.shape)
print(InterpretableKDR(2).fit(*load_iris(return_X_y=True)).components_.shape)
from kdrbench.suite.engine.isolation.supervisor import Supervisor
"""
    done = without(OF_UNIX, program, str(tmp_path / "lock"))
    assert (done.returncode, done.stdout) == (1, "(178, 13)\n(2, 4)\n")
    assert re.search(r"MissingPackageError: the engine of benchmark runs needs Linux.* no module fcntl", done.stderr)
    done = without(OF_UNIX, "from kdrbench.__main__ import main\nmain()", "run", "wine", "linear", "ism")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("kdrbench: this command needs Linux")


def test_the_supervisor_refuses_a_system_that_is_not_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(MissingPackageError, match=r"a supervised run needs Linux, .* this is darwin: use a machine"):
        supervise(lambda: None, Limits(1.0, 64.0))


def test_the_package_has_the_estimators():
    assert kdrbench.__all__ == [*estimators.__all__, "__version__"]
    assert set(kdrbench.__all__) <= set(dir(kdrbench))
    assert all(getattr(kdrbench, name) is getattr(estimators, name) for name in estimators.__all__)
    with pytest.raises(AttributeError, match="module 'kdrbench' has no attribute 'InterpretableKDRs'"):
        _ = kdrbench.InterpretableKDRs


def test_the_package_itself_loads_nothing_else():
    assert loaded_by("import kdrbench; dir(kdrbench)") - loaded_by("") <= {"kdrbench"}


def test_the_library_loads_nothing_that_only_some_calls_need():
    found = loaded_by("".join(f"import kdrbench.{package}\n" for package in LIBRARY))
    assert not (HEAVY | {"scipy.optimize"}) & found


# What each lock is made of.
_WORKFLOW = ["dependencies", "rivals", "data", "cli", "plots", "workflow"]
_OF_DEVELOPERS = ["cluster", "compiled", "large", "umap", "docs", "test", "dev", "build"]
LOCKS = {
    "requirements.lock": [*_WORKFLOW, "cluster", "build"],
    "requirements-dev.lock": [*_WORKFLOW, *_OF_DEVELOPERS],
    "requirements-oldest.lock": [*_WORKFLOW, "compiled", "large", "test"],
}


def test_locks_hold_every_dependency_with_its_hashes():
    for lock, parts in LOCKS.items():
        assert set().union(*map(bounds_of, parts)) <= set(locked_in(lock)), lock
    for path in ROOT.glob("envs/*.lock"):
        entries = re.split(r"\n(?=\S)", path.read_text().strip())
        assert len(entries) > 20
        for entry in entries:
            assert re.match(r"[\w.-]+==[\w.]+( ; [^\n]*)? \\\n", entry), entry
            assert re.search(r"--hash=sha256:[0-9a-f]{64}$", entry, re.M), entry
            assert "://" not in entry, f"{entry}: a lock names packages, no place to get them from"


def test_developers_have_the_versions_of_users():
    users, developers = (entries_of(f"requirements{word}.lock") for word in ("", "-dev"))
    assert {name: developers.get(name) for name in users} == users
    assert {"numba", "playwright", "mypy", "pytest", "ruff", "sphinx", "zarr"} <= set(developers) - set(users)


def test_the_oldest_lock_is_the_oldest_that_is_allowed():
    locked = locked_in("requirements-oldest.lock")
    bounds = [bound for part in LOCKS["requirements-oldest.lock"] for bound in bounds_of(part).items()]
    for name, bound in bounds:
        # The last number may be missing from either, or there may be no release with just these.
        assert locked[name].split(".")[:2] == (bound + ".0").split(".")[:2], f"{name}: make lock-oldest"


def test_make_installs_nothing_without_hashes():
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert installs
    for line in installs:
        assert "--require-hashes -r envs/requirements" in line or re.search(
            r"--no-deps .*(\.|\$\(OLDEST\)/wheel/\*\.whl)$", line
        ), line


def entries_of(lock):
    """Return version and hashes of each package of a lock, whatever the systems that it is for."""
    entries = re.split(r"\n(?=\S)", (ROOT / "envs" / lock).read_text().strip())
    split = [entry.partition("==") for entry in entries]
    return {name: re.sub(r" ; .*", r" \\", rest) for name, _, rest in split}


def locked_in(lock):
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "envs" / lock).read_text(), re.M))


def lacking_in(environment):
    """Return the importable names of the distributions of pyproject.toml that a conda environment does not name."""
    held = {line.split("=")[0] for line in yaml.safe_load((ROOT / "envs" / environment).read_text())["dependencies"]}
    lacking = {name.lower() for name in re.findall(r'^    "([\w-]+)>=', PYPROJECT, re.M)} - held
    return {name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & lacking}


def run_in(environment, program, *words):
    """Run Python code where nothing can be imported that the environment lacks; return what it printed."""
    done = without(lacking_in(environment), program, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


# All commands in one process: its start takes longer than theirs.
COMMANDS = """
from click.testing import CliRunner
from kdrbench.suite.cli import main
for name in sys.argv[1:]:
    print(name, CliRunner().invoke(main, [name, "--help"], catch_exceptions=False).exit_code)
from kdrbench.suite.reports import making
from kdrbench.suite.engine import publish
"""


@pytest.mark.slow("imports what commands, figures and the configuration need in a new process")
def test_the_report_environment_has_what_its_commands_import():
    names = ["dashboard", "merge", "papers", "reports", "status"]
    assert run_in("report.yaml", COMMANDS, *names).splitlines() == [f"{name} 0" for name in names]
    # The blocker would show a lack: an environment without packages has no command line.
    assert "click" not in lacking_in("report.yaml")
    assert "snakemake" in lacking_in("report.yaml")


RUNS = """
from kdrbench.suite.cli import main
from kdrbench.suite.systems.low_rank import run
import kdrbench.lowrank.compiled
main(sys.argv[1:])
"""


@pytest.mark.slow("imports what runs need in a new process")
def test_the_environment_of_runs_has_what_they_import(tmp_path):
    save_prepared(load_dataset("iris-bundled"), tmp_path / "iris-bundled.npz")
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"run": ["kpca_tables"]}
    experiment = config["experiments"]["kpca_tables"]
    candidates = {"default": {"sigmas": [0.1, 1.0]}}
    experiment |= {"datasets": ["iris-bundled"], "learners": ["dne"], "splits": 1, "candidates": candidates}
    experiment |= {"training": {"default": 100}, "test_selected": []}
    (bundle,) = load_grid(config).bundles()
    order = Order(bundle).write(tmp_path / "order.json")
    words = [str(order), "--data", str(tmp_path), "--results", str(tmp_path / "results")]
    said = run_in("run.yaml", RUNS, "batch", *words, "--time-limit-s", "60", "--memory-limit-mib", "512")
    assert "kpca_tables/iris-bundled/0/dne/plain: converged" in said
    assert "snakemake" in lacking_in("run.yaml")
