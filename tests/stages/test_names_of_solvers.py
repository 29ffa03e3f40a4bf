"""One solver has one name in results, by whichever of its names it is asked for."""

import json

import pytest
from click.testing import CliRunner

from kdrbench.cli import main
from kdrbench.commands.cell import cell_config
from kdrbench.errors import ConfigError
from kdrbench.reports.tables.labels import method_label
from kdrbench.solvers import build_solver
from kdrbench.solvers.registry import SHORT, SOLVERS, known_as
from kdrbench.stages.config import load_grid
from support.configs import changed_config

NAMES = ("dg", "DG", "dimension_growth", "Dimension_Growth")


def test_short_names_are_those_of_registered_solvers():
    assert set(SHORT.values()) <= set(SOLVERS)
    assert not set(SHORT) & set(SOLVERS)


def test_names_that_mean_the_same():
    for name, known, means in [
        *((name, ["ism", "dg"], "dg") for name in NAMES),
        *((name, ["ism", "dimension_growth"], "dimension_growth") for name in NAMES),
        ("dimension_growth_converged", ["dg", "dg_converged"], "dg_converged"),
        ("GM_escaping", ["gm_escaping"], "gm_escaping"),
        # A name that is known means itself; one that is not stays for the error.
        ("dg", ["dg", "dimension_growth"], "dg"),
        ("dgg", ["dg"], "dgg"),
        ("dimension_growth_2", ["dg"], "dimension_growth_2"),
    ]:
        assert known_as(name, known) == means


def test_the_library_builds_it_by_each_name():
    for name in NAMES:
        assert build_solver({"method": name}) == build_solver({"method": "dimension_growth"})


def test_an_experiment_runs_it_under_the_configured_name():
    for name in NAMES:
        place = "experiments.table4_supervised.solvers"
        paths = {batch.path for batch in load_grid(changed_config(place, [name])).batches("table4_supervised")}
        assert "table4_supervised/wine/gaussian/dg/0-9" in paths
        # So finished runs of the one are those of the other.
        asked, given = (load_grid(changed_config(place, [one])).batches() for one in (name, "dg"))
        assert [batch.sha256 for batch in asked] == [batch.sha256 for batch in given]


def test_a_mistyped_name_is_an_error_with_the_nearest_one():
    with pytest.raises(ConfigError, match=r"unknown solver 'DGG'.*"):
        load_grid(changed_config("experiments.table4_supervised.solvers", ["DGG"]))
    with pytest.raises(ConfigError, match="Did you mean 'dg_converged'"):
        load_grid(changed_config("experiments.table4_supervised.solvers", ["dg_convergd"]))


def test_commands_take_each_name():
    for name in NAMES:
        settings = dict.fromkeys(["components", "time_limit", "memory_limit", "folds", "start"])
        settings |= {"unsupervised": False, "seed": 0, "options": {}, "kernel_options": {}}
        resolved = {"solvers": {"dg": {"method": "dimension_growth", "variant": "published"}}}
        named = cell_config(resolved, "wine", "gaussian", name, settings)
        assert named["solvers"] == {"dg": {"method": "dimension_growth", "variant": "published"}}
        (batch,) = load_grid(cell_config({}, "wine", "gaussian", name, settings)).batches()
        assert batch.definition["method"] == {"method": "dimension_growth"}


def test_the_list_and_the_tables_say_both():
    done = CliRunner().invoke(main, ["list", "solvers", "--json"])
    assert json.loads(done.stdout)["solvers"]["dimension_growth"].endswith("(short: dg)")
    assert method_label("dimension_growth_converged") == method_label("dg_converged") == "DG, converged"
