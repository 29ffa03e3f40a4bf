"""`kdrbench new` and `kdrbench check`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.conformance import check, find_subject
from kdrbench.suite.experiments.config import load_grid
from support.command_line import kdrbench
from support.helpers import scaled_wine
from support.own_methods import SOLVER

ROOT = Path(__file__).parents[2]
KINDS = ["solver", "kernel", "dataset", "metric-learner", "baseline"]


@pytest.mark.whole
def test_what_is_written_passes_its_own_tests(tmp_path):
    folder = tmp_path / "made"
    names = {kind: f"my_{kind.replace('-', '_')}" for kind in KINDS}
    for kind, name in names.items():
        done = kdrbench("new", kind, name, "--out", folder)
        assert done.exit_code == 0, done.output
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-W", "error", "--rootdir", tmp_path, folder]
    tested = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert tested.returncode == 0, tested.stdout
    assert len(list(folder.glob("*.py"))) == 2 * len(KINDS)
    for name in names.values():
        plugin, test = ((folder / file).read_text() for file in (f"{name}.py", f"test_{name}.py"))
        assert f"class {''.join(map(str.capitalize, name.split('_')))}:" in plugin
        for word in ("ClassName", "plugin_name", "kind_name"):
            assert word not in plugin + test
        assert tested.stdout.count(f"PASSED made/test_{name}.py::") == 2


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "test_mine.py").write_text("mine")
    done = kdrbench("new", "solver", "mine", "--out", tmp_path)
    assert done.exit_code == 2
    assert f"{tmp_path / 'test_mine.py'} is there already; choose another name, or move it away" in done.output
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"test_mine.py": "mine"}


def test_a_sound_plug_in_ends_with_0_and_a_broken_one_with_1(tmp_path):
    path = tmp_path / "my_solver.py"
    path.write_text(SOLVER)
    done = kdrbench("check", path)
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, f"{path} keeps the contract of a solver")
    path.write_text(SOLVER.replace("].copy()", "] * 2"))
    done = kdrbench("check", path)
    assert done.exit_code == 1
    assert "feasibility: the iterate 1 is not orthonormal" in done.output
    assert "\n    orthonormalise each iterate" in done.output
    assert done.output.splitlines()[-1] == f"{path} has 1 fault of a solver"


def test_check_writes_json_and_leaves_the_exit_code_0(tmp_path):
    path = tmp_path / "my_solver.py"
    path.write_text(SOLVER.replace("requires:", "needs:"))
    assert kdrbench("check", path, "--out", tmp_path / "found.json").exit_code == 0
    said = json.loads((tmp_path / "found.json").read_text())
    assert (said["kind"], said["faults"], [one["check"] for one in said["findings"]]) == ("solver", 1, ["API"])
    assert "it lacks requires" in said["findings"][0]["fault"]


def test_options_reach_the_plug_in(tmp_path):
    (tmp_path / "s.py").write_text(
        SOLVER.replace("step: float = 0.5", "factor: float = 1.0").replace("].copy()", "] * self.factor")
    )
    assert kdrbench("check", tmp_path / "s.py").exit_code == 0
    assert "not orthonormal" in kdrbench("check", tmp_path / "s.py", "--option", "factor=2e0").output
    for words, message in ((["factor"], "written name=value, got 'factor'"), (["fact=1"], "unknown option of solver")):
        done = kdrbench("check", tmp_path / "s.py", "--option", *words)
        assert (done.exit_code, message in done.output) == (2 if "written" in message else 1, True)


@pytest.mark.parametrize("around", ["scipy", "pymanopt", pytest.param("program", marks=pytest.mark.whole)])
def test_a_solver_around_an_optimiser_keeps_the_contract(tmp_path, around):
    assert kdrbench("new", "solver", "mine", "--around", around, "--out", tmp_path).exit_code == 0
    place = tmp_path / "mine.py"
    assert not [str(finding) for finding in check(find_subject(str(place))) if finding.fault]
    problem = known_problem()
    start = make_start("surrogate", problem, 2, np.random.default_rng(0))
    ism = solve(build_solver({"method": "ism_safeguarded"}), problem.fresh(), start, Monitor())
    mine = solve(build_solver({"method": str(place)}), problem.fresh(), start, Monitor())
    assert (mine.status, mine.message[:20]) == ("converged", "relative stationarit")
    assert problem.value(mine.projection) == pytest.approx(problem.value(ism.projection), rel=1e-9)
    assert 0 < mine.iterations <= mine.counters["gradient"] + mine.counters["value_gradient"]
    few = solve(build_solver({"method": str(place)}), problem.fresh(), start, Monitor(3))
    assert (few.status, few.iterations) == ("max_iterations", 3)


def test_the_message_of_an_optimiser_is_no_verdict(tmp_path):
    kdrbench("new", "solver", "mine", "--around", "scipy", "--out", tmp_path)
    problem = known_problem()
    start = make_start("surrogate", problem, 2, np.random.default_rng(0))
    solver = build_solver({"method": str(tmp_path / "mine.py"), "max_iterations": 1, "tolerance": 1e-12})
    result = solve(solver, problem, start, Monitor())
    assert result.status == "stalled"
    assert re.match("BFGS ended after 1 iterations: Maximum number of iterations .* stationarity is", result.message)
    program = '-c "input(); print(1)"'
    kdrbench("new", "solver", "other", "--around", "program", "--out", tmp_path)
    broken = {"method": str(tmp_path / "other.py"), "command": f"{sys.executable} {program}"}
    with pytest.raises(InputError, match=r"asked for F at 0 numbers.*it must give the 26 of a d x q matrix"):
        solve(build_solver(broken), problem, start, Monitor())
    broken["command"] = f'{sys.executable} -c "input()"'
    with pytest.raises(RuntimeError, match="closed its output without a line that begins with end"):
        solve(build_solver(broken), problem, start, Monitor())


def known_problem():
    features, labels = scaled_wine()
    return supervised_problem(features, labels, build_kernel({"family": "gaussian"}, features, 2))


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """What makes an experiment in an empty folder, and returns its grid."""
    monkeypatch.chdir(tmp_path)

    def made(name, *words):
        done = kdrbench("new", "experiment", name, *words)
        assert done.exit_code == 0, done.output
        assert f"--cores 2 --configfile config.{name}.yaml" in done.output
        return load_grid(read_configs((ROOT / "config.yaml", tmp_path / f"config.{name}.yaml")))

    return made


def woods(folder, *columns, more=""):
    """Write a table of three classes with columns made of a number."""
    rows = "".join(f"{','.join(str(column(n)) for column in columns)},{n % 3}\n" for n in range(30))
    (folder / "woods.csv").write_text(f"{','.join('abc'[: len(columns)])},kind\n{rows}{more}")


def test_a_new_experiment_runs_ones_own_files_and_nothing_else(tmp_path, experiment):
    (tmp_path / "my_solver.py").write_text(SOLVER)
    woods(tmp_path, lambda n: n)
    grid = experiment("mine", "my_solver.py", "woods.csv:kind")
    assert grid.experiments == ["mine"]
    cells = {(batch.dataset, *batch.cell) for batch in grid.batches()}
    assert cells == {("woods", "gaussian", solver) for solver in ("my_solver", "ism_converged", "random")}
    assert grid.config["experiments"]["mine"]["components"] == {"woods": 1}
    again = kdrbench("new", "experiment", "mine")
    assert (again.exit_code, "config.mine.yaml is there already" in again.output) == (2, True)


def test_a_new_experiment_has_the_papers_problems_of_their_data(tmp_path, experiment):
    (tmp_path / "my_solver.py").write_text(SOLVER)
    for name, words, datasets in (
        ("mine", [], ["wine"]),
        ("named", ["my_solver.py", "Wine", "cancer"], ["wine", "cancer"]),
    ):
        experiments = experiment(name, *words).config["experiments"]
        mine, papers = experiments[name], experiments["table4_supervised"]
        assert (mine["datasets"], mine["folds"]) == (datasets, papers["folds"])
        assert mine["components"] == {one: papers["components"][one] for one in datasets}
        assert "Table 4, as in the record of the papers" in (tmp_path / f"config.{name}.yaml").read_text()
    other = experiment("other", "my_solver.py", "wine", "iris").config["experiments"]["other"]
    assert (other["datasets"], other["folds"], other["components"]["iris"]) == (["wine", "iris"], 5, 3)
    assert "record of the papers" not in (tmp_path / "config.other.yaml").read_text()


def test_data_that_are_not_here_are_said_with_a_new_experiment(tmp_path, monkeypatch):
    for name in ("KDRBENCH_MIRROR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    done = kdrbench("new", "experiment", "mine", "Glass", "wine", "car", "--out", tmp_path)
    assert (
        "not here: car (to download), glass (to download); get them by `kdrbench data fetch car glass`" in done.stderr
    )


def test_a_new_experiment_fits_its_features_and_classes(tmp_path, experiment):
    # Three classes of three features: with q = 3 all solvers would tie.
    woods(tmp_path, lambda n: n, lambda n: n * n, lambda n: -n)
    grid = experiment("mine", "woods.csv:kind")
    assert grid.config["experiments"]["mine"]["components"] == {"woods": 2}
    (tmp_path / "few.csv").write_text("a,b,kind\n" + "".join(f"{n},{n * n},{n % 2}\n" for n in range(6)))
    assert experiment("few", "few.csv:kind").config["experiments"]["few"]["folds"] == 3


def test_a_new_experiment_may_leave_out_columns_of_text_and_rows_with_missing_values(tmp_path, experiment):
    woods(tmp_path, lambda n: n, lambda n: n * n, lambda _: "north", more=",1,north,2\n")
    refused = kdrbench("new", "experiment", "mine", "woods.csv:kind")
    assert refused.exit_code == 2
    # Both faults at once.
    assert "values are missing in 1 row" in refused.output
    assert "column 'c' holds 'north' in row 1" in refused.output
    assert "--data-option 'drop=[c]'" in refused.output
    assert "--data-option missing=drop" in refused.output
    options = ["--data-option", "drop=[c]", "--data-option", "missing=drop"]
    definition = experiment("mine", "woods.csv:kind", *options).config["datasets"]["woods"]
    assert (definition["drop"], definition["missing"]) == (["c"], "drop")


def test_a_new_experiment_takes_controls_and_printed_numbers(tmp_path, experiment):
    words = ["principal_axes", "shuffled_labels", "ism", "wine", "--published", "neurips2019:4:supervised"]
    mine = experiment("mine", *words).config["experiments"]["mine"]
    assert {"principal_axes", "shuffled_labels", "ism"} <= {*mine["solvers"]}
    assert mine["published"] == {"paper": "neurips2019", "table": "4", "setting": "supervised"}
    paper = experiment("paper", "ism", "--published", "ismplus").config["experiments"]["paper"]
    assert paper["published"] == {"paper": "ismplus"}
    for printed in ("neurips2019:44", "neurips2019:4:supervised:more"):
        refused = kdrbench("new", "experiment", "other", "ism", "--published", printed)
        assert f"--published: unknown printed numbers '{printed}'" in refused.output
        assert "neurips2019:4:supervised" in refused.output.partition(printed)[2]


def test_what_cannot_be_written_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = (("solver", "ism"), ("kernel", "linear"), ("dataset", "wine"), ("baseline", "nca_svm"))
    for words, said in [
        *((["solver", name], "small letters, digits and '_', beginning") for name in ("My", "a-b", "../a", "1a", "")),
        (["experiment", "a b"], "an experiment is named by letters"),
        *((words, f"the name '{words[1]}' is taken: kdrbench or config.yaml has it") for words in taken),
        (["experiment", "table4_supervised"], "'table4_supervised' is taken"),
        (["experiment", "a", "data.csv"], "there is no file data.csv"),
        (["experiment", "a", "nothing.py"], "there is no file nothing.py"),
        (["experiment", "a", "wines"], "Did you mean 'wine'"),
        (["experiment", "a", "svm"], "svm is a baseline; an experiment like this runs solvers"),
        (["solver", "a", "--data-option", "a=1"], "only an experiment takes --data-option; this is a solver"),
        (["kernel", "a", "--published", "ismplus"], "only an experiment takes --published; this is a kernel"),
        (["experiment", "a", "ism", "--data-option", "a=1"], "--data-option is for tables of data, and none is among"),
        (["solver", "a", "b.py"], "only an experiment takes parts; this is a solver"),
        (["kernel", "mine", "--around", "scipy"], "--around scipy is for solvers; this is a kernel"),
        (["experimet", "a"], "'experimet' is not one of 'solver', 'kernel', "),
    ]:
        done = kdrbench("new", *words)
        assert done.exit_code == 2
        assert said in done.output
        assert not list(tmp_path.iterdir())
