"""Files that must agree with each other."""

import re
from pathlib import Path

import pytest
import yaml

from kdrbench import __version__
from kdrbench.evaluation import EVALUATORS
from kdrbench.solvers import STARTS
from kdrbench.stages.config import checked, load_grid
from kdrbench.stages.ikdr.folds import Split
from kdrbench.stages.ikdr.stage import IKDRStage
from support.configs import whole_config

ROOT = Path(__file__).parents[1]


def locked_versions():
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements-dev.lock").read_text(), re.M))


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environments_are_pinned_like_the_lock(path):
    pins = [line.split("=") for line in yaml.safe_load(path.read_text())["dependencies"]]
    locked = locked_versions()
    assert {name: version for name, version in pins if name != "python"} == {
        name: locked[name] for name, _ in pins if name != "python"
    }


def test_the_lock_pins_every_line_with_a_hash():
    text = (ROOT / "requirements.lock").read_text()
    assert all(re.match(r"^[\w.-]+==\S+|^    --hash=sha256:", line) for line in text.splitlines() if line.strip())
    assert len(locked_versions()) > 50


def test_the_demo_laid_over_the_configuration_is_valid():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())

    def lay_over(below, above):
        for key, value in above.items():
            below[key] = lay_over(below[key], value) if isinstance(value, dict) and key in below else value
        return below

    checked(lay_over(config, yaml.safe_load((ROOT / "config.demo.yaml").read_text())))


def test_schema_and_code_name_the_same_starts():
    assert IKDRStage().schema["properties"]["start"]["enum"] == sorted(STARTS)
    sections = IKDRStage().sections["solvers"]["additionalProperties"]["properties"]
    assert sections["start"]["enum"] == sorted(STARTS)


def test_schema_and_code_name_the_same_splits():
    assert IKDRStage().schema["properties"]["split"]["enum"] == list(Split)


def test_the_table_of_experiments_is_that_of_the_configuration():
    text = (ROOT / "docs" / "experiments.md").read_text()
    said = {name: int(runs) for name, runs in re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", text, re.M)}
    grid = load_grid(whole_config())
    assert said == {name: sum(len(batch.runs) for batch in grid.batches(name)) for name in grid.experiments}


def test_schema_and_code_name_the_same_evaluators():
    evaluation = IKDRStage().schema["properties"]["evaluation"]["properties"]
    assert evaluation["evaluator"]["enum"] == list(EVALUATORS)


def test_the_version_is_repeated_only_where_it_must_be():
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
