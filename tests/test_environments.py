"""The conda environments hold what the commands of their rules import."""

import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
# Keeps out what an environment does not name; what its packages bring along themselves is let in.
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Blocker())
from kdrbench.cli import main
main(sys.argv[1:])
"""


def declared():
    """Return every distribution that the project itself names."""
    text = (ROOT / "pyproject.toml").read_text()
    return {name.lower() for name in re.findall(r'^    "([\w-]+)>=', text, re.M)}


def blocked(environment):
    """Return the importable names of declared distributions that the environment lacks."""
    lines = yaml.safe_load((ROOT / "envs" / environment).read_text())["dependencies"]
    held = {line.split("=")[0] for line in lines}
    lacking = declared() - held
    return {name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & lacking}


def run(environment, *words):
    program = f"BLOCKED = {blocked(environment)!r}\n{BLOCKER}"
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["merge", "dashboard", "table", "typeset", "figure", "status"])
def test_commands_of_the_report_environment_start(command):
    done = run("report.yaml", command, "--help")
    assert done.returncode == 0, done.stderr


def test_the_report_environment_checks_the_configuration(tmp_path):
    config = json.dumps(yaml.safe_load((ROOT / "config.yaml").read_text()))
    done = run("report.yaml", "freeze-config", "--config", config, "--out", str(tmp_path / "config.json"))
    assert done.returncode == 0, done.stderr
    # And it is the blocker that would have told: an environment without packages has no command line.
    assert "click" not in blocked("report.yaml")
    assert "snakemake" in blocked("report.yaml")
