"""Files that must agree with each other."""

import re
from pathlib import Path

import yaml

from kdrbench import __version__
from kdrbench.evaluation import EVALUATORS
from kdrbench.solvers import STARTS
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.experiments.config import checked
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.system import IKDRSystem

ROOT = Path(__file__).parents[1]


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
