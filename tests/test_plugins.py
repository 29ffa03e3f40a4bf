"""Methods, kernels and data of the user's own, by file, by module and by entry point."""

import pickle
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from kdrbench import plugins
from kdrbench.datasets import load_own
from kdrbench.errors import ConfigError, InputError
from kdrbench.kernels import Gaussian, build_kernel, check_definition, median_distance
from kdrbench.metric_learning import build_learner
from kdrbench.solvers import build_solver
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.experiments.config import checked, load_grid
from support.configs import table_4_config
from support.own_methods import KERNEL, SOLVER, write_all


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a plug-in of each kind."""
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
    return tmp_path


def own_config(**changes):
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "blobs"], "components": {"wine": 4, "blobs": 2}}
    experiment |= {"kernels": ["gaussian", "rational"], "solvers": ["ism", "mine"], "baselines": []}
    config["datasets"] = {"blobs": {"loader": "my_data.py", "n_samples": 45}}
    config["kernels"]["rational"] = {"family": "my_kernel.py"}
    config["solvers"]["mine"] = {"method": "my_solver.py", "step": 0.25}
    return config | changes


def test_a_solver_is_a_file_relative_to_the_working_directory(here):
    solver = build_solver({"method": "my_solver.py", "step": 0.25})
    assert (type(solver).__name__, solver.step) == ("Mine", 0.25)
    assert type(build_solver({"method": "my_solver.py:Mine"})) is type(solver)
    assert type(build_solver({"method": str(here / "my_solver.py")})).__name__ == "Mine"
    assert pickle.loads(pickle.dumps(solver)) == solver
    # A class that keeps the contract is found among others.
    (here / "my_solver.py").write_text(SOLVER + "\n\nclass Helper:\n    pass\n")
    assert type(build_solver({"method": "my_solver.py"})).__name__ == "Mine"


def test_a_changed_file_and_one_of_another_folder_are_read_again(here, monkeypatch):
    first = build_solver({"method": "my_solver.py"})
    (here / "my_solver.py").write_text(SOLVER.replace("step: float = 0.5", "step: float = 2.0"))
    assert (first.step, build_solver({"method": "my_solver.py"}).step) == (0.5, 2.0)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    (here / "elsewhere" / "my_solver.py").write_text(SOLVER.replace("float = 0.5", "float = 3.0"))
    assert build_solver({"method": "my_solver.py"}).step == 3.0


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (None, "none.py", "'none.py' cannot be loaded: there is no file none.py .looked for in /"),
        ("import no_such_module", "bad.py", "'bad.py' cannot be loaded: No module named 'no_such_module'"),
        ("x = 1 +", "bad.py", "'bad.py' cannot be loaded: SyntaxError: invalid syntax"),
        ("x = 1", "bad.py", "must name one class; the file defines no class. Write bad.py:Class"),
        ("class A: pass\nclass B: pass", "bad.py", "defines 2 that could be meant: A, B. Write bad.py:Class"),
        ("class A: pass", "bad.py:B", "bad.py has no B; it defines A"),
        ("class A: pass", "bad.py", "must be a dataclass of its options with requires and run; it lacks"),
        (SOLVER, "bad.py:np", "'bad.py:np' must be a dataclass of its options"),
    ],
)
def test_each_fault_of_a_file_is_one_sentence(here, text, place, message):
    if text:
        (here / "bad.py").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        build_solver({"method": place})
    assert "\n" not in str(caught.value)


@pytest.fixture
def installed(here, monkeypatch):
    """Declare the plug-ins as an installed package's entry points."""
    monkeypatch.syspath_prepend(here)
    declared = {
        "kdrbench.solvers": EntryPoint("theirs", "my_solver:Mine", "kdrbench.solvers"),
        "kdrbench.kernels": EntryPoint("their_kernel", "my_kernel:Rational", "kdrbench.kernels"),
        "kdrbench.metric_learners": EntryPoint("whitening", "my_learner:Whitening", "kdrbench.metric_learners"),
        "kdrbench.datasets": EntryPoint("their_blobs", "my_data:Blobs", "kdrbench.datasets"),
    }
    monkeypatch.setattr(plugins, "entry_points", lambda group: [declared[group]] if group in declared else [])
    yield
    # They were imported under their own names, which other tests use too.
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]


def test_installed_packages_declare_methods_under_names(installed):
    features = np.random.default_rng(0).standard_normal((20, 3))
    assert type(build_solver({"method": "theirs"})).__name__ == "Mine"
    assert type(build_learner("whitening", {"share": 2.0})).__name__ == "Whitening"
    assert build_kernel({"family": "their_kernel"}, features, 2).scale == median_distance(features) ** 2
    assert load_own("b", {"loader": "their_blobs"}).features.shape == (60, 5)
    for build in (lambda: build_solver({"method": "thiers"}), lambda: build_learner("whitenings")):
        with pytest.raises(InputError, match=r"Did you mean '(theirs|whitening)'.* A \w+ of your own is named path"):
            build()
    with pytest.raises(InputError, match="Did you mean 'their_kernel'"):
        check_definition({"family": "their_kernels"})


