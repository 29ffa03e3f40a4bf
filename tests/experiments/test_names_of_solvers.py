"""A solver's name means the same wherever it is asked for, or is refused with the names that are near."""

import json
import re
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from kdrbench.errors import ConfigError, InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.estimators.definitions import definitions_of
from kdrbench.estimators.fitting import _Search
from kdrbench.estimators.inputs import known_samples
from kdrbench.solvers import build_solver
from kdrbench.solvers.registry import NAMED, check_meanings, definition_of, in_words, method_of
from kdrbench.suite.commands.experiment import new_experiment
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.commands.run import cell_config
from kdrbench.suite.experiments.config import check_part, load_grid
from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.reports.tables.labels import method_label
from support.command_line import kdrbench
from support.configs import ROOT, changed_config, whole_config

FILES = ("config.yaml", "config.papers.yaml", "config.demo.yaml")
SETTINGS = dict.fromkeys(["components", "time_limit", "memory_limit", "folds", "start"])
SETTINGS |= {"unsupervised": False, "seed": 0, "options": {}, "kernel_options": {}}


def run(name, resolved=MappingProxyType({})):
    """The definition and the row's name of the solver that `kdrbench run` makes of a name."""
    ((row, definition),) = cell_config("wine", "gaussian", name, SETTINGS, resolved)["solvers"].items()
    return row, definition


def search_of(estimator, features, labels):
    definitions = definitions_of(estimator)
    return _Search(estimator, definitions, known_samples(estimator, definitions, features, labels, None))


@pytest.mark.parametrize("name", NAMED)
def test_a_name_means_the_same_everywhere(name):
    meant = NAMED[name]
    assert whole_config()["solvers"][name] == meant
    for file in FILES:
        assert read_configs((ROOT / "config.yaml", ROOT / file))["solvers"][name] == meant
        assert run(name, read_config_file(ROOT / file)) == (name, meant)
    # In an experiment the name alone: what it means is that of config.yaml, over which the experiment is laid.
    text = new_experiment("mine", [name], ROOT)["config.mine.yaml"]
    assert re.search(rf'solvers: \[.*"{name}"', text)
    assert "\nsolvers:" not in text
    search = search_of(InterpretableKDR(2, solver=name), np.eye(6, 3), [0, 1] * 3)
    method = build_solver(method_of(meant))
    # What the estimator adds where its ``tol`` is not given: an early end of Gaussian fits.
    if name == InterpretableKDR().solver:
        method = replace(method, gain=search.solver.gain)
    assert (search.solver, search.start, search.n_starts) == (method, meant.get("start"), meant.get("starts", 1))


def test_the_list_has_each_name_and_no_other():
    kinds = json.loads(kdrbench("list", "solvers", "controls", "--json").stdout)
    listed = {**kinds["solvers"], **kinds["controls"]}
    assert list(kinds["controls"]) == [*NAMED][-5:]
    assert [*listed] == [*NAMED]
    assert all(line.startswith(in_words(NAMED[name])) for name, line in listed.items())


def test_the_default_of_the_library_has_one_name():
    default = InterpretableKDR().solver
    assert default == "ism_converged"
    assert method_label(default) == "ISM, converged"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dimension_growth", "a method, and these are solvers with it: dg, dg_converged, dg_greedy, dg_escaping, dg_1"),
        ("ism_safeguarded", "it is a method, and these are solvers with it: ism_converged"),
        ("DG", "unknown solver 'DG'. Did you mean 'dg'"),
        ("dg_convergd", "unknown solver 'dg_convergd'. Did you mean 'dg_converged'"),
    ],
)
def test_any_other_name_is_refused_with_those_that_are_near(name, message):
    for asked in (
        lambda: run(name),
        lambda: InterpretableKDR(1, solver=name).fit([[0.0], [1.0], [0.0]], [0, 1, 0]),
        lambda: load_grid(changed_config("experiments.table4_supervised.solvers", [name])),
    ):
        with pytest.raises((InputError, ConfigError), match=re.escape(message)):
            asked()


def test_a_method_has_its_registered_name_alone():
    with pytest.raises(InputError, match="unknown solver method 'dg'"):
        build_solver({"method": "dg"})


@pytest.mark.parametrize(
    ("solvers", "message"),
    [
        ({"dg": {"variant": "converged"}}, "solvers.dg.variant is 'converged', and dg means dimension_growth, variant"),
        ({"ism": {"method": "ism_safeguarded"}}, "define yours by another name, such as ism_own"),
        ({"ism": {"tolerance": 0.5}}, "solvers.ism.tolerance is 0.5, and ism means ism, tolerance 0.01"),
        ({"stiefel_cayley": {"method": "ism"}}, "it is a method, and these are solvers with it: sm, .*another name"),
    ],
)
def test_a_name_is_given_no_other_meaning(solvers, message):
    with pytest.raises(ConfigError, match=message):
        check_part({"solvers": solvers})


def test_names_of_ones_own_are_free():
    check_meanings(whole_config()["solvers"] | {"mine": {"method": "ism", "tolerance": 0.5}})
    assert definition_of("mine", {"mine": {"method": "ism"}}) == {"method": "ism"}
    assert definition_of("my_solver.py") == {"method": "my_solver.py"}
