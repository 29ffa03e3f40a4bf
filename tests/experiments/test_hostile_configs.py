"""Malformed configurations: each is taken, or refused in one sentence."""

import re
from datetime import date
from types import SimpleNamespace

import pytest
import yaml
from click.testing import CliRunner
from snakemake.exceptions import WorkflowError

from kdrbench.errors import ConfigError
from kdrbench.suite.cli import main
from kdrbench.suite.experiments.config import RESERVED_EXPERIMENTS, checked
from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.experiments.workflow import check_files, grid_of
from kdrbench.suite.reports import outputs
from support.configs import ROOT, changed_config, table_4_config, whole_config
from support.products import by_section


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
def test_each_fault_of_a_file_is_a_sentence_with_its_line(tmp_path, text, message):
    path = tmp_path / "config.mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"configuration {re.escape(str(path))}.*{message}") as caught:
        read_config_file(path)
    assert "\n" not in str(caught.value)
    around = SimpleNamespace(config_settings=SimpleNamespace(configfiles=[path]))
    with pytest.raises(WorkflowError, match=r"config\.mine\.yaml"):
        check_files(around, ROOT)


def test_a_command_names_the_line_that_snakemake_does_not(tmp_path):
    path = tmp_path / "config.mine.yaml"
    for text, code in (("run: [a\nlimits: {", 2), ("experiments: 3\n", 0), ("experiments: {a: 1, 2: {title: b}}\n", 0)):
        path.write_text(text)
        done = CliRunner().invoke(main, ["list", "experiments", "--config", str(path)])
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


FAULTS = [
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


@pytest.mark.parametrize("cases", by_section(FAULTS, lambda path: path.partition(".")[0]))
def test_each_fault_of_a_value_is_one_short_sentence(cases):
    for path, value, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            checked(changed_config(path, value))
        assert len(str(caught.value)) < 500


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


def test_braces_are_text():
    grid = grid_of(
        changed_config("experiments.table4_supervised.title", "{x} {wildcards} {{"),
        SimpleNamespace(
            modifier=SimpleNamespace(is_main_snakefile=lambda: True),
            deployment_settings=SimpleNamespace(deployment_method=set()),
            dryrun=True,
            config_settings=SimpleNamespace(configfiles=[]),
        ),
        ROOT,
    )
    assert grid.config["experiments"]["table4_supervised"]["title"] == "{x} {wildcards} {{"
