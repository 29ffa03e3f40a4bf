"""The accounts of a Slurm of one node: slurmdbd, with a database of its own in one folder."""

import getpass
import shutil
import socket
import subprocess
from pathlib import Path

from support.slurm_cluster import SEARCHED, free_ports

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
