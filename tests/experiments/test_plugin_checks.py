"""The plug-ins that the workflow asks what `kdrbench check` asks."""

import json
import shlex

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from kdrbench.suite.experiments.config import checked
from kdrbench.suite.experiments.workflow import plugin_checks
from support.configs import table_4_config
from support.own_methods import SOLVER, write_all


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
    return tmp_path


def own_config():
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "blobs"], "components": {"wine": 4, "blobs": 2}, "baselines": []}
    experiment |= {"kernels": ["gaussian", "both"], "solvers": ["ism", "mine", "finer"]}
    config["datasets"] = {"blobs": {"loader": "my_data.py", "n_samples": 45}}
    config["kernels"]["both"] = {
        "family": "combination",
        "members": [{"family": "my_kernel.py", "scale": 2.0, "weight": 0.5}, {"family": "gaussian"}],
    }
    config["solvers"]["mine"] = {"method": "my_solver.py", "start": "random", "starts": 2}
    config["solvers"]["finer"] = {"method": "my_solver.py:Mine", "step": 1e-5}
    config["solvers"]["not_run"] = {"method": "my_solver.py", "step": 3.0}
    return config


def test_every_plug_in_is_checked_once_with_its_options(here):
    checks = plugin_checks(checked(own_config()))
    assert {(one.kind, one.name, one.options) for one in checks.values()} == {
        ("dataset", "my_data.py", '{"n_samples": 45}'),
        ("kernel", "my_kernel.py", '{"scale": 2.0}'),
        ("solver", "my_solver.py", "{}"),
        ("solver", "my_solver.py:Mine", '{"step": 1e-05}'),
    }
    assert all(name == one.file and len(name) < 100 for name, one in checks.items())
    assert plugin_checks(checked(table_4_config())) == {}


def test_learners_are_asked_too(here):
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"] | {"learners": ["nca", "my_learner.py"], "solvers": []}
    (check,) = plugin_checks(config | {"experiments": {"table4_supervised": experiment}}).values()
    assert (check.kind, check.name) == ("metric-learner", "my_learner.py")


def test_a_plugin_is_asked_again_once_its_file_changes(here):
    def hashes():
        return {one.name: one.sources_sha256 for one in plugin_checks(checked(own_config())).values()}

    before = hashes()
    assert hashes() == before
    (here / "my_solver.py").write_text(SOLVER.replace("range(5)", "range(6)"))
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {"my_solver.py", "my_solver.py:Mine"}


def test_what_is_asked_ends_well_and_leaves_the_faults(here):
    faulty = SOLVER.replace("].copy()", "] * (1 + self.step)")
    (here / "my_solver.py").write_text(faulty)
    check = next(one for one in plugin_checks(checked(own_config())).values() if one.name == "my_solver.py:Mine")
    done = CliRunner().invoke(main, ["check", "--out", "found.json", *shlex.split(check.words)])
    assert done.exit_code == 0, done.output
    said = json.loads((here / "found.json").read_text())
    assert (said["plugin"], said["kind"], said["faults"]) == ("my_solver.py:Mine", "solver", 1)
    assert "not orthonormal" in said["findings"][1]["fault"]
