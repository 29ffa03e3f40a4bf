"""A grid of many tiny runs through Snakemake, with kills all the while: what grows, and what is lost.

A solver that returns its start is run on redrawn folds of Wine. Every so often one process is killed: Snakemake, all
that it started, a job, or a run; the workflow is started again whenever it has ended. Printed are the kills, rows lost
and doubled, processes left behind, and, for each tenth of the time, the seconds of a run and Snakemake's memory.

    python benchmarks/soak.py                                             # 20,000 runs, a kill every 30 s for 30 min
    python benchmarks/soak.py --runs 2000 --kill-every-s 30 --for-min 8
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import yaml

from kdrbench.solvers import SolverOutcome, Status

ROOT = Path(__file__).resolve().parents[1]
FOLDS, PER_JOB, SOLVERS = 10, 100, 10
NAME = "soak"
TENTHS = 10


def main() -> None:
    """Soak and print; exit with 1 if anything was lost, doubled or left behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20000, help="a multiple of 1000")
    parser.add_argument("--kill-every-s", type=float, default=30.0)
    parser.add_argument("--for-min", type=float, default=30.0, help="then the rest is made without kills")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        soak = Soak(Path(name), asked.runs, asked.cores, np.random.default_rng(asked.seed))
        soak.run(asked.kill_every_s, 60.0 * asked.for_min)
        faults = soak.report()
    sys.exit(1 if faults else 0)


@dataclass
class Soak:
    """A workflow in ``folder``, what was done to it, and its memory in MiB over time."""

    folder: Path
    n_runs: int
    cores: int
    rng: np.random.Generator
    kills: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    starts: int = 0
    began: float = field(default_factory=time.monotonic)

    def run(self, kill_every_s: float, kill_for_s: float) -> None:
        """Start the workflow as often as it takes."""
        (self.folder / "soak.yaml").write_text(yaml.safe_dump(overlay(self.n_runs)))
        next_kill = self.began + kill_every_s
        while True:
            scheduler = self._start()
            while scheduler.poll() is None:
                now = time.monotonic()
                with suppress(psutil.Error):
                    self.memory.append(psutil.Process(scheduler.pid).memory_info().rss / 2**20)
                if now >= next_kill and now < self.began + kill_for_s:
                    self._kill(scheduler.pid)
                    next_kill = now + kill_every_s
                time.sleep(0.2)
            if scheduler.returncode == 0:
                return
            if self.starts > 10 + sum(self.kills.values()):
                sys.exit(f"the workflow ends without a kill:\n{(self.folder / 'output').read_text()[-4000:]}")

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        # What was killed has left its lock.
        subprocess.run(self._command("--unlock"), cwd=self.folder, env=environment(), capture_output=True, check=False)
        with (self.folder / "output").open("ab") as output:
            how: dict[str, Any] = {"cwd": self.folder, "env": environment(), "stdout": output, "stderr": output}
            return subprocess.Popen(self._command("--until", "merge"), start_new_session=True, **how)

    def _command(self, *words: str) -> list[str]:
        command = [str(Path(sys.executable).parent / "snakemake"), "--snakefile", str(ROOT / "Snakefile")]
        command += ["--cores", str(self.cores), "--directory", str(self.folder)]
        command += ["--workflow-profile", str(ROOT / "profiles" / "default"), "--quiet", "all"]
        return [*command, "--configfile", str(self.folder / "soak.yaml"), *words]

    def _kill(self, scheduler: int) -> None:
        """Kill one of the processes, drawn by what it is."""
        try:
            below = psutil.Process(scheduler).children(recursive=True)
            kinds = {one: kind_of(one) for one in below}
        except psutil.Error:
            return
        victims = {"Snakemake": [psutil.Process(scheduler)], "Snakemake and all below": below}
        for kind in ("job", "run"):
            if of_kind := [one for one, its_kind in kinds.items() if its_kind == kind]:
                victims[kind] = [of_kind[self.rng.integers(len(of_kind))]]
        what = str(self.rng.choice(list(victims)))
        for process in [*victims[what], *(victims["Snakemake"] if "all" in what else [])]:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        self.kills[what] += 1

    def report(self) -> int:
        """Print what was found; return how many faults there are."""
        records = sorted((self.folder / "results" / "runs" / NAME).rglob("*.jsonl"))
        rows = [json.loads(line) for path in records for line in path.read_text().splitlines()]
        found = Counter((row["dataset"], row["kernel"], row["method"], row["run"]) for row in rows)
        lost, doubled = self.n_runs - len(found), sum(count - 1 for count in found.values())
        failed = sum(row["status"] != "converged" for row in rows)
        left = self._left_behind()
        took_s = time.monotonic() - self.began
        kills = ", ".join(f"{count} {what}" for what, count in self.kills.items()) or "none"
        print(f"{self.n_runs} runs in {took_s:.0f} s, {self.starts} starts; killed: {kills}")
        print(f"{lost} lost, {doubled} doubled, {failed} not converged, {len(left)} processes left behind")
        seconds = [row["wall_s"] for row in sorted(rows, key=lambda row: row["started_at"])]
        print(f"seconds of a run, median by tenths: {' '.join(f'{s:.3f}' for s in tenths(seconds, statistics.median))}")
        largest = " ".join(f"{mib:.0f}" for mib in tenths(self.memory, max))
        print(f"memory of Snakemake in MiB, largest by tenths: {largest}")
        return lost + doubled + failed + len(left)

    def _left_behind(self) -> list[psutil.Process]:
        """Return processes that still work in the folder a few seconds after the end."""
        time.sleep(3.0)
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if Path(process.cwd()).is_relative_to(self.folder):
                    found.append(process)
        return found


@dataclass(frozen=True)
class ReturnsItsStart:
    """The quickest solver there is."""

    requires: ClassVar[frozenset[str]] = frozenset()

    def run(self, problem, start, monitor):
        """Return the start."""
        monitor.keep_going(start)
        return SolverOutcome(start, Status.CONVERGED, "nothing to do")


def kind_of(process: psutil.Process) -> str:
    """Return what a process below Snakemake is: a job, a run of one, or what else there is."""
    words = process.cmdline()
    if words[1:4] != ["-m", "kdrbench", "batch"]:
        return "other"
    # A job forks the guardians of its runs, and those the runs: they have its words.
    return "run" if process.parent().cmdline()[1:4] == words[1:4] else "job"


def tenths(values: list[float], of: Any) -> list[float]:
    """Return a number of each tenth of the values, in their order."""
    ends = [round(place * len(values) / TENTHS) for place in range(TENTHS + 1)]
    return [of(values[first:last]) for first, last in pairwise(ends) if last > first]


def overlay(n_runs: int) -> dict[str, Any]:
    """Return the configuration of the grid."""
    names = [f"start{number}" for number in range(SOLVERS)]
    experiment = {
        "system": "ikdr",
        "title": "Many tiny runs.",
        "paradigm": "supervised",
        "datasets": ["wine"],
        "kernels": ["gaussian"],
        "solvers": names,
        "components": {"wine": 2},
        "folds": FOLDS,
        "partitions": n_runs // (FOLDS * SOLVERS),
        "start": "surrogate",
        "runs_per_job": PER_JOB,
        "timed": False,
    }
    return {
        "name": NAME,
        "run": [NAME],
        "limits": {"time_s": 60, "memory_mib": 1024},
        "timing": {"repeat_for_s": 0.0},
        "solvers": {name: {"method": "soak:ReturnsItsStart"} for name in names},
        "experiments": {NAME: experiment},
    }


def environment() -> dict[str, str]:
    """Return an environment in which the solver is found."""
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    main()
