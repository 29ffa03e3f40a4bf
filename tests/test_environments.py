"""The conda environments hold what the commands of their rules import."""

import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.suite.engine.batch import Order
from kdrbench.suite.experiments.config import load_grid

ROOT = Path(__file__).parents[1]
# Keeps out what an environment does not name; what its packages bring along themselves is let in.
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Blocker())
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


def run(environment, code, *words):
    """Run Python code where nothing can be imported that the environment lacks; return what it printed."""
    program = f"BLOCKED = {blocked(environment)!r}\n{BLOCKER}{code}"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# All commands in one process: its start takes longer than theirs.
COMMANDS = """
from click.testing import CliRunner
from kdrbench.suite.cli import main
config, out, *names = sys.argv[1:]
for words in (["freeze-config", "--config", config, "--out", out], *([name, "--help"] for name in names)):
    print(words[0], CliRunner().invoke(main, words, catch_exceptions=False).exit_code)
from kdrbench.suite.reports import making
from kdrbench.suite.engine import publish
"""


@pytest.mark.slow("imports what commands, figures and the configuration need in a new process")
def test_the_report_environment_has_what_its_commands_import(tmp_path):
    names = ["dashboard", "merge", "papers", "reports", "status"]
    config = tmp_path / "started.json"
    config.write_text(json.dumps(yaml.safe_load((ROOT / "config.yaml").read_text())))
    said = run("report.yaml", COMMANDS, str(config), str(tmp_path / "config.json"), *names).splitlines()
    assert said == [f"{name} 0" for name in ("freeze-config", *names)]
    # The blocker would show a lack: an environment without packages has no command line.
    assert "click" not in blocked("report.yaml")
    assert "snakemake" in blocked("report.yaml")


RUNS = """
from kdrbench.suite.cli import main
from kdrbench.suite.systems.low_rank import run
import kdrbench.lowrank.compiled
main(sys.argv[1:])
"""


@pytest.mark.slow("imports what runs need in a new process")
def test_the_environment_of_runs_has_what_they_import(tmp_path):
    save_prepared(load_dataset("iris-bundled"), tmp_path / "iris-bundled.npz")
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"run": ["kpca_tables"]}
    experiment = config["experiments"]["kpca_tables"]
    candidates = {"default": {"sigmas": [0.1, 1.0]}}
    experiment |= {"datasets": ["iris-bundled"], "learners": ["dne"], "splits": 1, "candidates": candidates}
    experiment |= {"training": {"default": 100}, "test_selected": []}
    (bundle,) = load_grid(config).bundles()
    order = Order(bundle).write(tmp_path / "order.json")
    words = [str(order), "--data", str(tmp_path), "--results", str(tmp_path / "results")]
    said = run("run.yaml", RUNS, "batch", *words, "--time-limit-s", "60", "--memory-limit-mib", "512")
    assert "kpca_tables/iris-bundled/0/dne/plain: converged" in said
    assert "snakemake" in blocked("run.yaml")
