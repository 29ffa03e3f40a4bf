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
from metric_cases import metric_batch

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
    [
        "claims",
        "dashboard",
        "figure",
        "kpca-figure",
        "kpca-merge",
        "kpca-tables",
        "lowrank-report",
        "merge",
        "paired-tests",
        "published-vs-ours",
        "scaling",
        "status",
        "table",
        "typeset",
    ],
)
def test_commands_of_the_report_environment_start(command):
    done = run("report.yaml", command, "--help")
    assert done.returncode == 0, done.stderr


def test_the_environment_of_low_rank_learning_has_what_its_batches_import():
    code = "from kdrbench.bench import lowrank_job; import kdrbench.lowrank.compiled.von_neumann"
    program = BLOCKER.replace("from kdrbench.cli import main\nmain(sys.argv[1:])", code)
    held = f"BLOCKED = {blocked('lowrank.yaml')!r}\n"
    done = subprocess.run([sys.executable, "-c", held + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "snakemake" in blocked("lowrank.yaml")


def test_the_report_environment_merges_and_reports_low_rank_rows():
    code = "from kdrbench.bench import lowrank_grid, lowrank_record, rows; from kdrbench.reports import lowrank_chart"
    program = BLOCKER.replace("from kdrbench.cli import main\nmain(sys.argv[1:])", code)
    held = f"BLOCKED = {blocked('report.yaml')!r}\n"
    done = subprocess.run([sys.executable, "-c", held + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_report_environment_checks_the_configuration(tmp_path):
    config = json.dumps(yaml.safe_load((ROOT / "config.yaml").read_text()))
    done = run("report.yaml", "freeze-config", "--config", config, "--out", str(tmp_path / "config.json"))
    assert done.returncode == 0, done.stderr
    # And it is the blocker that would have told: an environment without packages has no command line.
    assert "click" not in blocked("report.yaml")
    assert "snakemake" in blocked("report.yaml")


def test_splits_of_the_kpca_trick_are_run_in_the_solvers_environment(tmp_path):
    save_prepared(load_dataset("iris"), tmp_path / "iris.npz")
    words = ["--spec", metric_batch(splits=(0,)).to_json(), "--data", str(tmp_path / "iris.npz")]
    words += ["--out", str(tmp_path / "rows.jsonl"), "--state", str(tmp_path / "state")]
    done = run("ikdr.yaml", "kpca-batch", *words, "--time-limit-s", "60", "--memory-limit-mib", "512")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "iris/0/dne/plain: converged"
