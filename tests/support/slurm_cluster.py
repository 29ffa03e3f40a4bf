"""A real Slurm of one node on loopback: munged, slurmctld and slurmd, with all their files in one folder."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sacct", "scancel", "scontrol", "sinfo")
# Where Debian puts daemons, which a user's PATH may leave out.
SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
CORES = 4
UP_WITHIN_S = 30.0

CONFIGURATION = Path(__file__).with_name("slurm.conf")


class SlurmCluster:
    """Runs while it is entered, without accounts; ``environment`` makes its commands the ones that a shell finds."""

    def __init__(self, folder: Path):
        self.folder, self._daemons = folder, {}
        self.host = socket.gethostname().split(".")[0]

    def __enter__(self):
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir(parents=True)
        try:
            self._configure()
            self._start_munge()
            self._start("slurmctld", "-D", "-c", "-f", str(self.folder / "slurm.conf"))
            self.start_node()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        # The node first: it tells the controller; munge last, for both speak through it.
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
            daemon.wait(timeout=30)
        # Jobs that run outlive the daemon of their node.
        self._kill_steps()

    def start_node(self):
        """Start the daemon of the node and wait until it takes jobs."""
        self._start("slurmd", "-D", "-c", "-N", self.host, "-f", str(self.folder / "slurm.conf"))
        self._await("the node is idle", lambda: self.node_state() == "idle")

    def kill_node(self):
        """Let the node go down as by a loss of power: its daemon and all that it runs are gone at once."""
        daemon = self._daemons.pop("slurmd")
        daemon.kill()
        self._kill_steps()
        daemon.wait()
        self.command("scontrol", "update", f"NodeName={self.host}", "State=DOWN", "Reason=test")

    def _kill_steps(self):
        """Kill what steps of this cluster's jobs run, and their keepers."""
        steps = [one for one in psutil.process_iter(["name"]) if one.info["name"] == "slurmstepd" and self._holds(one)]
        for process in [*steps, *(job for step in steps for job in step.children(True))]:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _holds(self, process):
        """Return whether a process has a file of this cluster open."""
        with suppress(psutil.Error):
            return any(Path(one.path).is_relative_to(self.folder) for one in process.open_files())
        return False

    @property
    def environment(self):
        """Environment in which ``sbatch`` and its like speak to this cluster."""
        return {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def command(self, *words):
        """Run one of Slurm's commands and return what it prints."""
        environment = os.environ | self.environment
        program = str(self.folder / "bin" / words[0])
        done = subprocess.run([program, *words[1:]], capture_output=True, text=True, env=environment, check=True)
        return done.stdout

    def node_state(self):
        """Return ``idle``, ``mixed``, ``drained`` and so on."""
        try:
            return self.command("sinfo", "--noheader", "--format", "%T").strip().rstrip("*")
        except subprocess.CalledProcessError:
            return "unknown"

    def jobs(self):
        """Return the state of each job that Slurm remembers, by its number."""
        lines = self.command("squeue", "--noheader", "--states", "all", "--format", "%i %T").splitlines()
        return dict(line.split() for line in lines)

    def _configure(self):
        ports = free_ports(2)
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        values = {"host": self.host, "user": getpass.getuser(), "folder": self.folder, "cores": CORES}
        values |= {"controller_port": ports[0], "node_port": ports[1], "memory_mib": pages * page // 2**20 - 256}
        (self.folder / "slurm.conf").write_text(CONFIGURATION.read_text().format(**values))
        # The executor hides SLURM_* from the jobs it submits, the path of the configuration too.
        for name in PROGRAMS:
            wrapper = self.folder / "bin" / name
            program = shutil.which(name, path=SEARCHED)
            wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {program} "$@"\n')
            wrapper.chmod(0o755)

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"key-file": key} | {f"{kind}-file": self.folder / f"munge.{kind}" for kind in ("log", "pid", "seed")}
        options = [f"--{name}={path}" for name, path in files.items()]
        # Forced, for a test's folder may lie below one that others may write to.
        socket_ = self.folder / "munge.socket"
        self._start("munged", "--foreground", "--force", f"--socket={socket_}", *options, answers=socket_.exists)

    def _start(self, name, *options, answers=lambda: True):
        program = shutil.which(name, path=SEARCHED)
        environment = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")}
        with (self.folder / f"{name}.out").open("w") as out:
            process = subprocess.Popen([program, *options], stdout=out, stderr=subprocess.STDOUT, env=environment)
        self._daemons[name] = process
        self._await(f"{name} answers", answers)

    def _await(self, what, reached):
        until = time.monotonic() + UP_WITHIN_S
        while not reached():
            if time.monotonic() > until or any(daemon.poll() is not None for daemon in self._daemons.values()):
                logs = "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in self.folder.glob("*.out"))
                raise RuntimeError(f"Slurm did not come up: {what} was not reached\n{logs}")
            time.sleep(0.1)


def free_ports(count):
    """Return ports that nobody listens at."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
