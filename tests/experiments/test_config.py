"""Configurations as they are checked, and what the names of solvers in them mean."""

import json
import re
from dataclasses import replace
from datetime import date
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
import yaml

from kdrbench.errors import ConfigError, InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.estimators.definitions import definitions_of
from kdrbench.estimators.fitting import _Search
from kdrbench.estimators.inputs import known_samples
from kdrbench.solvers import build_solver
from kdrbench.solvers.registry import NAMED, in_words, method_of
from kdrbench.suite.commands.experiment import new_experiment
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.commands.run import cell_config
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.experiments.config import RESERVED_EXPERIMENTS, check_part, checked, load_grid
from kdrbench.suite.experiments.config_file import lay_over, read_config_file
from kdrbench.suite.experiments.workflow import check_files
from kdrbench.suite.reports import outputs
from kdrbench.suite.reports.tables.labels import method_label
from support.command_line import kdrbench
from support.configs import ROOT, TABLE, changed_config, table_4_config, whole_config
from support.products import by_section

FAULTS = [
    ("sead", 1, r"config: unknown key: 'sead'. Did you mean 'seed'\?"),
    ("limits.tim_s", 1, "config: unknown key in limits: 'tim_s'. Did you mean 'time_s'"),
    ("limits.time_s", 0, "config: limits.time_s is 0; it must be greater than 0"),
    ("limits.time_s", "3d", "config: limits.time_s is '3d'; it must be of type number"),
    ("limits.time_s", "1.5e3", "it must be of type number; YAML reads 1.5e3 as text: write 1.5e[+]3"),
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
    ("run", ["table4_supervised\n"], r"run.0 is 'table4_supervised\\n'; it must be a name of letters"),
    ("name", "mine\n", "name is 'mine.n'; it must be a name of letters"),
    ("name", "x" * 300, r"name is 'x{79}\.\.\.; it must be at most 100 characters long"),
    ("solvers", {"gr\u00f6\u00dfe": {"method": "ism"}}, "it must be a name of letters, digits"),
    ("solvers", {1: {"method": "ism"}}, "solvers has the key 1, which is not text; write it in quotes"),
    ("solvers", {True: {"method": "ism"}}, "solvers has the key True, which is not text"),
    ("experiments.table4_supervised.title", 3, r"title is 3; it must be of type string"),
    ("experiments.table4_supervised.title", None, r"title is None; it must be of type string"),
    ("experiments.table4_supervised.folds", 2.0, "folds is 2.0; it must be of type integer"),
    ("experiments.table4_supervised.folds", True, "folds is True; it must be of type integer"),
    ("seed", date(2020, 1, 1), r"seed is datetime.date.*which YAML reads as a date; quote it"),
    ("run", [float("nan")], r"run\[0\] is nan; it must be a finite number"),
]


def test_a_misspelt_section_is_named_before_what_it_should_hold():
    config = table_4_config()
    with pytest.raises(ConfigError, match=r"unknown key: 'experiment'\. Did you mean 'experiments'"):
        checked({**config, "run": ["mine"], "experiment": {"mine": {}}})


@pytest.mark.parametrize("cases", by_section(FAULTS))
def test_each_fault_is_one_sentence(cases):
    for path, value, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            checked(changed_config(path, value))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500


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


@pytest.mark.attack("stranger: configuration file")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run: [a]\nseed: 1\nrun: [b]\n", r"line 3, column 1: the key 'run' is given twice, first in line 1"),
        ("a:\n  b: 1\n  c: {d: 1, d: 2}\n", r"line 3, column 13: the key 'd' is given twice, first in line 3"),
        ("a:\n\tb: 1\n", r"line 2, column 1: found character '\\t' that cannot start any token"),
        ("a: *b\n", r"line 1, column 4: found undefined alias 'b'"),
        ("a: !!python/object/apply:os.system ['true']\n", r"line 1, column 4: could not determine a constructor"),
        ("- a\n- b\n", r"must hold keys and values; it holds a list"),
        ("a: 2020-13-45\n", r"month must be in 1..12"),
        ("a: b\n---\na: c\n", r"line 2, column 1: but found another document"),
        ("a: \x00\n", r"unacceptable character"),
        ("? [a]\n: b\n", r"line 1, column 3: found unhashable key"),
    ],
)
def test_each_fault_of_a_file_is_a_sentence_with_its_line(tmp_path, text, message, capsys):
    path = tmp_path / "config.mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"configuration {re.escape(str(path))}.*{message}") as caught:
        read_config_file(path)
    assert "\n" not in str(caught.value)
    around = SimpleNamespace(config_settings=SimpleNamespace(configfiles=[path]))
    with pytest.raises(SystemExit, match="2"):
        check_files(around, ROOT)
    assert "config.mine.yaml" in capsys.readouterr().err


def test_a_command_names_the_line_that_snakemake_does_not(tmp_path):
    path = tmp_path / "config.mine.yaml"
    for text, code in (("run: [a\nlimits: {", 2), ("experiments: 3\n", 0), ("experiments: {a: 1, 2: {title: b}}\n", 0)):
        path.write_text(text)
        done = kdrbench("list", "experiments", "--config", path)
        assert done.exit_code == code, done.output
        assert ("line 2, column 7: expected ',' or ']'" in done.output) == (code == 2)


def test_a_file_that_is_no_text_or_not_there_is_named(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("title: größe".encode("latin-1"))
    for name in ("latin.yaml", "none.yaml", "."):
        with pytest.raises(ConfigError, match=r"configuration .* cannot be read: "):
            read_config_file(tmp_path / name)


def test_the_projects_own_files_are_read_as_yaml_reads_them():
    for name in ("config.yaml", "config.demo.yaml"):
        assert read_config_file(ROOT / name) == yaml.safe_load((ROOT / name).read_text())


def test_missing_keys_are_named_all_at_once():
    config = table_4_config()
    del config["seed"], config["limits"]["time_s"], config["timing"]
    said = "config: the keys 'seed', 'timing' are missing; the key 'time_s' is missing in limits"
    with pytest.raises(ConfigError, match=f"^{re.escape(said)}$"):
        checked(config)
    config = table_4_config()
    config["experiments"]["empty"] = {}
    del config["experiments"]["table4_supervised"]["start"]
    with pytest.raises(ConfigError) as caught:
        checked(config)
    assert "the key 'start' is missing in experiments.table4_supervised" in str(caught.value)
    of_empty = next(part for part in str(caught.value).split("; ") if part.endswith("missing in experiments.empty"))
    for key in ("title", "datasets", "paradigm", "kernels", "solvers", "components", "start"):
        assert repr(key) in of_empty


def test_an_experiment_is_not_called_like_a_report_or_a_rule():
    for name in sorted(RESERVED_EXPERIMENTS):
        config = table_4_config()
        config["experiments"][name] = config["experiments"]["table4_supervised"]
        with pytest.raises(ConfigError, match=f"experiments.{name}: a report or a rule of the workflow has this name"):
            checked(config | {"run": [name]})


def test_the_names_of_rules_and_overall_reports_are_reserved():
    text = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    assert set(re.findall(r"^rule (\w+):", text, re.MULTILINE)) <= RESERVED_EXPERIMENTS
    config = checked(whole_config())
    own = config["run"]
    reports = {"published_vs_ours", "claims", *outputs.tables_of(config), *outputs.figures_of(config)}
    left = {name for name in reports if not any(name == one or name.startswith(f"{one}_") for one in own)}
    assert left <= RESERVED_EXPERIMENTS


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