def test_a_kernel_takes_from_its_samples_what_it_wants(here):
    features = np.random.default_rng(0).standard_normal((20, 3))
    assert build_kernel({"family": "my_kernel.py"}, features, 2).scale == median_distance(features) ** 2
    assert build_kernel({"family": "my_kernel.py", "scale": 2.0}, features, 2).scale == 2.0
    with pytest.raises(InputError, match=r"unknown option of kernel method 'my_kernel.py': 'sigma'; allowed: scale"):
        check_definition({"family": "my_kernel.py", "sigma": 2.0})
    both = {"family": "combination", "members": [{"family": "my_kernel.py"}, {"family": "gaussian"}]}
    own, gaussian = build_kernel(both, features, 2).terms
    assert own.kernel.scale == median_distance(features) ** 2
    assert isinstance(gaussian.kernel, Gaussian)


def test_a_data_set_is_what_load_returns(here):
    dataset = load_own("blobs", {"loader": "my_data.py", "n_samples": 45})
    assert dataset.features.shape == (45, 5)
    assert dataset.class_names == ("0", "1", "2")
    assert np.bincount(dataset.labels).tolist() == [15, 15, 15]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 3", "must return .features, labels. or .features, labels, feature_names.; it returned int"),
        ("raise KeyError('x')", "load of data set 'bad' raised KeyError: 'x'"),
        ("return [[1.0], [float('nan')]], [0, 1]", "holds 1 NaN or infinite values"),
        ("return [[1.0], [2.0]], [0, 0]", "1 class.es.; at least 2 are needed"),
        (
            "return [[1.0], [2.0]], [0, 1, 1]",
            r"one label for each of its 2 samples; it returned labels of shape \(3,\)",
        ),
        ("return [[1.0], [2.0]], [0, [1]]", "returned labels that are no array: ValueError: setting an array element"),
        ("return [[1.0], ['a']], [0, 1]", r"n x d array of numbers; it returned shape \(2, 1\) of <U"),
        ("return [[1.0], [2.0]], [0, float('nan')]", "1 NaN or infinite labels; leave those samples out"),
        ("return [[1.0], [2.0]], [0.5, 1.0]", "continuous labels, for instance 0.5; labels are classes"),
        (
            "return [[1.0]] * 30, list(range(0, 90, 3))",
            "30 different whole numbers as labels of 30 samples; labels are",
        ),
        ("return [[1.0], [2.0]], [None, 'a']", "labels of several types, NoneType, str; return one of them"),
        ("return [[1.0], [1e200]], [0, 1]", r"features up to 1e\+200, whose squares overflow; scale them"),
        ("return [[1.0], [2.0]], [0, 1], ['a'], 3", "labellings as a dict, got int"),
        ("import sys; sys.exit(0)", "load of data set 'bad' raised SystemExit: 0"),
    ],
)
def test_each_fault_of_a_data_set_is_said_with_the_config(here, body, message):
    (here / "bad.py").write_text(
        f"import dataclasses\n\n\n@dataclasses.dataclass\nclass Bad:\n    def load(self):\n        {body}\n"
    )
    with pytest.raises(ConfigError, match=f"config: datasets.bad: .*{message}"):
        checked(own_config(datasets={"bad": {"loader": "bad.py"}}))


def test_a_registered_name_is_not_given_twice(here):
    with pytest.raises(ConfigError, match=r"datasets.wine: a registered data set has this name; give yours another"):
        checked(own_config(datasets={"wine": {"loader": "my_data.py"}}))


def batches(config=None):
    return {batch.path: batch for batch in load_grid(config or own_config()).batches()}


def test_the_grid_crosses_own_names_with_all_others(here):
    found = batches()
    assert {path.rpartition("/")[0] for path in found} == {
        f"table4_supervised/{dataset}/{kernel}/{solver}"
        for dataset in ("wine", "blobs")
        for kernel in ("gaussian", "rational")
        for solver in ("ism", "mine")
    }
    blobs = found["table4_supervised/blobs/rational/mine/0-9"]
    assert blobs.data_sha256 == load_own("blobs", {"loader": "my_data.py", "n_samples": 45}).content_sha256
    assert Batch.from_json(blobs.to_json()) == blobs


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("my_solver.py", "range(5)", "range(6)", "/mine/"),
        ("my_kernel.py", "1 / (1 + beta", "2 / (2 + 2 * beta", "/rational/"),
        ("my_data.py", "default_rng(0)", "default_rng(1)", "/blobs/"),
        ("my_data.py", "rng = np", "# Seeded.\n        rng = np", None),
    ],
)
def test_an_edited_file_changes_exactly_its_cells(here, file, old, new, changed):
    before = batches()
    text = (here / file).read_text()
    assert old in text
    (here / file).write_text(text.replace(old, new))
    after = batches()
    differing = {path for path in before if after[path].sha256 != before[path].sha256}
    assert differing == {path for path in before if changed and changed in path}


def test_a_kernel_inside_a_combination_counts_too(here):
    config = own_config()
    config["kernels"]["rational"] = {"family": "combination", "members": [{"family": "my_kernel.py"}]}
    before = batches(config)
    (here / "my_kernel.py").write_text(KERNEL.replace("2 / self.scale**2", "2.0 / self.scale**2 * 1"))
    changed = {path for path, batch in batches(config).items() if batch.sha256 != before[path].sha256}
    assert changed == {path for path in before if "/rational/" in path}


def test_a_project_that_is_moved_with_its_files_is_the_same(here, tmp_path_factory, monkeypatch):
    before = {path: batch.sha256 for path, batch in batches().items()}
    other = tmp_path_factory.mktemp("other")
    write_all(other)
    monkeypatch.chdir(other)
    assert {path: batch.sha256 for path, batch in batches().items()} == before
