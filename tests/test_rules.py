"""The form of the workflow's rules, and files that must agree with each other."""

import re
from pathlib import Path

import pytest
import yaml

from kdrbench import __version__
from kdrbench.evaluation import EVALUATORS
from kdrbench.solvers import STARTS
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.experiments.config import checked
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.system import IKDRSystem

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]
MOST_LINES = 25


def rules():
    """Yield the name and the text of every rule, without blank lines after it."""
    for path in SOURCES:
        # Rules of loops have names of reports and targets.
        for block in re.split(r"(?m)^(?=rule )", path.read_text(encoding="utf-8"))[1:]:
            text = re.match(r"rule .*\n(?:(?:[ ]+.*)?\n)*", block)[0].rstrip()
            yield pytest.param(text, id=re.match(r"rule (\w+)", text)[1])


RULES = list(rules())


def sections(text):
    return set(re.findall(r"(?m)^    (\w+):", text))


def test_all_rules_are_found():
    assert len(RULES) == sum(path.read_text(encoding="utf-8").count("\nrule ") for path in SOURCES) + sum(
        path.read_text(encoding="utf-8").startswith("rule ") for path in SOURCES
    )
    assert len(RULES) <= 30
    assert {"run_batch", "merge", "papers", "dashboard", "all"} <= {parameter.id for parameter in RULES}


@pytest.mark.parametrize("text", RULES)
def test_rules_are_short_and_declare_their_resources(text):
    assert len(text.splitlines()) <= MOST_LINES
    assert not sections(text) & {"run", "script", "notebook"}
    if "shell" in sections(text):
        assert {"log", "threads", "resources", "conda"} <= sections(text)
        assert "runtime=" in text


def test_every_page_of_a_rule_is_in_the_report():
    for parameter in RULES:
        output = re.search(r"(?ms)^    output:\n(.*?)(?=^    \w|\Z)", parameter.values[0])
        for line in output[1].splitlines() if output else ():
            assert "report(" in line or not re.search(r'\.(png|html)"', line) or "results/" in line
    # Those of tables and figures are marked for all jobs at once.
    assert "report(path, **flags[path])" in (ROOT / "rules" / "common.smk").read_text(encoding="utf-8")


def test_conda_environments_are_pinned_like_the_lock():
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "envs/requirements-dev.lock").read_text(), re.M))
    paths = list((ROOT / "envs").glob("*.yaml"))
    assert paths
    for path in paths:
        pins = [line.split("=") for line in yaml.safe_load(path.read_text())["dependencies"]]
        assert [name for name, version in pins if name != "python" and locked[name] != version] == [], path


def test_the_demo_laid_over_the_configuration_is_valid():
    checked(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))


def test_schema_and_code_name_the_same_choices():
    properties, sections = IKDRSystem().schema["properties"], IKDRSystem().sections
    assert properties["start"]["enum"] == sorted(STARTS)
    assert sections["solvers"]["additionalProperties"]["properties"]["start"]["enum"] == sorted(STARTS)
    assert properties["split"]["enum"] == list(Split)
    assert properties["evaluation"]["properties"]["evaluator"]["enum"] == list(EVALUATORS)


def test_the_version_is_repeated_only_where_it_must_be():
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}" in (ROOT / "docs/history.md").read_text()
