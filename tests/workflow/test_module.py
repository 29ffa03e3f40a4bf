"""The workflow in another one, as a module with its own configuration."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kdrbench.suite.csv_files import read_csv
from support.small_grid import ROOT

pytestmark = pytest.mark.whole

TINY = """
name: test
run: [tiny]
limits: {time_s: 10, memory_mib: 1024}
timing: {repeat_for_s: 0.01}
experiments:
  tiny:
    title: "Two folds of Wine."
    paradigm: supervised
    datasets: [wine]
    kernels: [gaussian]
    solvers: [ism]
    components: {wine: 4}
    folds: 2
    start: surrogate
"""
# Its names are those of ours, or match their wildcards; its shell and its folder are to stay as they are.
SNAKEFILE = f"""
configfile: "config/config.yaml"

module kdrbench:
    snakefile: "{ROOT}/Snakefile"
    config: config

use rule * from kdrbench as kdrbench_*

rule all:
    default_target: True
    input: "results/test/ikdr.csv", "table", "summary/merged.csv"

rule table:
    output: "table"
    shell: "python3 -c 'import beside; print(beside.VALUE)' > {{output}}"

rule merge:
    input: "results/test/ikdr.csv"
    output: "summary/{{merged}}.csv"
    wildcard_constraints: merged="merged"
    run:
        Path(output[0]).write_text(Path(input[0]).read_text().splitlines()[0])
"""


def snakemake(folder, *words):
    # As of a user whose package is not installed: the rules find it.
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": "", "HOME": str(folder / "cache")}
    program = Path(sys.executable).parent / "snakemake"
    profile = ["--workflow-profile", ROOT / "profiles" / "default"]
    return subprocess.run(
        [program, *profile, *words], cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False
    )


def test_another_workflow_uses_it_as_a_module(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(TINY)
    (tmp_path / "Snakefile").write_text("from pathlib import Path\n" + SNAKEFILE)
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    done = snakemake(tmp_path, "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    table = tmp_path / "results" / "test" / "ikdr.csv"
    rows = [(row["method"], row["run"], row["status"]) for row in read_csv(table)]
    assert rows == [("ism", run, "converged") for run in "01"]
    head = table.read_text().splitlines()[0]
    assert (tmp_path / "summary" / "merged.csv").read_text() == head
    # A prefix of its shell, or a safe path, would have hidden the module beside the Snakefile.
    assert (tmp_path / "table").read_text() == "7\n"
    again = snakemake(tmp_path, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
