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
from kdrbench.stages.config import load_grid

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


@pytest.mark.parametrize(
    "command",
    ["claims", "dashboard", "figure", "merge", "published-vs-ours", "papers", "reports", "status", "table"],
)
def test_commands_of_the_report_environment_start(command):
    done = run("report.yaml", command, "--help")
    assert done.returncode == 0, done.stderr


def imports(environment, code):
    program = BLOCKER.replace("from kdrbench.cli import main\nmain(sys.argv[1:])", code)
    held = f"BLOCKED = {blocked(environment)!r}\n"
    return subprocess.run([sys.executable, "-c", held + program], capture_output=True, text=True, check=False)


def test_the_environment_of_runs_has_what_low_rank_learning_imports():
    done = imports("run.yaml", "from kdrbench.stages.low_rank import run; import kdrbench.lowrank.compiled.von_neumann")
    assert done.returncode == 0, done.stderr
    assert "snakemake" in blocked("run.yaml")


def test_the_report_environment_draws_figures_of_all_systems():
    done = imports("report.yaml", "from kdrbench.reports.figures import making; from kdrbench.bench import publish")
    assert done.returncode == 0, done.stderr


def test_the_report_environment_checks_the_configuration(tmp_path):
    config = json.dumps(yaml.safe_load((ROOT / "config.yaml").read_text()))
    done = run("report.yaml", "freeze-config", "--config", config, "--out", str(tmp_path / "config.json"))
    assert done.returncode == 0, done.stderr
    # The blocker would show a lack: an environment without packages has no command line.
    assert "click" not in blocked("report.yaml")
    assert "snakemake" in blocked("report.yaml")


def test_splits_of_the_kpca_trick_are_run_in_the_environment_of_runs(tmp_path):
    save_prepared(load_dataset("iris-bundled"), tmp_path / "iris-bundled.npz")
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"run": ["kpca_tables"]}
    experiment = config["experiments"]["kpca_tables"]
    candidates = {"default": {"sigmas": [0.1, 1.0]}}
    experiment |= {"datasets": ["iris-bundled"], "learners": ["dne"], "splits": 1, "candidates": candidates}
    experiment |= {"training": {"default": 100}, "test_selected": []}
    (bundle,) = load_grid(config).bundles()
    words = ["--job", bundle.to_word(), "--data", str(tmp_path), "--results", str(tmp_path / "results")]
    done = run("run.yaml", "batch", *words, "--time-limit-s", "60", "--memory-limit-mib", "512")
    assert done.returncode == 0, done.stderr
    assert "kpca_tables/iris-bundled/0/dne/plain: converged" in done.stdout
