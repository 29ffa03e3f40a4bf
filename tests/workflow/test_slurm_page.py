"""The commands of docs/running_on_slurm.md, word for word, on a Slurm with accounts and on one without."""

import getpass
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.slurm_cluster import SEARCHED, SlurmCluster, free_ports
from support.small_grid import ROOT

pytestmark = pytest.mark.needs("slurm")

# The executor's first look comes after 40 s, and later ones wait longer; other tests may keep the cores busy.
MOST_S = 1200
PARTS = ("Snakefile", "config.yaml", "config.demo.yaml", "rules", "envs", "profiles", "src")
CONFIGURATION = """
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass=slurm
StorageLoc=accounts
"""
OF_THE_CONTROLLER = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
"""
# The first user of the database comes by the network, as slurmdbd does.
FIRST_WORDS = """
CREATE DATABASE accounts;
CREATE USER slurm@'%' IDENTIFIED BY 'slurm';
GRANT ALL ON accounts.* TO slurm@'%';
"""


class Accounts:
    """Starts a database and slurmdbd by a cluster's own means; the cluster ends them with its other daemons."""

    def __init__(self, folder: Path, start):
        self._folder, self._start = folder, start
        self._port, self._database_port = free_ports(2)

    @property
    def of_the_controller(self):
        """Lines that make the controller keep its accounts here."""
        return OF_THE_CONTROLLER.format(port=self._port, folder=self._folder)

    def begin(self):
        """Start both; munge must be there."""
        data = self._folder / "database"
        shared = ["--no-defaults", f"--user={getpass.getuser()}", f"--datadir={data}"]
        install = shutil.which("mariadb-install-db", path=SEARCHED)
        made = [install, *shared, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(made, check=True, capture_output=True)
        (self._folder / "first.sql").write_text(FIRST_WORDS)
        files = [f"--{kind}={self._folder}/mariadb.{kind}" for kind in ("socket", "pid-file")]
        address = ["--bind-address=127.0.0.1", f"--port={self._database_port}", "--skip-name-resolve"]
        small = ["--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]
        first = f"--init-file={self._folder}/first.sql"
        self._start("mariadbd", *shared, *files, *address, *small, first, answers=lambda: listens(self._database_port))
        text = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            port=self._port,
            user=getpass.getuser(),
            folder=self._folder,
            database_port=self._database_port,
        )
        path = self._folder / "slurmdbd.conf"
        path.write_text(text)
        path.chmod(0o600)
        self._start("slurmdbd", "-D", answers=lambda: listens(self._port))


def listens(port):
    """Return whether somebody listens at a port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


# The other tests through Slurm have none.
KINDS = [
    pytest.param(None, id="without accounts"),
    pytest.param(Accounts, id="with accounts", marks=pytest.mark.needs("slurm accounts")),
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
