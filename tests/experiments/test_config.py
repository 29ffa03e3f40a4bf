"""What all systems share of a configuration: its checks, and what it says of limits and names."""

from pathlib import Path

import pytest

from kdrbench.errors import ConfigError
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.experiments.config import checked, load_grid
from kdrbench.suite.experiments.config_file import lay_over, read_config_file
from support.configs import TABLE, changed_config, table_4_config, whole_config
from support.products import by_section

ROOT = Path(__file__).parents[2]


FAULTS = [
    ("sead", 1, r"config: unknown key: 'sead'. Did you mean 'seed'\?"),
    ("limits.tim_s", 1, "config: unknown key in limits: 'tim_s'. Did you mean 'time_s'"),
    ("limits.time_s", 0, "config: limits.time_s is 0; it must be greater than 0"),
    ("limits.time_s", "3d", "config: limits.time_s is '3d'; it must be of type number"),
    ("limits.memory_mib", -1, "config: limits.memory_mib is -1; it must be greater than 0"),
    ("seed", KeyError, "config: the key 'seed' is missing"),
    ("limits.memory_mib", 10**13, "config: limits.memory_mib is 10000000000000; it must be .* at most 4.398e[+]12"),
    ("limits.time_s", float("inf"), "config: limits.time_s is inf; it must be a finite number"),
    ("limits.time_s", float("nan"), "config: limits.time_s is nan; it must be a finite number"),
    ("run", ["table5"], "config: run: unknown experiment 'table5'; allowed: table4_supervised"),
    ("run", [], "config: run is \\[\\]; it must be a list of at least 1"),
    ("experiments", {}, "config: experiments must hold at least 1 entry"),
    ("experiments", {"table 4/x": {}}, "'table 4/x'; it must be a name of letters, digits, '-' and '_'"),
    ("timing.threads", 0, "config: timing.threads is 0; it must be at least 1"),
    ("timing.strict", "no", "config: timing.strict is 'no'; it must be of type boolean"),
    (f"{TABLE}.timed", 1, f"{TABLE}.timed is 1; it must be of type boolean"),
    (f"{TABLE}.datasets", ["wines"], f"{TABLE}.datasets: unknown data set 'wines'. Did you mean 'wine'"),
    (f"{TABLE}.datasets", [], f"{TABLE}.datasets is \\[\\]; it must be a list of at least 1"),
    (f"{TABLE}.datasets", ["wine", "wine"], "it must be a list without repetitions"),
    ("references", {}, "config: unknown key: 'references'; allowed: baselines, "),
    ("name", "a/b", "config: name is 'a/b'; it must be a name of letters, digits, '-' and '_'"),
    ("name", "figures", "config: name is 'figures', which is a folder of results; choose another"),
    ("datasets", {"mine": {}}, "config: the key 'loader' is missing in datasets.mine"),
    ("datasets", {"mine": {"loader": "no.py"}}, "config: datasets.mine: .*there is no file no.py"),
    (f"{TABLE}.title", KeyError, f"config: the key 'title' is missing in {TABLE}"),
    (f"{TABLE}.limits", {"time_s": 0}, f"{TABLE}.limits.time_s is 0; it must be greater than 0"),
    (f"{TABLE}.limits", {"budget_s": 9}, f"unknown key in {TABLE}.limits: 'budget_s'; allowed: memory_mib, time_s"),
    (f"{TABLE}.runs_per_job", "all", f"{TABLE}.runs_per_job is 'all'; it must be 'auto' or an integer of at least"),
    (f"{TABLE}.runs_per_job", 0, f"{TABLE}.runs_per_job is 0; it must be 'auto' or an integer of at least 1"),
    (f"{TABLE}.folds_per_job", 2, f"unknown key in {TABLE}: 'folds_per_job'. Did you mean 'runs_per_job'"),
    (f"{TABLE}.system", "ikdrr", f"{TABLE}.system: unknown system 'ikdrr'. Did you mean 'ikdr'"),
    (f"{TABLE}.published", {"table": "4"}, f"the key 'paper' is missing in {TABLE}.published"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS))
def test_each_fault_is_one_sentence(cases):
    for path, value, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            checked(changed_config(path, value))
        assert "\n" not in str(caught.value)


def test_the_projects_own_configuration_is_valid():
    checked(whole_config())


@pytest.mark.parametrize("path", sorted(ROOT.glob("config.*.yaml")), ids=lambda path: path.name)
def test_the_projects_other_configurations_are_valid(path):
    name = path.stem.removeprefix("config.")
    assert checked(lay_over(whole_config(), read_config_file(path)) | {"name": name})["name"] == name


def test_an_experiment_is_of_the_first_system_if_nothing_is_said():
    assert checked(table_4_config())["experiments"]["table4_supervised"]["system"] == "ikdr"
    # What was checked once may be checked again, as the frozen configuration is.
    assert checked(checked(table_4_config())) == checked(table_4_config())


def test_experiments_that_are_not_run_are_checked_as_well():
    config = table_4_config()
    config["experiments"]["other"] = {**config["experiments"]["table4_supervised"], "datasets": ["wines"]}
    with pytest.raises(ConfigError, match=r"experiments\.other\.datasets: unknown data set 'wines'"):
        checked(config)


def test_limits_of_an_experiment_replace_the_general_ones():
    for own, general in [(60.0, 3600.0), (3600.0, 60.0)]:
        config = table_4_config(limits={"time_s": own})
        config["limits"] = {"time_s": general, "memory_mib": 512}
        assert load_grid(config).limits("table4_supervised") == Limits(own, 512.0)
        config["experiments"]["table4_supervised"]["limits"] = {"memory_mib": 64}
        assert load_grid(config).limits("table4_supervised") == Limits(general, 64.0)


def test_runs_are_timed_unless_grid_or_experiment_says_no():
    for strict, timed, expected in [(True, True, True), (False, True, False), (True, False, False)]:
        config = table_4_config(timed=timed)
        config["timing"]["strict"] = strict
        assert load_grid(config).timed("table4_supervised") is expected


def test_a_budget_of_all_runs_is_read_of_earlier_configurations_alone():
    load_grid(changed_config("limits.budget_s", None))
    with pytest.raises(ConfigError, match=r"limits.budget_s is 5; it must be of type null"):
        load_grid(changed_config("limits.budget_s", 5))
