"""The commands of docs/running_on_slurm.md, word for word, on a Slurm with accounts and on one without."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import slurm_accounts
from support.slurm_cluster import SlurmCluster
from support.small_grid import ROOT

pytestmark = pytest.mark.needs("slurm")

# The executor's first look comes after 40 s, and later ones wait longer; other tests may keep the cores busy.
MOST_S = 1200
PARTS = ("Snakefile", "config.yaml", "config.demo.yaml", "rules", "envs", "profiles", "src")
# The other tests through Slurm have none.
KINDS = [
    pytest.param(None, id="without accounts"),
    pytest.param(slurm_accounts.Accounts, id="with accounts", marks=pytest.mark.needs("slurm accounts")),
]


def commands_of_the_page():
    """Return what the page tells to type: what installs, what tries the cluster, what runs everything."""
    text = (ROOT / "docs" / "running_on_slurm.md").read_text()
    (block,) = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines()]


def environment_of(cluster, folder):
    """Return what a user has: kdrbench installed, Slurm's commands on the path, a folder for temporary files."""
    (folder / "tmp").mkdir()
    paths = [cluster.environment["PATH"].split(os.pathsep)[0], str(Path(sys.executable).parent), os.environ["PATH"]]
    own = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache"), "PATH": os.pathsep.join(paths)}
    return os.environ | own | {"PYTHONPATH": str(folder / "checkout" / "src")}


@pytest.mark.parametrize("accounts", KINDS)
def test_the_commands_of_the_page_as_they_are_printed(accounts, tmp_path):
    _, tries, everything = commands_of_the_page()
    assert not re.search(r"--(slurm|retries|seconds|jobs)", tries + everything)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, checkout / part)
    with SlurmCluster(tmp_path / "cluster", accounts) as cluster:
        environment = environment_of(cluster, tmp_path)
        done = subprocess.run(
            shlex.split(tries),
            cwd=checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MOST_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert set(cluster.jobs().values()) == {"COMPLETED"}
    assert (checkout / "reports" / "demo" / "demo_alternative.html").stat().st_size > 500
    rows = (checkout / "results" / "demo" / "merged" / "demo_alternative.csv").read_text().splitlines()
    assert len(rows) == 1 + 4
    (tmp_path / "transcript").write_text(f"$ {tries}\n{done.stdout}")


def test_a_slurm_that_forgets_its_jobs_is_refused(tmp_path):
    with SlurmCluster(tmp_path / "cluster", settings="\nMinJobAge=120\n") as cluster:
        words = ["snakemake", "--profile", ROOT / "profiles" / "slurm", "--dry-run", "--snakefile", ROOT / "Snakefile"]
        environment = environment_of(cluster, tmp_path) | {"PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "keeps no accounts" in done.stderr
    assert "forgets a job 120 s after its end" in done.stderr
