"""`kdrbench list`."""

import json
from pathlib import Path

from kdrbench.datasets import load_registry
from kdrbench.solvers.registry import NAMED
from support.command_line import kdrbench

ROOT = Path(__file__).parents[2]


def test_list_names_everything_with_a_line_on_each():
    said = json.loads(kdrbench("list", "--json", "--config", ROOT / "config.yaml").output)
    assert list({**said["solvers"], **said["controls"]}) == list(NAMED)
    assert list(said["datasets"]) == list(load_registry())
    assert said["metric-learners"].keys() == {"nca", "lmnn", "dne"}
    assert said["experiments"]["table4_supervised"].startswith("Supervised IKDR")
    assert all(words for kind in said.values() for words in kind.values())


def test_list_prints_the_kinds_that_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = kdrbench("list", "controls", "experiments")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "controls:"
    assert lines[-2:] == ["experiments:", "  none"]
    assert "  random             start_alone, start random: The start, as it is." in lines
